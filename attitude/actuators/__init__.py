"""Actuators: reaction wheels with friction and limits, magnetorquers with a duty cycle, and how to share a torque."""
