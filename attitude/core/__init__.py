"""Allocation-free kernels everything else is built on: quaternions, SO(3), small linear algebra, the increment."""
