"""Packets: against `spacepackets`, the printed check value, and every reason to refuse one."""

import hashlib
import hmac
import math
import struct

import fastcrc
import numpy as np
import pytest
from spacepackets.ccsds.spacepacket import PacketType, SequenceFlags, SpacePacketHeader

from attitude.spacecraft.frames import COMMAND, CONTROL, ESTIMATE, SAMPLES
from hil.layout import BODY_START, BY_NAME, KINDS, MAX_PACKET, MIN_PACKET, NO_SCENARIO, SECONDARY, Reason, Role, Status
from hil.packets import Codec, Listener, crc16
from hil.session import Hello, Session

KEY = bytes(range(32))
SCENARIO = bytes(range(1, 9))
OTHER = bytes(range(11, 19))
AWKWARD = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.7976931348623157e308, -math.pi])


def record(layout, random):
    """Numbers of all sorts."""
    values = random.normal(size=layout.size) * 10.0 ** random.integers(-300, 300, layout.size)
    values[: min(8, layout.size)] = AWKWARD[: min(8, layout.size)]
    return values


def one_of_each(plant, flight, random):
    """(packet, who receives it, the records in it) of each kind."""
    samples, command = record(SAMPLES, random), record(COMMAND, random)
    estimate, control = record(ESTIMATE, random), record(CONTROL, random)
    return [
        (plant.samples(7, 0.7, samples), flight, (samples,)),
        (flight.command(7, 0.7, command), plant, (command,)),
        (flight.housekeeping(7, 0.7, estimate, control), plant, (estimate, control)),
        (flight.hello(7, 0.7), plant, ()),
        (plant.stop(7, 0.7, Reason.ASKED), flight, ()),
    ]


def resealed(packet, place, value, key=None):
    """The packet with other bytes at a place, and authentication and CRC that fit again."""
    changed = bytearray(packet)
    changed[place : place + len(value)] = value
    if key is not None:
        changed[-18:-2] = hmac.digest(key, bytes(changed[:-18]), "sha256")[:16]
    changed[-2:] = fastcrc.crc16.ibm_3740(bytes(changed[:-2])).to_bytes(2, "big")
    return bytes(changed)


def at(name):
    """Where a field of the secondary header lies."""
    return 6 + SECONDARY[name].offset


# ------------------------------------------------------------------ CRC
def bitwise_crc(data):
    """CRC-16 by long division, bit by bit, as the standard defines it."""
    register = 0xFFFF
    for byte in data:
        for bit in range(7, -1, -1):
            out = register >> 15 ^ (byte >> bit & 1)
            register = (register << 1 & 0xFFFF) ^ (0x1021 if out else 0)
    return register


def test_crc_check_value():
    assert crc16(b"123456789") == 0x29B1  # the catalogued check value of CRC-16/IBM-3740, which CCSDS uses


def test_crc_against_long_division_and_another_library(random):
    for size in (0, 1, 2, 50, 580):
        data = random.bytes(size)
        assert crc16(data) == bitwise_crc(data) == fastcrc.crc16.ibm_3740(data)
        assert crc16(data + crc16(data).to_bytes(2, "big")) == 0


# ------------------------------------------------------------------ round trips
@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("learns", [False, True])
def test_every_packet_comes_back_bit_for_bit(synchronised, random, key, learns):
    plant, flight = synchronised(key, learns)
    for packet, receiver, records in one_of_each(plant, flight, random):
        status, frame = receiver.decode(packet)
        assert status is Status.ACCEPTED
        assert (frame.header.tick, frame.header.t) == (7, 0.7)
        assert frame.header.scenario == SCENARIO
        assert [r.tobytes() for r in frame.records] == [r.tobytes() for r in records]
    assert plant.counters.refused == flight.counters.refused == 0


def test_the_bodies_of_hello_and_stop(synchronised):
    plant, flight = synchronised()
    assert flight.decode(plant.stop(3, 0.3, Reason.FAILED))[1].body == (Reason.FAILED,)
    assert flight.decode(plant.hello())[1].body == Hello(0.1, 22, 1, 1, 1)


@pytest.mark.parametrize("key", [None, KEY])
def test_spacepackets_reads_the_same_header(synchronised, random, key):
    plant, flight = synchronised(key)
    for _ in range(3):
        for packet, receiver, _ in one_of_each(plant, flight, random):
            header = SpacePacketHeader.unpack(packet)
            _, frame = receiver.decode(packet)
            assert header.ccsds_version == 0
            assert header.packet_type == (PacketType.TC if frame.name == "command" else PacketType.TM)
            assert header.sec_header_flag
            assert header.apid == frame.kind.apid
            assert header.seq_flags == SequenceFlags.UNSEGMENTED
            assert header.seq_count == frame.header.counter & 0x3FFF
            assert header.packet_len == len(packet) == frame.kind.size(key is not None)


