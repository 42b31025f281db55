"""An editor, the server and an ACP agent behind it, each of them killed once: nothing is lost, nothing is doubled."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from handrail.acp.rpc import RpcError
from handrail.testing import scripted_acp_agent
from handrail.testing.scripted_acp_agent import chunk, tool_call, tool_update
from tests.acp.acp_agent import NAMED, asked
from tests.acp.circle import Circle, Watcher, a_circle
from tests.acp.editor import TestEditor, choosing

pytestmark = pytest.mark.usefixtures("client_side")
PERMISSION = "session/request_permission"
CALL = {"toolCallId": "c1", "title": "`make`", "kind": "execute", "rawInput": {"command": "make"}}
DONE = [tool_update("c1", status="completed", rawOutput="built"), chunk("Built.")]
PROMPTS = {
    "one": [chunk("First.")],
    "build": [chunk("I build."), tool_call("c1", "`make`", kind="execute"), asked(CALL, allowed=DONE)],
    "again": [chunk("Again.")],
}


@contextlib.asynccontextmanager
async def a_scripted_circle(folder: Path, *, loads: bool = True) -> AsyncIterator[Circle]:
    script = folder / "script.json"
    can = {**NAMED, "agentCapabilities": {"loadSession": loads}}
    script.write_text(json.dumps({"initialize": can, "prompts": PROMPTS}))
    async with a_circle(folder, [sys.executable, scripted_acp_agent.__file__, str(script)]) as circle:
        yield circle


@contextlib.asynccontextmanager
async def a_pending_question(circle: Circle) -> AsyncIterator[tuple[TestEditor, Watcher, asyncio.Task[str]]]:
    """A session with one turn that has ended, and one that waits for an answer."""
    async with circle.editor() as editor:
        editor.answers[PERMISSION] = never
        session = await editor.open()
        async with circle.watcher(session) as watcher:
            assert await editor.prompt(session, "one") == "end_turn"
            building = asyncio.create_task(editor.prompt(session, "build"))
            await editor.until(lambda: editor.asked)
            await watcher.until(lambda: watcher.of("asked"))
            yield editor, watcher, building


async def never(_params: dict[str, Any]) -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


async def load(editor: TestEditor, session: str) -> None:
    await editor.initialize()
    await editor.peer.request("session/load", {"sessionId": session, "cwd": str(editor.folder), "mcpServers": []})


async def test_each_part_passes_a_turn_on(tmp_path: Path):
    async with a_scripted_circle(tmp_path) as circle, a_pending_question(circle) as (editor, watcher, building):
        (question,) = watcher.of("asked")
        fields = {"question": question["question"], "hash": question["hash"], "behavior": "allow"}
        await watcher.connection.command("answer", session=watcher.session, **fields)
        assert await building == "end_turn"
        assert editor.text() == "First.I build.Built."
        await watcher.until(lambda: len(watcher.results) == 2)
        assert watcher.answers == "First.I build.Built."
        assert editor.of_kind("tool_call_update")[-1]["status"] == "completed"
        assert circle.prompts() == ["one", "build"]
        watcher.check_complete()


async def test_the_editor_is_killed(tmp_path: Path):
    async with a_scripted_circle(tmp_path) as circle, a_pending_question(circle) as (editor, watcher, building):
        assert editor.transport.pid is not None
        os.kill(editor.transport.pid, signal.SIGKILL)
        with pytest.raises(RpcError, match="has ended"):
            await building
        async with circle.editor() as other:
            other.answers[PERMISSION] = choosing("allow")
            await load(other, watcher.session)
            await other.until(lambda: "Built." in other.text())
            assert await other.prompt(watcher.session, "again") == "end_turn"
            assert other.text("user_message_chunk") == "onebuild"
            assert other.text() == "First.I build.Built.Again."
        await watcher.until(lambda: len(watcher.results) == 3)
        assert watcher.answers == "First.I build.Built.Again."
        assert (circle.prompts(), circle.methods().count("session/new")) == (["one", "build", "again"], 1)
        watcher.check_complete()


KILLS = {
    "server": (Circle.kill_server, "the server was restarted during the turn"),
    "handrail-acp": (Circle.kill_adapter, "the CLI exited by itself (killed by SIGKILL)"),
    "agent": (Circle.kill_agent, "Scripted has ended (killed by SIGKILL)"),
}
"""How each part is killed, and what the editor then shows for the prompt whose turn was running."""


@contextlib.asynccontextmanager
async def a_killed_part(circle: Circle, part: str) -> AsyncIterator[tuple[TestEditor, Watcher]]:
    """A session whose part was killed while a question was pending."""
    kill, reason = KILLS[part]
    async with a_pending_question(circle) as (editor, watcher, building):
        kill(circle)
        if part == "server":
            circle.serve()  # which ends what the killed one left behind
        with pytest.raises(RpcError, match=re.escape(reason)):
            await building
        await watcher.until(lambda: len(watcher.results) == 2)
        assert watcher.results[1]["is_error"]
        # A prompt that reaches a process while it exits may or may not have been read: the user would be asked.
        if part != "server":
            await watcher.until(lambda: watcher.of("ended"))
        (closed,) = [*watcher.of("closed"), *watcher.of("answered")]
        assert closed["question"] == watcher.of("asked")[0]["question"]
        yield editor, watcher
        # An agent that ends says so in the conversation too.
        built = f"I build.{reason}" if part == "agent" else "I build."
        assert editor.text().removeprefix(f"First.{built}") in ("", "Again.")
        assert editor.text() == watcher.answers
        assert watcher.said == ["one", "build", "again"]
        watcher.check_complete()


@pytest.mark.parametrize("part", KILLS)
async def test_a_session_goes_on_after_a_part_was_killed(tmp_path: Path, part: str):
    async with a_scripted_circle(tmp_path) as circle, a_killed_part(circle, part) as (editor, watcher):
        assert await editor.prompt(watcher.session, "again") == "end_turn"
        await watcher.until(lambda: len(watcher.results) == 3)
        assert editor.text().endswith("Again.")
        assert circle.prompts() == ["one", "build", "again"]
        assert [circle.methods().count(f"session/{how}") for how in ("new", "load")] == [1, 1]


@pytest.mark.parametrize("part", KILLS)
async def test_an_agent_that_cannot_load_sessions_is_named(tmp_path: Path, part: str):
    async with a_scripted_circle(tmp_path, loads=False) as circle, a_killed_part(circle, part) as (editor, watcher):
        with pytest.raises(RpcError, match="Scripted cannot continue earlier sessions .* start a new one"):
            await editor.prompt(watcher.session, "again")
        await watcher.until(lambda: watcher.of("withdrawn"))
        assert watcher.of("state")[-1]["state"] == "failed"
        assert "Scripted cannot continue earlier sessions" in watcher.of("state")[-1]["error"]
        assert circle.prompts() == ["one", "build"]
        other = await editor.peer.request("session/new", {"cwd": str(editor.folder), "mcpServers": []})
        assert await editor.prompt(other["sessionId"], "one") == "end_turn"
        editor.updates = [update for update in editor.updates if update["sessionId"] == watcher.session]
