"""The Write tool."""

import os
from pathlib import Path

import pytest

from handrail.agent.models.script import Script, text, tool_use
from handrail.agent.tools.base import ToolFailed
from tests.agent.stage import stage
from tests.agent.tools.workplace import call, desk_in

SUFFIX = "(file state is current in your context — no need to Read it back)"


async def test_new_file_is_created_with_its_folders(tmp_path: Path):
    changed: list[str] = []
    desk = desk_in(tmp_path, before_change=changed.append)
    path = tmp_path / "project" / "a" / "w.txt"
    outcome = await call(desk, "Write", file_path=str(path), content="Hello\n")
    assert path.read_text() == "Hello\n"
    assert outcome.content == f"File created successfully at: {path} {SUFFIX}"
    assert outcome.detail == {
        "type": "create",
        "filePath": str(path),
        "content": "Hello\n",
        "structuredPatch": [],
        "originalFile": None,
        "userModified": False,
    }
    assert changed == [str(path)]


async def test_file_that_was_read_is_overwritten(tmp_path: Path):
    desk = desk_in(tmp_path)
    path = tmp_path / "project" / "w.txt"
    path.write_text("Hello\nWorld\nline 3\n")
    path.chmod(0o640)
    await call(desk, "Read", file_path=str(path))
    outcome = await call(desk, "Write", file_path=str(path), content="Hello\nMars\n")
    assert path.read_text() == "Hello\nMars\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert outcome.content == f"The file {path} has been updated successfully. {SUFFIX}"
    assert (outcome.detail["type"], outcome.detail["originalFile"]) == ("update", "Hello\nWorld\nline 3\n")
    assert outcome.detail["structuredPatch"][0]["lines"] == [" Hello", "-World", "-line 3", "+Mars"]


async def test_written_file_can_be_overwritten_without_reading(tmp_path: Path):
    desk = desk_in(tmp_path)
    await call(desk, "Write", file_path="w", content="1")
    assert not (await call(desk, "Write", file_path="w", content="2")).is_error
    assert (tmp_path / "project" / "w").read_text() == "2"


async def test_unread_file_can_be_overwritten(tmp_path: Path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "w").write_text("old")
    outcome = await call(desk_in(tmp_path), "Write", file_path="w", content="new")
    assert (outcome.detail["type"], outcome.detail["originalFile"]) == ("update", "old")
    assert (tmp_path / "project" / "w").read_text() == "new"


async def test_unread_file_outside_the_project_is_refused(tmp_path: Path):
    (tmp_path / "out").write_text("old")
    outcome = await call(desk_in(tmp_path), "Write", file_path=str(tmp_path / "out"), content="new")
    assert "has not been read yet" in outcome.content
    assert (tmp_path / "out").read_text() == "old"


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-4-6", "claude-haiku-4-5"])
async def test_older_models_must_read_before_they_change(tmp_path: Path, model: str):
    calls = [
        tool_use("Write", file_path="w", content="new"),
        tool_use("Edit", file_path="w", old_string="o", new_string="n"),
    ]
    async with stage(tmp_path, Script.of(*calls, text("end")), "--model", model) as host:
        (tmp_path / "project" / "w").write_text("old")
        await host.turn("go")
        assert ["has not been read yet" in str(one["content"]) for one in host.results_of_tools()] == [True, True]
    assert (tmp_path / "project" / "w").read_text() == "old"


async def test_unread_file_is_refused_if_files_are_read_first(tmp_path: Path):
    desk = desk_in(tmp_path, reads_first=lambda: True)
    (tmp_path / "project" / "w").write_text("old")
    outcome = await call(desk, "Write", file_path="w", content="new")
    assert outcome.detail == "Error: File has not been read yet. Read it first before writing to it."
    assert outcome.content == f"<tool_use_error>{outcome.detail.removeprefix('Error: ')}</tool_use_error>"
    assert (tmp_path / "project" / "w").read_text() == "old"


async def test_file_modified_since_read_is_refused(tmp_path: Path):
    desk = desk_in(tmp_path)
    path = tmp_path / "project" / "w"
    path.write_text("old")
    await call(desk, "Read", file_path="w")
    path.write_text("another's")
    outcome = await call(desk, "Write", file_path="w", content="new")
    assert outcome.is_error
    assert "modified since read" in outcome.content
    assert path.read_text() == "another's"


async def test_crlf_and_byte_order_mark_are_preserved(tmp_path: Path):
    desk = desk_in(tmp_path)
    path = tmp_path / "project" / "dos"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    await call(desk, "Read", file_path="dos")
    await call(desk, "Write", file_path="dos", content="c\nd\n")
    assert path.read_bytes() == b"\xef\xbb\xbfc\r\nd\r\n"


async def test_folders_pipes_and_binaries_are_refused(tmp_path: Path):
    desk = desk_in(tmp_path)
    os.mkfifo(tmp_path / "project" / "pipe")
    assert "is a directory" in (await call(desk, "Write", file_path=".", content="")).content
    assert "pipe" in (await call(desk, "Write", file_path="pipe", content="")).content
    (tmp_path / "project" / "x.png").write_bytes(b"\x89PNG\0")
    desk.seen[str(tmp_path / "project" / "x.png")] = _seen(tmp_path / "project" / "x.png")
    with pytest.raises(ToolFailed, match="NUL"):
        await call(desk, "Write", file_path="x.png", content="q")


async def test_unpaired_surrogate_is_rejected(tmp_path: Path):
    with pytest.raises(ToolFailed, match="surrogate"):
        await call(desk_in(tmp_path), "Write", file_path="w", content="\ud800")
    assert not (tmp_path / "project" / "w").exists()


def _seen(path: Path):
    from handrail.agent.tools.desk import Seen

    found = path.stat()
    return Seen(found.st_mtime_ns, found.st_size)


@pytest.mark.parametrize("changed", [True, False])
async def test_write_that_must_fail_is_not_asked_about(tmp_path: Path, changed: bool):
    path = tmp_path / "project" / "a.txt"
    steps = [tool_use("Read", file_path="a.txt"), text("Read."), tool_use("Write", file_path="a.txt", content="new")]
    async with stage(tmp_path, Script.of(*steps, text("Done."))) as host:
        path.write_text("old")
        await host.turn("read it")
        if changed:
            path.write_text("changed")
        await host.turn("write it")
        assert len(host.requests("can_use_tool")) == (0 if changed else 1)
    assert path.read_text() == ("changed" if changed else "new")
