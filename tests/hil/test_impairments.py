"""Impairments: their statistics within binomial bounds, the same for the same seed, and all of them noticed."""

import math

import numpy as np
import pytest

from hil.impairments import Impaired, Impairer, Impairments, Injected, Item
from hil.layout import Role, Status
from hil.links import in_process_pair
from hil.links_udp import Udp
from hil.packets import Codec

SCENARIO = bytes(range(1, 9))
PACKETS = 20_000
BAD = Impairments(loss=0.1, reordering=0.05, duplication=0.03, corruption=0.01)


def binomial_bounds(count, probability, sigmas=5.0):
    """Five standard deviations: a good generator leaves them once in two million runs, a seeded one never."""
    width = sigmas * math.sqrt(count * probability * (1.0 - probability))
    return count * probability - width, count * probability + width


def assert_binomial(found, count, probability):
    low, high = binomial_bounds(count, probability)
    assert low <= found <= high


class Clock:
    """Time that passes when told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def impairer(impairments, seed=1):
    return Impairer(impairments, np.random.default_rng(seed))


def through(direction, packets):
    """What comes out, without any delay."""
    found = []
    for packet in packets:
        direction.put(Item(packet, bool), 0.0)
        while (item := direction.take(0.0)) is not None:
            found.append(item.packet)
    return found


def numbered(count):
    return [k.to_bytes(60, "big") for k in range(count)]


# ------------------------------------------------------------------ one direction
def test_nothing_happens_if_nothing_is_asked():
    direction = impairer(Impairments())
    assert through(direction, numbered(1000)) == numbered(1000)
    assert direction.counts.packets == 1000
    assert direction.counts.lost == direction.counts.reordered == direction.counts.corrupted == 0


@pytest.mark.parametrize("name", ["loss", "reordering", "duplication", "corruption"])
@pytest.mark.parametrize("probability", [0.01, 0.3])
def test_each_alone(name, probability):
    direction = impairer(Impairments(**{name: probability}))
    packets = numbered(PACKETS)
    found = through(direction, packets)
    counts = direction.counts
    seen = {
        "loss": PACKETS - len(found),
        "duplication": len(found) - PACKETS,
        "corruption": sum(one != other for one, other in zip(found, packets, strict=False)),
        "reordering": len(direction._held) + overtaken(found),
    }[name]
    assert_binomial(seen, PACKETS, probability)
    told = {"loss": "lost", "duplication": "duplicated", "corruption": "corrupted", "reordering": "reordered"}[name]
    assert counts == Injected(packets=PACKETS, **{told: seen})


def overtaken(found):
    """How many packets come after one with a larger number."""
    numbers = np.array([int.from_bytes(packet, "big") for packet in found], dtype=object)
    return sum(numbers[1:] < np.maximum.accumulate(numbers)[:-1])


def test_all_together():
    direction = impairer(BAD)
    found = through(direction, numbered(PACKETS))
    counts = direction.counts
    passed = PACKETS - counts.lost
    assert_binomial(counts.lost, PACKETS, BAD.loss)
    assert_binomial(counts.reordered, passed, BAD.reordering)
    assert_binomial(counts.duplicated, passed, BAD.duplication)
    assert_binomial(counts.corrupted, passed, BAD.corruption)
    assert len(found) + len(direction._held) == passed + counts.duplicated


def test_the_same_seed_does_the_same_whatever_the_time():
    one, other, third = impairer(BAD), impairer(BAD), impairer(BAD, seed=2)
    expected = through(one, numbered(2000))
    found = []
    for k, packet in enumerate(numbered(2000)):
        other.put(Item(packet, bool), 0.37 * k)
        while (item := other.take(0.37 * k)) is not None:
            found.append(item.packet)
    assert found == expected
    assert through(third, numbered(2000)) != expected


def test_corruption_is_a_burst_of_up_to_sixteen_bits(random):
    direction = impairer(Impairments(corruption=1.0))
    packet = random.bytes(564)
    lengths, places = set(), set()
    for _ in range(3000):
        (changed,) = through(direction, [packet])
        difference = int.from_bytes(packet, "big") ^ int.from_bytes(changed, "big")
        lowest = (difference & -difference).bit_length()
        lengths.add(difference.bit_length() - lowest + 1)
        places.add(lowest // 64)
    assert lengths == set(range(1, 17))
    assert places == set(range(71))  # all over the packet


def test_everything_reordered_still_comes_out():
    direction = impairer(Impairments(reordering=1.0))
    assert len(through(direction, numbered(100))) >= 84


def test_delays_are_uniform_and_packets_come_in_their_order():
    direction, delay = impairer(Impairments(delay_s=0.2)), 0.2
    for packet in numbered(1000):
        direction.put(Item(packet, bool), 10.0)
    times = []
    while (wait := direction.until_next(0.0)) < math.inf:
        assert direction.take(wait - 1e-9) is None
        assert direction.take(wait) is not None
        times.append(wait - 10.0)
    assert 0.0 <= min(times) <= max(times) <= delay
    # Kolmogorov: 1000 uniform numbers stay nearer to a straight line than this in 999 of 1000 cases
    distance = np.max(np.abs(np.array(times) / delay - np.linspace(0.0, 1.0, 1000)))
    assert distance < 1.95 / math.sqrt(1000)


def test_the_queue_is_bounded():
    direction = impairer(Impairments(delay_s=60.0))
    for packet in numbered(5000):
        direction.put(Item(packet, bool), 0.0)
        direction.take(0.0)
    assert len(direction._waiting) <= 1025


@pytest.mark.parametrize(
    ("name", "value", "most"), [("loss", -0.1, 1), ("corruption", 1.1, 1), ("delay_s", 61.0, 60), ("loss", math.nan, 1)]
)
def test_what_is_not_a_probability(name, value, most):
    with pytest.raises(ValueError, match=f"{name} must be between 0 and {most}, got {value}"):
        Impairments(**{name: value})


# ------------------------------------------------------------------ a link
@pytest.fixture
def pair(synchronised):
    """A plant on a bad link and a flight side on a good one, both ways impaired at the plant."""
    plant, flight = synchronised()
    ours, theirs = in_process_pair()
    return Impaired(ours, BAD, seed=3), theirs, plant, flight


def test_every_bad_packet_is_counted_by_the_codec(pair):
    """Each injected event shows in the receiver's counters: what is corrupted is refused, what is late is replayed."""
    link, far, plant, flight = pair
    for k in range(5000):
        link.send(plant.samples(k, 0.1 * k, np.full(64, float(k))))
        while (packet := far.receive()) is not None:
            flight.decode(packet)
    injected, counters = link.outgoing.counts, flight.counters
    refused = counters[Status.BAD_CRC] + counters[Status.MALFORMED]
    held = len(link.outgoing._held)
    assert injected.corrupted <= refused <= injected.corrupted + injected.duplicated
    assert counters[Status.REPLAYED] <= injected.reordered + injected.duplicated
    arrived = injected.packets - injected.lost + injected.duplicated - held
    accepted = counters[Status.ACCEPTED] - 1  # the HELLO
    assert accepted + counters.refused == arrived
    assert accepted >= 5000 - injected.lost - injected.corrupted - injected.reordered


