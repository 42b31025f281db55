"""Checking URLs before WebFetch connects.

A host name is resolved once, and the connection uses the resolved address, so a DNS answer that changes after the check
(DNS rebinding) cannot redirect it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from handrail.agent.tools.base import ToolFailed

__all__ = ["Target", "find_target", "parse_address"]

_MAX_URL: Final = 2000
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Target(NamedTuple):
    """A checked URL. `url` contains the IP address; `host` is the name for TLS, `header` the Host header."""

    url: str
    host: str
    header: str
    private: bool


def parse_address(url: str) -> SplitResult:
    """Parse a URL. Raises ToolFailed if it is invalid or contains credentials."""
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError as error:
        raise ToolFailed(f"Invalid URL: {error}") from error
    if len(url) > _MAX_URL or any(ord(sign) <= 32 or sign == "\\" for sign in url):
        raise ToolFailed("Invalid URL: it is too long, or contains a space or a backslash")
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        raise ToolFailed("Invalid URL: it must start with http:// or https:// and contain a host")
    if parts.username is not None or parts.password is not None:
        raise ToolFailed("Invalid URL: it must not contain a user name or password")
    return parts


async def find_target(parts: SplitResult, *, private_allowed: bool) -> Target:
    """Resolve the host. Raises ToolFailed if it is in a private network and that is not allowed."""
    host = _ascii_name(parts.hostname or "")
    addresses = await _resolve(host, parts.port or 443)
    private = [address for address in addresses if not _is_public(address)]
    if private and not private_allowed:
        raise ToolFailed(
            f"{host} is at {private[0]}, which is not a public address; private, link-local and loopback addresses "
            "are not fetched."
        )
    # Hosts on private networks rarely have certificates, so http stays http there.
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
        raise ToolFailed(f"Invalid URL: {host} is not a valid host name") from error


async def _resolve(host: str, port: int) -> list[Address]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ToolFailed(f"The host {host} cannot be found: {error}") from error
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    if not addresses:
        raise ToolFailed(f"The host {host} does not resolve to an address.")
    return addresses


def _is_public(address: Address) -> bool:
    # IPv6 forms that embed an IPv4 address are judged by that address.
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _is_public(inner)
    return address.is_global and not address.is_multicast and not address.is_reserved
