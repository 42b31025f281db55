"""Tests run without the user's account and home, and without network except loopback."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest


def test_connection_to_another_machine_is_refused():
    with socket.socket() as outside, pytest.raises(RuntimeError, match="only to loopback"):
        outside.connect(("192.0.2.1", 9))


def test_connection_to_loopback_is_allowed():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as inside:
        inside.connect(server.getsockname())
        assert inside.getpeername() == server.getsockname()


def test_home_is_a_fresh_folder(own_home: Path):
    assert (Path.home(), list(own_home.iterdir())) == (own_home, [])


def test_user_api_keys_are_removed():
    assert [name for name in os.environ if name.startswith(("ANTHROPIC_", "CLAUDE"))] == []