def test_the_layout_byte_by_byte(synchronised):
    """Offsets written out by hand, once."""
    plant, _ = synchronised()
    samples = np.arange(64.0)
    packet = plant.samples(0x0102030405060708, 2.5, samples)
    assert struct.unpack(">HHH", packet[:6]) == (0x0901, 0xC001, 564 - 7)
    tick, t, version, role, flags, spare, session, counter = struct.unpack(">QdBBBBQQ", packet[6:42])
    assert (tick, t, version, role, flags, spare) == (0x0102030405060708, 2.5, 1, 1, 0, 0)
    assert (session, counter, packet[42:50]) == (11, 1, SCENARIO)
    assert struct.unpack(">64d", packet[50:562]) == tuple(samples)
    assert packet[562:] == bitwise_crc(packet[:562]).to_bytes(2, "big")


def test_sizes():
    assert (MIN_PACKET, MAX_PACKET) == (52, 580)
    assert {kind.name: kind.size(False) for kind in KINDS} == {
        "samples": 564, "command": 180, "housekeeping": 364, "hello": 80, "stop": 56,
    }  # fmt: skip


def test_the_sequence_count_wraps_and_the_counter_does_not(synchronised):
    plant, flight = synchronised()
    for apid in plant.session._sent:
        plant.session._sent[apid] = 0x3FFE
    for expected in (0x3FFF, 0x0000, 0x0001):
        packet = plant.samples(0, 0.0, np.zeros(64))
        assert SpacePacketHeader.unpack(packet).seq_count == expected
        assert flight.decode(packet)[0] is Status.ACCEPTED
    assert flight.decode(packet)[0] is Status.REPLAYED


def test_any_bytes_like_will_do(synchronised):
    plant, flight = synchronised()
    for make in (bytes, bytearray, memoryview):
        assert flight.decode(make(plant.samples(0, 0.0, np.ones(64))))[0] is Status.ACCEPTED


# ------------------------------------------------------------------ refusals
def refusal(codec, packet):
    """Status of a packet that is refused, and counted just once under its reason."""
    before = codec.counters.as_dict()
    status, frame = codec.decode(packet)
    assert frame is None
    after = codec.counters.as_dict()
    assert {name: after[name] - n for name, n in before.items() if after[name] != n} == {status.name.lower(): 1}
    return status


CHANGES = [
    (0, b"\x29", Status.MALFORMED),  # packet version 1
    (0, b"\x01", Status.MALFORMED),  # no secondary header
    (0, b"\x19", Status.MALFORMED),  # telecommand
    (2, b"\x80", Status.MALFORMED),  # segmented
    (3, b"\x02", Status.MALFORMED),  # sequence count is not that of the counter
    (5, b"\x2e", Status.MALFORMED),  # length field
    (0, b"\x09\x00", Status.UNKNOWN_APID),
    (0, b"\x0f\xff", Status.UNKNOWN_APID),  # idle packets
    (0, b"\x19\x02", Status.WRONG_LENGTH),  # a COMMAND as long as SAMPLES
    (at("version"), b"\x02", Status.WRONG_VERSION),
    (at("t"), struct.pack(">d", math.nan), Status.MALFORMED),
    (at("t"), struct.pack(">d", -math.inf), Status.MALFORMED),
    (at("role"), b"\x00", Status.MALFORMED),
    (at("role"), b"\x03", Status.MALFORMED),
    (at("role"), b"\x02", Status.WRONG_SENDER),  # our own
    (at("flags"), b"\x01", Status.WRONG_LENGTH),  # says it is authenticated, has no room for it
    (at("flags"), b"\x02", Status.MALFORMED),
    (at("spare"), b"\x01", Status.MALFORMED),
    (at("session"), bytes(8), Status.MALFORMED),
    (at("session"), struct.pack(">Q", 12), Status.UNKNOWN_SESSION),
    (at("scenario"), OTHER, Status.WRONG_SCENARIO),
    (at("scenario"), NO_SCENARIO, Status.WRONG_SCENARIO),
]


