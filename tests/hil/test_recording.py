"""Recordings: what was written is read, whatever happened to the process that wrote."""

import os
import signal
import socket
import struct
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest

from hil.impairments import Impaired, Impairments
from hil.layout import NO_SCENARIO, Role, Status
from hil.links import in_process_pair
from hil.links_tcp import TcpServer
from hil.packets import Codec
from hil.recording import Direction, Entry, Recorded, Recorder, Recording, frames

SCENARIO = bytes(range(1, 9))
TEXT = 'name = "Prüfung"\nseed = 1\n'


@pytest.fixture
def flight():
    return Codec(Role.FLIGHT, SCENARIO, 0.1, session=22)


def entries(random, count=5):
    directions = list(Direction)
    return [Entry(1000 * k, directions[k % 3], random.bytes(int(random.integers(0, 600)))) for k in range(count)]


@pytest.fixture
def written(tmp_path, flight, random):
    """A recording on the disk and what is in it."""
    path, content = tmp_path / "run.rec", entries(random)
    recorder = Recorder(path, flight, TEXT)
    assert all(recorder.write(*entry) for entry in content)
    recorder.close()
    assert (recorder.written, recorder.lost) == (5, 0)
    return path, content


def test_what_was_written_is_read(written):
    path, content = written
    recording = Recording(path)
    assert list(recording) == content
    assert list(recording) == content  # a second time too
    assert recording.note == ""
    assert (recording.role, recording.session, recording.scenario) == (Role.FLIGHT, 22, SCENARIO)
    assert (recording.tick_s, recording.scenario_text) == (0.1, TEXT)
    assert abs(recording.start_ns - path.stat().st_mtime_ns) < 3600e9  # the same hour


def test_the_file_byte_by_byte(tmp_path, flight):
    recorder = Recorder(tmp_path / "run.rec", flight, "x = 1")
    recorder.write(7, Direction.TX, b"abc")
    recorder.close()
    data = (tmp_path / "run.rec").read_bytes()
    assert data[:8] == b"ATTREC\r\n"
    version, role, spare, session = struct.unpack(">HBBQ", data[8:20])
    assert (version, role, spare, session) == (1, 2, 0, 22)
    assert struct.unpack(">d8sI", data[28:48]) == (0.1, SCENARIO, 5)
    assert data[48:53] == b"x = 1"
    assert struct.unpack(">I", data[53:57]) == (zlib.crc32(data[:53]),)
    record = struct.pack(">QBI", 7, 1, 3) + b"abc"
    assert data[57:] == record + struct.pack(">I", zlib.crc32(record))


def test_cut_at_every_byte_of_the_last_record(written):
    path, content = written
    data = path.read_bytes()
    last = 13 + len(content[-1].data) + 4
    for kept in range(len(data) - last, len(data)):
        path.write_bytes(data[:kept])
        recording = Recording(path)
        assert list(recording) == content[:-1]
        left = kept - (len(data) - last)
        assert (f"its last {left} bytes were left out" in recording.note) == (left > 0)


def test_every_damaged_byte_of_the_last_record_is_noticed(written):
    path, content = written
    data = path.read_bytes()
    last = 13 + len(content[-1].data) + 4
    for place in range(len(data) - last, len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        recording = Recording(path)
        assert list(recording) == content[:-1]
        assert "incomplete or damaged record" in recording.note


def test_a_record_of_no_known_direction(written):
    path, content = written
    record = struct.pack(">QBI", 7, 3, 0)
    with path.open("ab") as file:
        file.write(record + struct.pack(">I", zlib.crc32(record)))
    recording = Recording(path)
    assert list(recording) == content
    assert recording.note


def test_a_header_cut_or_damaged_at_any_byte(written):
    path, _ = written
    data = path.read_bytes()
    header = 48 + len(TEXT.encode()) + 4
    for place in range(header):
        for changed in (data[:place], data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]):
            path.write_bytes(changed)
            with pytest.raises(ValueError, match="recording"):
                Recording(path)


