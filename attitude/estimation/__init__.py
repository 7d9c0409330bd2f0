"""Attitude estimation: from vector measurements to quaternions, covariances and filters."""
