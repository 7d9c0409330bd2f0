"""The C header: byte for byte the Python codec, both ways, under the address and undefined-behaviour sanitizers."""

import re
import shutil
import struct
import subprocess

import numpy as np
import pytest

from attitude.spacecraft.frames import COMMAND, CONTROL, ESTIMATE, SAMPLES
from hil import header
from hil.layout import KINDS, NO_SCENARIO, SYNC_MARKER, Reason, Role, Status
from hil.links import LinkCounters
from hil.packets import Codec, crc16
from hil.streams import StreamParser

KEYS = [b"", bytes(range(32)), b"a longer key than the block of the hash " * 4]
SCENARIO = bytes(range(1, 9))
AWKWARD = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.7976931348623157e308, -np.pi]


def record(layout, random):
    values = random.normal(size=layout.size) * 10.0 ** random.integers(-300, 300, layout.size)
    values[:8] = AWKWARD
    return values


def hellos(key=b"", learns=False, role=Role.FLIGHT):
    """A Python peer of the C side and the packets of its side of the handshake (the C side has session 22)."""
    ours = Codec(role.peer, SCENARIO, 0.1, key or None, 11)
    scenario = NO_SCENARIO if learns else SCENARIO
    shadow = Codec(role, scenario, 0.1, key or None, 22)  # what the C side is to do
    sent = []
    for _ in range(2):
        ours.decode(shadow.hello())
        sent.append(ours.hello())
        shadow.decode(sent[-1])
    ours.decode(shadow.hello())
    assert ours.session.synchronised
    assert shadow.session.synchronised
    return ours, shadow, sent


