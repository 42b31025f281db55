"""The reader: one decode per line, questions at their place, subagents apart from the session itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.session.reader import MOST_AGENTS, MOST_TEXT, searchable_text
from handrail.schema.messages import read_message
from tests.bridge.stage import stage
from tests.client.scripted_cli import write_cli

RESULT = {
    "type": "tool_result",
    "tool_use_id": "t",
    "content": [{"type": "text", "text": "found"}, {"type": "image", "source": {}}],
}


def call(name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t", "name": name, "input": input}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"type": "user", "message": {"content": "hello"}}, "hello"),
        ({"type": "user", "message": {"content": "hello"}, "isReplay": True}, ""),
        ({"type": "user", "message": {"content": [RESULT]}}, "found"),
        ({"type": "user", "message": {"content": [{**RESULT, "content": "plain"}]}}, "plain"),
        ({"type": "assistant", "message": {"content": [{"type": "text", "text": "a"}, {"type": "later"}]}}, "a"),
        ({"type": "assistant", "message": {"content": [call("Bash", command="make test")]}}, "make test"),
        ({"type": "assistant", "message": {"content": [call("Grep", pattern="TODO", path="src", n=3)]}}, "TODO\nsrc"),
        ({"type": "assistant", "message": {"content": [call("MultiEdit", edits=[{"old": "x"}])]}}, "x"),
        ({"type": "result", "result": "hello"}, ""),
        ({"type": "user", "message": "no message"}, ""),
        ({"type": "user", "message": {"content": 7}}, ""),
        ({"type": "user", "message": {"content": "x" * (MOST_TEXT + 5)}}, "x" * MOST_TEXT),
    ],
)
def test_a_search_matches_text_and_tool_inputs_and_results(line: dict[str, Any], words: str):
    raw = json.dumps(line).encode()
    assert searchable_text(read_message(line["type"], "", raw)) == words


async def test_tool_inputs_are_found_by_a_search(tmp_path: Path):
    script = """
        prompt()
        say({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cargo nextest run"}}]}})
        say(result())
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as viewer:
            await viewer.until_result()
        hits = await on.bridge.sessions.events.search("nextest")
        assert [hit.session for hit in hits] == [session]


async def test_a_question_is_recorded_behind_the_tool_use_it_belongs_to(tmp_path: Path):
    """Also where the CLI writes both in one chunk, and text right behind them."""
    script = """
        prompt()
        for n in range(20):
            call = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": "ls"}}
            say({"type": "assistant", "message": {"content": [call]}, "uuid": f"u{n}"})
            ask("can_use_tool", **{**permission(command="ls"), "tool_use_id": f"t{n}"})
        say(result())
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as viewer:
            for n in range(20):
                await on.answer(session, await viewer.until_kind("asked", times=n + 1))
            await viewer.until_result()
        order = [
            (event["kind"], event["data"]["request"]["tool_use_id"])
            if event["kind"] == "asked"
            else ("frame", event["data"]["message"]["content"][0]["id"])
            for event in viewer.kept
            if event["kind"] == "asked" or event["data"].get("type") == "assistant"
        ]
        assert order == [(kind, f"t{n}") for n in range(20) for kind in ("frame", "asked")]


async def test_messages_of_a_subagent_do_not_end_the_turn_or_change_the_session(tmp_path: Path):
    script = """
        prompt()
        init = {"type": "system", "subtype": "init", "session_id": SESSION}
        say({**init, "model": "main-model"})
        say({**init, "session_id": "other", "model": "sub-model", "permissionMode": "plan",
             "parent_tool_use_id": "t1"})
        say({**result(), "total_cost_usd": 99.0, "parent_tool_use_id": "t1"})
        say({"type": "system", "subtype": "status", "status": "compacting", "parent_tool_use_id": "t1"})
        ask("can_use_tool", **permission(command="ls"))
        say(result())
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as viewer:
            asked = await viewer.until_kind("asked")
            assert viewer.states[-1] == "waiting_approval"
            host = await on.host(session)
            assert (host.record.model, host.record.mode) == ("main-model", "default")
            assert host.record.conversation != "other"
            assert host.record.cost < 99
            await on.answer(session, asked)
            await viewer.until_state("idle")
            assert host.record.cost < 99


async def test_a_question_names_the_kind_of_the_subagent_that_asks(tmp_path: Path):
    script = """
        prompt()
        say({"type": "system", "subtype": "task_started", "task_id": "a1", "subagent_type": "reviewer"})
        ask("can_use_tool", **{**permission(command="ls"), "agent_id": "a1"})
        say({"type": "assistant", "agent_id": "a2", "subagent_type": "explorer", "message": {"content": []}})
        ask("can_use_tool", **{**permission(command="ls"), "agent_id": "a2"})
        ask("can_use_tool", **{**permission(command="ls"), "agent_id": "a3"})
        say(result())
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as viewer:
            kinds: list[str] = []
            for n in range(3):
                asked = await viewer.until_kind("asked", times=n + 1)
                kinds.append(asked["agent"])
                await on.answer(session, asked)
            assert kinds == ["reviewer", "explorer", ""]


async def test_only_the_newest_subagents_are_remembered(tmp_path: Path):
    script = f"""
        prompt()
        for n in range({MOST_AGENTS} + 1):
            say({{"type": "assistant", "agent_id": str(n), "subagent_type": "x", "message": {{"content": []}}}})
        for n in (0, {MOST_AGENTS}):
            ask("can_use_tool", **{{**permission(command="ls"), "agent_id": str(n)}})
        say(result())
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as viewer:
            for n, kind in enumerate(["", "x"], 1):
                asked = await viewer.until_kind("asked", times=n)
                assert asked["agent"] == kind
                await on.answer(session, asked)


async def test_an_init_message_of_unexpected_shape_still_names_the_conversation(tmp_path: Path):
    script = """
        prompt()
        say({"type": "system", "subtype": "init", "session_id": "c1", "model": "m1", "tools": {"of": "tomorrow"}})
        say(result())
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as viewer:
            await viewer.until_state("idle")
        record = (await on.host(session)).record
        assert (record.conversation, record.model) == ("c1", "m1")
