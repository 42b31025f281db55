"""Full, locked, failing and damaged stores: commands that cannot be persisted are refused, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.bridge.store.integrity import damage_of
from tests.faults.checker import check
from tests.faults.server_process import ServerProcess, processes_of
from tests.faults.watcher import Refused, Watcher

PAGES = 120
AGENT = str(Path(sys.executable).with_name("handrail-agent"))
LARGE = "word " * 40_000


@pytest.mark.campaign
async def test_full_store_refuses_commands_until_there_is_space_f13(tmp_path: Path):
    server = ServerProcess(tmp_path, most_pages=PAGES)
    async with server, Watcher("client", server.url, server.token) as watcher:
        session = await watcher.start(server.work)
        sent = await watcher.command("send", session=session, text="ask=1 blocks=1")
        await watcher.until(lambda: sent["uuid"] in watcher.sessions[session].over)
        with pytest.raises(Refused) as refused:
            await _send_much(watcher, session)
        assert refused.value.code == "storage_full"
        (server.data / "room").touch()
        await _until_accepted(watcher, session, "blocks=1")
    assert _is_whole(server.data / "handrail.db")
    assert check(server.data / "handrail.db", server.diaries, [watcher.write(tmp_path)], killed=False) == []


async def test_turn_waits_for_a_full_store_f13(tmp_path: Path):
    server = ServerProcess(tmp_path, most_pages=PAGES)
    async with server, Watcher("client", server.url, server.token) as watcher:
        session = await watcher.start(server.work)
        sent = await watcher.command("send", session=session, text="deltas=200 wide=100 blocks=10")
        await server.says("waits for the store")
        (server.data / "room").touch()
        await watcher.until(lambda: sent["uuid"] in watcher.sessions[session].over)
        assert watcher.sessions[session].results()[-1]["subtype"] == "success"
    assert check(server.data / "handrail.db", server.diaries, [watcher.write(tmp_path)], killed=False) == []


@pytest.mark.campaign
async def test_server_waits_for_a_locked_store_f13_f15(tmp_path: Path):
    server = ServerProcess(tmp_path)
    async with server, Watcher("client", server.url, server.token) as watcher:
        session = await watcher.start(server.work)
        turn = await watcher.command("send", session=session, text="held=1 ask=1 deltas=5 blocks=2")
        await watcher.until(lambda: any(data.get("isReplay") for data in watcher.sessions[session].of_kind("frame")))
        (running,) = processes_of(server.diaries)
        other = sqlite3.connect(server.data / "handrail.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        sending = asyncio.create_task(watcher.command("send", session=session, text="blocks=1"))
        answered = 0
        while not sending.done():  # five seconds, during which other requests are served
            assert await server.answers()
            answered += 1
            await asyncio.sleep(0.03)  # stays below the rate limit of requests without login
        with pytest.raises(Refused) as refused:
            await sending
        assert (refused.value.code, answered > 50) == ("storage", True)
        os.kill(running, signal.SIGUSR1)  # the permission request waits with the rest of the output
        await server.says("waits for the store")
        assert _ran(server) == [], "nothing runs before its permission is stored"
        other.execute("ROLLBACK")
        other.close()
        await watcher.until(lambda: turn["uuid"] in watcher.sessions[session].over)
        await watcher.turn(session, "blocks=1")
        assert (
            len(watcher.sessions[session].of_kind("asked")) == len(watcher.sessions[session].of_kind("answered")) == 1
        )
    assert len(_ran(server)) == 1
    assert check(server.data / "handrail.db", server.diaries, [watcher.write(tmp_path)], killed=False) == []


def _ran(server: ServerProcess) -> list[str]:
    """What the CLI ran, by its diaries."""
    notes = [json.loads(line) for path in server.diaries.glob("*.diary") for line in path.read_text().splitlines()]
    return [note["ran"] for note in notes if "ran" in note]


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for place in range(4096, len(data), 512):
        data[place] ^= 0xFF
    path.write_bytes(data)


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:3000])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [_flip, _truncate, _empty])
def test_damage_is_detected_before_a_store_is_opened_f16(tmp_path: Path, damage: Callable[[Path], None]):
    path = tmp_path / "handrail.db"
    assert damage_of(path) == ""
    with sqlite3.connect(path) as db:
        db.executescript("PRAGMA journal_mode=WAL; CREATE TABLE event (place INTEGER PRIMARY KEY, data BLOB)")
        db.executemany("INSERT INTO event VALUES (?, ?)", [(n, b"x" * 500) for n in range(1000)])
    db.close()
    assert damage_of(path) == ""
    damage(path)
    assert damage_of(path) != ""


def _lose_log(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


LONGER = [pytest.param(damage, marks=pytest.mark.campaign) for damage in (_truncate, _empty)]


@pytest.mark.parametrize("damage", [_flip, *LONGER, _lose_log])
async def test_damaged_store_is_set_aside_and_sessions_are_imported_f16(tmp_path: Path, damage: Callable[[Path], None]):
    server = ServerProcess(tmp_path, cli=AGENT)
    async with server, Watcher("client", server.url, server.token) as watcher:
        session = await watcher.start(server.work)
        await watcher.turn(session, "remember the lighthouse")
        await (server.kill() if damage is _lose_log else server.stop())
    damage(server.data / "handrail.db")
    (server.data / "token").unlink()
    async with server, Watcher("again", server.url, server.token) as again:
        await server.says("imported 1 sessions")
        seen = await again.follow(session)
        await again.until(lambda: any("lighthouse" in str(data) for data in seen.of_kind("frame")))
        await again.turn(session, "go on")
        assert seen.results()[-1]["subtype"] == "success"
    kept = [path.name for path in server.data.iterdir() if ".corrupt-" in path.name]
    assert ("is missing" in server.log) if damage is _lose_log else (kept and "is damaged" in server.log)


async def test_kill_alone_is_not_reported_as_damage_f16(tmp_path: Path):
    server = ServerProcess(tmp_path)
    for _ in range(2):
        await server.start()
        await server.kill()
    await server.start()
    await server.stop()
    async with server:
        assert "is missing" not in server.log
        assert "damaged" not in server.log


@pytest.mark.campaign
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
async def test_failing_disk_disables_writing_f14(tmp_path: Path):
    inject = (
        "strace",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "trace=fdatasync",
        "-e",
        "inject=fdatasync:error=EIO:when=30+",
    )
    server = ServerProcess(tmp_path, wrapper=inject)
    async with server, Watcher("client", server.url, server.token) as watcher:
        watcher.patience = 20
        session = await watcher.start(server.work)
        with pytest.raises((Refused, TimeoutError)):
            await _many_turns(watcher, session)
        with pytest.raises(Refused) as refused:
            await watcher.command("send", session=session, text="blocks=1")
        assert refused.value.code == "storage"
    assert "writing is disabled" in server.log
    assert _is_whole(server.data / "handrail.db")


async def _send_much(watcher: Watcher, session: str) -> None:
    for _ in range(20):
        await watcher.command("send", session=session, text=LARGE)


async def _many_turns(watcher: Watcher, session: str) -> None:
    for _ in range(30):
        await watcher.turn(session, "blocks=3")


async def _until_accepted(watcher: Watcher, session: str, text: str) -> None:
    async with asyncio.timeout(10):
        await _try_until_accepted(watcher, session, text)


async def _try_until_accepted(watcher: Watcher, session: str, text: str) -> str:
    while True:
        try:
            return await watcher.turn(session, text)
        except Refused as refused:
            if refused.code != "storage_full":
                raise
            await asyncio.sleep(0.05)


def _is_whole(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    finally:
        connection.close()
