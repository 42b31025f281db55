"""Checks URLs that clients supply before the server sends requests to them.

Only https is allowed, and never a private network. The name is resolved once, and the request goes to that address, so
a second DNS answer cannot change the target.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from msgspec import Struct

from handrail.bridge.errors import BridgeError

__all__ = ["Address", "Refused", "Target", "checked_endpoint", "is_public", "safe_target"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
LONGEST: Final = 2048
_TUNNELS: Final = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")))
"""Networks whose addresses embed another, arbitrary address."""


class Refused(BridgeError):
    """A URL that the server must not request."""


class Target(Struct, frozen=True):
    """The URL to connect to, the Host header, and the name that the certificate must match."""

    url: str
    host: str
    name: str


def is_public(address: Address) -> bool:
    """Whether this is a public address."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if any(address in network for network in _TUNNELS):
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def checked_endpoint(url: str) -> SplitResult:
    """The parts of an endpoint URL. Raises Refused if it is malformed."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Refused("malformed endpoint URL") from None
    plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= LONGEST
    if not plain or parts.scheme != "https" or not parts.hostname or parts.username is not None or port == 0:
        raise Refused("an endpoint must be an https URL without credentials")
    return parts


async def safe_target(url: str, *, allowed: Callable[[Address], bool] = is_public) -> Target:
    """Resolve the name. Raises Refused if any of its addresses is not allowed."""
    parts = checked_endpoint(url)
    host, port = parts.hostname or "", parts.port or 443
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Refused(f"{host} cannot be resolved") from None
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    if not addresses or not all(map(allowed, addresses)):
        raise Refused(f"{host} is in a private network")
    address = addresses[0]
    shown = f"[{address}]" if address.version == 6 else str(address)
    return Target(urlunsplit(("https", f"{shown}:{port}", parts.path, parts.query, "")), parts.netloc, host)
