"""Links: real sockets, pseudo-terminals and processes."""

import os
import select
import signal
import socket
import sys
import threading
import time

import numpy as np
import pytest

from hil.layout import MAX_PACKET, SYNC_MARKER, Role
from hil.link_text import open_link
from hil.links import LinkError, in_process_pair
from hil.links_child import Child
from hil.links_serial import PseudoTerminal, SerialLine, pty_pair
from hil.links_tcp import TcpClient, TcpServer
from hil.links_udp import Udp
from hil.packets import Codec

SCENARIO = bytes(range(1, 9))
LOCAL = ("127.0.0.1", 0)
SOON = 5.0  # s: far more than a packet needs here, so that a loaded machine fails nothing


@pytest.fixture
def plant():
    return Codec(Role.PLANT, SCENARIO, 0.1, session=11)


@pytest.fixture
def packet(plant, random):
    return plant.samples(0, 0.0, random.normal(size=64))


def udp_pair():
    server = Udp(LOCAL)
    client = Udp(LOCAL, server.address, only_peer=True)
    return server, client


def tcp_pair():
    server = TcpServer(LOCAL)
    return server, TcpClient(server.address)


PAIRS = {"in process": in_process_pair, "udp": udp_pair, "tcp": tcp_pair, "pty": pty_pair}


@pytest.fixture(params=PAIRS, ids=lambda name: name)
def pair(request):
    """Two ends; the second speaks first, for the first may not know where it is."""
    ends = PAIRS[request.param]()
    yield ends
    for end in ends:
        end.close()


def introduce(server, client, packet):
    """The client's first packet, which the server believes."""
    wait_for(lambda: client.send(packet))
    assert server.receive(SOON) == packet
    server.confirm()


def wait_for(condition, link=None):
    """Until it is true; the link is kept going meanwhile."""
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end
        if link is None:
            time.sleep(0.005)
        else:
            link.receive(0.005)


# ------------------------------------------------------------------ all links
def test_packets_both_ways(pair, plant, random):
    server, client = pair
    introduce(server, client, plant.hello())
    for k in range(50):
        out, back = plant.samples(k, 0.1 * k, random.normal(size=64)), random.bytes(60)
        assert server.send(out)
        assert client.receive(SOON) == out
        back = plant.stop(k, 0.1 * k, 0)
        assert client.send(back)
        assert server.receive(SOON) == back
    assert server.counters.sent == client.counters.received == 50
    assert client.counters.sent == server.counters.received == 51
    assert server.counters.bytes_sent == client.counters.bytes_received
    assert server.counters.not_sent == server.counters.skipped_bytes == server.counters.errors == 0


def test_nothing_comes(pair, packet):
    server, client = pair
    introduce(server, client, packet)
    for link in pair:
        assert link.receive() is None
        assert link.receive(0.01) is None
        assert link.receive(-1.0) is None


def test_a_wait_ends_when_something_comes(pair, packet):
    server, client = pair
    introduce(server, client, packet)
    later = threading.Timer(0.05, server.send, [packet])
    later.start()
    assert client.receive(60.0) == packet
    later.join()


def test_waiting_is_not_asking_again_and_again(pair, packet, monkeypatch):
    server, client = pair
    introduce(server, client, packet)
    calls, wait = [], select.select

    def counted(*arguments):
        calls.append(arguments)
        return wait(*arguments)

    monkeypatch.setattr(select, "select", counted)
    for link in pair:
        assert link.receive(0.2) is None
    assert len(calls) <= 4


def test_nobody_reads(pair, packet):
    """A link whose peer sleeps refuses packets sooner or later (or they are lost on the way), and never blocks."""
    server, client = pair
    introduce(server, client, packet)
    for _ in range(20_000):
        server.send(packet)
    counters = server.counters
    assert counters.sent + counters.not_sent == 20_000
    if not isinstance(server, Udp):
        assert counters.not_sent > 0
        held = []
        for _ in range(counters.sent):
            server.receive()  # goes on with a packet that was begun
            held.append(client.receive(SOON))
        assert held == [packet] * counters.sent


