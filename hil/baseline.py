"""What this machine can do: a bare C loop on `clock_nanosleep`, built and run beside ours for comparison."""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path

from hil.lateness import Durations, octave_bins


class NoCompiler(RuntimeError):
    """There is no C compiler to build the baseline with."""


class Baseline:
    """The bare loop as a process of its own, so that it can run side by side with a runner.

    `with Baseline(1000.0, 60.0) as bare: report = runner.run(...); lateness = bare.result()`
    `timer_slack_ns` None leaves the system's own, usually 50 us; a runner asks for 1 ns unless told otherwise.
    """

    def __init__(self, rate_hz: float, seconds: float, timer_slack_ns: int | None = None) -> None:
        for field, value in (("rate_hz", rate_hz), ("seconds", seconds)):
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{field} must be a number above 0, got {value!r}")
        if rate_hz * seconds < 1:
            raise ValueError(f"seconds must hold one period at least, {1 / rate_hz:g} s, got {seconds!r}")
        self._arguments = [repr(float(rate_hz)), repr(float(seconds))]
        self._arguments += [] if timer_slack_ns is None else [str(timer_slack_ns)]
        self._timeout_s = seconds + 30

    def __enter__(self) -> Baseline:
        self._folder = tempfile.TemporaryDirectory(prefix="hil-baseline-")
        try:
            program = build(Path(self._folder.name))
        except BaseException:
            self._folder.cleanup()
            raise
        self._process = subprocess.Popen(
            [program, *self._arguments], stdout=subprocess.PIPE, text=True, start_new_session=True
        )  # an interrupt comes to us alone
        return self

    def result(self) -> Durations:
        """Wait for the loop to end; its lateness."""
        text, _ = self._process.communicate(timeout=self._timeout_s)
        if self._process.returncode:
            raise RuntimeError(f"the baseline loop ended with status {self._process.returncode}")
        return _parse(text)

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # does nothing to one that has ended
        self._process.communicate()
        self._folder.cleanup()


def measure(rate_hz: float, seconds: float, timer_slack_ns: int | None = None) -> Durations:
    """Lateness of a bare `clock_nanosleep` loop at `rate_hz` for `seconds`."""
    with Baseline(rate_hz, seconds, timer_slack_ns) as bare:
        return bare.result()


def build(folder: Path) -> Path:
    """Compile the loop into `folder`; returns the program."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise NoCompiler("the baseline loop needs a C compiler named cc, gcc or clang, found none on the PATH")
    source, program = folder / "baseline.c", folder / "baseline"
    source.write_text(files("hil").joinpath("baseline.c").read_text())
    done = subprocess.run([compiler, "-O2", "-std=gnu99", "-o", program, source], capture_output=True, text=True)
    if done.returncode:
        raise NoCompiler(f"the C compiler {compiler} could not build the baseline loop: {done.stderr.strip()}")
    return program


def _parse(text: str) -> Durations:
    summary, octaves = text.splitlines()
    count, *times_ns = summary.split()
    least, mean, p50, p99, most = (float(ns) * 1e-3 for ns in times_ns)
    return Durations(int(count), least, mean, p50, p99, most, octave_bins([int(n) for n in octaves.split()]))
