"""An ACP agent behind a session of the server: its answers, its tool calls and its questions."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path

import pytest

from handrail.model_access.acp_agents import AcpAgent, add_agent
from handrail.model_access.choice import CliChoice
from handrail.testing import scripted_acp_agent
from handrail.testing.scripted_acp_agent import chunk, tool_call, tool_update
from tests.acp.acp_agent import BIN, asked
from tests.acp.test_shared_sessions import the_page
from tests.bridge.serving import running
from tests.bridge.stage import stage


async def test_a_question_of_the_agent_is_answered_by_a_viewer(tmp_path: Path):
    call = {"toolCallId": "c1", "title": "`make`", "kind": "execute", "rawInput": {"command": "make"}}
    done = [tool_update("c1", status="completed", rawOutput="built"), chunk("Built.")]
    steps = [chunk("I build."), tool_call("c1", "`make`", kind="execute"), asked(call, allowed=done)]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [steps]}))
    command = [BIN / "handrail-acp", "--", sys.executable, scripted_acp_agent.__file__, script]
    launcher = tmp_path / "agent"
    launcher.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, command))} "$@"\n')
    launcher.chmod(0o700)
    async with asyncio.timeout(60), stage(tmp_path, str(launcher)) as on:
        session = await on.start(prompt="build it")
        async with on.viewer(session) as viewer:
            question = await viewer.until_kind("asked")
            await on.answer(session, question)
            result = await viewer.until_result()
            assert result["result"] == "Built."
            names = [
                block["name"]
                for line in viewer.frames("assistant")
                for block in line["message"]["content"]
                if block["type"] == "tool_use"
            ]
            assert names == ["Bash"]


async def test_a_server_of_one_agent_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "script.json").write_text("{}")
    add_agent("robin", AcpAgent([sys.executable, scripted_acp_agent.__file__, str(tmp_path / "script.json")]))
    async with asyncio.timeout(60), running(tmp_path, cli=CliChoice("robin")) as server, the_page(server) as page:
        async with server.client(await server.token()) as client:
            cli = (await client.get("/api/folders")).json()["cli"]
        assert (cli["kind"], cli["name"]) == ("acp", "robin")
        started = await page.command("start", cwd=str(tmp_path / "work"), prompt="hello")
        about = await page.command("about", session=started["session"]["id"])
        assert (about["cli"], about["version"]) == ("robin", "")
