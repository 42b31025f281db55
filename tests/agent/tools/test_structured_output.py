"""The StructuredOutput tool."""

from pathlib import Path

import pytest

from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.structured_output import StructuredOutput
from tests.agent.tools.workplace import call, desk_in

SCHEMA = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


async def test_valid_answer_is_stored(tmp_path: Path):
    desk, tool = desk_in(tmp_path), StructuredOutput(SCHEMA)
    outcome = await call(desk, "", tool=tool, count=3, more="x")
    assert outcome.content == outcome.detail == "Structured output provided successfully"
    assert desk.state.structured_output == {"count": 3, "more": "x"}
    assert tool.schema() is SCHEMA


async def test_invalid_answer_is_explained(tmp_path: Path):
    with pytest.raises(ToolFailed) as error:
        await call(desk_in(tmp_path), "", tool=StructuredOutput(SCHEMA), name="x")
    assert str(error.value) == "Output does not match required schema: root: must have required property 'count'"
