"""Endpoints given by clients may only lead to the public internet."""

from __future__ import annotations

import ipaddress

import pytest

from handrail.bridge.web.outbound import EndpointRefused, check_endpoint, is_public, resolve_endpoint

PRIVATE = """127.0.0.1 127.1.2.3 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0
255.255.255.255 224.0.0.1 ::1 :: fe80::1 fc00::1 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1
2002:7f00:1:: 2001:0:1::""".split()


@pytest.mark.parametrize("address", PRIVATE)
def test_private_address_is_not_public(address: str):
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_internet_address_is_public(address: str):
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "http://push.example/x",
        "https://",
        "https://me@push.example/x",
        "https://push.example:0/x",
        "https://push.example:99999/x",
        "https://push.example/ x",
        "https://push.example/\r\nx: y",
        "https://[::1",
        "https://push.example/" + "x" * 3000,
        "file:///etc/passwd",
    ],
)
def test_url_other_than_plain_https_is_rejected(url: str):
    with pytest.raises(EndpointRefused):
        check_endpoint(url)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "0x7f000001", "2130706433", "127.1"])
async def test_name_of_this_machine_is_rejected(host: str):
    with pytest.raises(EndpointRefused, match="private|could not be resolved"):
        await resolve_endpoint(f"https://{host}/x")


async def test_url_contains_the_resolved_address():
    target = await resolve_endpoint("https://localhost:4443/a?b=c", allowed=lambda address: address.is_loopback)
    assert target.url in ("https://127.0.0.1:4443/a?b=c", "https://[::1]:4443/a?b=c")
    assert (target.host_header, target.server_name) == ("localhost:4443", "localhost")
