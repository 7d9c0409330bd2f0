"""Real-time attitude estimation and control, built around the quaternion variational integrator."""

from attitude.core.jit import warm_up
from attitude.dynamics.damper import DampedGyrostat
from attitude.dynamics.gyrostat import Gyrostat, Wheel
from attitude.dynamics.propagator import Propagator, StepError
from attitude.dynamics.rigid_body import RigidBody
from attitude.dynamics.state import Linearisation, State, Trajectory

__all__ = [
    "DampedGyrostat",
    "Gyrostat",
    "Linearisation",
    "Propagator",
    "RigidBody",
    "State",
    "StepError",
    "Trajectory",
    "Wheel",
    "warm_up",
]
