"""The session on disk, as it is written."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from handrail.agent.models.script import Script, text, thinking, tool_use
from handrail.agent.models.script import reply as answer
from handrail.agent.record.journal import KEPT_LIMIT, Journal, make_private
from handrail.agent.record.transcript import Transcript
from handrail.transcripts import find_session, list_sessions, read_session
from tests.agent.stage import StagedHost, stage


def entries_of(host: StagedHost) -> list[dict[str, Any]]:
    return [json.loads(line) for line in host.engine.transcript.path.read_bytes().splitlines()]


async def test_turn_is_one_chain_of_entries_followed_by_its_cost(tmp_path: Path):
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


async def test_files_and_folders_are_private(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("hi"))) as host:
        await host.turn("go")
        path = host.engine.transcript.path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_entries_name_the_git_branch(tmp_path: Path):
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / ".git" / "HEAD").write_text("ref: refs/heads/topic/one\n")
    async with stage(tmp_path, Script.of(text("hi"))) as host:
        await host.turn("go")
        assert entries_of(host)[0]["gitBranch"] == "topic/one"


async def test_no_session_persistence_writes_nothing(tmp_path: Path):
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


async def test_title_of_a_long_session_is_found(tmp_path: Path):
    long = [text("word " * 4000) for _ in range(12)]
    async with stage(tmp_path, Script.of(*long)) as host:
        await host.turn("go")
        await host.control("rename_session", title="the blue house")
        for _ in range(11):
            await host.turn("more")
        id = host.engine.session.id
    found = find_session(id, tmp_path / "home" / ".claude")
    assert found.size > 200_000
    assert found.title == "the blue house"


async def test_entries_have_the_fields_that_other_programs_read(tmp_path: Path):
    script = Script.of(answer(tool_use("Bash", command="echo a"), tool_use("Bash", command="echo b")), text("done"))
    async with stage(tmp_path, script, environment={"CLAUDE_CODE_ENTRYPOINT": "sdk-py"}) as host:
        await host.turn("go")
        entries = entries_of(host)
    spoken = [entry for entry in entries if "message" in entry]
    assert {(entry["entrypoint"], entry["writtenBy"]) for entry in spoken} == {("sdk-py", "handrail-agent")}
    users = [entry for entry in spoken if entry["type"] == "user"]
    assert len({entry["promptId"] for entry in users}) == 1
    calls = {entry["message"]["content"][0]["id"]: entry["uuid"] for entry in spoken[1:3]}
    results = {entry["message"]["content"][0]["tool_use_id"]: entry for entry in users[1:]}
    assert {id: entry["sourceToolAssistantUUID"] for id, entry in results.items()} == calls
    assert [entry["toolUseResult"]["stdout"] for entry in results.values()] == ["a", "b"]


async def test_each_turn_notes_its_prompt_and_the_newest_entry(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("one"), text("two"))) as host:
        await host.turn("first")
        await host.turn([{"type": "text", "text": "second"}])
        entries = entries_of(host)
    notes = [(entry["lastPrompt"], entry["leafUuid"]) for entry in entries if entry["type"] == "last-prompt"]
    [one, answer_one, two, answer_two] = [entry["uuid"] for entry in entries if "message" in entry]
    assert notes == [("first", one), ("first", answer_one), ("second", two), ("second", answer_two)]


async def test_mirrored_subagent_names_the_call_that_started_it(tmp_path: Path):
    task = tool_use("Task", description="d", prompt="p", subagent_type="general-purpose", run_in_background=False)
    async with stage(tmp_path, Script.of(task, text("report"), text("done")), "--session-mirror") as host:
        await host.turn("go")
        call = host.of("assistant")[0]["message"]["content"][0]["id"]
        mirrored = [
            entry
            for line in host.of("transcript_mirror")
            if "subagents" in line["filePath"]
            for entry in line["entries"]
        ]
    assert (mirrored[0]["type"], mirrored[0]["toolUseId"]) == ("agent_metadata", call)
    assert len(mirrored) == 3
    assert {entry["parentToolUseID"] for entry in mirrored[1:]} == {call}


async def test_clear_starts_another_file(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("one"), text("two"))) as host:
        first = (await host.turn("first"))["session_id"]
        await host.turn("/clear")
        second = (await host.turn("second"))["session_id"]
        assert second != first
        assert [message["content"][0]["text"] for message in host.model.asked[-1]["messages"]] == ["second"]
    home = tmp_path / "home" / ".claude"
    assert {session.id for session in list_sessions(config_home=home)} == {first, second}
    assert [entry.text() for entry in read_session(first, config_home=home).messages] == ["first", "one"]
    assert [entry.text() for entry in read_session(second, config_home=home).messages] == ["second", "two"]


def test_project_folder_that_is_a_link_is_not_followed(tmp_path: Path):
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


def test_unwritten_lines_are_held_within_a_limit_and_reported_once(tmp_path: Path):
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
