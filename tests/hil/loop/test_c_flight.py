"""The flight program in C, built from the generated header and flown: as a child, over UDP, over a pseudo-terminal."""

import os

import numpy as np
import pytest

from attitude.spacecraft.frames import ESTIMATE, TRUTH


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


def test_over_udp_it_holds_an_inertial_attitude(star_tracker, c_flight, process):
    line = star_tracker.line("udp-listen://127.0.0.1:0")
    host, port = line.base.address
    with process(c_flight, "--inertial", f"udp://{host}:{port}") as flight:
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


@pytest.mark.parametrize("arguments", [(), ("udp://nowhere",), ("udp://127.0.0.1:0",), ("/no/such/line",), ("a", "b")])
def test_what_it_cannot_open_it_refuses(c_flight, process, arguments):
    with process(c_flight, *arguments) as flight:
        _, told = flight.communicate(timeout=20)
    assert flight.returncode == 2
    assert told.startswith("usage: flight")
