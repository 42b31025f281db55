"""Sends requests of a scripted CLI to callbacks, and returns their answers."""

from __future__ import annotations

from typing import Any

from handrail import Options
from handrail.testing import ScriptedCli, asks
from tests.client.conversation import joined

BASH = asks("can_use_tool", tool_name="Bash", input={"command": "ls"}, tool_use_id="toolu_1")


async def answers(options: Options, *questions: Any) -> list[Any]:
    """The answers to these requests, sent in order."""
    cli = ScriptedCli([list(questions)])
    async with joined(cli, options) as session:
        await session.ask("Hi")
    return cli.answers


async def answer(options: Options, question: Any) -> Any:
    """The answer to one request."""
    (only,) = await answers(options, question)
    return only


def returns(value: Any) -> Any:
    """A callback that always returns this."""

    async def function(_: object) -> Any:
        return value

    return function
