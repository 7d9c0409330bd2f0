"""The error of every integrator here: a step that could not be taken."""

from __future__ import annotations


class StepError(ValueError):
    """A step that could not be taken; the message says what to do. `trajectory` has what the run had until then."""

    def __init__(self, message: str, trajectory: object = None) -> None:
        super().__init__(message)
        self.trajectory = trajectory
