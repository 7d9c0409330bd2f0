"""The interface document: its bytes are those of the codec, its tables those of the wire."""

import re
import struct

import pytest

from attitude.spacecraft.frames import COMMAND, RECORDS
from hil import icd
from hil.layout import KINDS, Role, Status
from hil.packets import Listener


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


def test_the_places_of_the_table_find_the_numbers_of_the_example(text):
    """The example is read as a reader would: byte by byte, at the places that the tables give."""
    rows = [line.split(" | ") for line in re.findall(r"(?m)^\s+([0-9A-F]{4}  (?:[0-9A-F]{2} ?)+)$", text)]
    data = bytes.fromhex("".join(row[0][6:] for row in rows))
    assert data == icd.example()
    section = text.split("## Body of COMMAND")[1].split("## ")[0]
    places = {name: int(place) for place, name in re.findall(r"\| (\d+) \| `(\w+)`", section)}
    read = {name: struct.unpack_from(">d", data, place)[0] for name, place in places.items()}
    assert read == {"t": 1.0, "valid": 3072.0, "wheel": 0.001, "dipole": 0.0}
    assert struct.unpack_from(">d", data, places["dipole"] + 16) == (-0.2,)
    header = text.split("## Secondary header")[1].split("## ")[0]
    session = int(re.search(r"\| (\d+) \| `session`", header)[1])
    assert struct.unpack_from(">Q", data, session) == (0x0123456789ABCDEF,)


def test_the_example_is_a_good_packet(text):
    status, frame = Listener(Role.FLIGHT).decode(icd.example())
    assert status is Status.ACCEPTED
    assert COMMAND.read(frame.records[0], "dipole")[2] == -0.2
    assert f"The CRC is 0x{icd.example()[-2:].hex().upper()}." in text


def test_check_value_and_marker(text):
    assert "is 0x29B1." in text
    assert "`1A CF FC 1D`" in text


def test_the_serial_budget(text):
    """SAMPLES with its marker is the longest way: 568 bytes of 10 bits."""
    assert f"| 115200 | {115200 / 5680:.0f} | {115200 / 5840:.0f} |" in text
    assert f"| 921600 | {921600 / 5680:.0f} | {921600 / 5840:.0f} |" in text
