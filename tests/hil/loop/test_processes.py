"""The toolkit's flight side as a process of its own: same trajectory, kill -9, bad lines, replay. Nothing is mocked."""

import os
import re
import shlex
import signal
import subprocess

import numpy as np
import pytest

from attitude.spacecraft.flight import Flight
from hil.clock import Scaled
from hil.impairments import Impairments
from hil.layout import Status
from hil.recording import Direction, Recorder, Recording
from hil.replay import replay

TICKS = 300
DAMAGE = (Status.TOO_SHORT, Status.TOO_LONG, Status.MALFORMED, Status.BAD_CRC, Status.WRONG_VERSION,
          Status.UNKNOWN_APID, Status.WRONG_LENGTH, Status.NOT_AUTHENTIC)  # fmt: skip


@pytest.fixture
def flight_command(attitude_command):
    return lambda link, *more: attitude_command("hil", "flight", "star-tracker", "--link", link, *more)


# ------------------------------------------------------------------ the same trajectory
def test_over_udp_and_again_from_the_recordings(star_tracker, same, process, flight_command, tmp_path):
    theirs, ours = tmp_path / "flight.rec", tmp_path / "plant.rec"
    line = star_tracker.line("udp-listen://127.0.0.1:0", record=ours)
    host, port = line.base.address
    with process(*flight_command(f"udp://{host}:{port}", "--record", theirs)) as flight:
        result = star_tracker.fly(line, TICKS, timeout_s=20.0)
        line.close()
        _, told = flight.communicate(timeout=60)
    assert (result.complaint, result.report.errors, flight.returncode) == ("", 0, 0)
    assert f"ticks {TICKS}" in told
    same(result.rows, star_tracker.rows(TICKS))
    for recording in (theirs, ours):
        found = replay(Recording(recording), star_tracker.flight)
        assert found.identical
        assert (found.ticks, found.housekeeping, found.commands, found.sessions) == (TICKS, TICKS, TICKS, 1)
    differs(star_tracker, Recording(theirs), tmp_path / "changed.rec")


def differs(craft, recording, path):
    """A recording with one bit of one gyro sample changed, and its CRC made to fit, is not the same any more."""
    from hil.packets import crc16

    changed, number = Recorder(path, recording.codec(), recording.scenario_text), 0
    for entry in recording:
        data = bytearray(entry.data)
        if entry.direction is Direction.RX and (data[0] & 7) << 8 | data[1] == 0x101:
            number += 1
            if number == 100:
                data[50 + 8 * 3 + 5] ^= 1
                data[-2:] = crc16(data[:-2]).to_bytes(2, "big")
        changed.write(entry.t_ns, entry.direction, bytes(data))
    changed.close()
    found = replay(Recording(path), craft.flight)
    assert not found.identical
    assert found.differences > 0
    assert "of tick 99" in found.first


def test_over_a_pseudo_terminal(star_tracker, same, process, flight_command, tmp_path):
    line = star_tracker.line(f"pty://{tmp_path}/line")
    with process(*flight_command(f"serial://{tmp_path}/line")):
        result = star_tracker.fly(line, TICKS, timeout_s=20.0)
        line.close()
    assert result.complaint == ""
    same(result.rows, star_tracker.rows(TICKS))


