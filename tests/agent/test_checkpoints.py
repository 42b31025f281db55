"""Files as they were before a prompt, and the way back. What Bash changes is not covered, and this says so too."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from handrail.agent import checkpoints as module
from handrail.agent.arguments import read_arguments
from handrail.agent.checkpoints import Checkpoints
from handrail.agent.models.script import Script, text, tool_use
from handrail.agent.session import Session
from tests.agent.processes import agent
from tests.agent.stage import stage

ON = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true"}
FREE = "--dangerously-skip-permissions"
PROMPT = "0a0a0a0a-0000-4000-8000-00000000000{}"


def points(tmp_path: Path, *, kept: bool = True, on: bool = True) -> Checkpoints:
    environment = {"HOME": str(tmp_path / "home"), "IS_SANDBOX": "1", **(ON if on else {})}
    session = Session(read_arguments(["-p", "x"]), environment, str(tmp_path))
    return Checkpoints(session, tmp_path / "kept" if kept else None)


def change(known: Checkpoints, path: Path, content: str) -> None:
    known.before_change(str(path))
    path.write_text(content)


@pytest.mark.parametrize("kept", [True, False])
def test_going_back_restores_contents_and_modes_and_removes_what_was_not_there(tmp_path: Path, kept: bool):
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
    assert told["filesChanged"] == [str(old), str(new)]
    assert (told["insertions"], told["deletions"]) == (2, 2)
    assert old.read_text() == "last\n"
    known.rewind("p2", dry_run=False)
    assert old.read_text() == "one\nTWO\nthree\n"
    assert new.exists()
    known.rewind("p1", dry_run=False)
    assert old.read_text() == "one\ntwo\n"
    assert stat.S_IMODE(old.stat().st_mode) == 0o750
    assert not new.exists()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
    assert known.rewind("p1", dry_run=True)["filesChanged"] == []


def test_a_file_that_was_removed_with_its_folder_comes_back(tmp_path: Path):
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
def test_what_has_become_a_link_is_left_alone_and_counted(tmp_path: Path, where: str):
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
    assert (told["skippedLinks"], told["filesChanged"]) == (1, [str(other)])
    assert (outside / "a.txt").read_text() == "mine"
    assert other.read_text() == "before"


def test_a_file_too_large_to_be_kept_refuses_the_way_back_and_nothing_is_changed(tmp_path: Path):
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
    assert len(list((tmp_path / "kept").iterdir())) == 3 + 1
    again = points(tmp_path)
    again.take_up(tmp_path / "kept")
    again.rewind("p4", dry_run=False)
    assert path.read_text() == "content 3"


def test_a_torn_line_of_the_index_costs_that_line_alone(tmp_path: Path):
    known, path = points(tmp_path), tmp_path / "a"
    path.write_text("before")
    known.begin("p1")
    change(known, path, "after")
    with (tmp_path / "kept" / "index.jsonl").open("ab") as file:
        file.write(b'\n{"point":"p1","path":"/x')
    again = points(tmp_path)
    again.take_up(tmp_path / "kept")
    again.begin("p2")
    third = points(tmp_path)
    third.take_up(tmp_path / "kept")
    third.rewind("p2", dry_run=True)
    third.rewind("p1", dry_run=False)
    assert path.read_text() == "before"


def test_what_is_kept_but_was_tampered_with_is_not_restored(tmp_path: Path):
    known, path = points(tmp_path), tmp_path / "a"
    path.write_text("before")
    known.begin("p1")
    change(known, path, "after")
    [blob] = [found for found in (tmp_path / "kept").iterdir() if found.name != "index.jsonl"]
    assert stat.S_IMODE(blob.stat().st_mode) == 0o600
    blob.write_text("evil")
    with pytest.raises(ValueError, match="no longer kept"):
        known.rewind("p1", dry_run=False)
    assert path.read_text() == "after"


def test_where_nobody_asked_for_it_nothing_is_kept(tmp_path: Path):
    known = points(tmp_path, on=False)
    known.begin("p1")
    known.before_change(str(tmp_path / "a"))
    assert not (tmp_path / "kept").exists()
    with pytest.raises(ValueError, match="not enabled"):
        known.rewind("p1", dry_run=True)


async def test_the_way_back_is_there_after_a_resume_and_in_a_fork(tmp_path: Path):
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


async def test_the_flag_rewinds_and_ends(tmp_path: Path):
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
