"""The closed loop: a plant side and a flight side that meet only in samples and commands, and one tick of both."""
