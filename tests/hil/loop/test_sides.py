"""Plant side and flight side on links in one process: the trajectory, losses, bad commands, floods, new peers."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from attitude.spacecraft.frames import COMMAND
from hil.clock import Scaled
from hil.flight_side import FlightSide
from hil.layout import Role
from hil.link_text import open_link
from hil.links import in_process_pair
from hil.packets import Codec
from hil.plant_side import PlantSide
from hil.port import Port
from hil.rate_groups import RateGroup
from hil.rows import RowLog
from hil.runner import Runner

TICKS = 200
WHEELS = 1 << 10


@pytest.fixture
def ends(star_tracker):
    """Ports of both sides of an in-process link."""
    plant, flight = in_process_pair()
    return SimpleNamespace(
        plant=Port(plant, Codec(Role.PLANT, star_tracker.hash, star_tracker.tick_s)),
        flight=Port(flight, Codec(Role.FLIGHT, star_tracker.hash, star_tracker.tick_s)),
        links=(plant, flight),
    )


def shake(a, b):
    while not (a.synchronised and b.synchronised):
        a.receive(0.0)
        b.receive(0.0)


class Peer:
    """A flight side that is moved by hand."""

    def __init__(self, port):
        self.port = port

    def samples(self):
        frame = self.port.receive(0.0)
        return None if frame is None else frame.kept()

    def command(self, tick, value):
        command = COMMAND.zeros()
        command[COMMAND["valid"].offset] = WHEELS
        command[COMMAND["wheel"].part] = value
        self.port.send(self.port.codec.command(tick, 0.0, command))


class Rig:
    """A plant side that is ticked by hand, and its peer."""

    def __init__(self, craft, ends, **options):
        self.log = RowLog(full="wait")
        options = {"timeout_s": 0.02, "lockstep": False} | options
        self.side = PlantSide(craft.plant(), ends.plant, self.log, ticks=50, **options)
        self.peer = Peer(ends.flight)
        shake(ends.plant, ends.flight)

    def tick(self, count=1):
        for _ in range(count):
            self.side.tick(0, 0.0)

    def rows(self):
        self.side.finish()
        rows, _ = self.log.finish()
        return rows

    def wheel(self):
        return self.rows()["command"][:, COMMAND["wheel"].offset].tolist()


@pytest.fixture
def rig(star_tracker, ends):
    return lambda **options: Rig(star_tracker, ends, **options)


# ------------------------------------------------------------------ together
@pytest.mark.parametrize("clock", [None, Scaled(50.0)], ids=["lockstep", "scaled"])
def test_over_a_link_the_trajectory_is_the_same(star_tracker, same, ends, clock):
    side = FlightSide(ends.flight, star_tracker.flight)
    thread = threading.Thread(target=side.run)
    thread.start()
    line = SimpleNamespace(port=ends.plant, tend=lambda: False, meet=lambda s: not ends.plant.synchronise(s))
    result = star_tracker.fly(line, TICKS, clock, timeout_s=5.0)
    thread.join()
    assert result.report.errors == 0
    assert side.finished
    assert side.counters.ticks == TICKS
    if result.counters.fresh == TICKS:  # in scaled time a busy machine may be late
        same(result.rows, star_tracker.rows(TICKS))
    else:
        assert clock is not None
    assert len(result.rows["truth"]) == TICKS


# ------------------------------------------------------------------ the plant side alone
def test_the_newest_command_acts_and_older_ones_are_held(rig):
    r = rig()
    r.tick()
    r.peer.command(0, 1e-5)
    r.tick()  # ends tick 0
    r.tick()  # ends tick 1 without an answer
    r.peer.command(2, 3e-5)
    r.peer.command(2, 4e-5)
    r.tick()  # ends tick 2
    c = r.side.counters
    assert (c.fresh, c.held, c.ticks, c.losses) == (2, 1, 3, 0)
    assert r.wheel() == [1e-5, 1e-5, 4e-5]


@pytest.mark.parametrize(("on_loss", "wanted"), [("hold", 1e-5), ("zero", 0.0)])
def test_a_silent_flight_side_is_noticed_and_comes_back(rig, on_loss, wanted):
    r = rig(on_loss=on_loss)
    r.tick()
    r.peer.command(0, 1e-5)
    r.tick()
    time.sleep(0.03)  # longer than the timeout
    r.tick(2)
    assert r.side.lost
    r.peer.command(3, 2e-5)
    r.tick()
    c = r.side.counters
    assert not r.side.lost
    assert (c.losses, c.recoveries, c.fresh, c.held + c.zeroed) == (1, 1, 2, 2)
    assert c.zeroed == (2 if on_loss == "zero" else 0)
    assert r.wheel() == [1e-5, wanted, wanted, 2e-5]


def test_in_lockstep_time_stands_still_without_an_answer(rig):
    """The flight side is silent for longer than the timeout: nothing is held, and its command is flown after all."""
    told = []
    r = rig(lockstep=True, tell=told.append)
    waited = iter([None, None, None, None, None, None, None, 1e-5])
    receive = r.side.port.receive

    def slowly(timeout_s):
        answer = next(waited, None)
        if answer is not None:
            r.peer.samples()
            r.peer.command(0, answer)
        return receive(timeout_s)

    r.side.port.receive = slowly
    r.tick()
    c = r.side.counters
    assert (c.ticks, c.fresh, c.held, c.losses, c.recoveries) == (1, 1, 0, 1, 1)
    assert c.repeats >= 4
    assert told == r.side.events
    assert [event.what.split(" for ")[0].split(" after ")[0] for event in told] == [
        "flight side silent", "flight side is back",
    ]  # fmt: skip
    assert told[0].what.endswith("s, waiting for it")
    assert r.wheel() == [1e-5]


def test_in_lockstep_it_gives_up_in_the_end(rig):
    """The tick that was never answered is not flown."""
    r = rig(lockstep=True, give_up_s=0.0)
    given_up = []
    r.side.give_up = lambda: given_up.append(True)
    r.tick()
    assert given_up == [True]
    assert r.side.counters.ticks == 0
    assert len(r.rows()["truth"]) == 0


def test_in_lockstep_a_stop_ends_the_wait(rig):
    r = rig(lockstep=True)
    asked = iter([False, False, True])
    r.side.stopping = lambda: next(asked)
    r.tick()
    assert r.side.counters.ticks == 0


def test_stop_is_said_more_than_once(rig):
    r = rig()
    r.tick(3)
    r.rows()
    names = [frame.name for frame in iter(r.peer.samples, None)]
    assert names[-3:] == ["stop"] * 3


def test_late_early_and_broken_commands_are_counted(rig):
    r = rig(timeout_s=10.0)
    r.tick(3)
    r.peer.command(1, 1e-5)  # late by one
    r.peer.command(7, 9e-5)  # nobody has seen tick 7
    r.peer.command(2, np.nan)
    r.peer.command(2, np.inf)
    r.tick()
    c = r.side.counters
    assert (c.late_commands, c.bad_commands, c.fresh) == (1, 3, 0)
    assert r.wheel()[2] == 1e-5  # the newest that was good


def test_a_flood_does_not_stop_the_loop(rig, monkeypatch):
    monkeypatch.setattr("hil.plant_side.DRAIN", 0.02)  # 2 ms for what takes much longer
    r = rig()
    r.tick()
    for k in range(1000):  # some 10 us each to read
        r.peer.command(0, k * 1e-9)
    r.tick()
    c = r.side.counters
    assert (c.ticks, c.fresh, c.floods) == (1, 1, 1)
    while c.floods == c.ticks < 40:  # it gets to the end of it
        r.tick()
    assert r.side.command[COMMAND["wheel"].offset] == 999e-9


def test_garbage_is_refused_and_counted(rig, ends):
    r = rig()
    r.tick()
    for _ in range(500):
        ends.links[1].send(bytes(60))
    r.peer.command(0, 1e-5)
    r.tick()
    assert ends.plant.codec.counters.refused == 500
    assert r.side.counters.fresh == 1


def test_housekeeping_goes_to_its_own_row(rig, ends):
    r = rig(lockstep=False)
    codec = ends.flight.codec

    def tell(tick):
        ends.flight.send(codec.housekeeping(tick, 0.0, np.full(22, tick + 0.25), np.full(17, tick + 0.75)))

    r.tick()
    tell(0)  # within its tick
    r.tick(2)  # ends ticks 0 and 1
    tell(1)  # after its tick, before the next row
    tell(2)
    r.tick(2)  # ends ticks 2 and 3
    rows = r.rows()
    assert rows["estimate"][:3, 0].tolist() == [0.25, 1.25, 2.25]
    assert rows["control"][:3, 0].tolist() == [0.75, 1.75, 2.75]
    assert np.isnan(rows["estimate"][3]).all()
    assert r.side.counters.no_housekeeping == 1


def test_a_dead_program_is_tended_while_it_is_silent(rig):
    calls = []
    r = rig(tend=lambda: calls.append(True) or len(calls) == 1)
    r.tick(2)
    assert calls == []
    time.sleep(0.03)
    r.tick(2)
    assert len(calls) == 2
    assert r.side.counters.restarts == 1


# ------------------------------------------------------------------ the flight side alone
class Counting:
    """A flight program that commands the number of its ticks."""

    def __init__(self):
        self.ticks = 0

    def tick(self, t, samples):
        self.ticks += 1
        if samples[0] < 0.0:
            raise ArithmeticError("no such time")
        return np.full(16, float(self.ticks))


@pytest.fixture
def flown(ends):
    """A flight side in a thread, and the plant's port."""
    side = FlightSide(ends.flight, Counting, timeout_s=20.0)
    thread = threading.Thread(target=side.run)
    thread.start()
    assert ends.plant.synchronise(10.0)
    yield SimpleNamespace(side=side, port=ends.plant, thread=thread, link=ends.links[0])
    side.stop.set("test")
    thread.join()


