"""Calling tools by pattern."""

from __future__ import annotations

from handrail.agent.models.offered_tools import call_of, find_tool
from handrail.agent.models.player import Player
from handrail.agent.models.script import Script, ToolUse, tool_use

SCHEMA = {
    "type": "object",
    "properties": {
        "zone": {"type": "string"},
        "unit": {"type": "string", "enum": ["s", "ms"]},
        "count": {"type": "integer"},
        "loud": {"type": "boolean"},
        "steps": {"type": "number", "default": 4},
    },
    "required": ["zone", "unit", "count", "steps", "odd"],
}
TOOLS = [{"name": "Bash"}, {"name": "mcp__a__list_all"}, {"name": "mcp__b__now", "input_schema": SCHEMA}]


def test_first_matching_alternative_wins():
    assert (find_tool("mcp__*__now|mcp__*", TOOLS) or {})["name"] == "mcp__b__now"
    assert (find_tool("mcp__*__never|mcp__*", TOOLS) or {})["name"] == "mcp__a__list_all"
    assert find_tool("Read", TOOLS) is None


def test_required_fields_are_filled_in():
    call = call_of(ToolUse("mcp__b__*", {"zone": "Rome"}), TOOLS)
    assert (call.name, call.input) == (
        "mcp__b__now",
        {"zone": "Rome", "unit": "s", "count": 1, "steps": 4, "odd": "tour"},
    )


def test_pattern_without_a_match_is_unchanged():
    call = ToolUse("mcp__c__*")
    assert call_of(call, TOOLS) is call


def test_player_resolves_patterns():
    played = Player(Script.of(tool_use("mcp__a__*"))).reply_to({"model": "m", "messages": [], "tools": TOOLS})
    (message,) = played.whole()
    assert isinstance(message, dict)
    assert message["content"][0]["name"] == "mcp__a__list_all"
