"""Ports: two sides find each other over real links, lose each other and find each other again."""

import threading
import time

import numpy as np
import pytest

from hil.impairments import Impaired, Impairments
from hil.layout import NO_SCENARIO, Reason, Role, Status
from hil.links import in_process_pair
from hil.links_serial import pty_pair
from hil.links_tcp import TcpClient, TcpServer
from hil.links_udp import Udp
from hil.packets import Codec
from hil.port import BATCH, Port

SCENARIO = bytes(range(1, 9))
KEY = bytes(range(32))
LOCAL = ("127.0.0.1", 0)
SOON = 5.0


def udp_pair():
    server = Udp(LOCAL)
    return server, Udp(LOCAL, server.address, only_peer=True)


def tcp_pair():
    server = TcpServer(LOCAL)
    return server, TcpClient(server.address)


PAIRS = {"in process": in_process_pair, "udp": udp_pair, "tcp": tcp_pair, "pty": pty_pair}


def port(link, role, scenario=SCENARIO, key=None):
    return Port(link, Codec(role, scenario, 0.1, key))


def both(plant, flight, timeout=SOON):
    """Both sides look for each other at once; the one that has found the other goes on listening, as sides do."""
    over = time.monotonic() + timeout

    def look(side, other):
        side.synchronise(timeout)
        while not other.synchronised and time.monotonic() < over:
            side.receive(0.01)

    thread = threading.Thread(target=look, args=(flight, plant))
    thread.start()
    look(plant, flight)
    thread.join()


def test_the_first_frame_after_the_handshake_is_not_lost():
    """The plant's first samples lie right behind the HELLO that makes it the peer."""
    near, far = in_process_pair()
    plant, flight = Codec(Role.PLANT, SCENARIO, 0.1), port(far, Role.FLIGHT)
    assert not flight.synchronise(0.01)  # it has introduced itself
    plant.decode(near.receive())
    near.send(plant.hello())
    near.send(plant.samples(0, 0.0, np.ones(64)))
    assert flight.synchronise(SOON)
    assert flight.receive(0.0).name == "samples"


def answer(flight, ticks):
    """A flight side that answers so many ticks with their own numbers."""
    for _ in range(ticks):
        frame = flight.receive(SOON)
        assert frame.name == "samples"
        command = np.full(16, frame.records[0][5])
        flight.send(flight.codec.command(frame.header.tick, frame.header.t, command))


@pytest.fixture(params=PAIRS)
def links(request):
    ends = PAIRS[request.param]()
    yield ends
    for end in ends:
        end.close()


@pytest.mark.parametrize("key", [None, KEY], ids=["no key", "key"])
@pytest.mark.parametrize("scenario", [SCENARIO, NO_SCENARIO], ids=["same", "learns"])
def test_ticks_over_every_link(links, key, scenario):
    plant, flight = port(links[0], Role.PLANT, key=key), port(links[1], Role.FLIGHT, scenario, key)
    both(plant, flight)
    assert plant.synchronised
    assert flight.synchronised
    thread = threading.Thread(target=answer, args=(flight, 20))
    thread.start()
    for k in range(20):
        assert plant.send(plant.codec.samples(k, 0.1 * k, np.full(64, float(k))))
        frame = plant.receive(SOON)
        assert (frame.name, frame.header.tick, frame.records[0][0]) == ("command", k, float(k))
    thread.join()
    plant.send(plant.codec.stop(20, 2.0, Reason.FINISHED))
    assert flight.receive(SOON).body.reason == Reason.FINISHED
    assert plant.synchronisations == flight.synchronisations == 1


def test_a_flight_side_that_is_replaced_ten_times():
    """Over UDP, from a new port each time; the plant goes on, and finds each of them."""
    with Udp(LOCAL) as server:
        plant = port(server, Role.PLANT)
        for life in range(1, 11):
            with Udp(LOCAL, server.address, only_peer=True) as link:
                flight = port(link, Role.FLIGHT)
                thread = threading.Thread(target=flight.synchronise, args=(SOON,))
                thread.start()
                while plant.synchronisations < life:
                    plant.receive(0.01)
                thread.join()
                plant.send(plant.codec.samples(life, 0.0, np.full(64, float(life))))
                frame = flight.receive(SOON)
                assert frame.header.tick == life
        assert plant.codec.counters[Status.UNKNOWN_SESSION] == 0


def test_a_bad_link_only_takes_longer():
    near, far = in_process_pair()
    bad = Impairments(loss=0.3, reordering=0.1, duplication=0.1, corruption=0.1, delay_s=0.01)
    plant, flight = port(Impaired(near, bad, seed=5), Role.PLANT), port(far, Role.FLIGHT)
    both(plant, flight, timeout=30.0)
    assert plant.synchronised
    assert flight.synchronised


def test_another_scenario_is_told(links):
    plant, flight = port(links[0], Role.PLANT), port(links[1], Role.FLIGHT, bytes(range(11, 19)))
    both(plant, flight, timeout=0.5)
    for side in (plant, flight):
        assert not side.synchronised
        assert "the peer flies another scenario" in side.codec.complaint()


def test_nobody_there():
    near, _ = in_process_pair()
    side = port(near, Role.FLIGHT)
    assert not side.synchronise(0.05)
    assert side.codec.complaint() == "nothing was heard from the peer"


def test_a_flood_holds_nobody_up():
    near, far = in_process_pair()
    side = port(near, Role.PLANT)
    for _ in range(1000):
        far.send(b"flood")
    assert side.receive() is None
    assert side.codec.counters[Status.TOO_SHORT] == BATCH
    assert side.receive(60.0) is None  # as many again, and no waiting


def test_hellos_are_not_sent_all_the_time():
    """Ten in a second while alone, by a clock that passes only in `receive`; none once synchronised."""
    now = 0.0
    near, far = in_process_pair()

    def receive(timeout_s=0.0):
        nonlocal now
        now += max(timeout_s, 1e-3)

    side = Port(near, Codec(Role.PLANT, SCENARIO, 0.1), now=lambda: now)
    near.receive = receive
    side.receive(1.0)
    assert 9 <= near.counters.sent <= 11
    assert far.receive() is not None
