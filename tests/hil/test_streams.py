"""The stream parser: every packet found, whatever lies between, with a bounded buffer."""

import numpy as np
import pytest

from hil.layout import MAX_PACKET, SYNC_MARKER, Role
from hil.links import LinkCounters
from hil.packets import Codec
from hil.streams import StreamParser

SCENARIO = bytes(range(1, 9))


@pytest.fixture
def plant():
    return Codec(Role.PLANT, SCENARIO, 0.1, session=11)


class Cut:
    """A parser and what it found."""

    def __init__(self):
        self.counters, self.noise, self.found = LinkCounters(), [], []
        self.parser = StreamParser(self.counters, self.noise.append)

    def feed(self, *chunks):
        for chunk in chunks:
            self.parser.feed(chunk)
            while (packet := self.parser.take()) is not None:
                self.found.append(packet)
        return self


def packets_of(plant, count):
    return [plant.samples(k, 0.1 * k, np.full(64, float(k))) for k in range(count)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, 567, 568, 569, 5000])
def test_chunks_of_any_size(plant, size):
    packets = packets_of(plant, 6)
    stream = b"".join(SYNC_MARKER + packet for packet in packets)
    cut = Cut().feed(*(stream[i : i + size] for i in range(0, len(stream), size)))
    assert cut.found == packets
    assert cut.counters.skipped_bytes == cut.counters.lost_sync == len(cut.parser) == 0


@pytest.mark.parametrize("start", range(1, 575, 41))
def test_starting_in_the_middle(plant, start):
    packets = packets_of(plant, 2)
    stream = b"".join(SYNC_MARKER + packet for packet in packets)
    cut = Cut().feed(stream[start:])
    assert cut.found == packets[1:]
    assert b"".join(cut.noise) == stream[start : 4 + len(packets[0])]
    assert cut.counters.lost_sync == 1


def test_noise_between_packets_is_handed_on_once(plant):
    first, second = packets_of(plant, 2)
    noise = b"login: \x1a\xcf\xfc"  # the beginning of a marker
    cut = Cut().feed(noise + SYNC_MARKER + first + noise + noise + SYNC_MARKER + second)
    assert cut.found == [first, second]
    assert b"".join(cut.noise) == 3 * noise
    assert cut.counters.skipped_bytes == 3 * len(noise)
    assert cut.counters.lost_sync == 2


def test_a_marker_in_the_body_is_data(plant):
    samples = np.frombuffer(SYNC_MARKER * 128, ">f8").astype(float)
    packet = plant.samples(0, 0.0, samples)
    assert packet.count(SYNC_MARKER) > 100
    cut = Cut().feed(SYNC_MARKER + packet, SYNC_MARKER + packet)
    assert cut.found == [packet, packet]
    assert cut.noise == []


@pytest.mark.parametrize("place", [4, 5])
@pytest.mark.parametrize("bit", range(8))
def test_a_damaged_length_costs_no_other_packet(plant, place, bit):
    damaged, *good = packets_of(plant, 4)
    damaged = bytearray(damaged)
    damaged[place] ^= 1 << bit
    cut = Cut().feed(*(SYNC_MARKER + packet for packet in (damaged, *good)))
    assert cut.found[-3:] == good
    assert len(cut.found) <= 4


def test_a_bad_packet_is_handed_over_once_and_its_bytes_are_not_noise(plant):
    packets = [bytearray(packet) for packet in packets_of(plant, 3)]
    packets[1][100] ^= 1
    cut = Cut().feed(*(SYNC_MARKER + packet for packet in packets))
    assert cut.found == packets
    assert cut.noise == []


def test_every_byte_is_packet_marker_or_noise(random, plant):
    """Nothing of the stream gets lost on the way: what is found, their markers and the noise make up all of it."""
    stream = bytearray()
    for packet in packets_of(plant, 50):
        stream += random.bytes(random.integers(0, 30)) + SYNC_MARKER + packet
    cut = Cut().feed(*(bytes(stream[i : i + 100]) for i in range(0, len(stream), 100)))
    total = sum(4 + len(packet) for packet in cut.found) + cut.counters.skipped_bytes + len(cut.parser)
    assert total == len(stream)
    assert len(cut.found) == 50


def test_the_buffer_is_bounded(random):
    cut = Cut()
    for _ in range(2000):
        cut.feed(random.bytes(1000), SYNC_MARKER * int(random.integers(3)))
        assert len(cut.parser) < MAX_PACKET + 4
