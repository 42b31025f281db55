"""The raw frames of a session, for administrators only."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from handrail.transport.recording_file import read_recording
from tests.bridge.serving import running
from tests.bridge.stage import Clock, Stage


async def test_frames_of_both_directions_are_shown_and_downloaded(tmp_path: Path):
    async with asyncio.timeout(30), running(tmp_path) as server, server.client(await server.token()) as client:
        fields = {"cwd": str(tmp_path / "work"), "prompt": "Hello"}
        done = await client.post("/api/commands", json={"id": "1", "command": "start", "fields": fields})
        session = done.json()["result"]["session"]["id"]
        async with Stage(server.bridge, tmp_path, Clock()).viewer(session) as viewer:
            await viewer.until_result()
        path = f"/api/sessions/{session}/wire"
        half = (await client.get(path)).json()["frames"][:3]
        frames = half + (await client.get(path, params={"after": 3})).json()["frames"]
        assert "result" in [one["frame"]["type"] for one in frames]
        assert [one["n"] for one in frames] == list(range(1, len(frames) + 1))
        first, second = frames[0], frames[1]
        assert (first["direction"], first["frame"]["request"]["subtype"]) == ("to_cli", "initialize")
        assert (second["direction"], second["frame"]["type"]) == ("from_cli", "control_response")
        download = await client.get(f"{path}/recording")
        assert download.headers["content-disposition"].startswith("attachment")
        saved = tmp_path / "download.ndjson"
        saved.write_bytes(download.content)
        assert len(read_recording(saved).rows) >= len(frames)


@pytest.mark.parametrize("ending", ["wire", "wire/recording"])
async def test_other_scopes_may_not_see_frames(tmp_path: Path, ending: str):
    async with running(tmp_path) as server, server.client(await server.token(["view", "prompt", "approve"])) as client:
        answer = await client.get(f"/api/sessions/11111111-2222-3333-4444-555555555555/{ending}")
        assert answer.status_code == 403
