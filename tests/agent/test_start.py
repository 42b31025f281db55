"""Starting a session, new or with an earlier conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.arguments import read_arguments
from handrail.agent.errors import Refused
from handrail.agent.models.script import Script, hang, http_error, text, tool_use
from handrail.agent.models.script import reply as answer
from handrail.transcripts import project_name, read_session
from tests.agent.processes import agent
from tests.agent.stage import StagedHost, assert_calls_are_answered, stage

NEW = "99999999-2222-4333-8444-555555555555"
PRICED = ("--model", "claude-sonnet-5-5")


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [block.get("text", block["type"]) for message in messages for block in message["content"]]


async def first_session(folder: Path, *flags: str, words: str = "one") -> tuple[str, StagedHost]:
    async with stage(folder, Script.of(text(words)), *flags) as host:
        result = await host.turn("first", uuid="0a0a0a0a-0000-4000-8000-000000000001")
    return result["session_id"], host


async def test_resume_continues_id_history_cost_and_file(tmp_path: Path):
    id, before = await first_session(tmp_path, *PRICED)
    async with stage(tmp_path, Script.of(text("two")), "--resume", id, *PRICED) as host:
        result = await host.turn("second")
        assert texts(host.model.asked[0]["messages"]) == ["first", "one", "second"]
    spent = before.of("result")[0]["total_cost_usd"]
    assert result["session_id"] == id
    assert spent > 0
    assert result["total_cost_usd"] == pytest.approx(2 * spent)
    assert [entry.text() for entry in read_session(host.engine.transcript.path).messages] == [
        "first",
        "one",
        "second",
        "two",
    ]
    assert [line["type"] for line in host.lines if line["type"] != "control_response"] == [
        "system",
        "assistant",
        "result",
    ]


async def test_continue_resumes_the_latest_session_or_starts_one(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("new")), "--continue") as host:
        await host.turn("alone")
        assert texts(host.model.asked[0]["messages"]) == ["alone"]
    id = host.engine.session.id
    async with stage(tmp_path, Script.of(text("two")), "--continue") as host:
        assert (await host.turn("second"))["session_id"] == id
        assert texts(host.model.asked[0]["messages"]) == ["alone", "new", "second"]


async def test_fork_copies_the_history_and_leaves_the_original_unchanged(tmp_path: Path):
    id, before = await first_session(tmp_path)
    original = before.engine.transcript.path.read_bytes()
    async with stage(tmp_path, Script.of(text("two")), "--resume", id, "--fork-session", "--session-id", NEW) as host:
        result = await host.turn("second")
    assert result["session_id"] == NEW
    assert before.engine.transcript.path.read_bytes() == original
    copy = read_session(host.engine.transcript.path)
    assert [entry.text() for entry in copy.messages] == ["first", "one", "second", "two"]
    assert {entry.decode()["sessionId"] for entry in copy.messages} == {NEW}


async def test_resume_at_a_message_drops_later_messages(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("one"), text("two"))) as host:
        await host.turn("first")
        await host.turn("second")
        id, at = host.engine.session.id, host.of("assistant")[0]["uuid"]
    async with stage(tmp_path, Script.of(text("other")), "--resume", id, "--resume-session-at", at) as host:
        await host.turn("instead")
        assert texts(host.model.asked[0]["messages"]) == ["first", "one", "instead"]
    async with stage(tmp_path, Script.of(text("last")), "--resume", id) as host:
        await host.turn("again")
        assert texts(host.model.asked[0]["messages"]) == ["first", "one", "instead", "other", "again"]


@pytest.mark.parametrize(
    ("first", "then", "mode"),
    [
        ("plan", (), "plan"),
        ("plan", ("--permission-mode", "acceptEdits"), "acceptEdits"),
        ("plan", ("--fork-session",), "default"),
        ("acceptEdits", (), "default"),
        ("dontAsk", (), "default"),
    ],
)
async def test_resume_continues_in_plan_mode_only(tmp_path: Path, first: str, then: tuple[str, ...], mode: str):
    id, _ = await first_session(tmp_path, "--permission-mode", first)
    async with stage(tmp_path, Script.of(text("two")), "--resume", id, *then) as host:
        await host.turn("second")
        assert host.of("system", "init")[0]["permissionMode"] == mode


@pytest.mark.parametrize("leaves", [False, True])
async def test_resume_continues_in_the_mode_at_the_end(tmp_path: Path, leaves: bool):
    async with stage(tmp_path, Script.of(tool_use("EnterPlanMode"), text("planning"), text("more"))) as host:
        await host.turn("first")
        if leaves:
            await host.control("set_permission_mode", mode="default")
            await host.turn("second")
        id = host.engine.session.id
    async with stage(tmp_path, Script.of(text("two")), "--resume", id) as host:
        await host.turn("third")
        assert host.of("system", "init")[0]["permissionMode"] == ("default" if leaves else "plan")


async def test_an_error_of_the_api_is_marked_in_the_transcript(tmp_path: Path):
    async with stage(tmp_path, Script.of(http_error(403, "permission_error", "no"))) as host:
        await host.turn("first")
        entries = [json.loads(line) for line in host.engine.transcript.path.read_text().splitlines()]
    assert [entry.get("isApiErrorMessage") for entry in entries if entry["type"] == "assistant"] == [True]


async def test_resume_by_title(tmp_path: Path):
    id, _ = await first_session(tmp_path, "--name", "The Blue House")
    await first_session(tmp_path, "--name", "another")
    async with stage(tmp_path, Script.of(text("two")), "--resume", "the blue house") as host:
        assert (await host.turn("second"))["session_id"] == id
    await first_session(tmp_path, "--name", "the blue house")
    with pytest.raises(Refused, match="2 sessions have the title"):
        async with stage(tmp_path, Script.of(text("two")), "--resume", "the blue house"):
            pass


@pytest.mark.parametrize(("wanted", "why"), [("nonsense", "neither"), (NEW, "No conversation found")])
async def test_unknown_session_is_refused(tmp_path: Path, wanted: str, why: str):
    with pytest.raises(Refused, match=why):
        async with stage(tmp_path, Script.of(text("x")), "--resume", wanted):
            pass


async def test_used_session_id_is_refused(tmp_path: Path):
    await first_session(tmp_path, "--session-id", NEW)
    with pytest.raises(Refused, match="already in use"):
        async with stage(tmp_path, Script.of(text("x")), "--session-id", NEW):
            pass


async def test_fork_under_a_used_id_is_refused(tmp_path: Path):
    id, _ = await first_session(tmp_path)
    await first_session(tmp_path, "--session-id", NEW)
    with pytest.raises(Refused, match="already in use"):
        async with stage(tmp_path, Script.of(text("x")), "--resume", id, "--fork-session", "--session-id", NEW):
            pass


async def test_resume_from_another_folder_uses_the_same_file(tmp_path: Path):
    async with agent(tmp_path, Script.of(text("one"))) as running:
        id = (await running.turn("first"))["session_id"]
        await running.end()
    tell = {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": f"cat >{tmp_path}/told"}]}]}}
    flags = ("--resume", id, "--settings", json.dumps(tell))
    async with agent(tmp_path, Script.of(text("two")), *flags, project="elsewhere") as running:
        assert (await running.turn("second"))["result"] == "two"
        await running.end()
    [path] = (tmp_path / "home" / ".claude").rglob(f"{id}.jsonl")
    assert json.loads((tmp_path / "told").read_text())["transcript_path"] == str(path)
    assert [entry.text() for entry in read_session(path).messages] == ["first", "one", "second", "two"]


def cli_session(folder: Path, home: str, id: str) -> Path:
    """A session as the CLI writes it, with bookkeeping and an unanswered call at its end."""
    path = folder / "home" / home / "projects" / project_name(folder / "project") / f"{id}.jsonl"
    path.parent.mkdir(parents=True)
    common = {"sessionId": id, "isSidechain": False}
    lines = [
        {"type": "queue-operation", "operation": "enqueue", "sessionId": id},
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "hello"}, **common},
        {"type": "attachment", "uuid": "x1", "parentUuid": "u1", "attachment": {"type": "environment"}, **common},
        {
            "type": "assistant",
            "uuid": "a1",
            "parentUuid": "x1",
            **common,
            "message": {
                "id": "m1",
                "model": "claude-x",
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}],
            },
        },
        {
            "type": "cost-state",
            "sessionId": id,
            "totalCostUSD": 0.5,
            "modelUsage": {"claude-x": {"inputTokens": 7, "costUSD": 0.5}},
        },
    ]
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return path


async def test_session_of_the_old_folder_continues_as_a_copy(tmp_path: Path):
    path = cli_session(tmp_path, ".handrail", NEW)
    before = path.read_bytes()
    async with stage(tmp_path, Script.of(text("two")), "--resume", NEW, *PRICED) as host:
        result = await host.turn("second")
        assert_calls_are_answered(host.model.asked[0]["messages"])
        assert texts(host.model.asked[0]["messages"]) == ["hello", "tool_use", "tool_result", "second"]
    assert result["session_id"] == NEW
    assert result["total_cost_usd"] > 0.5
    assert result["modelUsage"]["claude-x"]["inputTokens"] == 7
    assert path.read_bytes() == before
    async with stage(tmp_path, Script.of(text("three")), "--resume", NEW) as host:
        await host.turn("third")
        assert texts(host.model.asked[0]["messages"])[-3:] == ["second", "two", "third"]
        assert host.engine.transcript.path.is_relative_to(tmp_path / "home" / ".claude")
    assert path.read_bytes() == before


async def test_continue_looks_where_resume_looks(tmp_path: Path):
    cli_session(tmp_path, ".handrail", NEW)
    async with stage(tmp_path, Script.of(text("two")), "--continue") as host:
        assert (await host.turn("second"))["session_id"] == NEW
    async with stage(tmp_path, Script.of(text("three")), "--continue") as host:
        await host.turn("third")
        assert texts(host.model.asked[0]["messages"])[-3:] == ["second", "two", "third"]


@pytest.mark.parametrize("home", [".claude", "named"])
async def test_session_of_the_cli_continues_in_its_file(tmp_path: Path, home: str):
    path = cli_session(tmp_path, home, NEW)
    environment = {} if home == ".claude" else {"CLAUDE_CONFIG_DIR": str(tmp_path / "home" / home)}
    async with stage(tmp_path, Script.of(text("two")), "--resume", NEW, environment=environment) as host:
        await host.turn("second")
    assert [entry.type for entry in read_session(path).messages] == ["user", "assistant", "user", "assistant"]
    assert not (tmp_path / "home" / ".handrail").exists()


async def test_resumed_session_keeps_its_model_unless_another_is_chosen(tmp_path: Path):
    id, _ = await first_session(tmp_path, "--model", "claude-haiku-4-5")
    for flags, environment, model in (
        ((), {}, "claude-haiku-4-5"),
        (("--model", "claude-opus-4-5"), {}, "claude-opus-4-5"),
        (("--settings", '{"model": "claude-opus-4-5"}'), {}, "claude-opus-4-5"),
        ((), {"ANTHROPIC_MODEL": "claude-opus-4-5"}, "claude-opus-4-5"),
        ((), {"HANDRAIL_MODEL": "claude-opus-4-5"}, "claude-opus-4-5"),
    ):
        flags = ("--resume", id, "--fork-session", *flags)
        key = {"ANTHROPIC_API_KEY": "none"}
        async with stage(tmp_path, Script.of(text("two")), *flags, environment=key | environment) as host:
            await host.turn("second")
            assert host.model.asked[0]["model"] == model


async def test_model_of_a_script_is_not_asked_of_an_api(tmp_path: Path):
    id, before = await first_session(tmp_path)
    scripted = before.model.asked[0]["model"]
    key = {"ANTHROPIC_API_KEY": "none"}
    async with stage(tmp_path, Script.of(text("two")), "--resume", id, environment=key) as host:
        await host.turn("second")
        assert host.model.asked[0]["model"] != scripted


async def test_path_of_a_transcript_is_resumed(tmp_path: Path):
    id, before = await first_session(tmp_path)
    path = before.engine.transcript.path
    async with stage(tmp_path, Script.of(text("two")), "--resume", str(path)) as host:
        assert (await host.turn("second"))["session_id"] == id
    assert [entry.text() for entry in read_session(path).messages] == ["first", "one", "second", "two"]


async def test_transcript_from_another_place_is_copied_and_never_mixed_into_a_session(tmp_path: Path):
    id, before = await first_session(tmp_path)
    path, copy = before.engine.transcript.path, tmp_path / "project" / "copy.jsonl"
    copy.write_bytes(original := path.read_bytes())
    async with stage(tmp_path, Script.of(text("two")), "--resume", "copy.jsonl") as host:
        assert (await host.turn("second"))["session_id"] != id
        assert texts(host.model.asked[0]["messages"]) == ["first", "one", "second"]
    assert path.read_bytes() == copy.read_bytes() == original
    path.unlink()
    async with stage(tmp_path, Script.of(text("two")), "--resume", str(copy)) as host:
        assert (await host.turn("second"))["session_id"] == id
    assert [entry.text() for entry in read_session(path).messages] == ["first", "one", "second", "two"]
    assert copy.read_bytes() == original


@pytest.mark.parametrize("name", ["missing.jsonl", "empty.jsonl"])
async def test_path_without_a_transcript_is_refused(tmp_path: Path, name: str):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "empty.jsonl").write_text("{}\n")
    with pytest.raises(Refused, match="No conversation found"):
        async with stage(tmp_path, Script.of(text("x")), "--resume", name):
            pass


UUIDS = [f"0a0a0a0a-0000-4000-8000-00000000000{number}" for number in range(1, 4)]


@pytest.mark.parametrize(
    ("kept", "drops", "why"),
    [
        (1, UUIDS[2], ""),
        (2, UUIDS[2], ""),
        (1, UUIDS[1], "comes before the prompt"),
        (0, UUIDS[1], "another prompt"),
        (0, UUIDS[2], "comes before the prompt"),
        (1, NEW, "comes before the prompt"),
        (1, "nonsense", "UUID"),
        (1, "", "UUID"),
    ],
)
async def test_resume_that_drops_other_turns_is_refused(tmp_path: Path, kept: int, drops: str, why: str):
    async with stage(tmp_path, Script.of(text("one"), text("two"), text("three"))) as host:
        for prompt, uuid in zip(("first", "second", "third"), UUIDS, strict=True):
            await host.turn(prompt, uuid=uuid)
        id, at = host.engine.session.id, host.of("assistant")[kept]["uuid"]
    flags = ("--resume", id, "--fork-session", "--resume-session-at", at, f"--resume-drops-turn={drops}")
    if why:
        with pytest.raises(Refused, match=f"^Resume rejected by --resume-drops-turn: .*{why}") as refused:
            async with stage(tmp_path, Script.of(text("x")), *flags):
                pass
        assert refused.value.result
        return
    async with stage(tmp_path, Script.of(text("four")), *flags) as host:
        await host.turn("instead")
        assert texts(host.model.asked[0]["messages"])[2 * kept :] == [*texts(host.model.asked[0]["messages"])[-3:]]


async def test_interrupted_turn_may_be_dropped_with_its_markers(tmp_path: Path):
    async with stage(tmp_path, Script.of(text("one"), answer(text("I begin"), hang()))) as host:
        await host.turn("first", uuid=UUIDS[0])
        await host.say("second", uuid=UUIDS[1])
        await host.until(lambda: len(host.model.asked) == 2)
        await host.control("interrupt")
        await host.result(1)
        id, at = host.engine.session.id, host.of("assistant")[0]["uuid"]
    flags = ("--resume", id, "--resume-session-at", at, "--resume-drops-turn", UUIDS[1])
    async with stage(tmp_path, Script.of(text("three")), *flags) as host:
        await host.turn("instead")
        assert texts(host.model.asked[0]["messages"]) == ["first", "one", "instead"]


async def test_dropped_turn_needs_a_message_to_resume_at():
    with pytest.raises(Refused, match="--resume-drops-turn requires --resume-session-at"):
        read_arguments(["-p", "--resume", NEW, "--resume-drops-turn", NEW])


async def test_mentioned_files_are_seen_after_resume(tmp_path: Path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "note.txt").write_text("the secret is 42")
    async with stage(tmp_path, Script.of(text("one"))) as host:
        await host.turn("read @note.txt")
        seen = host.model.asked[0]["messages"][0]
        id = host.engine.session.id
    async with stage(tmp_path, Script.of(text("two")), "--resume", id) as host:
        await host.turn("second")
        assert host.model.asked[0]["messages"][0] == seen
    assert "42" in json.dumps(seen)


async def test_resume_after_compaction_shows_the_same_messages(tmp_path: Path):
    summary = answer(text("<summary>all of it</summary>"), usage={"input_tokens": 10})
    full = answer(text("full"), usage={"input_tokens": 950})
    environment = {"HANDRAIL_CONTEXT_WINDOW": "1000"}
    script = Script.of(
        text("one"), text("two"), text("three"), full, summary, answer(text("five"), usage={"input_tokens": 9})
    )
    async with stage(tmp_path, script, environment=environment) as host:
        for prompt in ("p1", "p2", "p3", "p4", "p5"):
            await host.turn(prompt)
        id, last = host.engine.session.id, host.engine.history.messages
        assert len(host.of("system", "compact_boundary")) == 1
    async with stage(tmp_path, Script.of(text("six")), "--resume", id) as host:
        await host.turn("next")
        assert host.engine.history.messages[: len(last)] == last


async def test_parallel_calls_are_resumed_with_all_results(tmp_path: Path):
    calls = answer(tool_use("Bash", command="echo a"), tool_use("Bash", command="echo b"))
    async with stage(tmp_path, Script.of(calls, text("done"))) as host:
        await host.turn("go")
        id, last = host.engine.session.id, host.engine.history.messages
    async with stage(tmp_path, Script.of(text("two")), "--resume", id) as host:
        await host.turn("next")
        assert host.engine.history.messages[: len(last)] == last


async def long_session(folder: Path, *replies: Any) -> tuple[str, Path]:
    """A session whose transcript is too long to be read before it is needed."""
    async with stage(folder, Script.of(*replies)) as host:
        id = (await host.turn("first"))["session_id"]
        await host.control("rename_session", title="the first title")
    path = host.engine.transcript.path
    with path.open("ab") as file:
        file.write(b'{"type":"unknown-note","text":"%s"}\n' % (b"x" * 17 * 1024 * 1024))
    return id, path


async def test_handshake_is_answered_before_a_long_session_is_read(tmp_path: Path):
    id, _ = await long_session(tmp_path, text("one"))
    async with stage(tmp_path, Script.of(text("two")), "--resume", id) as host:
        assert (await host.control("initialize"))["subtype"] == "success"
        assert host.engine.history.messages == []
        assert (await host.control("get_context_usage"))["response"]["totalTokens"] > 0
        assert texts(host.engine.history.messages) == ["first", "one"]
        await host.turn("second")
        assert texts(host.model.asked[0]["messages"]) == ["first", "one", "second"]


async def test_handshake_does_not_rename_a_session_that_is_read_later(tmp_path: Path):
    id, _ = await long_session(tmp_path, text("one"))
    async with stage(tmp_path, Script.of(text("two")), "--resume", id) as host:
        await host.control("initialize", title="for a new session")
        await host.turn("second")
        assert host.engine.transcript.title == "the first title"


async def test_a_line_before_the_first_prompt_does_not_lose_the_todos(tmp_path: Path):
    todos = [{"content": "a", "status": "pending", "activeForm": "doing a"}]
    id, _ = await long_session(tmp_path, tool_use("TodoWrite", todos=todos), text("one"))
    (lists,) = (tmp_path / "home" / ".claude" / "todos").glob("*")
    lists.unlink()  # then the conversation says what they were
    async with stage(tmp_path, Script.of(text("two")), "--resume", id) as host:
        await host.write({"type": "update_environment_variables", "variables": {"A": "b"}})
        await host.turn("second")
        assert [todo["content"] for todo in host.engine.desk().state.todos] == ["a"]
        assert host.engine.desk().environment["A"] == "b"


async def test_a_session_that_vanishes_before_it_is_read_ends_with_an_error(tmp_path: Path, capfd: Any):
    id, path = await long_session(tmp_path, text("one"))
    async with stage(tmp_path, Script.of(text("two")), "--resume", id) as host:
        await host.control("initialize")
        path.unlink()
        await host.say("second")
        assert "does not exist" in (await host.result())["errors"][0]
        assert await host.exit_code() == 1
    assert "does not exist" in capfd.readouterr().err


def mapped_files(pid: int) -> str:
    return Path(f"/proc/{pid}/maps").read_text()


async def test_a_start_does_not_load_tls(tmp_path: Path):
    async with agent(tmp_path, Script.of(text("one"))) as running:
        assert (await running.turn("go"))["result"] == "one"
        assert "libssl" not in mapped_files(running.process.pid)
