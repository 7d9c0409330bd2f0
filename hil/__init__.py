"""Fixed-rate loops and links for software- and hardware-in-the-loop tests.

A loop calls plain functions at absolute deadlines, each in its rate group, and leaves a report that prints in lines:

    from hil import RateGroup, Runner

    def control(tick, t):                                # number of the tick, its nominal time in s
        ...

    groups = [RateGroup("control", control), RateGroup("telemetry", lambda tick, t: print(t), divisor=25)]
    report = Runner(100, groups).run(duration_s=0.5)     # 100 Hz, and 4 Hz
    print(report)                                        # lateness, execution times, slips, the first error

Names to import from here, and the modules they live in:

| module                      | names                                                                                |
|-----------------------------|--------------------------------------------------------------------------------------|
| `runner`, `rate_groups`     | `Runner`, `RateGroup`                                                                |
| `clock`                     | `RealTime`, `Scaled`, `Lockstep`, `FakeClock` for tests, `Clock` for one of your own |
| `report`                    | `Report`, `GroupReport`: what a run leaves behind                                    |
| `ring`                      | `RingLog`, `LogReport`: rows logged by a thread, off the loop                        |
| `scheduling`                | `Scheduling`: SCHED_FIFO, processor, locked memory                                   |
| `links`, `link_text`        | `Link`, `LinkError`, `in_process_pair`; `open_link` for UDP, TCP, serial, child, ... |
| `packets`, `layout`, `port` | `Codec`, `Frame`; `Role`, `Status`, `NO_SCENARIO`; `Port`: a codec on a link         |
| `recording`                 | `Recorder`, `Recorded`, `Recording`: every byte of a link in a file                  |
| `plant_side`, `flight_side` | `PlantSide`, `FlightSide`: the two ends of a link in the loop                        |

By their modules only: `replay` flies a recording again, `impairments` make a link bad, `authentication` reads a key,
`icd` and `header` write the interface document and the C header. A name is loaded when it is first used, so that
`import hil` costs nothing; whatever speaks packets loads `attitude`, the loop itself does not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = [
    "NO_SCENARIO", "Clock", "Codec", "FakeClock", "FlightSide", "Frame", "GroupReport", "Link", "LinkError", "Lockstep",
    "LogReport", "PlantSide", "Port", "RateGroup", "RealTime", "Recorded", "Recorder", "Recording", "Report", "RingLog",
    "Role", "Runner", "Scaled", "Scheduling", "Status", "in_process_pair", "open_link",
]  # fmt: skip

if TYPE_CHECKING:
    from hil.clock import Clock, FakeClock, Lockstep, RealTime, Scaled
    from hil.flight_side import FlightSide
    from hil.layout import NO_SCENARIO, Role, Status
    from hil.link_text import open_link
    from hil.links import Link, LinkError, in_process_pair
    from hil.packets import Codec, Frame
    from hil.plant_side import PlantSide
    from hil.port import Port
    from hil.rate_groups import RateGroup
    from hil.recording import Recorded, Recorder, Recording
    from hil.report import GroupReport, Report
    from hil.ring import LogReport, RingLog
    from hil.runner import Runner
    from hil.scheduling import Scheduling
else:  # the same, on first use; hidden from type checkers, which would let any name pass for the sake of `__getattr__`
    _MODULES = {
        "clock": ("Clock", "FakeClock", "Lockstep", "RealTime", "Scaled"),
        "flight_side": ("FlightSide",),
        "layout": ("NO_SCENARIO", "Role", "Status"),
        "link_text": ("open_link",),
        "links": ("Link", "LinkError", "in_process_pair"),
        "packets": ("Codec", "Frame"),
        "plant_side": ("PlantSide",),
        "port": ("Port",),
        "rate_groups": ("RateGroup",),
        "recording": ("Recorded", "Recorder", "Recording"),
        "report": ("GroupReport", "Report"),
        "ring": ("LogReport", "RingLog"),
        "runner": ("Runner",),
        "scheduling": ("Scheduling",),
    }
    _MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

    def __getattr__(name: str) -> object:
        """Load a public name from its module (PEP 562)."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        return value

    def __dir__() -> list[str]:
        """The names loaded so far, and those that can be."""
        return sorted({*globals(), *__all__})