@pytest.mark.parametrize(("place", "value", "expected"), CHANGES)
def test_what_is_refused_and_why(synchronised, place, value, expected):
    plant, flight = synchronised()
    packet = plant.samples(0, 0.0, np.ones(64))
    assert refusal(flight, resealed(packet, place, value)) is expected
    assert flight.decode(packet)[0] is Status.ACCEPTED  # nothing was changed by the refusal


def test_counter_zero_is_malformed(synchronised):
    plant, flight = synchronised()
    packet = resealed(plant.samples(0, 0.0, np.ones(64)), 3, b"\x00")
    assert refusal(flight, resealed(packet, at("counter"), bytes(8))) is Status.MALFORMED


@pytest.mark.parametrize("size", [0, 1, 6, 51])
def test_too_short(synchronised, size):
    plant, flight = synchronised()
    assert refusal(flight, plant.samples(0, 0.0, np.ones(64))[:size]) is Status.TOO_SHORT


@pytest.mark.parametrize("size", [581, 1000, 70000])
def test_too_long(synchronised, size):
    _, flight = synchronised()
    assert refusal(flight, bytes(size)) is Status.TOO_LONG


def test_cut_or_lengthened_packets_are_malformed(synchronised):
    plant, flight = synchronised()
    packet = plant.samples(0, 0.0, np.ones(64))
    assert refusal(flight, packet[:-1]) is Status.MALFORMED
    assert refusal(flight, packet + b"\0") is Status.MALFORMED


def test_every_single_bit_matters(synchronised, random):
    plant, flight = synchronised()
    packet = plant.samples(5, 0.5, random.normal(size=64))
    for bit in range(8 * len(packet)):
        changed = bytearray(packet)
        changed[bit // 8] ^= 1 << bit % 8
        expected = (Status.BAD_CRC, Status.MALFORMED) if bit < 48 else (Status.BAD_CRC,)
        assert refusal(flight, changed) in expected
    assert flight.decode(packet)[0] is Status.ACCEPTED


@pytest.mark.parametrize(
    ("place", "value"),
    [(0, struct.pack(">d", math.nan)), (0, bytes(8)), (0, struct.pack(">d", -0.1)), (24, struct.pack(">I", 2))],
)
def test_a_hello_that_makes_no_sense(synchronised, place, value):
    plant, flight = synchronised()
    assert refusal(plant, resealed(flight.hello(), BODY_START + place, value)) is Status.MALFORMED


def test_a_stop_without_a_known_reason(synchronised):
    plant, flight = synchronised()
    packet = plant.stop(0, 0.0, Reason.FINISHED)
    assert refusal(flight, resealed(packet, BODY_START, struct.pack(">I", 3))) is Status.MALFORMED


@pytest.mark.parametrize(("kind", "sender"), [("samples", Role.FLIGHT), ("command", Role.PLANT)])
def test_a_packet_of_the_wrong_role(synchronised, kind, sender):
    """SAMPLES from the flight side, or COMMAND from the plant, though role and session are those of the peer."""
    plant, flight = synchronised()
    codec, receiver = (flight, plant) if sender is Role.FLIGHT else (plant, flight)
    packet = codec._records(kind, 0, 0.0, np.ones(BY_NAME[kind].records[0].size))
    assert refusal(receiver, packet) is Status.WRONG_SENDER


def test_a_refused_packet_leaves_the_last_numbers_alone(synchronised):
    plant, flight = synchronised()
    _, frame = flight.decode(plant.samples(0, 0.0, np.full(64, 1.0)))
    late = plant.samples(1, 0.1, np.full(64, 2.0))
    kept = frame.kept()
    assert flight.decode(plant.samples(2, 0.2, np.full(64, 3.0)))[0] is Status.ACCEPTED
    assert refusal(flight, late) is Status.REPLAYED
    assert np.all(frame.records[0] == 3.0)
    assert np.all(kept.records[0] == 1.0)


def test_replayed_and_overtaken(synchronised):
    plant, flight = synchronised()
    first, second = (plant.samples(k, 0.1 * k, np.ones(64)) for k in range(2))
    assert flight.decode(second)[0] is Status.ACCEPTED
    assert refusal(flight, second) is Status.REPLAYED
    assert refusal(flight, first) is Status.REPLAYED
    stop = plant.stop(2, 0.2, Reason.FINISHED)  # another APID counts by itself
    assert flight.decode(stop)[0] is Status.ACCEPTED


def test_what_is_not_a_record(synchronised):
    plant, _ = synchronised()
    with pytest.raises(ValueError, match=r"samples must have shape \(64,\), got \(63,\)"):
        plant.samples(0, 0.0, np.ones(63))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(scenario=b"123"), "scenario must be 8 bytes"),
        (dict(tick_s=0.0), "tick_s must be finite and greater than zero"),
        (dict(tick_s=math.nan), "tick_s must be finite and greater than zero"),
        (dict(key=b"short"), "key must have 32 to 4096 bytes, got 5"),
        (dict(session=0), "session must be 1 to"),
    ],
)
def test_a_codec_that_cannot_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        Codec(**{"role": Role.PLANT, "scenario": SCENARIO, "tick_s": 0.1, **arguments})


