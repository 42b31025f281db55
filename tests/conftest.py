"""What every test stands on: a home of its own, no keys, no network but loopback. In: pytest. Out: a safe process."""

from __future__ import annotations

import ipaddress
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: a shared machine is slow when it likes. In CI the same examples every time, so that red means changed.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")

PRIVATE_PREFIXES = ("ANTHROPIC_", "CLAUDE", "HANDRAIL_")
PURE = {"protocol", "schema"}
"""What asks the world for nothing needs no home; its thousand tests are over in the time that a thousand homes take."""


def refuse_the_outside(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: a connection that would leave this machine raises instead."""
    if event != "socket.connect":
        return
    address = arguments[1]
    if isinstance(address, tuple) and address and not is_loopback(str(address[0])):
        raise RuntimeError(f"tests may reach only loopback, not {address[0]!r}")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself. In: a name or an address. Out: true for localhost, 127/8 and ::1."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


sys.addaudithook(refuse_the_outside)


@pytest.fixture(autouse=True)
def own_home(request: pytest.FixtureRequest) -> Path | None:
    """A fresh HOME, and no variable of the person who runs the tests that could reach a CLI or an account."""
    if request.path.parent.name in PURE:
        return None
    home = request.getfixturevalue("tmp_path_factory").mktemp("home")
    monkeypatch = request.getfixturevalue("monkeypatch")
    for name in [name for name in os.environ if name.startswith(PRIVATE_PREFIXES) and name != "HANDRAIL_REAL_CLI"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home