def test_what_is_not_a_recording(tmp_path, written):
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        Recording(tmp_path / "none")
    (tmp_path / "text").write_text("no recording at all, but long enough to have a header")
    with pytest.raises(ValueError, match="text is not a recording"):
        Recording(tmp_path / "text")
    path, _ = written
    path.write_bytes(path.read_bytes().replace(b"\r\n\0\x01", b"\r\n\0\x02", 1))
    with pytest.raises(ValueError, match="has version 2, this program reads version 1"):
        Recording(path)


def test_a_recording_that_cannot_be_written(tmp_path, flight):
    with pytest.raises(ValueError, match="cannot be written: No such file or directory"):
        Recorder(tmp_path / "no" / "folder", flight, TEXT)
    with pytest.raises(ValueError, match="cannot be written: No space left on device"):
        Recorder("/dev/full", flight, TEXT)


# ------------------------------------------------------------------ what happens to processes and disks
WRITER = """
import sys
from hil.layout import Role
from hil.packets import Codec
from hil.recording import Direction, Recorder
recorder = Recorder(sys.argv[1], Codec(Role.FLIGHT, bytes(range(1, 9)), 0.1, session=22), "x = 1")
k = 0
while True:
    recorder.write(k, Direction.RX, k.to_bytes(4, "big") * 100)
    k += 1
    if k == 1000:
        print("going", flush=True)
"""


def test_a_killed_process_leaves_all_that_it_wrote(tmp_path):
    path = tmp_path / "run.rec"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"going\n"
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    found = list(Recording(path))
    assert len(found) >= 1000
    assert found == [Entry(k, Direction.RX, k.to_bytes(4, "big") * 100) for k in range(len(found))]


def test_a_full_disk_loses_records_and_counts_them(tmp_path, flight, full_disk):
    """The limit of a file's size stands for the end of the disk; then there is room again."""
    path = tmp_path / "run.rec"
    recorder = Recorder(path, flight, TEXT)
    with full_disk(10_000):
        kept = [recorder.write(k, Direction.RX, bytes([k]) * 600) for k in range(30)]
    assert recorder.write(99, Direction.RX, b"room again")
    recorder.close()
    assert not recorder.write(100, Direction.RX, b"too late")
    assert 10 < sum(kept) < 20
    assert recorder.lost == kept.count(False) + 1
    recording = Recording(path)
    assert [entry.t_ns for entry in recording] == [*range(sum(kept)), 99]
    assert recording.note == ""


def test_the_recording_of_an_earlier_run_is_kept(tmp_path, flight):
    """A flight side that is started again with the same command must not overwrite what the first one saw."""
    path = tmp_path / "run.rec"
    for k in range(3):
        recorder = Recorder(path, flight, TEXT)
        recorder.write(k, Direction.TX, b"x")
        recorder.close()
        assert recorder.kept_as == (tmp_path / f"run.rec.{k}" if k else None)
    names = ("run.rec.1", "run.rec.2", "run.rec")
    assert [entry.t_ns for name in names for entry in Recording(tmp_path / name)] == [0, 1, 2]


def test_a_file_that_is_no_recording_is_not_overwritten(tmp_path, flight):
    path = tmp_path / "mission.toml"
    path.write_text("precious")
    with pytest.raises(ValueError, match=r"recording .*mission.toml would overwrite a file that is not a recording"):
        Recorder(path, flight, TEXT)
    assert path.read_text() == "precious"
    path.write_text("")  # as `mktemp` leaves it
    Recorder(path, flight, TEXT).close()
    assert Recording(path).scenario_text == TEXT


