"""Where a web address leads. In: a URL. Out: the one network address to connect to, or why none may be.

A name is looked up once, and what was found is what is connected to: an answer that changes in between changes nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from handrail.agent.tools.base import ToolFailed

__all__ = ["Target", "find_target", "parse_address"]

_LONGEST: Final = 2000
_EMBEDDED: Final = ipaddress.ip_network("64:ff9b::/96")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Target(NamedTuple):
    """What to ask whom: `url` names the network address, `host` the name for headers and certificates."""

    url: str
    host: str
    header: str
    private: bool


def parse_address(url: str) -> SplitResult:
    """The parts of an address. ToolFailed for what is none, or hides something."""
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError as error:
        raise ToolFailed(f"Invalid URL: {error}") from error
    if len(url) > _LONGEST or any(ord(sign) <= 32 or sign == "\\" for sign in url):
        raise ToolFailed("Invalid URL: it is too long, or has a space or a backslash in it")
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        raise ToolFailed("Invalid URL: it must begin with http:// or https:// and name a host")
    if parts.username is not None or parts.password is not None:
        raise ToolFailed("Invalid URL: it must not contain a user name or password")
    return parts


async def find_target(parts: SplitResult, *, private_allowed: bool) -> Target:
    """Look the host up. ToolFailed where it leads into a private network and that is not allowed."""
    host = _ascii_name(parts.hostname or "")
    addresses = await _look_up(host, parts.port or 443)
    private = [address for address in addresses if not _is_public(address)]
    if private and not private_allowed:
        raise ToolFailed(
            f"{host} is at {private[0]}, which is not a public address; private, link-local and loopback addresses "
            "are not fetched."
        )
    # Nobody on a private network is expected to have a certificate.
    scheme = parts.scheme if private else "https"
    address = addresses[0]
    shown = f"[{address}]" if address.version == 6 else str(address)
    port = f":{parts.port}" if parts.port else ""
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    named = f"[{host}]" if ":" in host else host
    return Target(f"{scheme}://{shown}{port}{path}", host, f"{named}{port}", bool(private))


def _ascii_name(host: str) -> str:
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError as error:
        raise ToolFailed(f"Invalid URL: {host} is no name of a host") from error


async def _look_up(host: str, port: int) -> list[Address]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolFailed(f"The host {host} cannot be found: {error}") from error
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    if not addresses:
        raise ToolFailed(f"The host {host} has no address.")
    return addresses


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inner is None and address in _EMBEDDED:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _is_public(inner)
    return address.is_global and not address.is_multicast and not address.is_reserved
