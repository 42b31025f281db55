"""Requests that the server sends: retries, and checks of URLs given by clients against server-side request forgery.

Such a URL must be https and resolve to public addresses only. The name is resolved once and the request uses the
resolved address, so a second lookup cannot lead into the private network.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from msgspec import Struct

from handrail.bridge.errors import BridgeError
from handrail.errors import CallerError, PeerError

if TYPE_CHECKING:
    import httpx2

__all__ = [
    "RETRY_DELAYS",
    "TIMEOUT_SECONDS",
    "DeliveryFailed",
    "EndpointRefused",
    "IpAddress",
    "Target",
    "check_endpoint",
    "is_public",
    "post_with_retries",
    "resolve_endpoint",
]

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
MAX_LENGTH: Final = 2048
_TUNNELS: Final = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")))
"""Ranges that embed an IPv4 address, which may be private."""
RETRY_DELAYS: Final = (1.0, 5.0)
"""Seconds before the second and the third attempt."""
TIMEOUT_SECONDS: Final = 10.0
_RETRYABLE: Final = frozenset({408, 425, 429})


class EndpointRefused(BridgeError, CallerError):
    """The server does not send requests to this URL."""


class DeliveryFailed(BridgeError, PeerError):
    """The receiver did not accept the request. `status` is 0 if it could not be reached."""

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        super().__init__(reason)


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


async def post_with_retries(
    client: httpx2.AsyncClient,
    address: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    delays: Sequence[float] = RETRY_DELAYS,
    extensions: dict[str, Any] | None = None,
) -> None:
    """Post, and retry on network errors and temporary failures. Raises DeliveryFailed, which never quotes the URL."""
    import httpx2

    for delay in (*delays, None):
        status, reason = 0, ""
        try:
            request = client.stream("POST", address, content=body, headers=headers, extensions=extensions)
            # The body of the answer is not read: the receiver could send it without end.
            async with asyncio.timeout(TIMEOUT_SECONDS), request as answer:
                status, reason = answer.status_code, f"the receiver answered {answer.status_code}"
        except (httpx2.HTTPError, OSError) as error:
            reason = f"the receiver could not be reached ({type(error).__name__})"
        if 200 <= status < 300:
            return
        if delay is None or (0 < status < 500 and status not in _RETRYABLE):
            raise DeliveryFailed(status, reason)
        await asyncio.sleep(delay)
