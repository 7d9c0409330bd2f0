"""The interface document: its bytes are those of the codec, its tables those of the wire."""

import binascii
import hashlib
import hmac
import inspect
import re
import struct
from enum import IntEnum

import pytest

from attitude.control import modes
from attitude.spacecraft.frames import COMMAND, RECORDS
from hil import flight_side, icd, plant_side, port
from hil.layout import KINDS, Reason, Role, Status
from hil.packets import Codec, Listener
from sims import cli_hil
from sims.scenario import load


@pytest.fixture(scope="module")
def text():
    return icd.text()


def test_nothing_is_left_to_fill_in(text):
    assert "@" not in text


def test_every_packet_and_every_field_is_told(text):
    for kind in KINDS:
        row = f"`{kind.name.upper()}` | 0x{kind.apid:03X} "
        assert row in text
        assert f"| {kind.size(False)} | {kind.size(True)} |" in text
    for name in ("samples", "command", "estimate", "control"):
        for field in RECORDS[name].values():
            assert f"`{field.name}`" in text
            assert field.meaning in text


def test_the_second_record_of_a_packet_follows_the_first(text):
    assert f"| {50 + 8 * RECORDS['estimate'].size} | `mode` | float64 |" in text


def test_every_status_is_told(text):
    assert all(f"| {int(status)} | `{status.name}` |" in text for status in Status)


def dumps(text):
    """The packets of the document's examples, read from their rows."""
    blocks = re.findall(r"(?m)(?:^    [0-9A-F]{4}  (?:[0-9A-F]{2} ?)+\n)+", text)
    return [bytes.fromhex("".join(row[10:] for row in block.splitlines())) for block in blocks]


def table(text, head):
    """Places of the fields in a table, by name."""
    return {n: int(place) for place, n in re.findall(r"\| (\d+) \| `(\w+)`", text.split(head)[1].split("\n## ")[0])}


def test_the_places_of_the_table_find_the_numbers_of_the_example(text):
    """The example is read as a reader would: byte by byte, at the places that the tables give."""
    data = dumps(text)[0]
    assert data == icd.example()
    places = table(text, "## Body of COMMAND")
    read = {name: struct.unpack_from(">d", data, place)[0] for name, place in places.items()}
    assert read == {"t": 1.0, "valid": 3072.0, "wheel": 0.001, "dipole": 0.0}
    assert struct.unpack_from(">d", data, places["dipole"] + 16) == (-0.2,)
    session = table(text, "## Secondary header")["session"]
    assert struct.unpack_from(">Q", data, session) == (0x0123456789ABCDEF,)


def test_every_example_ends_with_the_crc_of_the_standard_library(text):
    for data in dumps(text):
        assert int.from_bytes(data[-2:], "big") == binascii.crc_hqx(data[:-2], 0xFFFF)
        assert f"CRC is 0x{data[-2:].hex().upper()}" in text.replace("\n", " ")
        assert int.from_bytes(data[4:6], "big") + 7 == len(data)


HELLO = {  # name: (code of `struct`, value in the document's example)
    "tick": ("Q", 0), "t": ("d", 0.0), "version": ("B", 1), "role": ("B", 2), "spare": ("B", 0), "counter": ("Q", 1),
    "session": ("Q", 0x0123456789ABCDEF), "scenario": ("8s", bytes(8)), "tick_s": ("d", 1.0), "peer_session": ("Q", 0),
    "peer_epoch": ("I", 0), "epoch": ("I", 0), "synchronised": ("I", 0),
}  # fmt: skip


@pytest.mark.parametrize("keyed", [False, True])
def test_the_hello_is_what_the_document_says_of_it(text, keyed):
    """Read with `struct` alone, at the places of the tables."""
    data, expected = dumps(text)[1 + keyed], HELLO | {"flags": ("B", int(keyed))}
    places = table(text, "## Secondary header") | table(text, "## Body of HELLO")
    assert places.keys() == expected.keys()
    for name, (code, value) in expected.items():
        assert struct.unpack_from(f">{code}", data, places[name]) == (value,), name
    assert struct.unpack_from(">HH", data) == (0x0800 | 0x104, 0xC000 | 1)
    assert len(data) == (96 if keyed else 80)


