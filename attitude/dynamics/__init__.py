"""Flight propagators: rigid body, gyrostat and damped gyrostat as quaternion variational integrators."""
