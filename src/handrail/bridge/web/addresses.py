"""By which names a server is reached. In: its configuration and its port. Out: the exact Host and Origin lists.

Lists, not rules: what is not listed word for word is refused, so a name that somebody lets point here reaches nothing.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

__all__ = ["EVERYWHERE", "Addresses", "is_loopback", "is_name", "own_address", "told_address"]

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
EVERYWHERE: Final = ("", "0.0.0.0", "::")  # noqa: S104  they are compared, not bound
PLAIN_PORTS: Final = {"http": 80, "https": 443}
_NAME: Final = re.compile(
    r"((?P<scheme>https?)://)?(?P<host>[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?/?"
)


class Addresses(Struct, frozen=True):
    """Who may be named in Host, and which pages may ask."""

    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of(cls, host: str, port: int, names: Iterable[str] = (), *, secure: bool, reached: str = "") -> Addresses:
        """In: the address that is bound, and further names, each with or without a port.

        `reached` is the address of this machine at which somebody came in. Nobody can let a name point there and have
        a browser say so: a number in Host is the number that was called.
        """
        scheme = "https" if secure else "http"
        bound = [_bracketed(host)] if host not in EVERYWHERE else [_bracketed(reached)] if reached else []
        spelt = {one.lower() for name in (*LOOPBACK, *bound) for one in _spellings(name, port, (PLAIN_PORTS[scheme],))}
        origins = {f"{scheme}://{one}" for one in spelt}
        for name in names:
            found = _read(name)
            given = set(_given(found, port))
            spelt |= given
            # Whoever gives a server a name of its own may have put something before it that speaks TLS.
            schemes = {found["scheme"]} if found["scheme"] else {scheme, "https"}
            origins |= {f"{one}://{name}" for one in schemes for name in given}
        return cls(frozenset(spelt), frozenset(origins))


def _spellings(name: str, port: int, unsaid: Iterable[int]) -> list[str]:
    return [f"{name}:{port}", *([name] if port in unsaid else [])]


def _given(name: re.Match[str], port: int) -> list[str]:
    """A name that somebody gave: without a port it is reached by ours, or by that which need not be said."""
    if name["port"] is not None:
        return _spellings(name["host"], int(name["port"]), PLAIN_PORTS.values())
    return [name["host"]] if name["scheme"] else [name["host"], f"{name['host']}:{port}"]


def _read(name: str) -> re.Match[str]:
    found = _NAME.fullmatch(name.lower())
    if found is None:
        raise ValueError(f"{name} is no name of a host")
    return found


def is_name(name: str) -> bool:
    """May this be a name of a server: a host, or an address in brackets, with or without a scheme and a port?"""
    return _NAME.fullmatch(name.lower()) is not None


def own_address(host: str, port: int, *, secure: bool) -> str:
    """Where a server is reached from its own machine, with nothing in between."""
    shown = LOOPBACK[0] if host in EVERYWHERE else _bracketed(host)
    return f"{'https' if secure else 'http'}://{shown}:{port}"


def told_address(host: str, port: int, names: Iterable[str], *, secure: bool) -> str:
    """What people are told: a name where the server has one, first of all one that says how it is reached."""
    given = sorted(map(_read, names), key=lambda name: name["scheme"] is None)
    if not given:
        return own_address(host, port, secure=secure)
    first = given[0]
    if first["scheme"]:
        return first[0].rstrip("/")
    return f"{'https' if secure else 'http'}://{first['host']}:{first['port'] or port}"


def is_loopback(host: str) -> bool:
    """Does an address that is bound reach no further than this machine?"""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bracketed(host: str) -> str:
    host = host.removeprefix("::ffff:") if "." in host else host  # who came by IPv4 to a socket for both
    return f"[{host}]" if ":" in host else host
