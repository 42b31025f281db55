"""handrail.agent.models.offered_tools: calls of tools whose names a script cannot know."""

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


def test_the_first_alternative_that_is_offered_counts():
    assert (find_tool("mcp__*__now|mcp__*", TOOLS) or {})["name"] == "mcp__b__now"
    assert (find_tool("mcp__*__never|mcp__*", TOOLS) or {})["name"] == "mcp__a__list_all"
    assert find_tool("Read", TOOLS) is None


def test_what_the_schema_requires_is_filled_in():
    call = call_of(ToolUse("mcp__b__*", {"zone": "Rome"}), TOOLS)
    assert (call.name, call.input) == (
        "mcp__b__now",
        {"zone": "Rome", "unit": "s", "count": 1, "steps": 4, "odd": "tour"},
    )


def test_a_pattern_that_fits_nothing_stays_and_fails_as_an_unknown_tool_does():
    call = ToolUse("mcp__c__*")
    assert call_of(call, TOOLS) is call


def test_a_player_calls_the_tool_that_the_request_offers():
    played = Player(Script.of(tool_use("mcp__a__*"))).reply_to({"model": "m", "messages": [], "tools": TOOLS})
    (message,) = played.whole()
    assert isinstance(message, dict)
    assert message["content"][0]["name"] == "mcp__a__list_all"
