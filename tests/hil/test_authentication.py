"""Key files, and HMAC against the vectors of RFC 4231."""

import os

import pytest

from hil.authentication import Authenticator, load_key


def test_rfc_4231_test_case_6():
    """A key longer than the hash's block."""
    tag = Authenticator(b"\xaa" * 131).tag(b"Test Using Larger Than Block-Size Key - Hash Key First")
    assert tag.hex() == "60e431591ee0b67f0d8a26aacbf5b77f"


def test_fits_only_its_own():
    keyed = Authenticator(b"k" * 32)
    tag = keyed.tag(b"data")
    assert keyed.fits(b"data", tag)
    assert not keyed.fits(b"date", tag)
    assert not keyed.fits(b"data", tag[:-1])
    assert not Authenticator(b"l" * 32).fits(b"data", tag)


@pytest.fixture
def key_file(tmp_path):
    def make(content=bytes(range(32)), mode=0o600):
        path = tmp_path / "key"
        path.write_bytes(content)
        path.chmod(mode)
        return path

    return make


@pytest.mark.parametrize("mode", [0o600, 0o400])
@pytest.mark.parametrize("content", [bytes(range(32)), b"x" * 4096, b"y" * 64 + b"\n"])
def test_a_key_is_all_of_its_file(key_file, content, mode):
    assert load_key(key_file(content, mode)) == content


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610])
def test_a_key_file_others_can_read(key_file, mode):
    with pytest.raises(ValueError, match=rf"must be readable by its owner only \(chmod 600\), got mode {mode:03o}"):
        load_key(key_file(mode=mode))


@pytest.mark.parametrize(("size", "told"), [(0, "got 0"), (31, "got 31"), (4097, "got more than 4096")])
def test_a_key_of_the_wrong_size(key_file, size, told):
    with pytest.raises(ValueError, match=f"must hold 32 to 4096 bytes, {told}"):
        load_key(key_file(b"x" * size))


def test_a_key_file_that_is_none(tmp_path):
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        load_key(tmp_path / "none")
    with pytest.raises(ValueError, match="cannot be read: Is a directory"):
        load_key(tmp_path)
    with pytest.raises(ValueError, match="must be a regular file"):
        load_key(os.devnull)
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(ValueError, match="must be a regular file"):
        load_key(tmp_path / "pipe")
