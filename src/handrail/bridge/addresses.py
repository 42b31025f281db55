"""The addresses of a server, and the Host and Origin headers it accepts.

The lists are exact: a header that is not listed is refused, so a foreign DNS name that points here reaches nothing.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

__all__ = [
    "EVERYWHERE",
    "Addresses",
    "is_base_path",
    "is_here",
    "is_loopback",
    "is_name",
    "own_address",
    "told_address",
]

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
EVERYWHERE: Final = ("", "0.0.0.0", "::")  # noqa: S104  they are compared, not bound
PLAIN_PORTS: Final = {"http": 80, "https": 443}
_NAME: Final = re.compile(
    r"((?P<scheme>https?)://)?(?P<host>[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?/?"
)
_BASE_PATH: Final = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9_.~-]{0,62}){1,8}")


class Addresses(Struct, frozen=True):
    """The accepted Host and Origin headers."""

    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of(cls, host: str, port: int, names: Iterable[str] = (), *, secure: bool, reached: str = "") -> Addresses:
        """The lists for a bound address and further names, each with or without a port.

        `reached` is the local address of the connection. It is safe to accept: a browser sends a numeric Host only if
        the URL was numeric, which DNS rebinding cannot fake.
        """
        scheme = "https" if secure else "http"
        bound = [_bracketed(host)] if host not in EVERYWHERE else [_bracketed(reached)] if reached else []
        spelt = {one.lower() for name in (*LOOPBACK, *bound) for one in _spellings(name, port, (PLAIN_PORTS[scheme],))}
        origins = {f"{scheme}://{one}" for one in spelt}
        for name in names:
            found = _read(name)
            given = set(_given(found, port))
            spelt |= given
            # A server that was given a name may be behind a proxy that adds TLS.
            schemes = {found["scheme"]} if found["scheme"] else {scheme, "https"}
            origins |= {f"{one}://{name}" for one in schemes for name in given}
        return cls(frozenset(spelt), frozenset(origins))


def _spellings(name: str, port: int, unsaid: Iterable[int]) -> list[str]:
    return [f"{name}:{port}", *([name] if port in unsaid else [])]


def _given(name: re.Match[str], port: int) -> list[str]:
    """The spellings of a given name. Without a port it stands for our port and the default one."""
    if name["port"] is not None:
        return _spellings(name["host"], int(name["port"]), PLAIN_PORTS.values())
    return [name["host"]] if name["scheme"] else [name["host"], f"{name['host']}:{port}"]


def _read(name: str) -> re.Match[str]:
    found = _NAME.fullmatch(name.lower())
    if found is None:
        raise ValueError(f"invalid host name {name}")
    return found


def is_name(name: str) -> bool:
    """Whether this is a host name or a bracketed address, with or without scheme and port."""
    return _NAME.fullmatch(name.lower()) is not None


def is_base_path(path: str) -> bool:
    """Whether this is a path below which a server can be: `/handrail`, `/tools/handrail`."""
    return _BASE_PATH.fullmatch(path) is not None


def own_address(host: str, port: int, *, secure: bool) -> str:
    """The URL of a server for clients on its own machine."""
    shown = LOOPBACK[0] if host in EVERYWHERE else _bracketed(host)
    return f"{'https' if secure else 'http'}://{shown}:{port}"


def told_address(host: str, port: int, names: Iterable[str], *, secure: bool) -> str:
    """The URL that is shown to people: a given name if there is one, preferably one with a scheme."""
    given = sorted(map(_read, names), key=lambda name: name["scheme"] is None)
    if not given:
        return own_address(host, port, secure=secure)
    first = given[0]
    if first["scheme"]:
        return first[0].rstrip("/")
    return f"{'https' if secure else 'http'}://{first['host']}:{first['port'] or port}"


def is_loopback(host: str) -> bool:
    """Whether a bound address is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_here(url: str) -> bool:
    """Whether a URL names this machine, so that another device cannot use it."""
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


def _bracketed(host: str) -> str:
    host = host.removeprefix("::ffff:") if "." in host else host  # an IPv4 client on a dual-stack socket
    return f"[{host}]" if ":" in host else host
