"""Forwarded headers: who the client is, and whether it came with TLS, if a named proxy says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.bridge.web.forwarded import Proxies, is_proxy
from tests.bridge.serving import running


@pytest.mark.parametrize(
    ("named", "peer", "forwarded", "client"),
    [
        ([], "127.0.0.1", "203.0.113.7", "127.0.0.1"),
        (["127.0.0.1"], "127.0.0.1", "203.0.113.7", "203.0.113.7"),
        (["127.0.0.1"], "127.0.0.1", "", "127.0.0.1"),
        (["10.0.0.0/8"], "192.0.2.1", "203.0.113.7", "192.0.2.1"),
        (["127.0.0.1"], "127.0.0.1", "198.51.100.1, 203.0.113.7", "203.0.113.7"),
        (["127.0.0.1", "10.0.0.0/8"], "127.0.0.1", "198.51.100.1, 203.0.113.7, 10.1.2.3", "203.0.113.7"),
        (["127.0.0.1", "10.0.0.0/8"], "127.0.0.1", "10.1.2.3", "10.1.2.3"),
        (["127.0.0.1"], "::ffff:127.0.0.1", "203.0.113.7:4711", "203.0.113.7"),
        (["::1"], "::1", "[2001:db8::7]:4711", "2001:db8::7"),
        (["::1"], "::1", "2001:db8::7", "2001:db8::7"),
        (["127.0.0.1"], "127.0.0.1", "203.0.113.7, unknown", "127.0.0.1"),
        (["127.0.0.1"], "", "203.0.113.7", ""),
    ],
)
def test_the_client_is_the_last_address_that_is_not_a_named_proxy(
    named: list[str], peer: str, forwarded: str, client: str
):
    assert Proxies(named).client(peer, {"x-forwarded-for": forwarded}) == client


@pytest.mark.parametrize(
    ("peer", "proto", "secure"),
    [
        ("127.0.0.1", "https", True),
        ("127.0.0.1", "http, HTTPS", True),
        ("127.0.0.1", "https, http", False),
        ("127.0.0.1", "", False),
        ("192.0.2.1", "https", False),
    ],
)
def test_only_a_named_proxy_says_that_the_client_has_tls(peer: str, proto: str, secure: bool):
    assert Proxies(["127.0.0.1"]).secure(peer, {"x-forwarded-proto": proto}) is secure


@pytest.mark.parametrize(
    ("text", "good"), [("10.0.0.1", True), ("10.1.2.3/8", True), ("::1", True), ("box.example", False), ("", False)]
)
def test_a_proxy_is_an_address_or_a_network(text: str, good: bool):
    assert is_proxy(text) is good


@pytest.mark.parametrize(("proxies", "noted"), [((), "127.0.0.1"), (("127.0.0.1",), "203.0.113.7")])
async def test_logins_are_noted_with_the_address_that_a_named_proxy_forwards(
    tmp_path: Path, proxies: tuple[str, ...], noted: str
):
    async with running(tmp_path, proxies=proxies) as server, server.browser() as admin:
        headers = {"x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https", "origin": server.address}
        async with server.client(**headers) as client:
            answer = await client.post("/api/login", json={"link": await server.bridge.access.make_link(["view"])})
        assert ("Secure" in answer.headers["set-cookie"]) is bool(proxies)
        [newest, *_] = (await admin.get("/api/audit")).json()["rows"]
        assert (newest["what"], newest["address"]) == ("login", noted)