def ask(port, tick, samples=None):
    port.send(port.codec.samples(tick, 0.1 * tick, np.zeros(64) if samples is None else samples))
    frame = port.receive(10.0)
    return None if frame is None else (frame.header.tick, frame.records[0][0])


def test_the_same_tick_again_gets_the_same_answer(flown):
    assert [ask(flown.port, tick) for tick in (0, 1, 1, 1, 2, 5)] == [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3), (5, 4)]
    c = flown.side.counters
    assert (c.ticks, c.repeats, c.gaps, c.plants) == (4, 2, 2, 1)


def test_a_new_plant_gets_a_new_flight_program(star_tracker, flown):
    assert ask(flown.port, 3) == (3, 1)
    assert ask(flown.port, 4) == (4, 2)
    again = Port(flown.link, Codec(Role.PLANT, star_tracker.hash, star_tracker.tick_s))
    assert again.synchronise(10.0)
    assert ask(again, 0) == (0, 1)
    assert flown.side.counters.plants == 2


def test_a_program_that_raises_is_counted_and_does_not_answer(flown):
    flown.port.send(flown.port.codec.samples(0, 0.0, np.full(64, -1.0)))
    assert ask(flown.port, 1) == (1, 2)
    assert flown.side.counters.errors == 1
    assert flown.side.counters.first_error == "ArithmeticError: no such time"