# ------------------------------------------------------------------ authentication
def test_the_tag_is_the_first_half_of_the_hmac(synchronised):
    plant, _ = synchronised(KEY)
    packet = plant.samples(0, 0.0, np.ones(64))
    assert packet[-18:-2] == hmac.new(KEY, packet[:-18], hashlib.sha256).digest()[:16]


def test_every_change_is_noticed_even_if_the_crc_fits(synchronised):
    plant, flight = synchronised(KEY)
    packet = plant.samples(0, 0.0, np.ones(64))
    for place in range(BODY_START, len(packet) - 2):
        assert refusal(flight, resealed(packet, place, bytes([packet[place] ^ 1]))) is Status.NOT_AUTHENTIC
    assert flight.decode(packet)[0] is Status.ACCEPTED


def test_with_a_key_and_without(synchronised):
    plant, flight = synchronised()
    guarded_plant, guarded_flight = synchronised(KEY)
    other_plant, _ = synchronised(bytes(32))
    assert refusal(guarded_flight, plant.samples(0, 0.0, np.ones(64))) is Status.NOT_AUTHENTIC
    assert refusal(flight, guarded_plant.samples(0, 0.0, np.ones(64))) is Status.NOT_AUTHENTIC
    assert refusal(guarded_flight, other_plant.samples(0, 0.0, np.ones(64))) is Status.NOT_AUTHENTIC


def test_a_reflected_packet_is_refused(synchronised):
    plant, _ = synchronised(KEY)
    assert refusal(plant, plant.hello()) is Status.WRONG_SENDER


# ------------------------------------------------------------------ sessions
def shake(one, other, rounds=4):
    """HELLOs to and fro, as long as one is due; how many there were."""
    packet, sent = one.hello(), 1
    for _ in range(rounds):
        other.decode(packet)
        if not other.session.answer_due:
            break
        packet, sent = other.hello(), sent + 1
        one, other = other, one
    return sent


@pytest.mark.parametrize("first", ["plant", "flight"])
@pytest.mark.parametrize("learns", [False, True])
def test_the_handshake_ends(first, learns):
    plant = Codec(Role.PLANT, SCENARIO, 0.1)
    flight = Codec(Role.FLIGHT, NO_SCENARIO if learns else SCENARIO, 0.1)
    assert shake(*((plant, flight) if first == "plant" else (flight, plant)), rounds=10) <= 5
    assert plant.session.peer == flight.session.number
    assert flight.session.peer == plant.session.number
    assert flight.session.scenario == SCENARIO
    assert not plant.session.answer_due
    assert not flight.session.answer_due
    assert plant.counters.refused == flight.counters.refused == 0


@pytest.mark.parametrize("lost", range(4))
def test_a_lost_hello_is_made_up_for(lost):
    """The side that is not synchronised asks again."""
    plant, flight = Codec(Role.PLANT, SCENARIO, 0.1), Codec(Role.FLIGHT, SCENARIO, 0.1)
    number = 0

    def hand_over(packet, to):
        nonlocal number
        number += 1
        if number - 1 != lost:
            to.decode(packet)

    for _ in range(3):
        for one, other in ((flight, plant), (plant, flight)):
            if not one.session.synchronised or one.session.answer_due:
                hand_over(one.hello(), other)
            while other.session.answer_due or one.session.answer_due:
                hand_over(other.hello(), one) if other.session.answer_due else hand_over(one.hello(), other)
    assert plant.session.peer == flight.session.number
    assert flight.session.peer == plant.session.number


def test_nothing_is_accepted_before_the_handshake():
    plant, flight = Codec(Role.PLANT, SCENARIO, 0.1), Codec(Role.FLIGHT, SCENARIO, 0.1)
    assert refusal(flight, plant.samples(0, 0.0, np.ones(64))) is Status.UNKNOWN_SESSION


