"""The real CLI behind `handrail acp`, with a scripted model."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from handrail.testing import Lab, Script, ScriptedMessagesApi, real_cli, reply, text, tool_use
from handrail.transport.process import ProcessTransport
from tests.acp.editor import BIN, TestEditor, choosing

pytestmark = pytest.mark.interop


async def test_unsaved_changes_reach_the_model_and_are_not_overwritten(tmp_path: Path):
    lab, cli = Lab(tmp_path), real_cli()
    assert cli is not None
    file = lab.project / "open.txt"
    file.write_text("saved\n")
    calls = [
        tool_use("Read", file_path=str(file)),
        tool_use("Edit", file_path=str(file), old_string="saved", new_string="changed"),
    ]

    async def buffer(_params: dict[str, Any]) -> dict[str, Any]:
        return {"content": "typed, not saved"}

    async with ScriptedMessagesApi(Script([*map(reply, calls), reply(text("Done."))])) as api, asyncio.timeout(90):
        argv = [str(BIN / "handrail"), "acp", "--cli", os.fspath(cli)]
        transport = ProcessTransport(argv, env=lab.environment(api), cwd=lab.project)
        await transport.start()
        editor = TestEditor(transport, lab.project)
        reading = asyncio.create_task(editor.peer.run())
        try:
            editor.answers = {"fs/read_text_file": buffer, "session/request_permission": choosing("allow")}
            session = await editor.open(fs={"readTextFile": True})
            assert await editor.prompt(session, "edit it") == "end_turn"
        finally:
            await transport.close()
            await asyncio.wait([reading])
        assert "typed, not saved" in str(api.main_requests[-1].body["messages"])
    assert file.read_text() == "saved\n"
    assert [update["status"] for update in editor.of_kind("tool_call_update")] == ["completed", "failed"]
