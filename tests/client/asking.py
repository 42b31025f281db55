"""A CLI that asks. In: the program's functions, and questions. Out: what the CLI is told."""

from __future__ import annotations

from typing import Any

from handrail import Options
from handrail.testing import ScriptedCli, asks
from tests.client.conversation import joined

BASH = asks("can_use_tool", tool_name="Bash", input={"command": "ls"}, tool_use_id="toolu_1")


async def answers(options: Options, *questions: Any) -> list[Any]:
    """What the CLI is told when it asks these, one after the other."""
    cli = ScriptedCli([list(questions)])
    async with joined(cli, options) as session:
        await session.ask("Hi")
    return cli.answers


async def answer(options: Options, question: Any) -> Any:
    """What it is told when it asks one."""
    (only,) = await answers(options, question)
    return only


def returns(value: Any) -> Any:
    """A function that answers everything with this."""

    async def function(_: object) -> Any:
        return value

    return function