def test_a_closed_link_sends_and_receives_nothing(pair, packet):
    for link in pair:
        link.close()
        link.close()
        assert not link.send(packet)
        assert link.receive(0.01) is None
        assert link.counters.not_sent == 1


def test_the_peer_goes(pair, packet):
    server, client = pair
    introduce(server, client, packet)
    client.close()
    for _ in range(5):
        server.send(packet)
        assert server.receive(0.01) is None


# ------------------------------------------------------------------ UDP
def test_udp_a_peer_that_comes_back_from_another_port(packet):
    server, client = udp_pair()
    introduce(server, client, packet)
    client.close()
    with Udp(LOCAL, server.address) as again, server:
        again.send(packet)
        assert server.receive(SOON) == packet
        server.reply(b"who are you")
        assert again.receive(SOON) == b"who are you"
        server.send(packet)  # not yet believed: goes to the old one
        assert again.receive(0.05) is None
        server.confirm()
        server.send(packet)
        assert again.receive(SOON) == packet


def test_udp_strangers_are_not_heard(packet):
    server, client = udp_pair()
    with server, client, Udp(LOCAL, client.address) as stranger:
        stranger.send(packet)
        assert client.receive(0.05) is None
        assert client.counters.foreign == 1
        assert client.counters.received == 0


def test_udp_without_a_peer(packet):
    with Udp(LOCAL) as link:
        assert not link.send(packet)
        assert not link.reply(packet)
        assert link.counters.not_sent == 2


def test_udp_long_datagrams_are_cut_and_empty_ones_are_there():
    server, client = udp_pair()
    with server, client:
        client.send(bytes(5000))
        assert server.receive(SOON) == bytes(MAX_PACKET + 1)
        client._socket.sendto(b"", server.address)
        assert server.receive(SOON) == b""


def test_udp_nobody_listens(packet):
    with Udp(LOCAL, (LOCAL[0], 9)) as link:
        for _ in range(3):
            link.send(packet)
            assert link.receive(0.01) is None


# ------------------------------------------------------------------ TCP
def test_tcp_the_client_may_come_first_and_come_back(packet):
    with socket.socket() as probe:
        probe.bind(LOCAL)
        address = probe.getsockname()
    with TcpClient(address) as client:
        assert not client.send(packet)
        assert client.receive(0.05) is None
        for round_number in range(1, 4):
            with TcpServer(address) as server:
                wait_for(lambda: client.connected, client)
                introduce(server, client, packet)
                assert server.send(packet)
                assert client.receive(SOON) == packet
            wait_for(lambda: not client.connected, client)
            assert client.counters.connections == client.counters.disconnections == round_number


def test_tcp_the_server_survives_its_clients(packet):
    with TcpServer(LOCAL) as server:
        for _ in range(3):
            with TcpClient(server.address) as client:
                introduce(server, client, packet)
                assert server.send(packet)
                assert client.receive(SOON) == packet
            wait_for(lambda: not server.connected, server)
        assert server.counters.connections == server.counters.disconnections == 3


def test_tcp_a_stranger_does_not_push_the_peer_out(packet):
    with TcpServer(LOCAL) as server, TcpClient(server.address) as client:
        introduce(server, client, packet)
        strangers = []
        for number in range(2, 12):
            strangers.append(socket.create_connection(server.address))
            strangers[-1].sendall(b"GET / HTTP/1.0\r\n\r\n")
            wait_for(lambda number=number: server.counters.connections == number, server)
        assert server.send(packet)
        assert client.receive(SOON) == packet
        assert server.counters.disconnections >= 7  # no more than four are held
        for stranger in strangers:
            stranger.close()


