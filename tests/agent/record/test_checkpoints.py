"""Checkpoints of files, and rewinding to them. Changes by commands in Bash are not covered."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path

import pytest

from handrail.agent.models.script import Script, text, tool_use
from handrail.agent.record import checkpoints as module
from handrail.agent.record.checkpoints import Checkpoints
from tests.agent.processes import agent
from tests.agent.stage import stage

ON = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true"}
FREE = "--dangerously-skip-permissions"
PROMPT = "0a0a0a0a-0000-4000-8000-00000000000{}"


class Recorded(Checkpoints):
    """Checkpoints whose lines are kept in a list."""

    def __init__(self, tmp_path: Path, folder: Path | None, *, on: bool = True) -> None:
        self.lines: list[bytes] = []
        super().__init__(
            folder, cwd=str(tmp_path), record=lambda line: self.lines.append(json.dumps(line).encode()), enabled=on
        )


def points(tmp_path: Path, *, kept: bool = True, on: bool = True) -> Recorded:
    return Recorded(tmp_path, tmp_path / "kept" if kept else None, on=on)


def resumed(tmp_path: Path, *earlier: Recorded) -> Recorded:
    """Checkpoints of a later process that reads the lines of the earlier ones."""
    known = points(tmp_path)
    known.resume([line for one in earlier for line in one.lines], tmp_path / "kept")
    return known


def change(known: Checkpoints, path: Path, content: str) -> None:
    known.before_change(str(path))
    path.write_text(content)


@pytest.mark.parametrize("kept", [True, False])
def test_rewind_restores_contents_and_modes_and_removes_new_files(tmp_path: Path, kept: bool):
    known, old, new = points(tmp_path, kept=kept), tmp_path / "old.sh", tmp_path / "new.txt"
    old.write_text("one\ntwo\n")
    old.chmod(0o750)
    known.begin("p1")
    change(known, old, "one\nTWO\nthree\n")
    old.chmod(0o600)
    change(known, new, "fresh\n")
    known.begin("p2")
    change(known, old, "last\n")
    told = known.rewind("p1", dry_run=True)
    assert told.files_changed == [str(old), str(new)]
    assert (told.insertions, told.deletions) == (2, 2)
    assert old.read_text() == "last\n"
    known.rewind("p2", dry_run=False)
    assert old.read_text() == "one\nTWO\nthree\n"
    assert new.exists()
    known.rewind("p1", dry_run=False)
    assert old.read_text() == "one\ntwo\n"
    assert stat.S_IMODE(old.stat().st_mode) == 0o750
    assert not new.exists()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
    assert known.rewind("p1", dry_run=True).files_changed == []


def test_rewind_restores_a_file_removed_with_its_folder(tmp_path: Path):
    known, path = points(tmp_path), tmp_path / "deep" / "er" / "a.txt"
    path.parent.mkdir(parents=True)
    path.write_text("here")
    known.begin("p1")
    known.before_change(str(path))
    path.unlink()
    path.parent.rmdir()
    known.rewind("p1", dry_run=False)
    assert path.read_text() == "here"


@pytest.mark.parametrize("where", ["file", "folder"])
def test_path_replaced_by_a_link_is_skipped_and_counted(tmp_path: Path, where: str):
    known, outside = points(tmp_path), tmp_path / "outside"
    (tmp_path / "in").mkdir()
    outside.mkdir()
    path, other = tmp_path / "in" / "a.txt", tmp_path / "b.txt"
    path.write_text("before")
    other.write_text("before")
    known.begin("p1")
    change(known, path, "after")
    change(known, other, "after")
    (outside / "a.txt").write_text("mine")
    if where == "file":
        path.unlink()
        path.symlink_to(outside / "a.txt")
    else:
        path.unlink()
        path.parent.rmdir()
        path.parent.symlink_to(outside)
    told = known.rewind("p1", dry_run=False)
    assert (told.skipped_links, told.files_changed) == (1, [str(other)])
    assert (outside / "a.txt").read_text() == "mine"
    assert other.read_text() == "before"


def test_rewind_past_a_large_file_is_refused_and_changes_nothing(tmp_path: Path):
    known, large, small = points(tmp_path), tmp_path / "large", tmp_path / "small"
    with large.open("wb") as file:
        file.truncate(module.LARGEST + 1)
    small.write_text("before")
    known.begin("p1")
    change(known, small, "after")
    change(known, large, "after")
    with pytest.raises(ValueError, match="larger than"):
        known.rewind("p1", dry_run=False)
    assert small.read_text() == "after"


def test_the_oldest_points_go_when_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_POINTS", 3)
    known, path = points(tmp_path), tmp_path / "a"
    for number in range(6):
        known.begin(f"p{number}")
        change(known, path, f"content {number}")
    with pytest.raises(ValueError, match="No file checkpoint"):
        known.rewind("p2", dry_run=True)
    assert len(list((tmp_path / "kept").iterdir())) == 3
    again = resumed(tmp_path, known)
    again.rewind("p4", dry_run=False)
    assert path.read_text() == "content 3"
    with pytest.raises(ValueError, match="No file checkpoint"):
        again.rewind("p2", dry_run=True)


def test_invalid_lines_and_names_are_ignored(tmp_path: Path):
    known, path, outside = points(tmp_path), tmp_path / "a", tmp_path / "outside"
    path.write_text("before")
    outside.write_text("mine")
    known.begin("p1")
    change(known, path, "after")
    backup = {"backupFileName": "../outside", "version": 1, "realParentDir": str(tmp_path)}
    evil = {"type": "file-history-delta", "snapshotMessageId": "p1", "trackingPath": "b", "backup": backup}
    known.lines += [
        b'{"type":"file-history-delta","snapshotMessageId":"p1","tracking',
        b'{"type":"file-history-delta","snapshotMessageId":7}',
        json.dumps(evil).encode(),
    ]
    again = resumed(tmp_path, known)
    again.begin("p2")
    third = resumed(tmp_path, known, again)
    third.rewind("p2", dry_run=True)
    third.rewind("p1", dry_run=False)
    assert path.read_text() == "before"
    assert not (tmp_path / "b").exists()


def test_lines_have_the_layout_of_the_cli(tmp_path: Path):
    known, path = points(tmp_path), tmp_path / "in" / "a.sh"
    path.parent.mkdir()
    path.write_text("one")
    path.chmod(0o755)
    known.begin("p1")
    change(known, path, "two")
    known.begin("p2")
    first, delta, second = map(json.loads, known.lines)
    assert (first["type"], first["messageId"], first["isSnapshotUpdate"]) == ("file-history-snapshot", "p1", False)
    assert first["snapshot"]["trackedFileBackups"] == {}
    assert (delta["type"], delta["snapshotMessageId"]) == ("file-history-delta", "p1")
    assert (delta["trackingPath"], delta["backup"]["realParentDir"]) == ("in/a.sh", str(path.parent))
    name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
    assert (delta["backup"]["backupFileName"], delta["backup"]["version"]) == (f"{name}@v1", 1)
    assert second["snapshot"]["trackedFileBackups"]["in/a.sh"]["backupFileName"] == f"{name}@v2"
    saved = {found.name: found for found in (tmp_path / "kept").iterdir()}
    assert {name: found.read_text() for name, found in saved.items()} == {f"{name}@v1": "one", f"{name}@v2": "two"}
    assert stat.S_IMODE(saved[f"{name}@v1"].stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o700


def test_changes_between_prompts_are_saved_at_the_next_prompt(tmp_path: Path):
    known, path = points(tmp_path), tmp_path / "a"
    known.begin("p1")
    change(known, path, "by a tool")
    path.write_text("by hand")
    known.begin("p2")
    known.begin("p3")
    change(known, path, "by a tool again")
    assert len(list((tmp_path / "kept").iterdir())) == 1
    resumed(tmp_path, known).rewind("p2", dry_run=False)
    assert path.read_text() == "by hand"
    known.rewind("p1", dry_run=False)
    assert not path.exists()


def test_unsaved_file_is_not_taken_for_a_new_one_after_resume(tmp_path: Path):
    known, large = points(tmp_path), tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(module.LARGEST + 1)
    known.begin("p1")
    known.before_change(str(large))
    assert "backupFileName" not in str([json.loads(line)["snapshot"]["trackedFileBackups"] for line in known.lines])
    with pytest.raises(ValueError, match="larger than"):
        resumed(tmp_path, known).rewind("p1", dry_run=False)
    assert large.exists()


def test_changed_backup_is_not_restored(tmp_path: Path):
    known, path = points(tmp_path), tmp_path / "a"
    path.write_text("before")
    known.begin("p1")
    change(known, path, "after")
    [blob] = (tmp_path / "kept").iterdir()
    blob.write_text("evil")
    with pytest.raises(ValueError, match="missing or was changed"):
        known.rewind("p1", dry_run=False)
    assert path.read_text() == "after"


def test_disabled_checkpoints_write_nothing(tmp_path: Path):
    known = points(tmp_path, on=False)
    known.begin("p1")
    known.before_change(str(tmp_path / "a"))
    assert not (tmp_path / "kept").exists()
    with pytest.raises(ValueError, match="not enabled"):
        known.rewind("p1", dry_run=True)


async def test_rewind_works_after_resume_and_in_a_fork(tmp_path: Path):
    (tmp_path / "project").mkdir()
    path = tmp_path / "project" / "a.txt"
    script = Script.of(
        tool_use("Write", file_path=str(path), content="written\n"),
        tool_use("Bash", command="echo x > by_bash.txt"),
        text("done"),
    )
    environment = {**ON, "IS_SANDBOX": "1"}
    async with stage(tmp_path, script, FREE, environment=environment) as host:
        await host.turn("go", uuid=PROMPT.format(1))
        id = host.engine.session.id
    assert path.read_text() == "written\n"
    async with stage(tmp_path, script, FREE, "--resume", id, "--fork-session", environment=environment) as host:
        dry = await host.control("rewind_files", user_message_id=PROMPT.format(1), dry_run=True)
        assert dry["response"]["filesChanged"] == [str(path)]
    async with stage(tmp_path, script, FREE, "--resume", id, environment=environment) as host:
        answer = await host.control("rewind_files", user_message_id=PROMPT.format(1))
        assert answer["response"]["canRewind"] is True
    assert not path.exists()
    assert os.listdir(tmp_path / "project") == ["by_bash.txt"]


async def test_rewind_files_flag_rewinds_and_exits(tmp_path: Path):
    script = Script.of(tool_use("Write", file_path="a.txt", content="written\n"), text("done"))
    async with agent(tmp_path, script, environment=ON) as running:
        id = (await running.turn("go", uuid=PROMPT.format(1)))["session_id"]
        await running.end()
    path = tmp_path / "project" / "a.txt"
    assert path.exists()
    flags = ("--resume", id, "--rewind-files", PROMPT.format(1))
    async with agent(tmp_path, script, *flags, environment=ON) as running:
        assert b"rewound" in await running.stdout.readline()
        assert await running.exit_code() == 0
    assert not path.exists()
