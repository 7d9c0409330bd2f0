"""Where the spacecraft is and what acts on it: orbit, Earth rotation, field, Sun, air, disturbance torques."""
