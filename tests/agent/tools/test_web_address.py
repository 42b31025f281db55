"""Checking URLs."""

import pytest

from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.web_address import Target, find_target, parse_address


async def test_public_address_is_upgraded_to_https():
    target = await find_target(parse_address("http://8.8.8.8/a?b=c"), private_allowed=False)
    assert target == Target("https://8.8.8.8/a?b=c", "8.8.8.8", "8.8.8.8", private=False)


async def test_allowed_private_address_keeps_its_scheme():
    target = await find_target(parse_address("http://127.0.0.1:8080"), private_allowed=True)
    assert target == Target("http://127.0.0.1:8080/", "127.0.0.1", "127.0.0.1:8080", private=True)


@pytest.mark.parametrize(
    "host",
    [
        "[::ffff:10.0.0.1]",
        "[2002:7f00:1::]",
        "[64:ff9b::a9fe:a9fe]",
        "[fe80::1]",
        "[fc00::1]",
        "224.0.0.1",
        "100.64.0.1",
    ],
)
async def test_disguised_private_addresses_are_refused(host: str):
    with pytest.raises(ToolFailed, match="not a public address"):
        await find_target(parse_address(f"https://{host}/"), private_allowed=False)