def test_tcp_a_new_peer_takes_over_when_confirmed(packet):
    with TcpServer(LOCAL) as server, TcpClient(server.address) as old:
        introduce(server, old, packet)
        new = TcpClient(server.address)
        wait_for(lambda: new.send(packet))
        assert server.receive(SOON) == packet
        server.reply(packet)
        assert new.receive(SOON) == packet
        server.confirm()
        server.send(packet)
        assert new.receive(SOON) == packet
        wait_for(lambda: old.counters.disconnections == 1, old)
        new.close()


def test_tcp_garbage_and_a_packet_in_pieces(plant, packet):
    with TcpServer(LOCAL) as server, socket.create_connection(server.address) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in (b"noise", SYNC_MARKER[:2], SYNC_MARKER[2:] + packet[:100], packet[100:]):
            client.sendall(piece)
            time.sleep(0.01)
        assert server.receive(SOON) == packet
        assert server.counters.skipped_bytes == 5
        client.sendall(b"x" * 3_000_000)
        assert server.receive(0.05) is None


# ------------------------------------------------------------------ serial
def test_a_line_that_is_pulled_and_comes_back(tmp_path, packet):
    alias = str(tmp_path / "line")
    terminal = PseudoTerminal(alias)
    with SerialLine(alias) as line:
        introduce(terminal, line, packet)
        terminal.close()
        assert not os.path.lexists(alias)
        wait_for(lambda: not line.connected, line)
        assert not line.send(packet)
        with PseudoTerminal(alias) as again:
            wait_for(lambda: line.connected, line)
            introduce(again, line, packet)
        assert line.counters.connections == 2


def test_a_terminal_survives_its_peer(packet):
    with PseudoTerminal() as terminal:
        for _ in range(3):
            with SerialLine(terminal.path, 921600) as line:
                introduce(terminal, line, packet)
                assert terminal.send(packet)
                assert line.receive(SOON) == packet


def test_every_byte_passes_a_terminal(plant):
    """No character is special: not interrupt, not flow control, not line ends."""
    terminal, line = pty_pair()
    with terminal, line:
        packet = plant.samples(0, 0.0, np.frombuffer(bytes(range(256)) * 2).copy())
        for sender, receiver in ((terminal, line), (line, terminal)):
            assert sender.send(packet)
            assert receiver.receive(SOON) == packet
        assert terminal.counters.skipped_bytes == line.counters.skipped_bytes == 0


def test_every_byte_passes_to_a_peer_that_sets_nothing_up(plant):
    """A program that opens the terminal as a file."""
    packet = plant.samples(0, 0.0, np.frombuffer(bytes(range(256)) * 2).copy())
    with PseudoTerminal() as terminal, open(terminal.path, "r+b", buffering=0) as line:
        line.write(SYNC_MARKER + packet)
        assert terminal.receive(SOON) == packet
        assert terminal.send(packet)
        read = b""
        while len(read) < 4 + len(packet):
            read += line.read(4096)
        assert read == SYNC_MARKER + packet
        assert terminal.receive(0.01) is None  # no echo


# ------------------------------------------------------------------ children
def test_a_child_that_echoes_dies_and_is_restarted(packet):
    with Child(["cat"]) as child:
        for round_number in range(1, 4):
            assert child.send(packet)
            assert child.receive(SOON) == packet
            assert child.alive
            os.kill(child.pid, signal.SIGKILL)
            wait_for(lambda: not child.connected, child)
            assert not child.alive
            assert not child.send(packet)
            assert child.receive(0.01) is None
            assert child.counters.disconnections == round_number
            assert child.restart()
    assert not child.alive


def test_what_a_child_said_before_it_went_is_heard(packet, tmp_path):
    """Its last packet, though a packet to it has failed meanwhile."""
    (tmp_path / "last").write_bytes(SYNC_MARKER + packet)
    with Child(["cat", str(tmp_path / "last")]) as child:
        wait_for(lambda: not child.alive)
        child.send(packet)
        assert child.receive(SOON) == packet
        assert child.receive(0.01) is None


