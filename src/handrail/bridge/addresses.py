"""By which names a server is reached. In: its configuration and its port. Out: the exact Host and Origin lists.

Lists, not rules: what is not listed word for word is refused, so a name that somebody lets point here reaches nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

__all__ = ["Addresses", "is_loopback"]

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
EVERYWHERE: Final = ("", "0.0.0.0", "::")  # noqa: S104  they are compared, not bound
PLAIN_PORTS: Final = {"http": 80, "https": 443}


class Addresses(Struct, frozen=True):
    """Who may be named in Host, and which pages may ask."""

    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of(cls, host: str, port: int, names: Iterable[str] = (), *, secure: bool) -> Addresses:
        """In: the address that is bound, and further names, each with or without a port."""
        scheme = "https" if secure else "http"
        own = [*LOOPBACK, *([] if host in EVERYWHERE or host in LOOPBACK else [_bracketed(host)])]
        hosts = {f"{name}:{port}".lower() for name in own}
        origins = {f"{scheme}://{name}" for name in hosts}
        if port == PLAIN_PORTS[scheme]:
            hosts |= {name.lower() for name in own}
            origins |= {f"{scheme}://{name}".lower() for name in own}
        for name in names:
            spelt = [name.lower()] if ":" in name else [name.lower(), f"{name}:{port}".lower()]
            hosts.update(spelt)
            # Whoever gives a server a name of its own may have put something before it that speaks TLS.
            origins.update(f"{scheme}://{one}" for one in spelt)
            origins.update(f"https://{one}" for one in spelt)
        return cls(frozenset(hosts), frozenset(origins))


def is_loopback(host: str) -> bool:
    """Does an address that is bound reach no further than this machine?"""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
