"""Limits on turns and cost; structured output."""

from __future__ import annotations

import pytest

from handrail import TurnFailed
from handrail.testing import text, tool_use
from tests.interop.scenario import Model, Talk, bash, results_sent

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "number": {"type": "integer"}},
    "required": ["name", "number"],
}
FORMAT = {"type": "json_schema", "schema": SCHEMA}


async def test_max_turns_ends_the_turn_and_the_next_one_starts_at_zero(model: Model, talk: Talk):
    api = model(bash("echo 1"), bash("echo 2"), text("fresh"))
    async with talk(api, max_turns=2) as session:
        result = await (await session.send("go"))
        assert (result.is_error, result.reason, result.message.num_turns) == (True, "max_turns", 3)
        with pytest.raises(TurnFailed) as caught:
            result.raise_for_error()
        assert (caught.value.reason, caught.value.result) == ("max_turns", result)
        assert (await session.ask("again")).text == "fresh"
    assert results_sent(api.main_requests[2])[:2] == ["1", "2"]
    assert session.ending is not None
    assert session.ending.code == 0


async def test_spent_budget_ends_the_turn_before_the_tool(model: Model, talk: Talk):
    api = model(bash("touch made.txt"), text("never"))
    async with talk(api, max_budget_usd=0.0001, can_use_tool=lambda request: True) as session:
        with pytest.raises(TurnFailed, match="budget") as caught:
            await session.ask("go")
        with pytest.raises(TurnFailed):
            await session.ask("again")
    assert caught.value.reason == "budget_exhausted"
    assert caught.value.result.message.subtype == "error_max_budget_usd"
    assert len(api.main_requests) == 1


async def test_structured_output_matches_the_schema(model: Model, talk: Talk):
    good, bad = {"name": "x", "number": 3}, {"name": "x"}
    api = model(tool_use("StructuredOutput", **bad), tool_use("StructuredOutput", **good), text("never"))
    async with talk(api, output_format=FORMAT) as session:
        result = await session.ask("go")
    assert result.structured_output == good
    assert "number" in results_sent(api.main_requests[1])[0]
    schemas = {tool["name"]: tool["input_schema"] for tool in api.main_requests[0].body["tools"]}
    assert schemas["StructuredOutput"]["required"] == ["name", "number"]


async def test_structured_output_that_never_matches_fails_the_turn(model: Model, talk: Talk):
    api = model(*(tool_use("StructuredOutput", name="x") for _ in range(12)))
    async with talk(api, output_format=FORMAT) as session:
        with pytest.raises(TurnFailed) as caught:
            await session.ask("go")
    assert caught.value.reason == "structured_output_retry_exhausted"
    assert caught.value.result.structured_output is None


async def test_ignored_schema_gives_no_structured_output(model: Model, talk: Talk):
    api = model(*(text("in prose") for _ in range(6)))
    async with talk(api, output_format=FORMAT) as session:
        result = await session.ask("go")
    assert (result.text, result.structured_output, result.is_error) == ("in prose", None, False)