def test_as_a_child_with_a_key(star_tracker, same, flight_command, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    words = flight_command("stdio:", "--key-file", key)
    line = star_tracker.line(f"child:{shlex.join(words)}", key_file=key)
    result = star_tracker.fly(line, TICKS, timeout_s=20.0)
    line.close()
    assert result.complaint == ""
    same(result.rows, star_tracker.rows(TICKS))


# ------------------------------------------------------------------ kill -9
def killed(craft, words, ticks, when, clock=None):
    """A run in which the flight process is killed before the ticks `when`."""
    line = craft.line(f"child:{shlex.join(str(word) for word in words)}")

    def before(tick):
        if tick in when:
            os.kill(line.base.pid, signal.SIGKILL)

    result = craft.fly(line, ticks, clock, before, timeout_s=0.2)
    line.close()
    assert (result.complaint, result.report.errors) == ("", 0)
    assert line.port.synchronisations == len(when) + 1
    assert result.counters.restarts == len(when)
    assert result.log.complete
    t = result.rows["truth"][:, 0]
    assert np.array_equal(t, craft.tick_s * np.arange(ticks))  # not a row is missing
    assert np.isfinite(result.rows["truth"]).all()
    return result


def test_kill_the_flight_process_twice(star_tracker, flight_command):
    result = killed(star_tracker, flight_command("stdio:"), 300, (100, 200))
    assert result.counters.fresh == 300  # in lockstep time waits for the next one
    told = [event.what for event in result.events]
    assert sum("was ended by signal SIGKILL, started again" in what for what in told) == 2
    assert [what for what in told if "anew" in what] == [
        "flight side introduced itself anew, handshake 2", "flight side introduced itself anew, handshake 3",
    ]  # fmt: skip


@pytest.mark.parametrize("clock", [None, Scaled(10.0)], ids=["lockstep", "scaled"])
def test_kill_the_c_program_ten_times(star_tracker, c_flight, clock):
    """The plant goes on with the last command; in lockstep it waits."""
    result = killed(star_tracker, [c_flight, "stdio:"], 1100, range(100, 1100, 100), clock)
    assert result.counters.fresh + result.counters.held == 1100
    assert (result.counters.held == 0) == (clock is None)


@pytest.mark.slow
def test_kill_the_flight_process_ten_times(star_tracker, flight_command):
    killed(star_tracker, flight_command("stdio:"), 1100, range(100, 1100, 100))


# ------------------------------------------------------------------ a bad line
def fly_badly(craft, process, words, ticks, factor):
    """A run over UDP with loss, reordering and corruption in both directions."""
    bad = Impairments(loss=0.1, reordering=0.05, corruption=0.01)
    line = craft.line("udp-listen://127.0.0.1:0", impairments=bad, seed=3)
    host, port = line.base.address
    with process(*words(f"udp://{host}:{port}", "--timeout-s", "5")) as flight:
        result = craft.fly(line, ticks, Scaled(factor), timeout_s=1.0)
        line.close()
        _, told = flight.communicate(timeout=60)
    assert (result.complaint, result.report.errors, result.counters.ticks) == ("", 0, ticks)
    injected, counters = line.impaired.incoming.counts, line.port.codec.counters
    damaged = sum(counters[status] for status in DAMAGE)
    assert injected.corrupted - 16 <= damaged <= injected.corrupted  # a few may still be held when it ends
    assert 0 < counters[Status.REPLAYED] <= injected.reordered  # those that their own kind overtook
    assert injected.corrupted > 0.005 * injected.packets
    assert int(re.search(r"refused (\d+)", told)[1]) > 0.5 * line.impaired.outgoing.counts.corrupted
    return result


def test_loss_reordering_and_corruption(star_tracker, process, flight_command, off_nadir):
    result = fly_badly(star_tracker, process, flight_command, 3000, 50.0)
    assert 0 < result.counters.held < 2000
    assert result.log.complete
    assert off_nadir(result.rows["truth"])[-1] < 1.0  # deg; it has turned from 94 deg


@pytest.mark.slow
def test_an_orbit_of_loss_reordering_and_corruption(star_tracker, process, flight_command, off_nadir):
    ticks = round(star_tracker.scenario.orbit_period_s / star_tracker.tick_s)
    result = fly_badly(star_tracker, process, flight_command, ticks, 50.0)
    assert off_nadir(result.rows["truth"])[ticks // 2 :].max() < 0.1  # deg; 0.05 without the losses


# ------------------------------------------------------------------ a flight side that hangs
def test_a_process_that_hangs_is_noticed_and_taken_back(star_tracker, c_flight):
    line = star_tracker.line(f"child:{c_flight} stdio:")

    def before(tick):
        if tick in (200, 400):
            os.kill(line.base.pid, signal.SIGSTOP if tick == 200 else signal.SIGCONT)

    result = star_tracker.fly(line, 600, Scaled(20.0), before, timeout_s=0.1, on_loss="zero")
    line.close()
    c = result.counters
    assert (c.ticks, result.report.errors, line.port.synchronisations) == (600, 0, 1)
    assert c.losses >= 1
    assert c.recoveries == c.losses
    assert c.zeroed > 0
    assert not result.rows["command"][350].any()
    assert result.rows["command"][599].any()


# ------------------------------------------------------------------ a peer that does not fit
def test_another_scenario_ends_both_sides_with_a_sentence(star_tracker, attitude_command, process):
    line = star_tracker.line("udp-listen://127.0.0.1:0")
    host, port = line.base.address
    words = attitude_command("hil", "flight", "star-tracker", "--seed", "2", "--link", f"udp://{host}:{port}")
    with process(*words) as flight:
        complaint = line.meet(60.0)
        _, told = flight.communicate(timeout=60)
    line.close()
    assert "the peer flies another scenario" in complaint
    assert flight.returncode == 2
    assert "the peer flies another scenario" in told
    assert len(told.strip().splitlines()) == 2  # where it is, and what is wrong


def test_a_recording_with_other_settings_is_flown_with_them(tmp_path, attitude_command):
    out, record = tmp_path / "out", tmp_path / "plant.rec"
    other = ("star-tracker", "--tick-hz", "20", "--seed", "5")
    child = shlex.join(attitude_command("hil", "flight", *other, "--link", "stdio:"))
    words = attitude_command("hil", "plant", *other, "--rate", "lockstep", "--link", f"child:{child}", "--duration-s",
                             "5", "--log-hz", "20", "--record", record, "--out", out)  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "fresh 100" in done.stdout
    assert {path.name for path in out.iterdir()} == {"mission.nc", "hil.json", "hil.txt"}
    again = subprocess.run(attitude_command("hil", "replay", record), capture_output=True, text=True, timeout=120)
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.startswith("100 ticks in 1 sessions: compared 100 estimates and 100 commands, 0 differ")


def test_every_session_of_a_recording_is_flown_by_a_program_of_its_own(star_tracker, flight_command, tmp_path):
    line = star_tracker.line(f"child:{shlex.join(flight_command('stdio:'))}", record=tmp_path / "plant.rec")

    def before(tick):
        if tick == 60:
            os.kill(line.base.pid, signal.SIGKILL)

    star_tracker.fly(line, 120, None, before, timeout_s=4.0)
    line.close()
    made = []
    config = star_tracker.flight_config
    found = replay(Recording(tmp_path / "plant.rec"), lambda: made.append(Flight(config)) or made[-1])
    assert found.identical
    assert (found.sessions, len(made)) == (2, 2)
