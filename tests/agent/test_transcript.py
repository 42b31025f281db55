"""The session on disk, as it is written."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from handrail.agent.journal import KEPT_LIMIT, Journal, make_private
from handrail.agent.models.script import Script, text, thinking, tool_use
from handrail.agent.models.script import reply as answer
from handrail.agent.transcript import Transcript
from handrail.transcripts import find_session, list_sessions, read_session
from tests.agent.stage import StagedHost, stage


def entries_of(host: StagedHost) -> list[dict[str, Any]]:
    return [json.loads(line) for line in host.engine.transcript.path.read_bytes().splitlines()]


async def test_a_turn_is_one_chain_of_prompt_blocks_and_results_and_then_what_it_cost(tmp_path: Path):
    script = Script.of(answer(thinking("hm"), tool_use("Bash", command="echo hi")), text("done"))
    async with stage(tmp_path, script) as host:
        result = await host.turn("go", uuid="0a0a0a0a-0000-4000-8000-000000000001")
        entries = entries_of(host)
    chained = [entry for entry in entries if "uuid" in entry]
    assert [entry["type"] for entry in chained] == ["user", "assistant", "assistant", "user", "assistant"]
    assert [entry["parentUuid"] for entry in chained] == [None, *(entry["uuid"] for entry in chained[:-1])]
    assert chained[0]["uuid"] == "0a0a0a0a-0000-4000-8000-000000000001"
    assert chained[0]["message"] == {"role": "user", "content": "go"}
    assert [len(entry["message"]["content"]) for entry in chained[1:3]] == [1, 1]
    assert chained[3]["toolUseResult"]["stdout"] == "hi"
    for entry in chained:
        assert (entry["isSidechain"], entry["userType"]) == (False, "external")
        assert (entry["cwd"], entry["sessionId"]) == (str(tmp_path / "project"), result["session_id"])
        assert entry["version"]
        assert entry["timestamp"].endswith("Z")
    assert [entry["uuid"] for entry in chained[1:]] == [
        line["uuid"] for line in host.lines if line["type"] in ("assistant", "user")
    ]
    assert entries[-1]["type"] == "cost-state"
    assert entries[-1]["totalCostUSD"] == result["total_cost_usd"]


async def test_files_and_folders_are_for_their_owner_alone(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("hi"))) as host:
        await host.turn("go")
        path = host.engine.transcript.path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_the_branch_is_that_of_the_repository(tmp_path: Path):
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / ".git" / "HEAD").write_text("ref: refs/heads/topic/one\n")
    async with stage(tmp_path, Script.of(text("hi"))) as host:
        await host.turn("go")
        assert entries_of(host)[0]["gitBranch"] == "topic/one"


async def test_without_persistence_nothing_at_all_is_written(tmp_path: Path):
    script = Script.of(
        tool_use("Bash", command="yes | head -c 100000"),
        tool_use("Bash", command="echo behind", run_in_background=True),
        tool_use("Task", description="d", prompt="p", run_in_background=False),
        text("report"),
        text("done"),
        text("noted"),
    )
    spare = tmp_path / "temporary"
    spare.mkdir()
    async with stage(tmp_path, script, "--no-session-persistence") as host:
        await host.turn("go")
        folder = host.engine.transcript.folder
    assert list((tmp_path / "home").rglob("*")) == []
    assert list((tmp_path / "project").rglob("*")) == []
    assert not folder.exists()


async def test_a_title_is_written_and_found_again_however_long_the_session(tmp_path: Path):
    long = [text("word " * 4000) for _ in range(12)]
    async with stage(tmp_path, Script.of(*long)) as host:
        await host.turn("go")
        await host.control("rename_session", title="the blue house")
        for _ in range(11):
            await host.turn("more")
        id = host.engine.session.id
    found = find_session(id, tmp_path / "home" / ".handrail")
    assert found.size > 200_000
    assert found.title == "the blue house"


async def test_clear_goes_on_in_another_file(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("one"), text("two"))) as host:
        first = (await host.turn("first"))["session_id"]
        await host.turn("/clear")
        second = (await host.turn("second"))["session_id"]
        assert second != first
        assert [message["content"][0]["text"] for message in host.model.asked[-1]["messages"]] == ["second"]
    home = tmp_path / "home" / ".handrail"
    assert {session.id for session in list_sessions(config_home=home)} == {first, second}
    assert [entry.text() for entry in read_session(first, config_home=home).messages] == ["first", "one"]
    assert [entry.text() for entry in read_session(second, config_home=home).messages] == ["second", "two"]


def test_a_project_folder_that_is_a_link_is_not_written_through(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    told: list[str] = []
    transcript = Transcript(str(tmp_path / "home"), str(tmp_path), "11111111-2222-4333-8444-555555555555")
    transcript.report = told.append
    make_private(transcript.path.parent.parent)
    os.symlink(outside, transcript.path.parent)
    transcript.note({"type": "note"})
    assert list(outside.iterdir()) == []
    assert len(told) == 1
    assert transcript.failed


def test_what_cannot_be_written_is_kept_within_a_limit_and_told_once(tmp_path: Path):
    (tmp_path / "file").write_text("")
    told: list[str] = []
    journal = Journal(tmp_path, tmp_path / "file" / "below" / "x.jsonl", report=told.append)
    journal.append(b"first\n")
    journal.append(b"x" * KEPT_LIMIT + b"\n")
    journal.append(b"second\n")
    assert len(told) == 1
    (tmp_path / "file").unlink()
    journal.append(b"third\n")
    assert (tmp_path / "file" / "below" / "x.jsonl").read_bytes() == b"first\nsecond\nthird\n"
    assert journal.failed == ""
