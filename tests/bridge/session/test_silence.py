"""A CLI that says nothing in a turn is told of once; one that has nothing to do may be silent."""

from __future__ import annotations

from pathlib import Path

from handrail.bridge.session.silence import SILENT_AFTER
from tests.bridge.stage import stage
from tests.client.scripted_cli import write_cli

SILENT = """
    prompt()
    say({"type": "system", "subtype": "init", "session_id": "s"})
    say(result(prompt()))
"""


async def test_it_is_told_once_for_each_silence(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, SILENT)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="go")
            await viewer.until(lambda: viewer.frames("system"))
            on.clock.now += SILENT_AFTER - 1
            await on.bridge.sessions.sweep()
            for _ in range(3):
                on.clock.now += 1
                await on.bridge.sessions.sweep()
            assert (await viewer.until_kind("silent"))["seconds"] == SILENT_AFTER
            await on.do("send", session=session, text="say something")
            await viewer.until_result()
            assert len(viewer.of("silent")) == 1
