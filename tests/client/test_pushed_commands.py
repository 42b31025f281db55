"""Slash commands that a CLI pushes in the middle of a session."""

from __future__ import annotations

from typing import Any

from handrail.client.pushed_commands import pushed_commands
from handrail.protocol import Message, encode_message
from handrail.schema.agent_answers import SlashCommand


def line(commands: Any) -> Message:
    return encode_message({"type": "system", "subtype": "commands_changed", "commands": commands})


def names(*pushed: object) -> list[str]:
    return [command.name for command in pushed_commands(line(list(pushed)), None) or ()]


def test_a_line_of_another_shape_changes_nothing():
    before = [SlashCommand(name="cost")]
    assert pushed_commands(line("none"), before) is before


def test_a_command_keeps_its_name():
    assert names({"name": "cost", "description": "Costs", "argumentHint": ""}, {"name": "a:b"}) == ["cost", "a:b"]


def test_an_mcp_prompt_is_named_as_it_runs():
    assert names({"name": "rich:greet (MCP)"}, {"name": "my notes:say it (MCP)"}) == [
        "mcp__rich__greet",
        "mcp__my_notes__say_it",
    ]


def test_an_entry_of_another_shape_is_left_out():
    assert names("cost", None, {"name": 5}, {"name": "usage"}) == ["usage"]
