from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, text
from tests.agent.stage import stage

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


async def shown(project: Path, prompt: str, *flags: str) -> list[dict[str, Any]]:
    """The blocks that follow the prompt itself."""
    async with stage(project.parent, Script.of(text("ok")), *flags) as host:
        await host.turn(prompt)
        return host.model.asked[0]["messages"][0]["content"][1:]


async def test_a_file_that_is_mentioned_is_read(project: Path) -> None:
    (project / "notes.txt").write_text("remember the milk")
    assert "remember the milk" in str(await shown(project, "look at @notes.txt."))


async def test_quoted_name_with_blanks_is_read(project: Path) -> None:
    (project / "my notes.txt").write_text("remember the milk")
    assert "remember the milk" in str(await shown(project, 'look at @"my notes.txt"'))


async def test_an_image_is_shown_as_one(project: Path) -> None:
    (project / "dot.png").write_bytes(PIXEL)
    assert "image" in [block["type"] for block in await shown(project, "what is on @dot.png?")]


async def test_mention_without_a_file_is_unchanged(project: Path) -> None:
    assert await shown(project, "mail me@example.org or @missing (@nothing)") == []


async def test_a_folder_is_listed(project: Path) -> None:
    (project / "src" / "deep").mkdir(parents=True)
    (project / "src" / "a.py").write_text("1")
    assert "holds:\na.py\ndeep/\n<" in (await shown(project, "@src"))[0]["text"]


@pytest.mark.parametrize(
    ("mention", "lines"),
    [("@a.txt#L2-3", "2\tb\n3\tc"), ("@a.txt#L2", "2\tb"), ("@a.txt#2-L3", "2\tb\n3\tc"), ("@a.txt#L3-2", None)],
)
async def test_lines_of_a_file_are_shown(project: Path, mention: str, lines: str | None) -> None:
    (project / "a.txt").write_text("a\nb\nc\nd\n")
    found = await shown(project, f"see {mention}.")
    assert [block["text"].splitlines()[2:-1] for block in found] == ([] if lines is None else [lines.splitlines()])


async def test_a_name_with_a_hash_is_a_file_first(project: Path) -> None:
    (project / "a#L1").write_text("whole")
    assert "whole" in (await shown(project, "@a#L1"))[0]["text"]


async def test_duplicate_mention_is_read_once(project: Path) -> None:
    (project / "a").write_text("x")
    assert len(await shown(project, "@a and @a")) == 1


@pytest.mark.parametrize("name", ["link", "../secret", "folder/secret"])
async def test_file_outside_is_not_read_even_through_a_link(project: Path, name: str) -> None:
    (project.parent / "secret").write_text("the secret")
    (project / "link").symlink_to(project.parent / "secret")
    (project / "folder").symlink_to(project.parent)
    found = str(await shown(project, f"look at @{name}"))
    assert "the secret" not in found
    assert "may not be read without asking" in found


async def test_deny_rule_applies_to_mentions(project: Path) -> None:
    (project / ".env").write_text("KEY=the secret")
    settings = '{"permissions": {"deny": ["Read(./.env)"]}}'
    found = str(await shown(project, "look at @.env", "--settings", settings))
    assert "the secret" not in found


@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
async def test_special_file_is_not_read(project: Path, name: str) -> None:
    os.mkfifo(project / "pipe")
    assert "may not be read without asking" in str(await shown(project, f"look at @{name}"))


async def test_denied_read_tool_disables_mentions(project: Path) -> None:
    (project / "notes.txt").write_text("remember the milk")
    found = str(await shown(project, "look at @notes.txt", "--disallowedTools", "Read"))
    assert "remember the milk" not in found


async def test_resource_of_an_unknown_server_is_plain_text(project: Path) -> None:
    assert await shown(project, "see @server:file://x") == []


async def test_unreadable_resource_is_reported_and_the_prompt_is_sent(project: Path) -> None:
    config = '{"mcpServers": {"docs": {"command": "/no/such/program"}}}'
    found = await shown(project, "see @docs:file://x", "--mcp-config", config)
    assert "could not be read" in found[0]["text"]
