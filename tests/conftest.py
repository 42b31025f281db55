"""Isolation for every test: a fresh home, no API keys, no network except loopback."""

from __future__ import annotations

import ipaddress
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline, because shared machines are slow at times. CI uses fixed examples: a new failure is caused by a change.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")

PRIVATE_PREFIXES = ("ANTHROPIC_", "CLAUDE", "HANDRAIL_")
PURE = {"protocol", "schema"}
"""Test folders of code without I/O. They run without a fresh home, whose setup would double their time."""


def refuse_remote_connections(event: str, arguments: tuple[object, ...]) -> None:
    """Audit hook that raises on connections to other machines."""
    if event != "socket.connect":
        return
    address = arguments[1]
    if isinstance(address, tuple) and address and not is_loopback(str(address[0])):
        raise RuntimeError(f"tests may connect only to loopback, not to {address[0]!r}")


def is_loopback(host: str) -> bool:
    """Whether a host name or address is localhost, in 127.0.0.0/8, or ::1."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


sys.addaudithook(refuse_remote_connections)


@pytest.fixture(autouse=True)
def own_home(request: pytest.FixtureRequest) -> Path | None:
    """Set a fresh HOME and remove variables that could reach the CLI or an account of the user."""
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
