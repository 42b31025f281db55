"""The SQLite store: its file, several processes, a restart."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.session_store import SessionStoreError, SqliteSessionStore

KEY: Any = {"project_key": "p", "session_id": "s"}

WRITER = """
import asyncio, sys
from handrail.session_store import SqliteSessionStore

async def main(path, name, count):
    store = SqliteSessionStore(path)
    for number in range(int(count)):
        batch = [{"type": "user", "uuid": f"{name}-{number}-{part}"} for part in range(3)]
        await store.append({"project_key": "p", "session_id": "s"}, batch)
        print(number, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def writer(path: Path, name: str, count: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, str(path), name, str(count), stdout=asyncio.subprocess.PIPE
    )


async def uuids(path: Path) -> list[str]:
    async with SqliteSessionStore(path) as store:
        return [entry["uuid"] for entry in await store.load(KEY) or ()]


async def test_sessions_outlive_the_store(tmp_path: Path):
    path = tmp_path / "sessions.db"
    async with SqliteSessionStore(path) as store:
        await store.append(KEY, [{"type": "user", "uuid": "a"}])
        listed = await store.list_session_summaries("p")
    async with SqliteSessionStore(path) as store:
        assert await store.load(KEY) == [{"type": "user", "uuid": "a"}]
        assert await store.list_session_summaries("p") == listed


async def test_file_is_private(tmp_path: Path):
    path = tmp_path / "sessions.db"
    async with SqliteSessionStore(path) as store:
        await store.append(KEY, [{"type": "user", "uuid": "a"}])
        modes = {name: stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in os.listdir(tmp_path)}
    assert "sessions.db-wal" in modes
    assert set(modes.values()) == {0o600}


async def test_several_processes_write_to_one_new_file(tmp_path: Path):
    path = tmp_path / "sessions.db"
    writers = [await writer(path, str(number), 20) for number in range(4)]
    async with asyncio.timeout(60):
        codes = [(await process.communicate(), process.returncode)[1] for process in writers]
    assert codes == [0, 0, 0, 0]
    found = await uuids(path)
    assert len(found) == 4 * 20 * 3
    for name in map(str, range(4)):
        own = [uuid for uuid in found if uuid.startswith(f"{name}-")]
        assert own == [f"{name}-{number}-{part}" for number in range(20) for part in range(3)]


async def test_killed_process_leaves_whole_appends_and_no_acknowledged_one_is_lost(tmp_path: Path):
    path = tmp_path / "sessions.db"
    process = await writer(path, "a", 10**6)
    assert process.stdout is not None
    for _ in range(20):
        acknowledged = int(await process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    await process.wait()
    found = await uuids(path)
    assert len(found) >= 3 * (acknowledged + 1)
    assert found == [f"a-{number}-{part}" for number in range(len(found) // 3) for part in range(3)]


async def test_closed_store_says_so(tmp_path: Path):
    store = SqliteSessionStore(tmp_path / "sessions.db")
    await store.append(KEY, [])
    await store.close()
    await store.close()
    with pytest.raises(SessionStoreError, match="is closed; make a new one"):
        await store.load(KEY)


async def test_unusable_file_is_named(tmp_path: Path):
    (tmp_path / "text.db").write_text("not a database, but long enough to be taken for one" * 10)
    for name, reason in (("text.db", "not a database"), ("missing/sessions.db", "No such file"), (".", "directory")):
        async with SqliteSessionStore(tmp_path / name) as store:
            with pytest.raises(SessionStoreError, match=reason) as caught:
                await store.append(KEY, [])
            assert str(tmp_path / name) in str(caught.value)


async def test_file_of_a_newer_version_is_refused(tmp_path: Path):
    path = tmp_path / "sessions.db"
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    async with SqliteSessionStore(path) as store:
        with pytest.raises(SessionStoreError, match="has format 99.*update handrail"):
            await store.load(KEY)
