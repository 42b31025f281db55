"""Checks of URLs that a client asks the server to call, against server-side request forgery.

Only https URLs that resolve to public addresses are allowed. The name is resolved once and the request uses the
resolved address, so a second lookup cannot lead into the private network.
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

__all__ = ["EndpointRefused", "IpAddress", "Target", "check_endpoint", "is_public", "resolve_endpoint"]

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
MAX_LENGTH: Final = 2048
_TUNNELS: Final = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")))
"""Ranges that embed an IPv4 address, which may be private."""


class EndpointRefused(BridgeError):
    """The server does not send requests to this URL."""


class Target(Struct, frozen=True):
    """A resolved URL, with the value of the Host header and the server name for TLS."""

    url: str
    host_header: str
    server_name: str


def is_public(address: IpAddress) -> bool:
    """Whether the address is on the public internet."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if any(address in network for network in _TUNNELS):
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def check_endpoint(url: str) -> SplitResult:
    """Check the syntax of a URL and split it. Raises EndpointRefused."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise EndpointRefused("invalid URL") from None
    plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= MAX_LENGTH
    if not plain or parts.scheme != "https" or not parts.hostname or parts.username is not None or port == 0:
        raise EndpointRefused("an endpoint must be an https URL without a user name")
    return parts


async def resolve_endpoint(url: str, *, allowed: Callable[[IpAddress], bool] = is_public) -> Target:
    """Resolve the host. Raises EndpointRefused if any of its addresses is not allowed."""
    parts = check_endpoint(url)
    host, port = parts.hostname or "", parts.port or 443
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise EndpointRefused(f"{host} could not be resolved") from None
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    if not addresses or not all(map(allowed, addresses)):
        raise EndpointRefused(f"{host} resolves to a private network")
    address = addresses[0]
    host_in_url = f"[{address}]" if address.version == 6 else str(address)
    return Target(urlunsplit(("https", f"{host_in_url}:{port}", parts.path, parts.query, "")), parts.netloc, host)
