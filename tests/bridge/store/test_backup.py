"""Backups: taken while the server writes, restored without a lost event, refused if damaged."""

from __future__ import annotations

import asyncio
import sqlite3
import tarfile
from pathlib import Path

import pytest

from handrail.bridge.errors import BridgeError, DataFolderTaken
from handrail.bridge.server import Bridge
from handrail.bridge.store.backup import restore_backup, write_backup
from handrail.bridge.store.base import NewEvent
from handrail.bridge.store.integrity import check_store
from handrail.cli.main import main
from tests.bridge.serving import configuration, running

pytestmark = pytest.mark.one_server
SESSIONS = [f"00000000-0000-0000-0000-00000000000{number}" for number in range(4)]
AT_LEAST = 50
"""Events per session before the backup begins."""


def events_of(store: Path) -> dict[str, list[bytes]]:
    """The raw events of each session, in order."""
    with sqlite3.connect(store) as db:
        keys = dict(db.execute("SELECT key, session FROM log").fetchall())
        found: dict[str, list[bytes]] = {session: [] for session in keys.values()}
        for place, data in db.execute("SELECT place, data FROM event ORDER BY place"):
            found[keys[place // 2**32]].append(data)
    return found


async def append_until(
    stopped: asyncio.Event, bridge: Bridge, session: str, acknowledged: list[object], warm: asyncio.Barrier
) -> None:
    """Append events one by one, and note each once the store has acknowledged it."""
    while not stopped.is_set():
        if len(acknowledged) == AT_LEAST:
            await warm.wait()
        number = len(acknowledged) + 1
        event = NewEvent("note", b'{"number":%d}' % number, f"word{number}")
        acknowledged.append(await bridge.sessions.events.append(session, [event]))


async def test_a_backup_under_load_has_every_acknowledged_event(tmp_path: Path):
    """Four sessions write all the time; four backups begin meanwhile, and each is restored elsewhere."""
    stopped = asyncio.Event()
    async with running(tmp_path) as server, asyncio.TaskGroup() as writers:
        warm = asyncio.Barrier(len(SESSIONS) + 1)
        done: dict[str, list[object]] = {session: [] for session in SESSIONS}
        for session, acknowledged in done.items():
            writers.create_task(append_until(stopped, server.bridge, session, acknowledged, warm))
        await warm.wait()
        for round in range(4):
            before = {session: len(acknowledged) for session, acknowledged in done.items()}
            archive, restored = tmp_path / f"backup-{round}.tar", tmp_path / f"restored-{round}"
            await asyncio.to_thread(write_backup, tmp_path / "data", archive)
            await asyncio.to_thread(restore_backup, archive, restored)
            after = {session: len(acknowledged) for session, acknowledged in done.items()}
            found = await asyncio.to_thread(events_of, restored / "handrail.db")
            for session in SESSIONS:
                numbers = found[session]
                assert before[session] <= len(numbers) <= after[session] + 1
                assert numbers == [b'{"number":%d}' % number for number in range(1, len(numbers) + 1)]
        stopped.set()


async def test_a_server_continues_from_a_restored_backup(tmp_path: Path):
    async with running(tmp_path) as server:
        token = await server.token()
        await server.bridge.sessions.events.append(SESSIONS[0], [NewEvent("note", b"{}", "needle in the haystack")])
        await asyncio.to_thread(write_backup, tmp_path / "data", tmp_path / "backup.tar")
        with pytest.raises(DataFolderTaken, match="stop that process"):
            await asyncio.to_thread(restore_backup, tmp_path / "backup.tar", tmp_path / "data")
        await server.bridge.sessions.events.append(SESSIONS[1], [NewEvent("note", b"{}", "later")])
    _, replaced = restore_backup(tmp_path / "backup.tar", tmp_path / "data")
    assert replaced is not None
    assert sorted(events_of(replaced / "handrail.db")) == SESSIONS[:2]
    async with running(tmp_path) as server, server.client(token) as client:  # devices are part of a backup
        assert (await client.get("/api/sessions")).status_code == 200
        hits = await server.bridge.sessions.events.search("needle")
        assert [hit.session for hit in hits] == SESSIONS[:1]
        assert await server.bridge.sessions.events.search("later") == []
    assert check_store(tmp_path / "data" / "handrail.db")[0] == []


def test_commands_report_what_they_did_and_why_they_refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    asyncio.run(open_and_close(tmp_path))
    archive, data = str(tmp_path / "backup.tar"), str(tmp_path / "data")
    assert main(["backup", archive, "--data", data]) == 0
    assert "0 sessions, 0 events" in capsys.readouterr().out
    assert (tmp_path / "backup.tar").stat().st_mode & 0o777 == 0o600
    assert main(["backup", archive, "--data", data]) == 1
    assert "exists; choose another name" in capsys.readouterr().err
    assert main(["backup", str(tmp_path / "new.tar"), "--data", str(tmp_path / "nowhere")]) == 1
    assert "no store in" in capsys.readouterr().err
    assert main(["backup", str(tmp_path / "no" / "folder.tar"), "--data", data]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert main(["restore", archive, "--data", data]) == 0
    assert "Previous data was moved to" in capsys.readouterr().out
    assert main(["restore", str(tmp_path / "missing.tar"), "--data", data]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


async def open_and_close(folder: Path) -> None:
    async with Bridge(configuration(folder)):
        pass


@pytest.mark.parametrize("kept", [0, 100, 2000, 20_000])
def test_a_truncated_backup_is_refused_and_changes_nothing(tmp_path: Path, kept: int):
    asyncio.run(open_and_close(tmp_path))
    write_backup(tmp_path / "data", tmp_path / "backup.tar")
    whole = (tmp_path / "backup.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(whole[:kept])
    before = sorted(path.name for path in (tmp_path / "data").iterdir())
    with pytest.raises(BridgeError, match="not a backup of handrail|damaged|incomplete"):
        restore_backup(tmp_path / "cut.tar", tmp_path / "data")
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == before


def test_only_the_expected_plain_files_of_a_backup_are_written(tmp_path: Path):
    asyncio.run(open_and_close(tmp_path))
    write_backup(tmp_path / "data", tmp_path / "backup.tar")
    with tarfile.open(tmp_path / "backup.tar", "a") as archive:
        for name in ("../outside", "extra", "push-key.pem"):
            member = tarfile.TarInfo(name)
            if name == "push-key.pem":
                member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(member)
    restore_backup(tmp_path / "backup.tar", tmp_path / "restored")
    assert sorted(path.name for path in (tmp_path / "restored").iterdir()) == ["handrail.db", "lock"]
    assert not (tmp_path / "outside").exists()