# ------------------------------------------------------------------ the text
@pytest.mark.parametrize("standard", ["c99", "c11"])
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_compiles_without_a_warning(header_folder, compiler, standard, level):
    (header_folder / "empty.c").write_text('#include "attitude_frames.h"\nint main(void) { return 0; }\n')
    flags = (
        f"-std={standard} {level} -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Werror"
    )
    command = [compiler, *flags.split(), "-Wswitch-default", "-Wstrict-prototypes", "empty.c", "-o", "empty"]
    done = subprocess.run(command, cwd=header_folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_compiles_as_cpp(header_folder):
    if shutil.which("c++") is None:
        pytest.skip("needs a C++ compiler")
    (header_folder / "empty.cpp").write_text('#include "attitude_frames.h"\nint main() { return 0; }\n')
    command = ["c++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "empty.cpp"]
    done = subprocess.run(command, cwd=header_folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_needs_nothing_but_three_standard_headers():
    assert re.findall(r"#include (.*)", header.text()) == ["<stddef.h>", "<stdint.h>", "<string.h>"]
    assert not re.findall(r"\b(malloc|calloc|free|printf)\b", header.text())


def test_nothing_is_left_to_fill_in():
    assert "@" not in header.text()


def test_every_field_is_told():
    text = header.text()
    for kind in KINDS:
        for layout in kind.records:
            for field in layout.values():
                many = f"\\[{field.size}\\]" if field.size > 1 else ""
                line = re.search(rf"double {field.name}{many}; /\* (.*) \*/", text)
                assert line, field.name
        assert f"ATTITUDE_APID_{kind.name.upper()} 0x{kind.apid:03X}u" in text
    assert "double gyro_omega_B[3]; /* rad/s, B: measured rate; new if bit 0 (gyro) */" in text


# ------------------------------------------------------------------ CRC and bits
def test_crc(driver, random):
    data = [b"123456789", b"", random.bytes(1), random.bytes(580)]
    output = driver.run([driver.op("C", entry) for entry in data])
    assert list(struct.unpack(">4I", output)) == [0x29B1, 0xFFFF, *(crc16(entry) for entry in data[2:])]


def test_bits_whatever_the_number(driver):
    cases = [(3072.0, 10, 1), (3072.0, 11, 1), (3072.0, 0, 0), (0.0, 0, 0), (1.0, 0, 1), (-1.0, 0, 0)]
    cases += [(np.nan, 0, 0), (np.inf, 0, 0), (1e300, 0, 0), (2.0**32, 0, 0), (2.0**32 - 1, 31, 1)]
    output = driver.run([driver.op("B", struct.pack(">dB", value, bit)) for value, bit, _ in cases])
    assert struct.unpack(f">{len(cases)}I", output) == tuple(expected for _, _, expected in cases)


# ------------------------------------------------------------------ Python to C
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("learns", [False, True])
def test_c_reads_what_python_writes(driver, random, key, learns):
    ours, shadow, sent = hellos(key, learns)
    sent += [ours.samples(k, 0.1 * k, record(SAMPLES, random)) for k in range(20)]
    sent += [ours.stop(20, 2.0, Reason.FINISHED), ours.hello(21, 2.1)]
    found = driver.decode(sent, session=22, scenario=NO_SCENARIO if learns else SCENARIO, key=key)
    assert found[1][2] == 11  # synchronised after the second HELLO
    for packet, (status, _, _, content) in zip(sent[1:], found[1:], strict=True):
        assert status == Status.ACCEPTED
        assert content == packet[6 : -2 - 16 * bool(key)]
    assert all(status == Status.ACCEPTED for status, *_ in found[1:])
    assert shadow.session.peer == 11


@pytest.mark.parametrize("key", KEYS[:2])
def test_the_plant_may_be_in_c_too(driver, random, key):
    ours, _, sent = hellos(key, role=Role.PLANT)
    sent += [ours.command(0, 0.0, record(COMMAND, random)), ours.command(1, 0.1, record(COMMAND, random))]
    sent += [ours.housekeeping(1, 0.1, record(ESTIMATE, random), record(CONTROL, random))]
    found = driver.decode(sent, role=Role.PLANT, key=key)
    assert [content for *_, content in found[1:]] == [packet[6 : -2 - 16 * bool(key)] for packet in sent[1:]]


def test_names_mean_the_same_numbers(driver, random):
    """C prints its structs by the names of the fields; Python finds the same numbers under these names."""
    ours, _, sent = hellos()
    samples = random.normal(size=SAMPLES.size)
    sent.append(ours.samples(0, 0.0, samples))
    output = driver.run([*(driver.op("D", packet) for packet in sent), b"N"])
    found = re.findall(rb"samples (\w+) (\d+) (-?0x[0-9a-fp.+-]+)\n", output)
    assert len(found) == SAMPLES.size
    for name, element, value in found:
        assert np.atleast_1d(SAMPLES.read(samples, name.decode()))[int(element)] == float.fromhex(value.decode())


@pytest.mark.parametrize("learns", [False, True])
def test_a_plant_that_is_replaced_twice(driver, learns):
    """The C side goes from session to session just as the Python codec does, and refuses the old ones."""
    scenario = NO_SCENARIO if learns else SCENARIO
    shadow, received, expected = Codec(Role.FLIGHT, scenario, 0.1, session=22), [], []

    def hand_over(packet):
        received.append(packet)
        expected.append((*shadow.decode(packet)[:1], shadow.session.answer_due, shadow.session.peer))

    for session in (11, 12, 13):
        plant = Codec(Role.PLANT, SCENARIO, 0.1, session=session)
        hand_over(plant.hello())
        for _ in range(3):
            plant.decode(shadow.hello())
            shadow.session.answer_due = expected[-1][1]  # C is not asked for its answer here
            hand_over(plant.hello())
        for k in range(3):
            hand_over(plant.samples(k, 0.1 * k, np.ones(64)))
        for old in received[:-8]:
            hand_over(old)
        hand_over(plant.stop(9, 0.9, Reason.FINISHED))
    found = driver.decode(received, scenario=scenario)
    assert [entry[:3] for entry in found] == expected
    assert shadow.session.peer == 13
    assert shadow.counters[Status.ACCEPTED] >= 12


# ------------------------------------------------------------------ C to Python
@pytest.mark.parametrize("key", KEYS)
def test_c_writes_byte_for_byte_what_python_writes(driver, random, key):
    """The C side is handed the numbers in packets, and packs them anew; Python does the same."""
    plant, _, sent = hellos(key, role=Role.FLIGHT)
    _, shadow, _ = hellos(key, role=Role.FLIGHT)
    shadow.session._sent = dict.fromkeys(shadow.session._sent, 0)
    samples = record(SAMPLES, random)
    operations = [driver.op("D", packet) for packet in [*sent, plant.samples(5, 0.5, samples)]]
    operations += [driver.encode_op("hello", 6, 0.6), *(driver.encode_op("samples", k, 0.1 * k) for k in (7, 8))]
    output = driver.run(operations, key=key)
    expected = [shadow.hello(6, 0.6), *(shadow._records("samples", k, 0.1 * k, samples) for k in (7, 8))]
    tail = b"".join(struct.pack(">I", len(packet)) + packet for packet in expected)
    assert output[-len(tail) :] == tail


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.records], ids=lambda kind: kind.name)
def test_named_fields_arrive_under_their_names(driver, kind):
    """C fills its structs by name, each field with numbers of its own; Python reads them by name."""
    sender = kind.sender
    _, _, sent = hellos(role=sender)
    ours, _, _ = hellos(role=sender)
    operations = [driver.op("D", packet) for packet in sent]
    operations += [b"F" + bytes([KINDS.index(kind)]), driver.encode_op(kind.name, 3, 0.3)]
    packet = driver.run(operations, role=sender)[-kind.size(False) :]
    ours.session._last = dict.fromkeys(ours.session._last, 0)
    status, frame = ours.decode(packet)
    assert status is Status.ACCEPTED
    for layout, values in zip(kind.records, frame.records, strict=True):
        for name, field in layout.items():
            read = np.atleast_1d(layout.read(values, name))
            assert list(read) == [driver.mark(layout, name, i) for i in range(field.size)]


# ------------------------------------------------------------------ streams
def in_python(chunks):
    counters = LinkCounters()
    parser, found = StreamParser(counters), []
    for chunk in chunks:
        parser.feed(chunk)
        while (packet := parser.take()) is not None:
            found.append(packet)
    return found, counters.skipped_bytes


def test_streams_are_cut_alike(driver, random):
    """Good packets, damaged ones, noise and stray markers, in pieces: the same packets, the same bytes skipped."""
    plant = Codec(Role.PLANT, SCENARIO, 0.1, session=11)
    stream = bytearray()
    for k in range(400):
        packet = bytearray(plant.samples(k, 0.1 * k, random.normal(size=64)) if k % 3 else plant.hello())
        if k % 5 == 0:
            packet[random.integers(0, 20)] ^= 1 << random.integers(8)
        if k % 7 == 0:
            stream += random.bytes(random.integers(40))
        if k % 11 == 0:
            stream += SYNC_MARKER[: random.integers(1, 5)]
        stream += SYNC_MARKER + packet[: random.integers(10, len(packet)) if k % 13 == 0 else None]
    cuts = sorted(random.integers(0, len(stream), 300))
    chunks = [bytes(stream[a:b]) for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    found, skipped = driver.cut(chunks)
    assert (found, skipped) == in_python(chunks)
    assert len(found) > 380
    assert skipped > 1000