def test_both_directions_are_impaired_independently(pair):
    link, far, plant, flight = pair
    received = 0
    for k in range(5000):
        link.send(plant.samples(k, 0.1 * k, np.ones(64)))
        far.send(flight.command(k, 0.1 * k, np.ones(16)))
        while link.receive() is not None:
            received += 1
    counts = link.incoming.counts
    assert counts.packets == 5000
    assert_binomial(counts.lost, 5000, BAD.loss)
    assert received == counts.packets - counts.lost + counts.duplicated - len(link.incoming._held)
    assert counts != link.outgoing.counts


def test_late_packets_go_out_while_waiting(plant_packet):
    ours, theirs = in_process_pair()
    link = Impaired(ours, Impairments(delay_s=0.05), seed=1)
    assert link.send(plant_packet)
    assert link.receive(0.1) is None  # longer than any delay
    assert theirs.receive() == plant_packet
    theirs.send(plant_packet)
    assert link.receive(5.0) == plant_packet


def test_the_clock_may_be_another(plant_packet):
    clock = Clock()
    ours, theirs = in_process_pair()
    link = Impaired(ours, Impairments(delay_s=1.0), seed=1, now=clock)
    theirs.send(plant_packet)
    assert link.receive() is None
    clock.now = 1.0
    assert link.receive() == plant_packet


def test_a_total_loss_does_not_hold_up_the_receiver(plant_packet):
    ours, theirs = in_process_pair()
    link = Impaired(ours, Impairments(loss=1.0), seed=1)
    for _ in range(1000):
        theirs.send(plant_packet)
    assert link.receive() is None
    assert 1 <= link.incoming.counts.lost < 1000
    assert link.receive(0.01) is None
    assert link.send(plant_packet)
    assert theirs.receive() is None


def test_a_delayed_reply_still_goes_to_the_last_sender(plant_packet):
    with Udp(("127.0.0.1", 0)) as server, Udp(("127.0.0.1", 0), server.address) as client:
        link = Impaired(server, Impairments(delay_s=0.01), seed=1)
        client.send(plant_packet)
        assert link.receive(5.0) == plant_packet
        link.reply(plant_packet)
        assert link.receive(0.05) is None
        assert client.receive(5.0) == plant_packet
        link.confirm()
        link.send(plant_packet)
        assert link.receive(0.05) is None
        assert client.receive(5.0) == plant_packet
        link.close()


@pytest.fixture
def plant_packet():
    return Codec(Role.PLANT, SCENARIO, 0.1, session=11).samples(0, 0.0, np.ones(64))
