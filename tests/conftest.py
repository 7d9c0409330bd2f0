"""What tests of every layer share."""

import resource
from contextlib import contextmanager

import pytest


@contextmanager
def limited(size_bytes):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def full_disk():
    """`with full_disk(10_000):` no file may grow beyond 10 kB, as on a disk with no more room.

    The limit holds for the whole process, the file that takes pytest's own output too: print nothing inside.
    """
    return limited
