"""Scenarios, what they fly in one process, plants on lines, and flight sides as processes of their own."""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from attitude.spacecraft.flight import Flight
from attitude.spacecraft.frames import TRUTH
from attitude.spacecraft.plant import Plant
from attitude.spacecraft.tick import Spacecraft
from hil import header
from hil.clock import Lockstep
from hil.layout import Role
from hil.line import Line, LineOptions
from hil.plant_side import PlantSide
from hil.rate_groups import RateGroup
from hil.rows import RowLog
from hil.runner import Runner
from sims.scenario import load

ROOT = Path(__file__).parents[3]
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror"]
SANITIZED = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


class Craft:
    """A scenario, with what the tests need of it."""

    def __init__(self, name):
        self.name, self.scenario = name, load(name)
        self.plant_config, self.flight_config = self.scenario.plant_config(), self.scenario.flight_config()
        self.tick_s, self.hash = self.scenario.tick_s, bytes.fromhex(self.scenario.sha256)[:8]

    def plant(self):
        return Plant(self.plant_config, self.scenario.seed)

    def flight(self):
        return Flight(self.flight_config)

    def rows(self, ticks, every=1):
        """What the compiled loop flies."""
        return Spacecraft(self.plant(), self.flight()).run(ticks, every)

    def line(self, link, role=Role.PLANT, **options):
        return Line(role, LineOptions(link=link, **options), self.hash, self.tick_s, self.scenario.text)

    def fly(self, line, ticks, clock=None, before=lambda tick: None, connect_s=60.0, log_every=1, **options):
        """The plant on a line to the end; `before` is called before each tick."""
        clock = clock or Lockstep()
        lockstep, log = isinstance(clock, Lockstep), RowLog(full="wait")
        side = PlantSide(
            self.plant(), line.port, log, ticks=ticks, log_every=log_every, lockstep=lockstep, tend=line.tend, **options
        )
        groups = [RateGroup("test", lambda tick, t: before(tick)), RateGroup("plant", side.tick)]
        runner = Runner(1.0 / self.tick_s, groups, clock=clock, overrun="catch-up", warm_up=())
        side.give_up = lambda: runner.stop("given up")
        complaint = line.meet(connect_s)
        report = runner.run(ticks + (not lockstep)) if not complaint else None
        side.finish()
        rows, kept = log.finish()
        log.close()
        told = {"counters": side.counters, "events": side.events, "complaint": complaint}
        return SimpleNamespace(rows=rows, log=kept, report=report, **told)


@pytest.fixture(scope="session")
def star_tracker():
    return Craft("star-tracker")


@pytest.fixture(scope="session")
def default_mission():
    return Craft("default")


@pytest.fixture(scope="session")
def detumble():
    return Craft("detumble")


@pytest.fixture(scope="session")
def same():
    """Asserts that two runs are the same, bit for bit."""

    def check(ours, theirs):
        assert ours.keys() == theirs.keys()
        for name in ours:
            assert ours[name].shape == theirs[name].shape, name
            assert ours[name].tobytes() == theirs[name].tobytes(), name

    return check


@pytest.fixture(scope="session")
def off_nadir():
    """Angle, deg, of each truth from: z to the Earth, x as near to the velocity as can be."""

    def angles(truth):
        r, v = TRUTH.read(truth, "r_I"), TRUTH.read(truth, "v_I")
        z = -r / np.linalg.norm(r, axis=1, keepdims=True)
        y = np.cross(z, v)
        y /= np.linalg.norm(y, axis=1, keepdims=True)
        wanted = Rotation.from_matrix(np.stack([np.cross(y, z), y, z], axis=2))
        return np.degrees((wanted.inv() * Rotation.from_quat(TRUTH.read(truth, "q_IB"))).magnitude())

    return angles


# ------------------------------------------------------------------ processes
def command(*arguments):
    return [sys.executable, "-m", "sims.cli", *(str(argument) for argument in arguments)]


@pytest.fixture(scope="session")
def attitude_command():
    """The command line of `attitude` with arguments."""
    return command


@pytest.fixture(scope="session")
def process():
    """Starts a program for as long as the context lasts; kills it at the end."""

    @contextmanager
    def start(*words):
        running = subprocess.Popen(
            [str(word) for word in words], cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            yield running
        finally:
            running.kill()
            running.communicate()

    return start


@pytest.fixture(scope="session")
def c_flight(tmp_path_factory, compiler):
    """The flight program in C, built with all warnings as errors and with the sanitizers."""
    folder = tmp_path_factory.mktemp("flight")
    (folder / "attitude_frames.h").write_text(header.text())
    source = ROOT / "hil" / "examples" / "flight.c"
    subprocess.run([compiler, *STRICT, *SANITIZED, "-I.", source, "-o", "flight", "-lm"], cwd=folder, check=True)
    return folder / "flight"
