"""Two synchronised codecs, and the generated C header behind a small program."""

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from hil import header
from hil.layout import KINDS, NO_SCENARIO, Role
from hil.packets import Codec

SCENARIO = bytes(range(1, 9))
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror"]
SANITIZED = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
BODY_SIZES = {kind.apid: kind.body_size for kind in KINDS}


@pytest.fixture
def random():
    """Seeded random numbers."""
    return np.random.default_rng(20260728)


@pytest.fixture(scope="session")
def synchronised():
    """Makes plant and flight codecs that have shaken hands."""

    def make(key=None, learns=False, sessions=(11, 22)):
        plant = Codec(Role.PLANT, SCENARIO, 0.1, key, sessions[0])
        flight = Codec(Role.FLIGHT, NO_SCENARIO if learns else SCENARIO, 0.1, key, sessions[1])
        plant.decode(flight.hello())
        flight.decode(plant.hello())
        plant.decode(flight.hello())
        assert plant.session.peer == sessions[1]
        assert flight.session.peer == sessions[0]
        return plant, flight

    return make


# ------------------------------------------------------------------ C functions that know fields by name only
def numbers(kind):
    """(C expression, record, field, element) of each number in a packet's records."""
    for record in kind.records:
        path = f"{kind.name}.{record.name}" if len(kind.records) > 1 else kind.name
        for field in record.values():
            for i in range(field.size):
                yield f"body.{path}.{field.name}" + (f"[{i}]" if field.size > 1 else ""), record, field, i


def mark(record, name, element):
    """A number that tells its field and element."""
    return 1000.0 * list(record).index(name) + element + 0.5


def fields_header():
    """C functions that fill and print the structs."""
    fill, show = [], []
    for number, kind in enumerate(KINDS):
        fill.append(f"if (kind == {number}) {{")
        show.append(f"if (frame->apid == 0x{kind.apid:x}) {{")
        for path, record, field, i in numbers(kind):
            fill.append(f"frame->{path} = {mark(record, field.name, i)};")
            show.append(f'printf("{record.name} {field.name} {i} %a\\n", frame->{path});')
        fill.append("}")
        show.append("}")
    parts = ["static void fill_fields(attitude_frame *frame, unsigned kind)", "{", *fill, "}"]
    parts += ["static void print_fields(const attitude_frame *frame)", "{", *show, "}"]
    return "\n".join(parts) + "\n"


# ------------------------------------------------------------------ the driver
class Driver:
    """The C program; each call is a process of its own that starts as `setup` says."""

    mark = staticmethod(mark)

    def __init__(self, program):
        self.program = program

    def run(self, operations, role=Role.FLIGHT, session=22, scenario=SCENARIO, key=b""):
        """Standard output of the program after the operations."""
        begin = struct.pack(">BQB8sdI", role, session, scenario == NO_SCENARIO, scenario, 0.1, len(key)) + key
        done = subprocess.run([self.program], input=begin + b"".join(operations), capture_output=True, timeout=600)
        assert (done.returncode, done.stderr.decode()[-3000:]) == (0, "")
        return done.stdout

    @staticmethod
    def op(name, data):
        """Operation with a block of bytes."""
        return name.encode() + struct.pack(">I", len(data)) + data

    @staticmethod
    def encode_op(kind_name, tick, t):
        """Operation that encodes what was last decoded or filled."""
        number = next(i for i, kind in enumerate(KINDS) if kind.name == kind_name)
        return b"E" + struct.pack(">BQd", number, tick, t)

    def decode(self, packets, **setup):
        """(status, answer due, accepted session, secondary header and body) for each packet."""
        output = self.run([self.op("D", packet) for packet in packets], **setup)
        place, found = 0, []
        for packet in packets:
            status, due, peer = struct.unpack_from(">BBQ", output, place)
            size = 44 + BODY_SIZES[(packet[0] & 7) << 8 | packet[1]] if status <= 1 else 0
            found.append((status, bool(due), peer, output[place + 10 : place + 10 + size]))
            place += 10 + size
        assert place == len(output)
        return found

    def cut(self, chunks):
        """Packets of a stream that comes in chunks, and how many bytes were skipped."""
        output = self.run([self.op("S", chunk) for chunk in chunks])
        place, found, skipped = 0, [], 0
        for _ in chunks:
            while size := int.from_bytes(output[place : place + 4], "big"):
                found.append(output[place + 4 : place + 4 + size])
                place += 4 + size
            skipped = int.from_bytes(output[place + 4 : place + 8], "big")
            place += 8
        assert place == len(output)
        return found, skipped


@pytest.fixture(scope="session")
def header_folder(tmp_path_factory):
    """A folder with the generated header, the driver and the functions that know the names."""
    folder = tmp_path_factory.mktemp("header")
    (folder / "attitude_frames.h").write_text(header.text())
    (folder / "fields.h").write_text(fields_header())
    shutil.copy(Path(__file__).with_name("driver.c"), folder)
    return folder


@pytest.fixture(scope="session")
def compiler():
    """A C compiler."""
    found = shutil.which("cc")
    if found is None:
        pytest.skip("needs a C compiler")
    return found


@pytest.fixture(scope="session")
def driver(header_folder, compiler):
    """The driver, built with all warnings as errors and with the address and undefined-behaviour sanitizers."""
    subprocess.run([compiler, *STRICT, *SANITIZED, "driver.c", "-o", "driver"], cwd=header_folder, check=True)
    return Driver(header_folder / "driver")