def test_a_child_that_does_not_end_by_itself():
    child = Child([sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"])
    child.close()
    assert child._process.returncode == -signal.SIGKILL


def test_a_child_that_reads_nothing(packet):
    with Child(["sleep", "600"]) as child:
        sent = [child.send(packet) for _ in range(1000)]
        assert not all(sent)
        assert child.counters.not_sent == sent.count(False)
        os.kill(child.pid, signal.SIGKILL)


def test_an_interrupt_at_the_keyboard_does_not_reach_the_child():
    with Child(["cat"]) as child:
        assert os.getsid(child.pid) == child.pid != os.getsid(0)


def test_standard_error_of_a_child_is_ours(capfd):
    with Child(["sh", "-c", "echo told >&2"]) as child:
        wait_for(lambda: not child.alive)
    assert capfd.readouterr() == ("", "told\n")


STDIO = """
from hil.link_text import open_link
link = open_link("stdio:")
print("this must not get into the stream")
while (packet := link.receive(5.0)) is not None:
    link.send(packet)
    if packet == b"":
        break
"""


def test_standard_streams(packet, capfd):
    with Child([sys.executable, "-c", STDIO]) as child:
        for _ in range(3):
            wait_for(lambda: child.send(packet))
            assert child.receive(30.0) == packet
        assert child.counters.skipped_bytes == 0
    assert capfd.readouterr().err == "this must not get into the stream\n"


# ------------------------------------------------------------------ texts
def test_texts_that_open(tmp_path, packet):
    with open_link("udp-listen://127.0.0.1:0") as server, open_link(f"udp://127.0.0.1:{server.address[1]}") as client:
        introduce(server, client, packet)
    with open_link("tcp-listen://localhost:0") as server, open_link(f"tcp://localhost:{server.address[1]}") as client:
        introduce(server, client, packet)
    with open_link(f"pty://{tmp_path}/line") as server, open_link(f"serial://{tmp_path}/line?baud=9600") as client:
        introduce(server, client, packet)
    with open_link("pty:") as server, open_link(f"serial://{server.path}") as client:
        introduce(server, client, packet)
    with open_link("child:cat -u 'a file' -") as child:
        assert child.command == ["cat", "-u", "a file", "-"]


def test_a_given_peer(packet):
    with Udp(LOCAL) as client, open_link(f"udp-listen://127.0.0.1:0?peer=127.0.0.1:{client.address[1]}") as server:
        assert server.send(packet)
        assert client.receive(SOON) == packet


def test_six_bytes_of_a_newer_internet(packet):
    try:
        server = open_link("udp-listen://[::1]:0")
    except LinkError:
        pytest.skip("no IPv6 here")
    with server, open_link(f"udp://[::1]:{server.address[1]}") as client:
        introduce(server, client, packet)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "link '' must begin with one of udp-listen:, udp:, "),
        ("usb://x", "link 'usb://x' must begin with one of udp-listen:, udp:, tcp-listen:"),
        ("udp", "link 'udp' must begin with one of"),
        ("udp://127.0.0.1", "must give host:port with a port from 1 to 65535"),
        ("udp://127.0.0.1:0", "must give host:port with a port from 1 to 65535"),
        ("udp://127.0.0.1:65536", "must give host:port with a port from 1 to 65535"),
        ("udp-listen://127.0.0.1:http", "must give host:port with a port from 0 to 65535"),
        ("tcp://:5005", "must give host:port with a port"),
        ("tcp://127.0.0.1:5005/path", "must give host:port with a port"),
        ("tcp://[::1:5005", "is not an address"),
        ("udp://127.0.0.1:5005?speed=1", "has an unknown option 'speed', allowed are: none"),
        ("udp-listen://127.0.0.1:0?peer=127.0.0.1", "must give host:port with a port from 1 to 65535"),
        ("udp://no-such-host.invalid:5005", "host 'no-such-host.invalid' is not known"),
        ("udp-listen://0.0.0.0:5005", "address 0.0.0.0 is not of this machine; --allow-remote is needed"),
        ("tcp-listen://0.0.0.0:5005", "address 0.0.0.0 is not of this machine"),
        ("udp://192.0.2.1:5005", "address 192.0.2.1 is not of this machine"),
        ("tcp://192.0.2.1:5005", "address 192.0.2.1 is not of this machine"),
        ("udp-listen://127.0.0.1:0?peer=192.0.2.1:5005", "address 192.0.2.1 is not of this machine"),
        ("serial:///dev/no-such-device", "serial device /dev/no-such-device is not there"),
        ("serial:///dev/null", "serial device /dev/null cannot be opened at 115200 baud"),
        ("serial://", "must name a device"),
        ("serial://ttyUSB0", "must name a device, as in serial:///dev/ttyUSB0"),
        ("serial:///dev/null?baud=fast", "must give baud as a whole number above 0, got 'fast'"),
        ("serial:///dev/null?baud=0", "must give baud as a whole number above 0, got '0'"),
        ("pty://host", "must be pty: or name a path"),
        ("pty:///no/such/folder/line", "cannot be linked at /no/such/folder/line: No such file or directory"),
        ("child:", "must name a program"),
        ("child:'", "is not a command: No closing quotation"),
        ("child:/no/such/program -x", "program /no/such/program cannot be started: No such file or directory"),
        ("stdio:x", "must be stdio: and nothing more"),
    ],
)
def test_texts_that_do_not(text, message):
    with pytest.raises(LinkError) as error:
        open_link(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("scheme", ["udp", "tcp"])
def test_a_port_in_use(scheme):
    with open_link(f"{scheme}-listen://127.0.0.1:0") as first:
        port = first.address[1]
        with pytest.raises(LinkError, match=f"port {port} on 127.0.0.1 is in use"):
            open_link(f"{scheme}-listen://127.0.0.1:{port}")


def test_a_line_in_use():
    terminal, line = pty_pair()
    with terminal, line, pytest.raises(LinkError, match="cannot be opened at 115200 baud"):
        SerialLine(terminal.path)


def test_beyond_this_machine_only_if_told():
    for text in ("udp-listen://0.0.0.0:0", "tcp-listen://0.0.0.0:0", "udp://192.0.2.1:5005"):
        open_link(text, allow_remote=True).close()


def test_an_address_that_is_not_here():
    with pytest.raises(LinkError, match=r"port 5005 on 192\.0\.2\.1 cannot be used: "):
        open_link("udp-listen://192.0.2.1:5005", allow_remote=True)


def test_no_descriptors_are_left_behind():
    before = len(os.listdir("/proc/self/fd"))
    for text in ("udp-listen://127.0.0.1:0", "tcp-listen://127.0.0.1:0", "pty:", "child:cat", "tcp://127.0.0.1:9"):
        open_link(text).close()
    for text in ("pty:///no/such/folder/x", "serial:///dev/null", "child:/no/such/program"):
        with pytest.raises(LinkError):
            open_link(text)
    assert len(os.listdir("/proc/self/fd")) == before


# ------------------------------------------------------------------ what strangers and noise hide
def test_the_peer_is_heard_behind_strangers():
    with Udp(LOCAL) as peer, Udp(LOCAL) as stranger:
        server = Udp(LOCAL, peer.address, only_peer=True)
        with server:
            for sender, words in ((stranger, [b"x"] * 20), (peer, [b"good"])):
                sender._last = server.address
                assert all([sender.reply(word) for word in words])
            time.sleep(0.05)
            assert server.receive(0.0) == b"good"
            assert server.counters.foreign == 20


def test_a_packet_is_found_behind_much_noise_in_one_call():
    packet = Codec(Role.PLANT, bytes(range(1, 9)), 0.1).samples(0, 0.0, np.zeros(64))
    with TcpServer(LOCAL) as server, socket.create_connection(server.address) as client:
        assert server.receive(0.05) is None
        client.sendall(b"noise " * 5000 + SYNC_MARKER + packet)
        time.sleep(0.1)
        assert server.receive(0.0) == packet