def test_the_authentication_is_that_of_the_standard_library(text):
    data = dumps(text)[2]
    tag = hmac.new(bytes(range(32)), data[:-18], hashlib.sha256).digest()[:16]
    assert data[-18:-2] == tag
    assert f"`{tag.hex(' ').upper()}`" in text
    assert Listener(Role.FLIGHT, key=bytes(range(32))).decode(data)[0] is Status.ACCEPTED
    assert Listener(Role.FLIGHT).decode(data)[0] is Status.NOT_AUTHENTIC


def test_a_plant_answers_the_example(text):
    plant = Codec(Role.PLANT, bytes(range(1, 9)), 0.1)
    assert plant.decode(dumps(text)[1])[0] is Status.INTRODUCTION
    assert plant.session.answer_due


def test_the_example_is_a_good_packet(text):
    status, frame = Listener(Role.FLIGHT).decode(icd.example())
    assert status is Status.ACCEPTED
    assert COMMAND.read(frame.records[0], "dipole")[2] == -0.2


def test_every_value_is_told(text):
    """The enumerations of the code, and none else."""
    told = [("role", "every packet", Role), ("reason", "STOP", Reason), ("mode", "HOUSEKEEPING", modes.Mode)]
    rows = [(name, packet, m.value, m.name.lower()) for name, packet, enum in
            [*told, ("reason", "HOUSEKEEPING", modes.Reason)] for m in enum]  # fmt: skip
    section = text.split("## Values")[1].split("## ")[0]
    found = re.findall(r"\| `(\w+)` \| (\w+(?: \w+)?) \| (\d+) \| (\w+) \| \S", section)
    assert [(name, packet, int(value), word) for name, packet, value, word in found] == rows


def test_a_new_value_needs_its_meaning(monkeypatch):
    class More(IntEnum):
        OLD = 0
        NEW = 1

    monkeypatch.setattr(icd, "VALUES", (("`more`", "STOP", {More.OLD: "old"}),))
    with pytest.raises(KeyError):
        icd.text()


def test_times_are_those_of_the_code_and_of_the_command(text):
    """The document takes the defaults of `PlantSide`; those of the command line must be the same."""
    flat = " ".join(text.split())
    plant = {name: p.default for name, p in inspect.signature(cli_hil.plant).parameters.items()}
    timeout_s, give_up_s = plant["timeout_s"], plant["give_up_s"]
    assert f"a HELLO every {port.HELLO_EVERY_S:g} s" in flat
    assert f"after every {flight_side.NAP_S:g} s of silence" in flat
    assert f"again every {timeout_s / plant_side.REPEATS:g} s" in flat
    assert f"after {timeout_s:g} s without any (`--timeout-s`)" in flat
    assert f"COMMAND for {give_up_s:g} s (`--give-up-s`)" in flat
    assert f"sends it {plant_side.STOPS} times" in flat
    assert not re.search("now and then|long enough", text)


def test_the_quiet_time_is_that_of_the_default_scenario(text):
    begin, end = map(float, re.search(r"from\s([0-9.]+)\ss\sto\s([0-9.]+)\ss\. With", text).groups())
    torquers = load("default").plant_config().torquers
    step = 1e-3  # s: a printed digit more than the document has
    quiet = [torquers.quiet(5.0 + t) for t in (begin - step, begin, 0.5 * (begin + end), end, end + step)]
    assert quiet == [False, True, True, True, False]


def test_the_fields_of_the_scenario_are_there(text):
    section = text.split("## What the scenario says")[1].split("## ")[0]
    document = load("default").document
    for name, row in re.findall(r"`\[(\w+)\]`:? ?([^|\n]*)\|", section):
        for field in re.findall(r"`(\w+)(?:\[i\])?`", row):
            assert hasattr(getattr(document, name), field), f"{name}.{field}"


def test_check_value_and_marker(text):
    assert "is 0x29B1." in text
    assert "`1A CF FC 1D`" in text


def test_the_serial_budget(text):
    """SAMPLES with its marker is the longest way: 568 bytes of 10 bits."""
    assert f"| 115200 | {115200 / 5680:.0f} | {115200 / 5840:.0f} |" in text
    assert f"| 921600 | {921600 / 5680:.0f} | {921600 / 5840:.0f} |" in text