@pytest.mark.parametrize(
    ("answer", "estimate", "why"),
    [
        ([0.0] * 3, None, "command must be 16 finite numbers"),
        (None, None, "command must be 16 finite numbers"),
        ([np.nan] * 16, None, "command must be 16 finite numbers"),
        ("text", None, "could not convert string to float"),
        ([0.0] * 16, np.zeros(3), r"estimate must be 22 numbers, got shape (3,)"),
    ],
)
def test_a_program_that_answers_nonsense_is_counted_and_raises_nothing(ends, answer, estimate, why):
    program = SimpleNamespace(tick=lambda t, samples: answer, estimate=estimate, control=np.zeros(17))
    side = FlightSide(ends.flight, lambda: program, timeout_s=20.0)
    thread = threading.Thread(target=side.run)
    thread.start()
    assert ends.plant.synchronise(10.0)
    ends.plant.send(ends.plant.codec.samples(0, 0.0, np.zeros(64)))
    assert ends.plant.receive(0.3) is None
    side.stop.set("test")
    thread.join()
    assert (side.counters.errors, side.counters.ticks, side.stop.reason) == (1, 0, "test")
    assert why in side.counters.first_error


def test_stop_ends_it(flown):
    from hil.layout import Reason

    flown.port.send(flown.port.codec.stop(0, 0.0, Reason.FINISHED))
    flown.thread.join(10.0)
    assert flown.side.finished
    assert flown.side.stop.reason == "the plant has ended"


def test_silence_ends_it(ends):
    side = FlightSide(ends.flight, Counting, timeout_s=0.0)
    assert side.run() == "nothing was heard from the plant for 0 s"
    assert not side.finished


def test_a_line_that_is_gone_ends_it(ends):
    side = FlightSide(ends.flight, Counting, ended=lambda: True)
    assert side.run() == "the line was closed"


def test_a_runner_drives_the_plant_side(rig):
    r = rig(timeout_s=10.0)
    group = RateGroup("plant", r.side.tick)
    report = Runner(10.0, [group], clock=Scaled(1000.0), overrun="catch-up", warm_up=()).run(51)
    assert (report.errors, r.side.counters.ticks) == (0, 50)


# ------------------------------------------------------------------ a handshake that loses its last word
def test_a_flight_side_whose_last_hello_was_lost_introduces_itself_again(star_tracker, ends):
    shake(ends.plant, ends.flight)  # with a flight side that was then killed
    ours = Codec(Role.FLIGHT, star_tracker.hash, star_tracker.tick_s)
    ends.links[1].send(ours.hello())
    ends.plant.receive(0.0)
    while not ours.session.synchronised:
        ours.decode(ends.links[1].receive(1.0))  # its answer is never sent
    assert ends.plant.codec.session.peer == ends.flight.codec.session.number
    side = FlightSide(Port(ends.links[1], ours), Counting)
    thread = threading.Thread(target=side.run)
    thread.start()
    deadline = time.monotonic() + 10.0
    while ends.plant.codec.session.peer != ours.session.number and time.monotonic() < deadline:
        ends.plant.receive(0.1)
    side.stop.set("test")
    thread.join()
    assert ends.plant.codec.session.peer == ours.session.number


def test_a_listening_socket_without_a_peer_sends_to_whom_it_heard():
    plant = open_link("udp-listen://127.0.0.1:0")
    with plant, open_link("udp://{}:{}".format(*plant.address)) as flight:
        assert not plant.send(b"nobody is there")
        flight.send(b"here")
        assert plant.receive(5.0) == b"here"
        assert plant.send(b"hello again")
        assert flight.receive(5.0) == b"hello again"
