"""Importing sessions that exist only as a transcript of the CLI."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bridge.stage import stage


async def test_session_is_rebuilt_from_its_transcript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
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
