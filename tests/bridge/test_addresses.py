"""Accepted Host and Origin headers are exact lists."""

from __future__ import annotations

import pytest

from handrail.bridge.addresses import Addresses, is_loopback, is_name, own_address, told_address


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


def test_a_port_that_need_not_be_said_is_not_said_by_browsers():
    found = Addresses.of("127.0.0.1", 8787, ["box.example:443", "[fd00::1]"], secure=False)
    assert {"box.example", "box.example:443", "[fd00::1]", "[fd00::1]:8787"} <= found.hosts
    assert {"https://box.example", "https://[fd00::1]:8787"} <= found.origins


def test_a_name_with_a_scheme_is_reached_by_that_alone():
    found = Addresses.of("127.0.0.1", 8787, ["https://box.example", "http://lab.example:81/"], secure=False)
    assert {"box.example", "lab.example:81"} <= found.hosts
    assert not {"box.example:8787", "lab.example"} & found.hosts
    assert {"https://box.example", "http://lab.example:81"} <= found.origins
    assert not {"http://box.example", "https://lab.example:81"} & found.origins


def test_people_are_told_a_name_and_tools_on_this_machine_the_server_itself():
    names = ["box.example", "https://out.example"]
    assert told_address("0.0.0.0", 8787, names, secure=False) == "https://out.example"
    assert told_address("0.0.0.0", 8787, names[:1], secure=True) == "https://box.example:8787"
    assert told_address("::1", 8787, [], secure=False) == "http://[::1]:8787"
    assert own_address("0.0.0.0", 8787, secure=True) == "https://127.0.0.1:8787"
    assert own_address("192.0.2.7", 8787, secure=False) == "http://192.0.2.7:8787"


@pytest.mark.parametrize("everywhere", ["0.0.0.0", "::", ""])
def test_a_server_on_all_addresses_is_reached_by_the_number_that_was_called_and_no_other(everywhere: str):
    hosts = Addresses.of(everywhere, 8787, secure=True, reached="::ffff:192.0.2.7").hosts
    assert "192.0.2.7:8787" in hosts
    assert "[fd00::7]:8787" in Addresses.of(everywhere, 8787, secure=True, reached="fd00::7").hosts
    assert not hosts & {"192.0.2.8:8787", "0.0.0.0:8787", "192.0.2.7", "[::ffff:192.0.2.7]:8787"}
    assert "192.0.2.7:8787" not in Addresses.of("127.0.0.1", 8787, secure=True, reached="192.0.2.7").hosts


@pytest.mark.parametrize(
    "name", ["ftp://box.example", "https://box.example/path", "box example", "box//", "", "[::1", "box:port", "a@b"]
)
def test_what_is_no_name(name: str):
    assert not is_name(name)
    assert is_name("box.example")
    assert is_name("[fd00::1]:8787")
    assert is_name("https://box.example/")


@pytest.mark.parametrize(
    ("host", "is_here"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("", False), ("0.0.0.0", False)],
)
def test_what_stays_on_this_machine(host: str, is_here: bool):
    assert is_loopback(host) is is_here
