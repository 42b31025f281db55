"""The whole circle with real parts: official SDKs as editors, a page in a browser, `claude-agent-acp` with the CLI."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from handrail.acp.rpc import RpcError
from handrail.testing import Lab, Script, ScriptedMessagesApi, hang, reply, scripted_acp_agent, text, tool_use
from handrail.testing.scripted_acp_agent import chunk, tool_call, tool_update
from tests.acp.acp_agent import NAMED, asked
from tests.acp.circle import Circle, a_circle
from tests.acp.conftest import CLIENT_SIDES
from tests.acp.editor import TestEditor, choosing
from tests.acp.test_circle import never
from tests.interop.page_watcher import PageWatcher, watching_page

pytestmark = pytest.mark.interop
AGENT = os.environ.get("HANDRAIL_CLAUDE_ACP", "")
SCRIPT = (
    reply(tool_use("Bash", command="mkdir sub")),
    reply(text("Made.")),
    reply(text("Busy."), hang()),
    reply(text("Still here.")),
)


async def test_a_real_agent_is_killed_and_the_session_goes_on(
    tmp_path: Path, cli: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HANDRAIL_TEST_EDITOR", shlex.join(CLIENT_SIDES["typescript"]))
    lab = Lab(tmp_path / "lab")
    async with ScriptedMessagesApi(Script(list(SCRIPT))) as api:
        variables = {**lab.environment(api), "CLAUDE_CODE_EXECUTABLE": str(cli)}
        async with a_circle(tmp_path, ["node", AGENT], **variables) as circle, circle.editor() as editor:
            editor.answers["session/request_permission"] = choosing("allow")
            session = await editor.open()
            async with circle.watcher(session) as watcher:
                assert await editor.prompt(session, "make a folder") == "end_turn"
                assert (circle.work / "sub").is_dir()
                busy = asyncio.create_task(editor.prompt(session, "keep busy"))
                await api.hanging()
                circle.kill_agent()
                with pytest.raises(RpcError, match=r"has ended \(killed by SIGKILL\)"):
                    await busy
                await watcher.until(lambda: watcher.of("ended"))
                assert await editor.prompt(session, "are you there?") == "end_turn"
                assert editor.text().endswith("Still here.")
                assert editor.text().count("Made.") == editor.text().count("Still here.") == 1
                await watcher.until(lambda: len(watcher.results) == 3)
                assert watcher.said == ["make a folder", "keep busy", "are you there?"]
                assert watcher.answers.count("Made.") == watcher.answers.count("Still here.") == 1
                watcher.check_complete()
            history = str(api.main_requests[-1].body["messages"])
            assert "make a folder" in history


PARTS = ("agent", "handrail-acp", "server", "editor")


def script_of(part: str) -> dict[str, Any]:
    """The prompts around the end of a part: one that waits for an answer when it is killed, and one after it."""
    id = f"call-{part}"
    call = {"toolCallId": id, "title": "`make`", "kind": "execute", "rawInput": {"command": f"make {part}"}}
    done = [tool_update(id, status="completed", rawOutput="built"), chunk(f"Built {part}.")]
    begun = [chunk(f"I build {part}."), tool_call(id, "`make`", kind="execute"), asked(call, allowed=done)]
    return {f"build {part}": begun, f"after {part}": [chunk(f"After {part}.")]}


@pytest.mark.parametrize("client", CLIENT_SIDES)
async def test_a_page_shows_everything_once_while_each_part_is_killed(
    tmp_path: Path, client: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HANDRAIL_TEST_EDITOR", shlex.join(CLIENT_SIDES[client]))
    can = {**NAMED, "agentCapabilities": {"loadSession": True}}
    prompts: Mapping[str, Any] = {name: steps for part in PARTS for name, steps in script_of(part).items()}
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"initialize": can, "prompts": prompts}))
    agent = [sys.executable, scripted_acp_agent.__file__, str(script)]
    async with a_circle(tmp_path, agent, seconds=240) as circle:
        async with circle.editor() as editor:
            editor.answers["session/request_permission"] = never
            session = await editor.open()
            async with watching_page(circle.link, session) as page:
                for part in PARTS[:-1]:
                    await a_part_is_killed(circle, editor, page, session, part)
                await the_editor_is_killed(circle, editor, page, session)
                before = page.text
                await page.reload()
                await page.until(lambda text: "After editor." in text)
                shown = [line.strip() for line in before.splitlines()]
                expected = [line for part in PARTS for line in (f"build {part}", f"I build {part}.", f"After {part}.")]
                assert {line: shown.count(line) for line in expected} == dict.fromkeys(expected, 1)
                assert shown.count("Built editor.") == 1
                again = [line.strip() for line in page.text.splitlines()]
                assert [line for line in again if line in expected] == [line for line in shown if line in expected]
        assert circle.prompts() == list(prompts)


async def a_part_is_killed(circle: Circle, editor: TestEditor, page: PageWatcher, session: str, part: str) -> None:
    async with circle.watcher(session) as watcher:
        ended = len(watcher.of("ended"))
        building = asyncio.create_task(editor.prompt(session, f"build {part}"))
        await page.until(lambda text: f"I build {part}." in text)
        await watcher.until(lambda: any(f"make {part}" in str(question) for question in watcher.of("asked")))
        {"agent": circle.kill_agent, "handrail-acp": circle.kill_adapter, "server": circle.kill_server}[part]()
        if part == "server":
            circle.serve()
        with pytest.raises(RpcError):
            await building
        if part != "server":
            await watcher.until(lambda: len(watcher.of("ended")) > ended)
        assert await editor.prompt(session, f"after {part}") == "end_turn"
    await page.until(lambda text: f"After {part}." in text)


async def the_editor_is_killed(circle: Circle, editor: TestEditor, page: PageWatcher, session: str) -> None:
    building = asyncio.create_task(editor.prompt(session, "build editor"))
    await page.until(lambda text: "I build editor." in text)
    assert editor.transport.pid is not None
    os.kill(editor.transport.pid, signal.SIGKILL)
    with pytest.raises(RpcError, match="has ended"):
        await building
    async with circle.editor() as other:
        other.answers["session/request_permission"] = choosing("allow")
        await other.resume(session)
        await page.until(lambda text: "Built editor." in text)
        assert await other.prompt(session, "after editor") == "end_turn"
        await page.until(lambda text: "After editor." in text)
