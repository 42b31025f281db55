"""Slash commands that the CLI pushes during a session."""

from __future__ import annotations

from typing import Any

from handrail.client.pushed_commands import pushed_commands
from handrail.protocol import Message, encode_message
from handrail.schema.handshake import SlashCommand


def line(commands: Any) -> Message:
    return encode_message({"type": "system", "subtype": "commands_changed", "commands": commands})


def names(*pushed: object) -> list[str]:
    return [command.name for command in pushed_commands(line(list(pushed)), None) or ()]


def test_line_of_unknown_shape_is_ignored():
    before = [SlashCommand(name="cost")]
    assert pushed_commands(line("none"), before) is before


def test_a_command_keeps_its_name():
    assert names({"name": "cost", "description": "Costs", "argumentHint": ""}, {"name": "a:b"}) == ["cost", "a:b"]


def test_mcp_prompt_has_the_name_that_runs_it():
    assert names({"name": "rich:greet (MCP)"}, {"name": "my notes:say it (MCP)"}) == [
        "mcp__rich__greet",
        "mcp__my_notes__say_it",
    ]


def test_entry_of_unknown_shape_is_skipped():
    assert names("cost", None, {"name": 5}, {"name": "usage"}) == ["usage"]
