"""Prewarmed sessions: started before the prompt is known, claimed once, closed if no one claims them."""

import asyncio

import pytest

from handrail import Disconnected, HandshakeFailed, Options, WarmSession, WarmSessionExpired, startup
from handrail.testing import ScriptedCli, hold
from handrail.testing.scripted_cli import Refusal
from tests.client.conversation import PATIENCE


@pytest.fixture(autouse=True)
async def limit():
    async with asyncio.timeout(PATIENCE):
        yield


async def warm(cli: ScriptedCli, **options: float) -> WarmSession:
    return await startup(transport=cli.transport, **options)


async def test_cli_is_initialized_before_the_prompt():
    cli = ScriptedCli([["Hello"]])
    spare = await warm(cli)
    assert ([request["subtype"] for request in cli.requests], cli.prompts) == (["initialize"], [])
    assert (await spare.query("Hi")).text == "Hello"
    assert [request["subtype"] for request in cli.requests] == ["initialize"]
    assert cli._connection.ending is not None


async def test_startup_waits_for_the_handshake_even_if_the_options_do_not():
    cli = ScriptedCli(replies={"initialize": {"pid": 7}})
    spare = await startup(Options(wait_until_ready=False), transport=cli.transport)
    async with spare.claim() as session:
        assert session.server_info is not None


async def test_claimed_session_outlives_the_idle_timeout_and_is_not_closed_by_the_warm_one():
    cli = ScriptedCli([["One"], ["Two"]])
    async with await warm(cli, idle_timeout=0.05) as spare:
        session = spare.claim()
    await asyncio.wait([spare._expiry])
    assert (await session.ask("first")).text == "One"
    assert (await session.ask("second")).text == "Two"
    await session.close()


async def test_unclaimed_session_is_closed_at_the_end_of_the_block():
    cli = ScriptedCli()
    async with await warm(cli):
        pass
    assert cli._connection.ending is not None


async def test_unclaimed_session_expires():
    cli = ScriptedCli()
    spare = await warm(cli, idle_timeout=0.01)
    await cli._connection.closed()
    with pytest.raises(WarmSessionExpired, match=r"closed after 0.01 s without a claim; call startup\(\) again"):
        spare.query("Hi")
    await spare.close()


async def test_session_is_claimed_once():
    spare = await warm(ScriptedCli())
    session = spare.claim()
    with pytest.raises(RuntimeError, match="claimed once"):
        spare.query("Hi")
    await session.close()


async def test_exit_of_an_idle_cli_is_reported_by_the_claim():
    cli = ScriptedCli()
    spare = await warm(cli)
    await cli._connection.close()
    await asyncio.wait([spare._expiry])
    with pytest.raises(Disconnected, match="ended before it was claimed"):
        spare.claim()


async def test_failed_handshake_raises_and_leaves_nothing_open():
    cli = ScriptedCli(replies={"initialize": Refusal("not today")})
    with pytest.raises(HandshakeFailed, match="not today"):
        await startup(Options(wait_until_ready=False), transport=cli.transport)
    assert cli._connection.ending is not None


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
async def test_idle_timeout_must_be_positive(seconds: float):
    cli = ScriptedCli()
    with pytest.raises(ValueError, match="idle_timeout must be a positive number of seconds"):
        await warm(cli, idle_timeout=seconds)
    assert cli.requests == []


async def test_query_left_early_closes_the_session():
    cli = ScriptedCli([["One", hold("more")]])
    asked = (await warm(cli)).query("Hi")
    async for _ in asked:
        break
    await asked.aclose()
    assert cli._connection.ending is not None
