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
    """What the model is shown after the prompt itself."""
    async with stage(project.parent, Script.of(text("ok")), *flags) as host:
        await host.turn(prompt)
        return host.model.asked[0]["messages"][0]["content"][1:]


async def test_a_file_that_is_mentioned_is_read(project: Path) -> None:
    (project / "notes.txt").write_text("remember the milk")
    assert "remember the milk" in str(await shown(project, "look at @notes.txt."))


async def test_a_name_with_blanks_stands_in_quotes(project: Path) -> None:
    (project / "my notes.txt").write_text("remember the milk")
    assert "remember the milk" in str(await shown(project, 'look at @"my notes.txt"'))


async def test_an_image_is_shown_as_one(project: Path) -> None:
    (project / "dot.png").write_bytes(PIXEL)
    assert "image" in [block["type"] for block in await shown(project, "what is on @dot.png?")]


async def test_what_is_no_file_is_left_as_it_is(project: Path) -> None:
    assert await shown(project, "mail me@example.org or @nobody (@nothing)") == []


async def test_a_folder_is_named_only(project: Path) -> None:
    (project / "src").mkdir()
    assert "is a folder" in (await shown(project, "@src"))[0]["text"]


async def test_a_file_that_is_mentioned_twice_is_read_once(project: Path) -> None:
    (project / "a").write_text("x")
    assert len(await shown(project, "@a and @a")) == 2


@pytest.mark.parametrize("name", ["link", "../secret", "folder/secret"])
async def test_what_lies_outside_is_not_read_nor_through_a_link(project: Path, name: str) -> None:
    (project.parent / "secret").write_text("the secret")
    (project / "link").symlink_to(project.parent / "secret")
    (project / "folder").symlink_to(project.parent)
    found = str(await shown(project, f"look at @{name}"))
    assert "the secret" not in found
    assert "may not be read unasked" in found


async def test_a_rule_that_forbids_reading_holds_here_too(project: Path) -> None:
    (project / ".env").write_text("KEY=the secret")
    settings = '{"permissions": {"deny": ["Read(./.env)"]}}'
    found = str(await shown(project, "look at @.env", "--settings", settings))
    assert "the secret" not in found


@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
async def test_what_is_no_plain_file_is_not_read(project: Path, name: str) -> None:
    os.mkfifo(project / "pipe")
    assert "may not be read unasked" in str(await shown(project, f"look at @{name}"))


async def test_where_the_tool_is_forbidden_nothing_is_read(project: Path) -> None:
    (project / "notes.txt").write_text("remember the milk")
    found = str(await shown(project, "look at @notes.txt", "--disallowedTools", "Read"))
    assert "remember the milk" not in found


async def test_a_resource_of_a_server_that_is_not_there_is_an_ordinary_word(project: Path) -> None:
    assert await shown(project, "see @server:file://x") == []


async def test_a_resource_that_cannot_be_read_is_told_and_the_prompt_goes_on(project: Path) -> None:
    config = '{"mcpServers": {"docs": {"command": "/no/such/program"}}}'
    found = await shown(project, "see @docs:file://x", "--mcp-config", config)
    assert "could not be read" in found[0]["text"]
