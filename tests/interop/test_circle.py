"""The whole circle with a real agent: an editor, the server, `handrail-acp`, `claude-agent-acp` and the real CLI."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path

import pytest

from handrail.acp.rpc import RpcError
from handrail.testing import Lab, Script, ScriptedMessagesApi, hang, reply, text, tool_use
from tests.acp.circle import a_circle
from tests.acp.conftest import CLIENT_SIDES
from tests.acp.editor import choosing

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