# ------------------------------------------------------------------ links and frames
def test_a_recorded_run_comes_to_the_same_decisions(tmp_path, random):
    """All that a bad link did to a flight side, and what its codec made of it, again from the file alone."""
    path, verdicts, numbers = tmp_path / "run.rec", [], []
    plant, flight = Codec(Role.PLANT, SCENARIO, 0.1), Codec(Role.FLIGHT, NO_SCENARIO, 0.1)
    far, near = in_process_pair()
    bad = Impairments(loss=0.1, reordering=0.1, duplication=0.1, corruption=0.1)
    recorder = Recorder(path, flight, TEXT)
    link = Recorded(Impaired(near, bad, seed=4), recorder)
    for k in range(300):
        if k in (0, 100, 200):  # the plant is restarted twice
            plant = Codec(Role.PLANT, SCENARIO, 0.1)
        far.send(plant.samples(k, 0.1 * k, random.normal(size=64)) if plant.session.synchronised else plant.hello())
        while (packet := link.receive()) is not None:
            status, frame = flight.decode(packet)
            verdicts.append(status)
            if frame is not None and frame.records:
                numbers.append(frame.records[0].tobytes())
            if flight.session.answer_due:
                link.reply(flight.hello())
            if status is Status.ACCEPTED:
                link.confirm()
        while (packet := far.receive()) is not None:
            plant.decode(packet)
            if plant.session.answer_due:
                far.send(plant.hello())
    recorder.close()
    judged = list(frames(Recording(path)))
    received = [one for one in judged if one.entry.direction is Direction.RX]
    assert [one.status for one in received] == verdicts
    assert [one.frame.records[0].tobytes() for one in received if one.frame and one.frame.records] == numbers
    sent = [one for one in judged if one.entry.direction is Direction.TX]
    assert {one.status for one in sent} == {Status.ACCEPTED}
    assert len(set(verdicts)) >= 5
    assert flight.session.epoch == 3


def test_noise_on_a_stream_is_recorded_too(tmp_path, flight):
    """Every byte that came is in the recording, once: packets with their markers, and what is none."""
    plant = Codec(Role.PLANT, SCENARIO, 0.1, session=11)
    packet = plant.samples(0, 0.0, np.ones(64))
    damaged = bytearray(plant.samples(1, 0.1, np.ones(64)))
    damaged[77] ^= 4
    marker = bytes.fromhex("1acffc1d")
    path = tmp_path / "run.rec"
    recorder = Recorder(path, flight, TEXT)
    with TcpServer(("127.0.0.1", 0)) as server, socket.create_connection(server.address) as client:
        link = Recorded(Impaired(server, Impairments(), seed=1), recorder, now_ns=lambda: 5)
        client.sendall(b"noise" + marker + packet + b"more" + marker + bytes(damaged) + marker + packet)
        while link.receive(0.2) is not None:
            pass
        assert link.send(packet)
        client.shutdown(socket.SHUT_RDWR)
    recorder.close()
    found = list(Recording(path))
    assert found == [
        Entry(5, Direction.SKIPPED, b"noise"),
        Entry(5, Direction.RX, packet),
        Entry(5, Direction.SKIPPED, b"more"),
        Entry(5, Direction.RX, bytes(damaged)),
        Entry(5, Direction.RX, packet),
        Entry(5, Direction.TX, packet),
    ]


def test_what_was_not_sent_is_not_recorded(tmp_path, flight):
    near, _ = in_process_pair()
    near.close()
    recorder = Recorder(tmp_path / "run.rec", flight, TEXT)
    link = Recorded(near, recorder)
    assert not link.send(b"x")
    assert not link.reply(b"x")
    link.close()
    recorder.close()
    assert list(Recording(tmp_path / "run.rec")) == []


def test_a_recorder_leaves_no_descriptor(tmp_path, flight):
    before = len(os.listdir("/proc/self/fd"))
    recorder = Recorder(tmp_path / "run.rec", flight, TEXT)
    recorder.close()
    recorder.close()
    assert len(os.listdir("/proc/self/fd")) == before
