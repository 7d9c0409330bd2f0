"""Authentication with a shared key: HMAC-SHA-256 (RFC 2104), truncated to its first 16 bytes."""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from pathlib import Path

from hil.layout import TAG_SIZE

SHORTEST_KEY, LONGEST_KEY = 32, 4096  # bytes: RFC 2104 advises at least the hash's own length


class Authenticator:
    """Signs and checks; the key is hashed once, not for every packet."""

    def __init__(self, key: bytes) -> None:
        if not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
            raise ValueError(f"key must have {SHORTEST_KEY} to {LONGEST_KEY} bytes, got {len(key)}")
        self._keyed = hmac.new(key, digestmod=hashlib.sha256)

    def tag(self, data: bytes | bytearray | memoryview) -> bytes:
        """The 16 bytes that go with `data`."""
        digest = self._keyed.copy()
        digest.update(data)
        return digest.digest()[:TAG_SIZE]

    def fits(self, data: bytes | memoryview, tag: bytes | memoryview) -> bool:
        """Whether `tag` is that of `data`; takes the same time wherever they differ."""
        return hmac.compare_digest(self.tag(data), tag)


def load_key(path: str | Path) -> bytes:
    """Key from a file, all of its bytes; only its owner may be able to read it."""
    try:
        with open(path, "rb", opener=_at_once) as file:
            _check_file(os.fstat(file.fileno()), path)
            key = file.read(LONGEST_KEY + 1)
    except OSError as error:
        raise ValueError(f"key file {path} cannot be read: {error.strerror}") from None
    if not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
        size = f"{len(key)}" if len(key) <= LONGEST_KEY else f"more than {LONGEST_KEY}"
        raise ValueError(f"key file {path} must hold {SHORTEST_KEY} to {LONGEST_KEY} bytes, got {size}")
    return key


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe that nobody writes to would hold us up


def _check_file(found: os.stat_result, path: str | Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"key file {path} must be a regular file")
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise ValueError(f"key file {path} must be readable by its owner only (chmod 600), got mode {mode:03o}")
