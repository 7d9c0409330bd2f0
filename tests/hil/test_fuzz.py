"""Random and mutated packets into both decoders: no crash, the same verdicts, nothing accepted that should not be.

A CRC-16 lets one in 2^16 random errors through, and notices every burst of up to 16 bits; authentication lets nothing
through. So without a key what is accepted must have a CRC that fits (by another library) and must not be a burst away
from a packet that was sent; with a key it must be a packet that was sent, once.
"""

import hmac

import fastcrc
import numpy as np
import pytest

from hil.layout import MAX_PACKET, Reason, Role, Status
from hil.links import LinkCounters
from hil.packets import Codec
from hil.streams import StreamParser

KEY = bytes(range(32))
SCENARIO = bytes(range(1, 9))
GROUP = 250  # packets into a pair of decoders that have just shaken hands
MARKER = bytes.fromhex("1acffc1d")


def original(plant, random, tick):
    """A packet that the plant sends."""
    if random.random() < 0.1:
        return plant.hello(tick, 0.1 * tick)
    if random.random() < 0.1:
        return plant.stop(tick, 0.1 * tick, Reason.ASKED)
    return plant.samples(tick, 0.1 * tick, random.normal(size=64))


def seal(packet, key):
    """Authentication and CRC that fit, so that the checks behind them are reached."""
    changed = bytearray(packet)
    if key and len(changed) >= 18:
        changed[-18:-2] = hmac.digest(key, bytes(changed[:-18]), "sha256")[:16]
    changed[-2:] = fastcrc.crc16.ibm_3740(bytes(changed[:-2])).to_bytes(2, "big")
    return bytes(changed)


def flipped(packet, random):
    changed = bytearray(packet)
    for bit in random.integers(0, 8 * len(changed), random.integers(1, 12)):
        changed[bit >> 3] ^= 1 << (bit & 7)
    return bytes(changed)


def burst(packet, random):
    """Up to 16 neighbouring bits, the first and the last changed."""
    length = int(random.integers(1, 17))
    pattern = 1 | 1 << (length - 1) | int(random.integers(0, 1 << length))
    place = int(random.integers(0, 8 * len(packet) - length + 1))
    return (int.from_bytes(packet, "big") ^ (pattern << place)).to_bytes(len(packet), "big")


def overwritten(packet, random):
    """Other bytes somewhere, mostly in the headers."""
    changed = bytearray(packet)
    if random.random() < 0.5:
        changed[random.integers(22, 26)] = random.integers(0, 4)  # version, role, flags, spare
    else:
        place = int(random.integers(0, 54))
        changed[place : place + 2] = random.bytes(2)
    return bytes(changed)


def resized(packet, random):
    cut = packet[: random.integers(0, len(packet))]
    return cut if random.random() < 0.5 else packet + random.bytes(random.integers(1, MAX_PACKET))


def spliced(packet, other, random):
    place = int(random.integers(1, min(len(packet), len(other))))
    return packet[:place] + other[place:]


def fuzz(plant, random, count, key):
    """(kind of change, packet): noise, mutants, sealed mutants, originals, repetitions, a stranger's packets."""
    recent = [original(plant, random, 0)]
    stranger = Codec(Role.PLANT, SCENARIO, 0.1, None if key else KEY, session=11)
    for number in range(count):
        packet, other = (recent[i] for i in random.integers(0, len(recent), 2))
        way = number % 10
        if way == 0:
            yield "noise", random.bytes(random.integers(0, 700))
        elif way == 1:
            yield "flipped", flipped(packet, random)
        elif way == 2:
            yield "burst", burst(packet, random)
        elif way == 3:
            yield "resized", resized(packet, random)
        elif way == 4:
            yield "spliced", spliced(packet, other, random)
        elif way == 5:
            yield "sealed", seal(overwritten(packet, random), key)
        elif way == 6:
            yield "sealed", seal(spliced(packet, random.bytes(len(packet)), random), key)
        elif way == 7:
            yield "original", packet
        elif way == 8:
            yield "stranger", original(stranger, random, number)
        else:
            recent = [*recent[-7:], original(plant, random, number)]
            yield "original", recent[-1]


def into_both(driver, seed, key):
    """One group into both decoders; how often each verdict came."""
    random = np.random.default_rng(seed)
    plant, flight = Codec(Role.PLANT, SCENARIO, 0.1, key, 11), Codec(Role.FLIGHT, SCENARIO, 0.1, key, 22)
    plant.decode(flight.hello())
    cases = [("original", plant.hello()), *fuzz(plant, random, GROUP, key)]
    verdicts = [flight.decode(packet)[0] for _, packet in cases]
    in_c = driver.decode([packet for _, packet in cases], session=22, scenario=SCENARIO, key=key or b"")
    assert [status for status, *_ in in_c] == verdicts
    check(cases, verdicts, key)
    return np.bincount(verdicts, minlength=len(Status))


def check(cases, verdicts, key):
    sent = {packet for kind, packet in cases if kind == "original"}
    good = [case for case, verdict in zip(cases, verdicts, strict=True) if verdict <= Status.INTRODUCTION]
    for kind, packet in good:
        assert fastcrc.crc16.ibm_3740(packet[:-2]) == int.from_bytes(packet[-2:], "big")
        assert kind not in ("burst", "noise", "stranger")
        assert key is None or kind == "sealed" or packet in sent
    accepted = [case for case, verdict in zip(cases, verdicts, strict=True) if verdict is Status.ACCEPTED]
    assert len(accepted) == len(set(accepted))  # nothing twice


@pytest.mark.parametrize("key", [None, KEY], ids=["no key", "key"])
def test_both_decoders(driver, key):
    counts = sum(into_both(driver, seed, key) for seed in range(80))
    assert all(counts), counts  # every verdict was reached
    assert counts[Status.ACCEPTED] > 1000


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, KEY], ids=["no key", "key"])
def test_a_million_into_both_decoders(driver, key):
    counts = sum(into_both(driver, seed, key) for seed in range(1000, 5000))
    assert counts.sum() == 4000 * (GROUP + 1)


def test_streams_of_noise_and_mutants_are_cut_alike(driver):
    """Whatever comes, the parser holds no more than a packet and its marker once all packets are taken."""
    random = np.random.default_rng(2)
    plant = Codec(Role.PLANT, SCENARIO, 0.1, session=11)
    cases = fuzz(plant, random, 4000, None)
    chunks = [(MARKER if random.random() < 0.9 else b"") + packet for _, packet in cases]
    counters = LinkCounters()
    parser, found = StreamParser(counters), []
    for chunk in chunks:
        parser.feed(chunk)
        while (packet := parser.take()) is not None:
            found.append(packet)
        assert len(parser) < MAX_PACKET + len(MARKER)
    assert driver.cut(chunks) == (found, counters.skipped_bytes)
