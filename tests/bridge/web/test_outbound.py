"""Where a server sends something because a client said so: the internet at large, and nothing else."""

from __future__ import annotations

import ipaddress

import pytest

from handrail.bridge.web.outbound import Refused, checked_endpoint, is_public, safe_target

PRIVATE = """127.0.0.1 127.1.2.3 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0
255.255.255.255 224.0.0.1 ::1 :: fe80::1 fc00::1 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1
2002:7f00:1:: 2001:0:1::""".split()


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_of_a_private_network_is_not_public(address: str):
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_an_address_of_the_internet_is_public(address: str):
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
def test_what_is_no_plain_https_address_is_refused(url: str):
    with pytest.raises(Refused):
        checked_endpoint(url)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "0x7f000001", "2130706433", "127.1"])
async def test_a_name_that_leads_to_this_machine_is_refused(host: str):
    with pytest.raises(Refused, match="private|no address"):
        await safe_target(f"https://{host}/x")


async def test_what_was_looked_up_is_what_is_called():
    target = await safe_target("https://localhost:4443/a?b=c", allowed=lambda address: address.is_loopback)
    assert target.url in ("https://127.0.0.1:4443/a?b=c", "https://[::1]:4443/a?b=c")
    assert (target.host, target.name) == ("localhost:4443", "localhost")
