"""The flight program in C, built from the generated header and flown: as a child, over UDP, over a pseudo-terminal."""

import os
import pty
import re
import subprocess
import tty
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from attitude.spacecraft.frames import ESTIMATE, TRUTH
from hil import header
from hil.layout import SYNC_MARKER, Role
from hil.packets import Codec


def rate_deg_s(rows):
    return np.degrees(np.linalg.norm(TRUTH.read(rows["truth"], "omega_B"), axis=1))


def estimate_error_deg(rows):
    a, b = TRUTH.read(rows["truth"], "q_IB"), ESTIMATE.read(rows["estimate"], "q_IB")
    return np.degrees(2.0 * np.arccos(np.minimum(1.0, np.abs(np.sum(a * b, axis=1)))))


def test_as_a_child_it_points_to_nadir(star_tracker, c_flight, off_nadir):
    line = star_tracker.line(f"child:{c_flight} stdio:")
    result = star_tracker.fly(line, 3000, timeout_s=20.0)
    line.close()
    assert (result.complaint, result.counters.fresh, result.report.errors) == ("", 3000, 0)
    angle = off_nadir(result.rows["truth"])
    assert angle[0] > 90.0
    assert angle[-500:].max() < 0.2  # deg: star tracker 60 arcsec about its axis, misaligned, fixed gains
    assert estimate_error_deg(result.rows)[-500:].max() < 0.2


def test_its_sigma_is_honest(star_tracker, c_flight):
    """Errors of the estimate against the sigma that goes with it, as the report compares them."""
    line = star_tracker.line(f"child:{c_flight} stdio:")
    rows = star_tracker.fly(line, 3000, timeout_s=20.0).rows
    line.close()
    running = ESTIMATE.read(rows["estimate"], "running") == 1
    sigma = ESTIMATE.read(rows["estimate"], "sigma_B")
    known, true = (
        Rotation.from_quat(read(rows[name], "q_IB"))
        for name, read in (("estimate", ESTIMATE.read), ("truth", TRUTH.read))
    )
    assert running.sum() > 2900
    assert np.isnan(sigma[~running]).all()
    ratio = np.abs((known.inv() * true).as_rotvec()[running] / sigma[running])
    assert (ratio < 3.0).all(axis=1).mean() > 0.98  # the goal of the shipped scenarios
    settled = np.sqrt(np.mean(ratio[-1500:] ** 2, axis=0))
    assert (settled > 0.1).all()  # nor does it hide behind a sigma that is far too large
    assert (ESTIMATE.read(rows["estimate"], "sigma_bias_B") > 0.0).all()


def test_over_udp_it_holds_an_inertial_attitude(star_tracker, c_flight, process):
    line = star_tracker.line("udp-listen://localhost:0")
    with process(c_flight, "--inertial", f"udp://localhost:{line.base.address[1]}") as flight:
        result = star_tracker.fly(line, 3000, timeout_s=20.0)
        line.close()
        assert flight.wait(20) == 0
    assert result.counters.fresh == 3000
    q = TRUTH.read(result.rows["truth"], "q_IB")[-500:]
    assert np.degrees(2.0 * np.arccos(np.abs(q[:, 3]))).max() < 0.2


def test_over_a_pseudo_terminal_it_detumbles(detumble, c_flight, process, tmp_path):
    line = detumble.line(f"pty://{tmp_path}/line")
    with process(c_flight, f"{tmp_path}/line") as flight:
        result = detumble.fly(line, 4000, timeout_s=20.0, log_every=10)
        assert flight.wait(20) == 0
        line.close()
    assert result.counters.fresh == 4000
    rate = rate_deg_s(result.rows)
    assert rate[0] == pytest.approx(10.0, abs=0.1)
    assert rate[-1] < 8.0


