"""Queries: one prompt in a new session."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from handrail import Disconnected, Options, OptionsError, query
from handrail.testing import Lab, ScriptedCli, exits, hold
from tests.client.conversation import PATIENCE
from tests.client.scripted_cli import write_cli

PNG = b"\x89PNG\r\n\x1a\n0000"
TALKS = """
prompt()
say(assistant("Hello"))
say(result("Hello"))
"""
FOREVER = """
prompt()
while True:
    say(assistant("more"))
    hear()
"""


async def test_query_yields_all_messages():
    async with asyncio.timeout(PATIENCE):
        asked = query("Hi", transport=ScriptedCli([["Hello"]]).transport)
        kinds = [message.type async for message in asked]
    assert kinds[-2:] == ["assistant", "result"]
    assert asked.result is not None
    assert asked.result.text == "Hello"


async def test_awaited_query_returns_the_result():
    cli = ScriptedCli([["Hello"]])
    async with asyncio.timeout(PATIENCE):
        assert (await query("Hi", images=[PNG], transport=cli.transport)).text == "Hello"
    assert [block["type"] for block in cli.prompts[0]["message"]["content"]] == ["text", "image"]


async def test_prompts_from_an_async_iterable_are_sent_in_order():
    cli = ScriptedCli([["One"], ["Two"]])

    async def prompts() -> AsyncIterator[Any]:
        yield "first"
        assert len(cli.prompts) == 1  # the next prompt is requested only after the turn
        yield {"type": "text", "text": "second"}

    async with asyncio.timeout(PATIENCE):
        asked = query(prompts(), transport=cli.transport)
        results = [message async for message in asked if message.type == "result"]
    assert len(results) == 2
    assert asked.result is not None
    assert asked.result.text == "Two"
    assert [prompt["message"]["content"] for prompt in cli.prompts] == ["first", [{"type": "text", "text": "second"}]]


async def test_empty_iterable_is_an_error():
    async def nothing() -> AsyncIterator[str]:
        for item in ():
            yield item

    async with asyncio.timeout(PATIENCE):
        with pytest.raises(ValueError, match="a result needs at least one prompt"):
            await query(nothing(), transport=ScriptedCli().transport)


async def test_error_in_the_iterable_is_raised_and_stops_the_cli():
    async def breaks() -> AsyncIterator[str]:
        yield "first"
        raise ZeroDivisionError

    cli = ScriptedCli()
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(ZeroDivisionError):
            await query(breaks(), transport=cli.transport)
    assert cli._connection.ending is not None


async def test_query_cannot_be_used_twice():
    async with asyncio.timeout(PATIENCE):
        asked = query("Hi", transport=ScriptedCli().transport)
        await asked
        with pytest.raises(RuntimeError, match="started once"):
            await asked


async def test_exit_of_the_cli_is_an_error():
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(Disconnected, match="exit code 4"):
            await query("Hi", transport=ScriptedCli([["One", exits(4)]]).transport)


async def test_failed_turn_is_a_result():
    failed = {"type": "result", "is_error": True, "result": "Overloaded"}
    async with asyncio.timeout(PATIENCE):
        assert (await query("Hi", transport=ScriptedCli([[failed]]).transport)).is_error


def test_invalid_option_is_found_before_the_start():
    with pytest.raises(OptionsError):
        query("Hi", Options(mcp_servers={"a": 5}))


async def test_closing_a_query_early_stops_the_cli():
    cli = ScriptedCli([["One", hold("never")]])
    async with asyncio.timeout(PATIENCE), contextlib.aclosing(query("Hi", transport=cli.transport)) as asked:
        async for message in asked:
            if message.type == "assistant":
                break
    assert cli._connection.ending is not None


@pytest.mark.parametrize("script", [TALKS, FOREVER])
def test_leaving_the_loop_leaves_no_process(script: str, tmp_path: Path):
    lab = Lab(tmp_path)

    async def main() -> None:
        options = Options(cli_path=write_cli(tmp_path, script), env=lab.environment())
        async with asyncio.timeout(PATIENCE):
            async for message in query("Hi", options):
                if message.type == "assistant":
                    break

    asyncio.run(main())
    assert lab.leftovers() == []


def test_an_error_in_the_loop_leaves_no_process(tmp_path: Path):
    lab = Lab(tmp_path)

    async def main() -> None:
        options = Options(cli_path=write_cli(tmp_path, FOREVER), env=lab.environment())
        async with asyncio.timeout(PATIENCE):
            async for message in query("Hi", options):
                assert message.type != "assistant"

    with pytest.raises(AssertionError):
        asyncio.run(main())
    assert lab.leftovers() == []
