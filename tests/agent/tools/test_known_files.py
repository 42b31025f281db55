"""Files that an older model saw before a resume can be written without reading them again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.stage import stage

FLAGS = ("--permission-mode", "acceptEdits", "--model", "claude-sonnet-4-5")
READ = tool_use("Read", file_path="a.txt")
WRITE = tool_use("Write", file_path="a.txt", content="new\n")


async def session(folder: Path, *blocks: Any, prompts: tuple[str, ...] = ("go",), flags: tuple[str, ...] = ()) -> Any:
    async with stage(folder, Script.of(*blocks, *(text("ok") for _ in prompts)), *FLAGS, *flags) as host:
        (folder / "project" / "a.txt").exists() or (folder / "project" / "a.txt").write_text("one\ntwo\n")
        for prompt in prompts:
            await host.turn(prompt)
    return host


async def written_after_resume(folder: Path, first: Any, *flags: str) -> bool:
    """Whether a resumed session may overwrite the file."""
    host = await session(folder, WRITE, flags=("--resume", first.engine.session.id, *flags))
    (result,) = host.results_of_tools()
    assert (folder / "project" / "a.txt").read_text() == ("new\n" if not result.get("is_error") else "one\ntwo\n")
    return not result.get("is_error")


@pytest.mark.parametrize("flags", [(), ("--fork-session",)])
async def test_a_file_that_was_read_can_be_written(tmp_path: Path, flags: tuple[str, ...]):
    first = await session(tmp_path, READ)
    assert await written_after_resume(tmp_path, first, *flags)


@pytest.mark.parametrize(
    "call",
    [
        tool_use("Read", file_path="a.txt", limit=1),
        tool_use("Read", file_path="a.txt", offset=2),
        tool_use("Grep", pattern="one", path="a.txt"),
        tool_use("Read", file_path="b.txt"),
        tool_use("Bash", command="cat a.txt"),
    ],
    ids=["its beginning", "its end", "a search", "a missing file", "a command"],
)
async def test_a_file_that_was_not_read_in_whole_cannot_be_written(tmp_path: Path, call: Any):
    assert not await written_after_resume(tmp_path, await session(tmp_path, call))


async def test_a_file_that_was_written_and_edited_can_be_written(tmp_path: Path):
    edit = tool_use("Edit", file_path="a.txt", old_string="NEW", new_string="one")
    first = await session(tmp_path, READ, tool_use("Write", file_path="a.txt", content="NEW\ntwo\n"), edit)
    assert await written_after_resume(tmp_path, first)


async def test_a_file_that_was_changed_since_cannot_be_written(tmp_path: Path):
    first = await session(tmp_path, READ)
    path = tmp_path / "project" / "a.txt"
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 3600 * 10**9))
    assert not await written_after_resume(tmp_path, first)


async def test_a_file_that_was_read_before_a_compaction_cannot_be_written(tmp_path: Path):
    first = await session(tmp_path, READ, prompts=("go", "/compact"))
    assert not await written_after_resume(tmp_path, first)