def test_a_peer_that_comes_back_is_accepted_and_its_old_packets_are_not(synchronised):
    plant, flight = synchronised()
    old = [flight.command(k, 0.1 * k, np.ones(16)) for k in range(3)]
    plant.decode(old[0])
    again = Codec(Role.FLIGHT, SCENARIO, 0.1, session=23)
    assert refusal(plant, again.command(9, 0.9, np.ones(16))) is Status.UNKNOWN_SESSION
    shake(again, plant)
    assert plant.decode(again.command(9, 0.9, np.ones(16)))[0] is Status.ACCEPTED
    assert refusal(plant, old[2]) is Status.UNKNOWN_SESSION


@pytest.mark.parametrize("key", [None, KEY])
def test_a_recorded_handshake_proves_nothing(synchronised, key):
    """All that the first flight process ever said, sent again after the second one has taken over."""
    plant = Codec(Role.PLANT, SCENARIO, 0.1, key, 11)
    said = []

    def fly(session):
        flight = Codec(Role.FLIGHT, SCENARIO, 0.1, key, session)
        for packet in (flight.hello(), None, None):
            said.append(packet or flight.hello())
            plant.decode(said[-1])
            flight.decode(plant.hello())
        said.append(flight.command(0, 0.0, np.ones(16)))
        assert plant.decode(said[-1])[0] is Status.ACCEPTED

    fly(22)
    recorded = list(said)
    fly(23)
    for packet in recorded * 2:
        assert plant.decode(packet)[0] in (Status.INTRODUCTION, Status.UNKNOWN_SESSION)
        assert plant.session.peer == 23
    for packet in said:  # of the present session
        assert plant.decode(packet)[0] is not Status.ACCEPTED


def test_an_introduction_changes_nothing(synchronised):
    plant, flight = synchronised()
    stranger = Codec(Role.FLIGHT, SCENARIO, 0.1, session=99)
    status, frame = plant.decode(stranger.hello())
    assert status is Status.INTRODUCTION
    assert frame.name == "hello"
    assert plant.session.peer == 22
    assert plant.decode(flight.command(0, 0.0, np.ones(16)))[0] is Status.ACCEPTED


def test_another_scenario_is_told_to_both_users():
    plant, flight = Codec(Role.PLANT, SCENARIO, 0.1), Codec(Role.FLIGHT, OTHER, 0.1)
    assert refusal(plant, flight.hello()) is Status.WRONG_SCENARIO
    assert plant.session.answer_due
    assert refusal(flight, plant.hello()) is Status.WRONG_SCENARIO
    assert not flight.session.answer_due  # else they would answer each other for ever
    assert "another scenario (hash 0b0c0d0e0f101112)" in plant.complaint()
    assert "another scenario (hash 0102030405060708)" in flight.complaint()


def test_a_side_without_a_scenario_is_not_believed_until_it_has_one():
    plant, flight = Codec(Role.PLANT, SCENARIO, 0.1), Codec(Role.FLIGHT, NO_SCENARIO, 0.1)
    flight.decode(plant.hello())
    assert plant.decode(flight.hello())[0] is Status.INTRODUCTION  # it echoes, but has no scenario yet
    assert not plant.session.synchronised
    shake(plant, flight)
    assert plant.session.synchronised


def test_complaints(synchronised):
    plant, flight = Codec(Role.PLANT, SCENARIO, 0.1, KEY), Codec(Role.FLIGHT, SCENARIO, 0.1)
    assert plant.complaint() == "nothing was heard from the peer"
    plant.decode(b"")
    plant.decode(bytes(60))
    assert plant.complaint() == "no packet of the peer was good: 1 too short, 1 malformed"
    plant.decode(flight.hello())
    assert plant.complaint() == "the peer's packets are not authenticated with this side's key"
    plant.decode(resealed(flight.hello(), at("version"), b"\x07"))
    assert plant.complaint() == "the peer speaks version 7 of the protocol, this side version 1"


def test_sessions_differ():
    assert len({Session().number for _ in range(100)}) == 100


def test_a_listener_reads_without_a_session(synchronised, random):
    plant, flight = synchronised(KEY)
    readers = {Role.PLANT: Listener(Role.PLANT, SCENARIO, KEY), Role.FLIGHT: Listener(Role.FLIGHT, NO_SCENARIO, KEY)}
    for packet, _, records in one_of_each(plant, flight, random):
        reader = readers[Role(packet[at("role")])]
        for _ in range(2):  # what is repeated too
            status, frame = reader.decode(packet)
            assert status is Status.ACCEPTED
            assert [r.tobytes() for r in frame.records] == [r.tobytes() for r in records]
    assert Listener(Role.PLANT, OTHER, KEY).decode(plant.hello())[0] is Status.WRONG_SCENARIO
