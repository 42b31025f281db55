"""Long sessions cost no more than short ones, and many devices see the same events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from pathlib import Path
from statistics import median

import httpx2
import pytest

from tests.faults.server_process import ServerProcess, seed_sessions
from tests.faults.watcher import Watcher

pytestmark = pytest.mark.campaign
LONG = f"00000000-0000-4000-8000-{0:012d}"
EVENTS = 10_000 * 8
"""The events of ten thousand turns."""
ROUNDS, WARM = 80, 10
DEVICES = 100
SCREEN = 200


async def test_turn_costs_the_same_after_ten_thousand_turns_f31(tmp_path: Path):
    server = ServerProcess(tmp_path)
    seed_sessions(server.data, 1, server.work, events=EVENTS)
    async with server, Watcher("client", server.url, server.token) as watcher:
        new = await watcher.start(server.work)
        seen = await watcher.follow_from(LONG, EVENTS)
        await watcher.until(lambda: seen.verdicts)
        for session in (new, LONG) * WARM:
            await watcher.turn(session, "blocks=1")
        memory = server.memory()
        spent: dict[str, list[float]] = {new: [], LONG: []}
        for session in (new, LONG) * ROUNDS:
            begun = time.perf_counter()
            await watcher.turn(session, "blocks=1")
            spent[session].append(time.perf_counter() - begun)
        assert median(spent[LONG]) <= 1.2 * median(spent[new])
        assert server.memory() - memory < 8 * 1024 * 1024


async def test_long_session_is_opened_at_its_end_f31(tmp_path: Path):
    server = ServerProcess(tmp_path)
    seed_sessions(server.data, 1, server.work, events=EVENTS)
    async with server, Watcher("client", server.url, server.token) as watcher:
        seen = await watcher.follow_tail(LONG, SCREEN)
        await watcher.until(lambda: seen.last == EVENTS)
    assert [seq for seq, _, _ in seen.events] == list(range(EVENTS - SCREEN + 1, EVENTS + 1))
    assert seen.verdicts[0]["verdict"] == "snapshot"


async def test_hundred_devices_see_the_same_events_and_one_answer_f36(tmp_path: Path):
    server = ServerProcess(tmp_path)
    async with server, contextlib.AsyncExitStack() as stack:
        first = await stack.enter_async_context(Watcher("first", server.url, server.token))
        session = await first.start(server.work)
        devices = [
            await stack.enter_async_context(Watcher(f"device-{n}", server.url, token))
            for n, token in enumerate(await _tokens(server))
        ]
        for device in devices:
            await device.follow(session)
            await device.until(lambda device=device: device.sessions[session].verdicts)
        await first.turn(session, "ask=2 deltas=20 blocks=2")
        last = first.sessions[session].last
        for device in devices:
            await device.until(lambda device=device: device.sessions[session].last >= last)
        views = {json.dumps(device.sessions[session].events[:last]) for device in devices}
        assert len(views) == 1
        assert [len(first.sessions[session].of_kind(kind)) for kind in ("answered", "started")] == [2, 1]


async def _tokens(server: ServerProcess) -> list[str]:
    address, headers = f"http://127.0.0.1:{server.port}", {"authorization": f"Bearer {server.token}"}
    scopes = ["view", "prompt", "approve"]
    async with httpx2.AsyncClient(base_url=address, headers=headers, trust_env=False, verify=False) as client:
        asked = [client.post("/api/devices", json={"name": f"phone {n}", "scopes": scopes}) for n in range(DEVICES)]
        return [answer.json()["token"] for answer in await asyncio.gather(*asked)]
