"""Acknowledged events survive killed machines, server restarts and changes of ownership."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from handrail.bridge.errors import BridgeError
from handrail.testing import NatsServer
from tests.bridge.cluster import event_appender
from tests.bridge.cluster.machine_store import MachineStore, connected, connected_store, new, open_store, said


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with NatsServer(tmp_path / "nats") as server:
        yield server


async def run_until_killed(folder: Path, url: str, epoch: int, moves: bool, lines: int) -> list[str]:
    """Start an appender, kill it after this many lines, and return every complete line it printed."""
    argv = [sys.executable, "-m", event_appender.__name__, str(folder), url, str(epoch), "moves" if moves else "stays"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    child = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE, env=environment)
    assert child.stdout is not None
    heard = [await child.stdout.readline() for _ in range(lines)]
    child.kill()
    heard += (await child.stdout.read()).splitlines(keepends=True)
    await child.wait()
    return [line.decode() for line in heard if line.endswith(b"\n")]


@pytest.mark.parametrize("moves", [False, True], ids=["stays", "moves"])
async def test_appends_acknowledged_before_a_kill_are_on_nats_once(moves: bool, tmp_path: Path, server: NatsServer):
    async with connected(server) as js:
        acknowledged: list[str] = []
        for epoch in (1, 2):
            acknowledged += await run_until_killed(tmp_path / "a", server.url, epoch, moves, 60)
        assert len(acknowledged) >= 120
        async with open_store(tmp_path / "a", js) as machine:
            for session in event_appender.SESSIONS:
                await machine.adopt(session, 4)
                assert await machine.wait_until_published(session)
                found = await machine.remote.read(session, 0, limit=10**6, most_bytes=2**30)
                assert found == await machine.local.read(session, 0, limit=10**6, most_bytes=2**30)
                words = said(found)
                assert set(Counter(words).values()) == {2}  # each append contains its word twice
                batches = [batch async for _, batch in machine.stream.batches(session)]
                commands = Counter(receipt.command for batch in batches for receipt in batch.receipts)
                assert commands == Counter(f"{session}-{word}" for word in set(words))
                for _, seq, word in (line.split() for line in acknowledged if line.startswith(f"{session} ")):
                    assert words[int(seq) - 1 : int(seq) + 1] == [word, word]


class Writer:
    """Appends to one session and keeps the acknowledged words of each run."""

    def __init__(self) -> None:
        self.acknowledged: list[list[str]] = []
        self.n = 0

    async def write(self, machine: MachineStore, session: str, most: int) -> None:
        run: list[str] = []
        self.acknowledged.append(run)
        for _ in range(most):
            self.n += 1
            word = f"{session}-{self.n}"
            try:
                await machine.log.append(session, new(word))
            except BridgeError:
                return
            run.append(word)


@pytest.mark.parametrize("seed", range(4))
async def test_random_failures_keep_acknowledged_events_once_and_in_order(
    seed: int, tmp_path: Path, server: NatsServer
):
    """Three sessions on two machines with random appends, server kills and forced changes of ownership."""
    chance = random.Random(seed)
    sessions = {f"s{n}": Writer() for n in range(3)}
    async with (
        connected_store(tmp_path / "a", server, moves=True) as a,
        connected_store(tmp_path / "b", server, moves=True) as b,
    ):
        owners = dict.fromkeys(sessions, a)
        epochs = dict.fromkeys(sessions, 1)
        for session in sessions:
            await a.adopt(session, 1)
        for _ in range(25):
            writing = [
                asyncio.create_task(writer.write(machine, session, chance.randint(1, 8)))
                for session, writer in sessions.items()
                for machine in {owners[session], a}  # a machine that lost the session may not know it yet
                if machine.held.holds(session)
            ]
            act = chance.choice(["continue", "continue", "take", "take", "server", "give up"])
            session = chance.choice(list(sessions))
            if act == "take":
                epochs[session] += 1
                owners[session] = b if owners[session] is a else a
                await owners[session].adopt(session, epochs[session])
            elif act == "server":
                await server.kill()
                await server.start()
            elif act == "give up":
                owners[session].outbox.give_up(session)
                owners[session].held.sessions.discard(session)
                epochs[session] += 1
                await owners[session].adopt(session, epochs[session])
            await asyncio.gather(*writing)
        for session, writer in sessions.items():
            with contextlib.suppress(BridgeError):
                await owners[session].adopt(session, epochs[session] + 1)
            words = said(await owners[session].remote.read(session, 0, limit=10**6))
            assert words == said(await owners[session].local.read(session, 0, limit=10**6))
            assert set(Counter(words).values()) <= {1}
            for run in writer.acknowledged:
                assert [word for word in words if word in run] == run
            assert sum(map(len, writer.acknowledged)) > 10
