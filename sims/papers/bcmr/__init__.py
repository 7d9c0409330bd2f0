"""Bloch, Crouch, Marsden, Ratiu 2002, statement by statement: each room yields rows of the table."""
