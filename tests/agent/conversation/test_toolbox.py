from __future__ import annotations

from pathlib import Path

import pytest

from handrail.agent.errors import Refused
from handrail.agent.models.script import Script, text
from tests.agent.stage import stage


async def offered(folder: Path, *flags: str, asks: bool = True) -> set[str]:
    async with stage(folder, Script.of(text("ok")), *flags, asks=asks) as host:
        return set(host.engine.toolbox().offered())


async def test_the_default_tools_are_offered(tmp_path: Path) -> None:
    assert {"Task", "Bash", "Read", "Write", "Edit", "AskUserQuestion"} <= await offered(tmp_path)


async def test_only_the_named_tools_are_offered(tmp_path: Path) -> None:
    assert await offered(tmp_path, "--tools", "Read,Grep,NoSuchTool") == {"Read", "Grep"}
    assert await offered(tmp_path, "--tools", "") == set()
    assert "Bash" in await offered(tmp_path, "--tools", "default")


async def test_a_denied_tool_is_not_offered(tmp_path: Path) -> None:
    assert "Bash" not in await offered(tmp_path, "--disallowedTools", "Bash")
    assert "Bash" in await offered(tmp_path, "--disallowedTools", "Bash(rm:*)")
    assert "Bash" not in await offered(tmp_path, "--settings", '{"permissions": {"deny": ["Bash"]}}')


async def test_questions_are_not_offered_without_a_host(tmp_path: Path) -> None:
    assert "AskUserQuestion" not in await offered(tmp_path, asks=False)


async def test_a_schema_adds_its_tool(tmp_path: Path) -> None:
    assert "StructuredOutput" in await offered(tmp_path, "--json-schema", '{"type": "object"}')
    assert "StructuredOutput" not in await offered(tmp_path)


@pytest.mark.parametrize("schema", ["{", "[]", "5"])
async def test_an_invalid_schema_is_refused(tmp_path: Path, schema: str) -> None:
    with pytest.raises(Refused, match="--json-schema"):
        await offered(tmp_path, "--json-schema", schema)
