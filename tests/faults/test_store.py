"""Stores that go wrong: full, locked, broken, damaged. What cannot be put on record is not done; nothing is lost."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.bridge.damaged_store import damage_of
from tests.faults.checker import check
from tests.faults.server_process import ServerProcess
from tests.faults.watcher import Refused, Watcher

PAGES = 120
LARGE = "word " * 40_000


@pytest.mark.campaign
async def test_a_full_store_refuses_what_is_new_and_goes_on_when_there_is_room_again_f13(tmp_path: Path):
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


async def test_a_turn_waits_for_a_store_that_is_full_f13(tmp_path: Path):
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
async def test_a_store_that_another_process_has_locked_is_waited_for_f15(tmp_path: Path):
    server = ServerProcess(tmp_path)
    async with server, Watcher("client", server.url, server.token) as watcher:
        session = await watcher.start(server.work)
        other = sqlite3.connect(server.data / "handrail.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        sending = asyncio.create_task(watcher.turn(session, "deltas=5 blocks=2"))
        await watcher.follow(session)
        assert await server.answers(), "the loop goes on while the store is locked"
        assert not sending.done()
        other.execute("ROLLBACK")
        other.close()
        await sending
    assert check(server.data / "handrail.db", server.diaries, [watcher.write(tmp_path)], killed=False) == []


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
def test_damage_is_seen_before_a_store_is_opened_f16(tmp_path: Path, damage: Callable[[Path], None]):
    path = tmp_path / "handrail.db"
    assert damage_of(path) == ""
    with sqlite3.connect(path) as db:
        db.executescript("PRAGMA journal_mode=WAL; CREATE TABLE event (place INTEGER PRIMARY KEY, data BLOB)")
        db.executemany("INSERT INTO event VALUES (?, ?)", [(n, b"x" * 500) for n in range(1000)])
    db.close()
    assert damage_of(path) == ""
    damage(path)
    assert damage_of(path) != ""


@pytest.mark.campaign
async def test_a_damaged_store_is_put_aside_and_told_of_f16(tmp_path: Path):
    server = ServerProcess(tmp_path)
    async with server, Watcher("client", server.url, server.token) as watcher:
        await watcher.start(server.work)
    database = server.data / "handrail.db"
    _flip(database)
    (server.data / "token").unlink()
    async with server, Watcher("again", server.url, server.token) as watcher:
        session = await watcher.start(server.work)
        await watcher.turn(session, "blocks=1")
    assert len([path for path in server.data.iterdir() if ".corrupt-" in path.name]) >= 1
    assert "is damaged" in server.log


@pytest.mark.campaign
@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace to make the disk fail with")
async def test_a_disk_that_fails_ends_all_writing_f14(tmp_path: Path):
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
    assert "nothing more is written" in server.log
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