def test_it_authenticates_nothing_it_has_no_key_for(star_tracker, c_flight, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    line = star_tracker.line(f"child:{c_flight} stdio:", key_file=key)
    assert "not authenticated with this side's key" in line.meet(0.5)
    line.close()


# ------------------------------------------------------------------ what it says when it cannot fly
@pytest.fixture(scope="module")
def impatient(tmp_path_factory, compiler):
    """The same program with half a second of patience instead of two minutes."""
    folder = tmp_path_factory.mktemp("impatient")
    (folder / "attitude_frames.h").write_text(header.text())
    source = Path(__file__).parents[3] / "hil" / "examples" / "flight.c"
    command = [compiler, "-std=c99", "-DPATIENCE_S=0.5", "-I.", source, "-o", "flight", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "flight"


def ended(flight):
    """Exit code and what it said."""
    _, told = flight.communicate(timeout=30)
    return flight.returncode, told.splitlines()


USAGE = [(), ("",), ("a", "b"), ("--inertial",), ("--help",), ("--inertial", "a", "b")]
ADDRESSES = [("udp://nowhere",), ("udp://127.0.0.1:0",), ("udp://127.0.0.1:65536",), ("udp://:5",), ("udp://a:5x",)]


@pytest.mark.parametrize("arguments", [*USAGE, *ADDRESSES])
def test_wrong_usage(c_flight, process, arguments):
    with process(c_flight, *arguments) as flight:
        code, told = ended(flight)
    assert code == 2
    assert told == ["usage: flight [--inertial] stdio: | udp://HOST:PORT | SERIAL-LINE"]


@pytest.mark.parametrize(
    ("link", "why"),
    [("/no/such/line", "No such file or directory"), ("/dev/null", "Inappropriate ioctl for device"),
     ("udp://no.such.host.invalid:5000", ".+")],
)  # fmt: skip
def test_it_says_what_it_cannot_open(impatient, process, link, why):
    with process(impatient, link) as flight:
        code, told = ended(flight)
    assert code == 1
    assert len(told) == 2
    assert re.fullmatch(f"flight: waiting for {link}: {why}", told[0])
    assert re.fullmatch(f"flight: cannot open {link}: {why}", told[1])


def test_it_says_that_nothing_was_heard(impatient, process):
    with process(impatient, "udp://localhost:9") as flight:
        assert ended(flight) == (1, ["flight: nothing was heard from the plant for 0.5 s"])


def test_a_plant_that_does_not_read_does_not_hold_it_up(impatient, process):
    """A line that is full, as that of a plant that compiles for a minute: what has no room is dropped."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    os.set_blocking(theirs, False)
    with suppress(BlockingIOError):
        while True:
            os.write(theirs, bytes(1))
    with process(impatient, os.ttyname(theirs)) as flight:
        assert ended(flight) == (1, ["flight: nothing was heard from the plant for 0.5 s"])
    os.close(ours)
    os.close(theirs)


def test_it_says_that_packets_were_refused(impatient):
    """A plant with a key, and a flight program without."""
    plant = Codec(Role.PLANT, bytes(range(1, 9)), 0.1, bytes(32))
    with subprocess.Popen([impatient, "stdio:"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as flight:  # fmt: skip
        flight.stdin.write(b"".join(SYNC_MARKER + plant.hello() for _ in range(3)))
        flight.stdin.flush()
        told = flight.stderr.read().decode()
    assert told == "flight: no packet from the plant was good for 0.5 s, 3 were not\n"
    assert flight.returncode == 1


def test_it_says_that_the_line_was_closed(c_flight):
    done = subprocess.run([c_flight, "stdio:"], input=b"", capture_output=True, timeout=60)
    assert (done.returncode, done.stderr.decode()) == (0, "flight: the line was closed\n")


def test_it_waits_for_a_line_that_is_not_there_yet(star_tracker, c_flight, process, tmp_path):
    with process(c_flight, f"{tmp_path}/line") as flight:
        assert flight.stderr.readline() == f"flight: waiting for {tmp_path}/line: No such file or directory\n"
        line = star_tracker.line(f"pty://{tmp_path}/line")
        result = star_tracker.fly(line, 20, timeout_s=20.0)
        assert ended(flight) == (0, [])  # several STOPs are as good as one
        line.close()
    assert result.counters.fresh == 20
