"""What the system grants or refuses: noted either way, and given back."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hil import scheduling
from hil.scheduling import Scheduling

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a matter of Linux")


def refuse(*arguments):
    raise PermissionError(1, "Operation not permitted")


def slack():
    return ctypes.CDLL(None).prctl(30, 0, 0, 0, 0)


@linux
def test_timer_slack_is_set_and_given_back():
    before = slack()
    with Scheduling(timer_slack_ns=1234).applied() as notes:
        assert notes == ["timer slack: granted"]
        assert slack() == 1234
    assert slack() == before


@linux
def test_pinning_is_set_and_given_back():
    before = os.sched_getaffinity(0)
    cpu = min(before)
    with Scheduling(cpu=cpu, timer_slack_ns=None).applied() as notes:
        assert notes == [f"pinning to processor {cpu}: granted"]
        assert os.sched_getaffinity(0) == {cpu}
    assert os.sched_getaffinity(0) == before


@linux
def test_real_time_priority_is_granted_or_refused_and_given_back():
    before = os.sched_getscheduler(0)
    with Scheduling(fifo_priority=5, timer_slack_ns=None).applied() as notes:
        granted = notes[0] == "SCHED_FIFO priority 5: granted"
        policy = os.sched_getscheduler(0)
        assert (policy & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO) is granted
        assert granted or "refused" in notes[0]
    assert os.sched_getscheduler(0) == before


def test_a_refusal_is_a_note_not_an_error(monkeypatch):
    monkeypatch.setattr(os, "sched_setscheduler", refuse, raising=False)
    with Scheduling(fifo_priority=5, timer_slack_ns=None).applied() as notes:
        assert len(notes) == 1
        assert notes[0].startswith("SCHED_FIFO priority 5: refused (not permitted to this user; root, ")


def test_a_system_that_knows_nothing_of_it(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "sched_getscheduler", raising=False)
    monkeypatch.setattr(sys, "platform", "other")
    with Scheduling(fifo_priority=5, cpu=0, lock_memory=True).applied() as notes:
        assert len(notes) == 4
        assert all("refused" in note for note in notes)
        assert notes[1] == "pinning to processor 0: refused (not available on this system)"


def test_spinning_under_fifo_is_warned_of(monkeypatch, tmp_path):
    budget = tmp_path / "sched_rt_runtime_us"
    monkeypatch.setattr(scheduling, "_RT_RUNTIME", budget)
    assert scheduling._throttling(True) == []  # no such file
    budget.write_text("950000\n")
    assert "950000 us" in scheduling._throttling(True)[0]
    assert scheduling._throttling(False) == []
    budget.write_text("-1\n")
    assert scheduling._throttling(True) == []


LOCKED = """
from pathlib import Path
from hil.scheduling import Scheduling

def locked_kb():
    return int(next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmLck" in line).split()[1])

with Scheduling(lock_memory=True, timer_slack_ns=None).applied() as notes:
    inside = locked_kb()
print(notes[0], inside > 0, locked_kb() == 0, sep="|")
"""


@linux
def test_memory_is_locked_or_refused_and_given_back():
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc to look in")
    text = subprocess.run([sys.executable, "-c", LOCKED], capture_output=True, text=True, check=True).stdout.strip()
    note, inside, freed = text.split("|")
    assert note.startswith(("locked memory: granted", "locked memory: refused ("))
    assert (inside == "True") == note.endswith("granted")
    assert freed == "True"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"fifo_priority": 0}, "fifo_priority must be an integer from 1 to 99, got 0"),
        ({"fifo_priority": 100}, "fifo_priority must be an integer from 1 to 99, got 100"),
        ({"cpu": -1}, r"cpu must be an integer from 0 to \d+, got -1"),
        ({"cpu": 10_000}, r"cpu must be an integer from 0 to \d+, got 10000"),
        ({"timer_slack_ns": 0}, "timer_slack_ns must be an integer from 1, got 0"),
    ],
)
def test_wishes_that_make_no_sense(arguments, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        Scheduling(**arguments)
