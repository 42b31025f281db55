"""Forwarded headers, which count only if a named proxy sent them: any other client could forge them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping

__all__ = ["Proxies", "is_proxy"]

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Proxies:
    """The named proxies, each an address or a network."""

    def __init__(self, named: Iterable[str] = ()) -> None:
        self._networks = [ipaddress.ip_network(one, strict=False) for one in named]

    def client(self, peer: str, headers: Mapping[str, str]) -> str:
        """The address of the client: the last one in X-Forwarded-For that is not a named proxy."""
        address = peer
        for entry in reversed(headers.get("x-forwarded-for", "").split(",")):
            found = _address(entry.strip()) if self.trusts(address) else None
            if found is None:
                break
            address = str(found)
        return address

    def secure(self, peer: str, headers: Mapping[str, str]) -> bool:
        """Whether a proxy says that the client came with TLS."""
        proto = headers.get("x-forwarded-proto", "").rpartition(",")[2]
        return proto.strip().lower() == "https" and self.trusts(peer)

    def trusts(self, address: str) -> bool:
        """Whether this is a named proxy."""
        found = _address(address)
        return found is not None and any(found in network for network in self._networks)


def is_proxy(text: str) -> bool:
    """Whether this is an address or a network."""
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _address(text: str) -> _Address | None:
    """An address with or without a port, as proxies write it; None if it is invalid."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
