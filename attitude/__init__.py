"""Real-time attitude estimation and control, built around the quaternion variational integrator."""

from attitude.core.errors import StepError
from attitude.core.jit import warm_up
from attitude.dynamics.damper import DampedGyrostat
from attitude.dynamics.gyrostat import Gyrostat, Wheel
from attitude.dynamics.propagator import Propagator
from attitude.dynamics.rigid_body import RigidBody
from attitude.dynamics.state import Linearisation, State, Trajectory
from attitude.estimation.filter import Status
from attitude.estimation.mekf import MEKF, GyroMEKF
from attitude.estimation.recorded import Estimates, Samples
from attitude.estimation.wahba import triad, triad_with_covariance, wahba

__version__ = "0.1.0"

__all__ = [
    "MEKF",
    "DampedGyrostat",
    "Estimates",
    "GyroMEKF",
    "Gyrostat",
    "Linearisation",
    "Propagator",
    "RigidBody",
    "Samples",
    "State",
    "Status",
    "StepError",
    "Trajectory",
    "Wheel",
    "triad",
    "triad_with_covariance",
    "wahba",
    "warm_up",
]
