"""Opening sessions: the recorded origin of a fork, and the import of a session that is only a transcript of the CLI."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bridge.stage import stage


@pytest.mark.usefixtures("anywhere")
async def test_fork_records_its_session_and_message_of_origin(tmp_path: Path):
    async with stage(tmp_path) as on:
        origin = await on.start(prompt="Hello")
        async with on.viewer(origin) as viewer:
            await viewer.until_result()
            message = viewer.frames("assistant")[-1]["uuid"]
        whole = (await on.do("fork", session=origin))["session"]
        part = (await on.do("fork", session=origin, at=message, prompt="And?"))["session"]
        assert (whole["forked_from"], whole["forked_at"]) == (origin, "")
        assert (part["forked_from"], part["forked_at"]) == (origin, message)
        lines = {one.id: one.forked_from for one in await on.bridge.sessions.index.lines()}
        assert lines == {origin: "", whole["id"]: origin, part["id"]: origin}


async def test_session_is_rebuilt_from_its_transcript(tmp_path: Path):
    async with stage(tmp_path) as on:
        session = await on.start(prompt="remember the lighthouse")
        async with on.viewer(session) as viewer:
            await viewer.until_result()
            await on.do("stop", session=session)
    async with stage(tmp_path, data=tmp_path / "other") as on:
        assert await on.bridge.imports.rebuild() == 1
        assert await on.bridge.imports.rebuild() == 1, "a second rebuild must change nothing"
        found = await on.bridge.sessions.events.read(session, 0)
        assert any(b"lighthouse" in event.data for event in found)
