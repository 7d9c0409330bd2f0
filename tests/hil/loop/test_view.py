"""What the live view shows, and the report's bars."""

import numpy as np
from rich.console import Console

from attitude.spacecraft.frames import CONTROL, TRUTH
from hil.clock import Lockstep
from hil.lateness import Durations
from hil.rate_groups import RateGroup
from hil.report_text import histogram
from hil.runner import Runner
from hil.view import View


def view():
    truth, control = TRUTH.zeros(), CONTROL.zeros()
    truth[TRUTH["q_IB"].part] = control[CONTROL["reference_q_IB"].part] = [0.0, 0.0, 0.0, 1.0]
    runner = Runner(10.0, [RateGroup("nothing", lambda tick, t: None)], clock=Lockstep(), warm_up=())
    runner.run(5)
    return truth, control, View(truth, control, runner.report, lambda: {"refused": 7, "held": 0, "late_commands": 2})


def test_rates_modes_pointing_and_counters():
    truth, control, shown = view()
    truth[TRUTH["t"].offset] = 12.0
    truth[TRUTH["omega_B"].part] = np.radians([0.0, 3.0, 4.0])
    truth[TRUTH["q_IB"].part] = [np.sin(np.radians(15.0)), 0.0, 0.0, np.cos(np.radians(15.0))]
    control[CONTROL["mode"].offset] = 3.0
    assert dict(shown.lines())["time"] == "0.0 s"  # nothing is looked at between two turns of its group
    shown.note(0, 0.0)
    lines = dict(shown.lines())
    wanted = {"time": "12.0 s", "rate": "5.000 deg/s", "mode": "nominal", "pointing": "30.000 deg off", "refused": "7"}
    assert wanted.items() <= lines.items()
    assert lines["loop"] == "5 ticks, 0 slips, 0 errors"
    assert lines["late commands"] == "2"
    assert "held" not in lines
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(shown.table())
    assert "30.000 deg off" in console.export_text()


def test_a_flight_side_that_tells_nothing():
    _, control, shown = view()
    control[:] = np.nan
    shown.note(0, 0.0)
    assert {"mode": "not told", "pointing": "not told"}.items() <= dict(shown.lines()).items()
    control[CONTROL["pointing"].offset] = -1.0
    shown.note(0, 0.0)
    assert dict(shown.lines())["pointing"] == "no reference"


def test_it_starts_and_ends(capfd):
    with view()[2]:
        pass
    assert capfd.readouterr().out == ""


def test_bars():
    bins = [(0.256, 0.512, 3), (0.512, 1.024, 100), (1.024, 2.048, 0), (2.048, 4.096, 1)]
    lines = histogram("late", Durations(104, 0.3, 0.8, 0.8, 0.9, 3.0, bins)).splitlines()
    assert lines[0] == "late, us"
    assert [line.split()[:4] for line in lines[1:]] == [
        ["0.0", "to", "1.0", "103"], ["1.0", "to", "2.0", "0"], ["2.0", "to", "4.1", "1"],
    ]  # fmt: skip
    assert [line.count("█") for line in lines[1:]] == [50, 0, 1]
