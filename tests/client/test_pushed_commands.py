"""Slash commands that a CLI pushes in the middle of a session."""

from __future__ import annotations

from handrail.client.pushed_commands import pushed_commands
from handrail.schema.system_messages import CommandsChangedMessage


def names(*pushed: object) -> list[str]:
    return [command.name for command in pushed_commands(CommandsChangedMessage(commands=list(pushed)))]


def test_a_command_keeps_its_name():
    assert names({"name": "cost", "description": "Costs", "argumentHint": ""}, {"name": "a:b"}) == ["cost", "a:b"]


def test_an_mcp_prompt_is_named_as_it_runs():
    assert names({"name": "rich:greet (MCP)"}, {"name": "my notes:say it (MCP)"}) == [
        "mcp__rich__greet",
        "mcp__my_notes__say_it",
    ]


def test_an_entry_of_another_shape_is_left_out():
    assert names("cost", None, {"name": 5}, {"name": "usage"}) == ["usage"]
