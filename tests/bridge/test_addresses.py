"""Accepted Host and Origin headers are exact lists."""

from __future__ import annotations

import pytest

from handrail.bridge.addresses import Addresses, is_loopback, is_name, own_address, told_address


def test_loopback_server_has_three_names():
    found = Addresses.of("127.0.0.1", 8787, secure=False)
    assert found.hosts == {"127.0.0.1:8787", "localhost:8787", "[::1]:8787"}
    assert found.origins == {f"http://{host}" for host in found.hosts}


def test_default_port_may_be_omitted():
    found = Addresses.of("127.0.0.1", 443, secure=True)
    assert {"localhost", "localhost:443"} <= found.hosts
    assert {"https://localhost", "https://localhost:443"} <= found.origins
    assert not [origin for origin in found.origins if origin.startswith("http:")]


def test_bound_address_is_accepted_and_wildcards_add_no_name():
    assert "[fd00::1]:8787" in Addresses.of("FD00::1", 8787, secure=True).hosts
    for wildcard in ("0.0.0.0", "::", ""):
        assert len(Addresses.of(wildcard, 8787, secure=True).hosts) == 3


def test_name_behind_a_tls_proxy_is_accepted():
    found = Addresses.of("127.0.0.1", 8787, ["Box.example", "other.example:9000"], secure=False)
    assert {"box.example", "box.example:8787", "other.example:9000"} <= found.hosts
    assert "other.example" not in found.hosts
    assert {"https://box.example", "http://box.example:8787", "https://other.example:9000"} <= found.origins


def test_default_port_is_omitted_from_origins():
    found = Addresses.of("127.0.0.1", 8787, ["box.example:443", "[fd00::1]"], secure=False)
    assert {"box.example", "box.example:443", "[fd00::1]", "[fd00::1]:8787"} <= found.hosts
    assert {"https://box.example", "https://[fd00::1]:8787"} <= found.origins


def test_name_with_a_scheme_allows_only_that_scheme():
    found = Addresses.of("127.0.0.1", 8787, ["https://box.example", "http://lab.example:81/"], secure=False)
    assert {"box.example", "lab.example:81"} <= found.hosts
    assert not {"box.example:8787", "lab.example"} & found.hosts
    assert {"https://box.example", "http://lab.example:81"} <= found.origins
    assert not {"http://box.example", "https://lab.example:81"} & found.origins


def test_public_name_is_shown_and_local_tools_use_the_bound_address():
    names = ["box.example", "https://out.example"]
    assert told_address("0.0.0.0", 8787, names, secure=False) == "https://out.example"
    assert told_address("0.0.0.0", 8787, names[:1], secure=True) == "https://box.example:8787"
    assert told_address("::1", 8787, [], secure=False) == "http://[::1]:8787"
    assert own_address("0.0.0.0", 8787, secure=True) == "https://127.0.0.1:8787"
    assert own_address("192.0.2.7", 8787, secure=False) == "http://192.0.2.7:8787"


@pytest.mark.parametrize("wildcard", ["0.0.0.0", "::", ""])
def test_wildcard_server_accepts_only_the_address_it_was_reached_by(wildcard: str):
    hosts = Addresses.of(wildcard, 8787, secure=True, reached="::ffff:192.0.2.7").hosts
    assert "192.0.2.7:8787" in hosts
    assert "[fd00::7]:8787" in Addresses.of(wildcard, 8787, secure=True, reached="fd00::7").hosts
    assert not hosts & {"192.0.2.8:8787", "0.0.0.0:8787", "192.0.2.7", "[::ffff:192.0.2.7]:8787"}
    assert "192.0.2.7:8787" not in Addresses.of("127.0.0.1", 8787, secure=True, reached="192.0.2.7").hosts


@pytest.mark.parametrize(
    "name", ["ftp://box.example", "https://box.example/path", "box example", "box//", "", "[::1", "box:port", "a@b"]
)
def test_invalid_name_is_rejected(name: str):
    assert not is_name(name)
    assert is_name("box.example")
    assert is_name("[fd00::1]:8787")
    assert is_name("https://box.example/")


@pytest.mark.parametrize(
    ("host", "is_here"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("", False), ("0.0.0.0", False)],
)
def test_loopback_addresses_are_recognized(host: str, is_here: bool):
    assert is_loopback(host) is is_here
