"""The package's own face: names that load on first use, and a docstring that is true."""

import ast
import importlib
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import hil

SOURCE = Path(hil.__file__).read_text()
HEAVY = ("numpy", "numba", "scipy", "spacepackets", "serial", "attitude")


def python(code):
    """Standard output of a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def imports_for_checkers():
    """Name and module of each import that only type checkers see."""
    branch = next(node for node in ast.parse(SOURCE).body if isinstance(node, ast.If))
    assert ast.unparse(branch.test) == "TYPE_CHECKING"
    return {alias.name: node.module for node in branch.body for alias in node.names}


def test_the_names_a_user_needs_are_there():
    loop = {"Runner", "RateGroup", "RealTime", "Scaled", "Lockstep", "FakeClock", "RingLog", "Report"}
    assert loop | {"open_link", "Codec", "Role", "Recorder", "Recording"} <= set(hil.__all__)
    assert hil.__all__ == sorted(hil.__all__, key=lambda name: (not name.isupper(), name))


@pytest.mark.parametrize("name", hil.__all__)
def test_a_name_is_that_of_its_module_for_programs_and_type_checkers(name):
    home = importlib.import_module(imports_for_checkers()[name])
    assert getattr(hil, name) is getattr(home, name)
    assert getattr(getattr(hil, name), "__module__", home.__name__) == home.__name__


def test_checkers_and_programs_see_the_same_names():
    assert set(imports_for_checkers()) == set(hil.__all__) == set(hil._MODULE_OF)
    assert set(hil.__all__) <= set(dir(hil))


def test_an_unknown_name_is_refused_and_modules_still_import():
    with pytest.raises(AttributeError, match=r"^module 'hil' has no attribute 'Rumner'$"):
        _ = hil.Rumner
    with pytest.raises(ImportError, match="cannot import name 'Rumner' from 'hil'"):
        exec("from hil import Rumner")
    exec("from hil import timeline", found := {})
    assert found["timeline"].__name__ == "hil.timeline"


def test_the_import_is_cheap_and_the_loop_needs_no_kernels():
    told = python(
        "import sys, hil\n"
        f"loaded = lambda: [name for name in {HEAVY!r} if name in sys.modules]\n"
        "print(loaded(), [name for name in sys.modules if name.startswith('hil.')])\n"
        "hil.Runner(100, [hil.RateGroup('g', lambda tick, t: None)], clock=hil.Lockstep()).run(ticks=3)\n"
        "hil.RingLog, hil.open_link, hil.Report\n"
        "print(loaded())"
    )
    assert told.splitlines() == ["[] []", "['numpy']"]


def test_the_docstrings_example_runs_and_prints_its_report():
    example = re.search(r"\n\n(    from hil import .*?)\n\n(?! )", hil.__doc__, re.DOTALL)[1]
    code = textwrap.dedent(example)
    assert len([line for line in code.splitlines() if line.strip()]) <= 8
    told = python(code).splitlines()
    assert re.fullmatch(r"\d+ ticks at 100 Hz by real time, \d\.\d{3} s: complete", told[-7])
    assert [line.split()[0] for line in told[-2:]] == ["control", "telemetry"]


def test_the_docstring_places_every_name_in_a_module():
    rows = [row.split("|")[1:3] for row in hil.__doc__.splitlines() if row.startswith("| `")]
    names = set()
    for left, right in rows:
        told = set(re.findall(r"`(\w+)`", right))
        assert {imports_for_checkers()[name] for name in told} == {f"hil.{m}" for m in re.findall(r"`(\w+)`", left)}
        names |= told
    assert names == set(hil.__all__)
