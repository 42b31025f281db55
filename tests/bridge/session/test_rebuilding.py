"""Sessions are rebuilt from the transcripts of the CLI after the store was lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.bridge.rebuilding import rebuild
from tests.bridge.stage import stage


async def test_session_is_rebuilt_with_its_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    async with stage(tmp_path) as on:
        session = await on.start(prompt="remember the lighthouse")
        async with on.viewer(session) as viewer:
            await viewer.until_result()
            await on.do("stop", session=session)
    async with stage(tmp_path, data=tmp_path / "other") as on:
        assert await rebuild(on.bridge) == 1
        assert await rebuild(on.bridge) == 1, "rebuilding is idempotent"
        found = await on.bridge.sessions.events.read(session, 0)
        assert any(b"lighthouse" in event.data for event in found)
