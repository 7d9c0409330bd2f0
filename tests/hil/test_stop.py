"""Signals to real child processes, and threads that get none."""

import json
import signal
import subprocess
import sys
import threading

import pytest

from hil.clock import FakeClock
from hil.rate_groups import RateGroup
from hil.runner import Runner
from hil.stop import STOPPING, StopFlag, stopped_by_signals, unstopped

PATIENCE_S = 60  # far beyond any machine's worst day; reached only when the test fails

CHILD = """
import json, signal, sys, time
from hil.rate_groups import RateGroup
from hil.runner import Runner

def say(word):
    print(word, flush=True)

def steady(tick, t):
    if tick == 0:
        say("up")

def hang(tick, t):
    say("up")
    while runner.report().stop_reason == "running":
        time.sleep(0.001)
    say("asked")
    while True:
        time.sleep(0.001)

def mine(number, frame):
    say("mine")

for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, mine)
runner = Runner(float(sys.argv[2]), [RateGroup("g", globals()[sys.argv[1]])], warm_up=())
report = runner.run()
given_back = all(signal.getsignal(n) is mine for n in (signal.SIGINT, signal.SIGTERM))
say(json.dumps([report.ticks_run, report.stop_reason, report.errors, given_back]))
"""


def child(callback, rate):
    return subprocess.Popen([sys.executable, "-c", CHILD, callback, str(rate)], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("rate", [200, 0.001])  # at 0.001 Hz the next tick is a quarter of an hour away
def test_a_signal_stops_the_loop_in_order_and_handlers_are_given_back(number, rate):
    with child("steady", rate) as process:
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)
        last = process.communicate(timeout=PATIENCE_S)[0]
    ticks, reason, errors, given_back = json.loads(last)
    assert (reason, errors, given_back, process.returncode) == (number.name, 0, True, 0)
    assert ticks >= 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_frees_a_callback_that_hangs(number):
    with child("hang", 100) as process:
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)
        assert process.stdout.readline() == "asked\n"
        process.send_signal(number)
        last = process.communicate(timeout=PATIENCE_S)[0]
    assert json.loads(last) == [1, number.name, 0, True]
    assert process.returncode == 0


def test_outside_the_main_thread_no_handler_is_touched():
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    inside, reports = [], []

    def look(tick, t):
        inside.append([signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)])

    runner = Runner(100, [RateGroup("g", look)], clock=FakeClock(), warm_up=())
    thread = threading.Thread(target=lambda: reports.append(runner.run(ticks=3)))
    thread.start()
    thread.join(PATIENCE_S)
    assert reports[0].stop_reason == "complete"
    assert inside == [before] * 3


def test_handlers_are_ours_inside_only_and_come_back_after_an_error():
    before = signal.getsignal(signal.SIGINT)
    flag = StopFlag()
    inside = []

    def fail():
        with stopped_by_signals(flag):
            inside.append(signal.getsignal(signal.SIGINT))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert inside == [flag.handle]
    assert signal.getsignal(signal.SIGINT) is before


def test_signals_can_be_left_to_the_caller():
    seen = []
    group = RateGroup("g", lambda k, t: seen.append(signal.getsignal(signal.SIGTERM)))
    before = signal.getsignal(signal.SIGTERM)
    Runner(100, [group], clock=FakeClock(), warm_up=(), handle_signals=False).run(ticks=1)
    assert seen == [before]


def test_the_first_reason_stays():
    flag = StopFlag()
    flag.set("first")
    flag.set("second")
    assert flag.reason == "first"


def test_another_thread_can_stop_a_loop_that_waits_for_long():
    up = threading.Event()
    runner = Runner(0.001, [RateGroup("g", lambda k, t: up.set())], warm_up=())
    stopper = threading.Thread(target=lambda: (up.wait(PATIENCE_S), runner.stop("from outside")))
    stopper.start()
    report = runner.run()
    stopper.join(PATIENCE_S)
    assert (report.ticks_run, report.stop_reason) == (1, "from outside")


def test_signals_pass_while_results_are_written():
    before = [signal.getsignal(number) for number in STOPPING]
    with unstopped():
        for number in STOPPING:
            signal.raise_signal(number)
    assert [signal.getsignal(number) for number in STOPPING] == before


def test_a_hang_up_stops_the_loop_unless_it_is_ignored():
    """Under `nohup` the hang-up is ignored, and stays so."""
    for ignored in (False, True):
        old = signal.signal(signal.SIGHUP, signal.SIG_IGN) if ignored else signal.getsignal(signal.SIGHUP)
        flag = StopFlag()
        with stopped_by_signals(flag):
            signal.raise_signal(signal.SIGHUP)
        signal.signal(signal.SIGHUP, old)
        assert flag.reason == (None if ignored else "SIGHUP")
