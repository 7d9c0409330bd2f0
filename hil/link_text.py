"""Links from their texts, as `--link` takes them; what is wrong is told in one sentence."""

from __future__ import annotations

import errno
import ipaddress
import os
import shlex
import socket
from collections.abc import Callable
from urllib.parse import SplitResult, parse_qsl, urlsplit

from hil.links import Link, LinkError

Address = tuple[str, int]


def open_link(text: str, allow_remote: bool = False) -> Link:
    """Open a link (texts: `hil.links`); without `allow_remote` addresses must be of this machine."""
    scheme, colon, _ = text.partition(":")
    if not colon or scheme not in _SCHEMES:
        known = ", ".join(f"{name}:" for name in _SCHEMES)
        raise LinkError(f"link {text!r} must begin with one of {known}")
    return _SCHEMES[scheme](text, allow_remote)


def _split(text: str, *options: str) -> tuple[SplitResult, dict[str, str]]:
    """Parts of an address and its options."""
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise LinkError(f"link {text!r} is not an address: {error}") from None
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = [name for name in given if name not in options]
    if unknown:
        allowed = ", ".join(options) or "none"
        raise LinkError(f"link {text!r} has an unknown option {unknown[0]!r}, allowed are: {allowed}")
    return parts, given


# ------------------------------------------------------------------ addresses
def _address(parts: SplitResult, text: str, allow_remote: bool, lowest: int = 1) -> Address:
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.hostname or port is None or port < lowest or parts.path not in ("", "/"):
        raise LinkError(f"link {text!r} must give host:port with a port from {lowest} to 65535")
    return _resolved(parts.hostname, port, allow_remote)


def _resolved(host: str, port: int, allow_remote: bool) -> Address:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        raise LinkError(f"host {host!r} is not known") from None
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)  # both sides of a name with two addresses take the same
    address = str(found[0][4][0])
    if not (allow_remote or _is_here(address)):
        raise LinkError(f"address {address} is not of this machine; --allow-remote is needed to go beyond it")
    return address, port


def _is_here(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _bound(open_it: Callable[[], Link], address: Address) -> Link:
    try:
        return open_it()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise LinkError(f"port {address[1]} on {address[0]} is in use") from None
        raise LinkError(f"port {address[1]} on {address[0]} cannot be used: {os.strerror(error.errno or 0)}") from None


# ------------------------------------------------------------------ one function for each scheme
def _udp_listen(text: str, allow_remote: bool) -> Link:
    from hil.links_udp import Udp

    parts, options = _split(text, "peer")
    peer = None
    if "peer" in options:
        peer = _address(_split(f"udp://{options['peer']}")[0], text, allow_remote)
    address = _address(parts, text, allow_remote, lowest=0)
    return _bound(lambda: Udp(address, peer, only_peer=peer is not None), address)


def _udp(text: str, allow_remote: bool) -> Link:
    from hil.links_udp import Udp

    peer = _address(_split(text)[0], text, allow_remote)
    anywhere = "::" if ":" in peer[0] else "0.0.0.0"
    bind = (peer[0] if _is_here(peer[0]) else anywhere, 0)
    return _bound(lambda: Udp(bind, peer, only_peer=True), bind)


def _tcp_listen(text: str, allow_remote: bool) -> Link:
    from hil.links_tcp import TcpServer

    address = _address(_split(text)[0], text, allow_remote, lowest=0)
    return _bound(lambda: TcpServer(address), address)


def _tcp(text: str, allow_remote: bool) -> Link:
    from hil.links_tcp import TcpClient

    return TcpClient(_address(_split(text)[0], text, allow_remote))


def _serial(text: str, allow_remote: bool) -> Link:
    from hil.links_serial import BAUD, SerialLine

    parts, options = _split(text, "baud")
    baud = options.get("baud", str(BAUD))
    if not (baud.isascii() and baud.isdigit() and int(baud) > 0):
        raise LinkError(f"link {text!r} must give baud as a whole number above 0, got {baud!r}")
    if parts.netloc or not parts.path:
        raise LinkError(f"link {text!r} must name a device, as in serial:///dev/ttyUSB0")
    return SerialLine(parts.path, int(baud))


def _pty(text: str, allow_remote: bool) -> Link:
    from hil.links_serial import PseudoTerminal

    parts, _ = _split(text)
    if parts.netloc:
        raise LinkError(f"link {text!r} must be pty: or name a path, as in pty:///tmp/line")
    return PseudoTerminal(parts.path)


def _child(text: str, allow_remote: bool) -> Link:
    from hil.links_child import Child

    try:
        words = shlex.split(text.removeprefix("child:"))
    except ValueError as error:
        raise LinkError(f"link {text!r} is not a command: {error}") from None
    if not words:
        raise LinkError(f"link {text!r} must name a program, as in child:./flight")
    return Child(words)


def _stdio(text: str, allow_remote: bool) -> Link:
    from hil.links_child import StandardStreams

    if text != "stdio:":
        raise LinkError(f"link {text!r} must be stdio: and nothing more")
    return StandardStreams()


_SCHEMES: dict[str, Callable[[str, bool], Link]] = {
    "udp-listen": _udp_listen,
    "udp": _udp,
    "tcp-listen": _tcp_listen,
    "tcp": _tcp,
    "serial": _serial,
    "pty": _pty,
    "child": _child,
    "stdio": _stdio,
}
