"""Which names are ours: those listed, word for word."""

from __future__ import annotations

import pytest

from handrail.bridge.addresses import Addresses, is_loopback


def test_a_server_on_this_machine_has_three_names():
    found = Addresses.of("127.0.0.1", 8787, secure=False)
    assert found.hosts == {"127.0.0.1:8787", "localhost:8787", "[::1]:8787"}
    assert found.origins == {f"http://{host}" for host in found.hosts}


def test_the_usual_port_need_not_be_said():
    found = Addresses.of("127.0.0.1", 443, secure=True)
    assert {"localhost", "localhost:443"} <= found.hosts
    assert {"https://localhost", "https://localhost:443"} <= found.origins
    assert not [origin for origin in found.origins if origin.startswith("http:")]


def test_an_address_that_is_bound_is_a_name_and_all_addresses_are_none():
    assert "[fd00::1]:8787" in Addresses.of("FD00::1", 8787, secure=True).hosts
    for everywhere in ("0.0.0.0", "::", ""):
        assert len(Addresses.of(everywhere, 8787, secure=True).hosts) == 3


def test_a_name_may_stand_behind_something_that_speaks_tls():
    found = Addresses.of("127.0.0.1", 8787, ["Box.example", "other.example:9000"], secure=False)
    assert {"box.example", "box.example:8787", "other.example:9000"} <= found.hosts
    assert "other.example" not in found.hosts
    assert {"https://box.example", "http://box.example:8787", "https://other.example:9000"} <= found.origins


@pytest.mark.parametrize(
    ("host", "is_here"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("", False), ("0.0.0.0", False)],
)
def test_what_stays_on_this_machine(host: str, is_here: bool):
    assert is_loopback(host) is is_here
