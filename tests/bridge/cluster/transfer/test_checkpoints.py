"""Checkpoints travel with a session: files changed on one machine are rewound on another."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

import handrail
from handrail.agent.models.script import Script
from handrail.bridge.cluster.nats.names import TRANSCRIPTS
from handrail.bridge.cluster.transfer import local_files, transcripts
from handrail.bridge.cluster.transfer.object_store import ObjectStore
from handrail.bridge.cluster.transfer.transcripts import TranscriptSync
from handrail.bridge.errors import ClusterRefused
from handrail.testing import ScriptedMessagesApi, text, tool_use
from handrail.transcripts import config_home
from tests.bridge.cluster.jetstream_server import jetstream_server
from tests.bridge.cluster.transfer.test_transcripts import LINES, SESSION, Machine, machines, record
from tests.bridge.stage import AGENT


def checkpoint(machine: Machine, name: str) -> Path:
    return machine.home / "file-history" / SESSION / name


def save(machine: Machine, name: str, data: bytes, mode: int = 0o644) -> None:
    """Write a checkpoint as the CLI does."""
    path = checkpoint(machine, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def names(machine: Machine) -> list[str]:
    return sorted(path.name for path in checkpoint(machine, "").glob("*"))


async def test_files_are_rewound_after_the_session_moved(tmp_path: Path):
    work, homes = tmp_path / "work", (tmp_path / "one", tmp_path / "two")
    for folder in (work, *homes):
        folder.mkdir()
    old, new, script = work / "old.txt", work / "new.txt", work / "run.sh"
    old.write_text("one\n")
    script.write_text("echo one\n")
    script.chmod(0o755)
    replies = Script.of(
        [tool_use("Read", file_path=str(old)), tool_use("Read", file_path=str(script))],
        tool_use("Edit", file_path=str(old), old_string="one", new_string="two"),
        tool_use("Write", file_path=str(script), content="echo two\n"),
        tool_use("Write", file_path=str(new), content="new\n"),
        text("changed"),
        text("hello"),
    )
    async with jetstream_server(tmp_path) as store, ScriptedMessagesApi(replies) as api:

        def options(home: Path, **fields: Any) -> handrail.Options:
            env = {"HOME": str(home), "ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
            given: dict[str, Any] = {"enable_file_checkpointing": True, "can_use_tool": lambda request: True}
            return handrail.Options(cli_path=AGENT, cwd=str(work), env=env, **given, **fields)

        one, two = (
            TranscriptSync(store.js, lambda home=home: [config_home({"HOME": str(home)})], node=home.name)
            for home in homes
        )
        moved = record(cwd=str(work), conversation=SESSION)
        async with handrail.Session(options(homes[0], session_id=SESSION)) as session:
            turn = await session.send("change them")
            await turn.wait()
        assert (old.read_text(), script.read_text(), new.exists()) == ("two\n", "echo two\n", True)
        await one.upload(moved)
        assert await two.fetch(moved)
        async with handrail.Session(options(homes[1], resume=SESSION)) as session:
            await (await session.send("hi")).wait()
            assert (await session.rewind_files(turn.uuid)).can_rewind
        await one.close()
        await two.close()
    assert (old.read_text(), script.read_text(), new.exists()) == ("one\n", "echo one\n", False)
    assert stat.S_IMODE(script.stat().st_mode) == 0o755


async def test_checkpoints_are_stored_with_their_modes_and_follow_changes(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(LINES[0])
        save(one, "a@v1", b"first", 0o755)
        save(one, "b@v1", b"", 0o400)
        await one.upload()
        assert await two.fetch()
        assert names(two) == ["a@v1", "b@v1"]
        assert checkpoint(two, "a@v1").read_bytes() == b"first"
        assert [stat.S_IMODE(checkpoint(two, name).stat().st_mode) for name in names(two)] == [0o755, 0o400]
        assert stat.S_IMODE(checkpoint(two, "").stat().st_mode) == 0o700
        save(two, "a@v2", b"second")
        checkpoint(two, "b@v1").unlink()
        await two.upload()
        assert await one.fetch()
        assert checkpoint(one, "a@v2").read_bytes() == b"second"
        await one.sync.delete(SESSION)
        assert await store.subjects(TRANSCRIPTS) == {}


async def test_newest_checkpoints_within_the_limits_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(transcripts, "MAX_CHECKPOINT_BYTES", 1000)
    monkeypatch.setattr(local_files, "MAX_CHECKPOINTS", 4)
    async with machines(tmp_path) as (_, one, two):
        one.write(LINES[0])
        one.write(b"result", "tool-results/a.txt")
        for n in range(3):
            save(one, f"f@v{n}", b"x" * 400)
        for _ in range(2):
            await one.upload()
        assert caplog.text.count("the oldest are not uploaded") == 1
        await two.fetch()
        assert names(two) == ["f@v1", "f@v2"]
        assert two.other("tool-results/a.txt").exists()
        assert "1 older checkpoints of session" in caplog.text
        assert "stay on one; rewinding to them is not possible on this machine" in caplog.text
        for n in range(9):
            save(one, f"f@v{n}", b"x")
        await one.upload()
        await two.fetch()
        assert names(two) == ["f@v1", "f@v2", "f@v5", "f@v6", "f@v7", "f@v8"]


async def test_links_are_neither_read_nor_written(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    async with machines(tmp_path) as (_, one, two):
        one.write(LINES[0])
        save(one, "a@v1", b"first")
        checkpoint(one, "b@v1").symlink_to(secret)
        await one.upload()
        (two.home / "file-history").mkdir(parents=True)
        (tmp_path / "elsewhere").mkdir()
        checkpoint(two, "").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(ClusterRefused):
            await two.fetch()
        assert list((tmp_path / "elsewhere").iterdir()) == []
        checkpoint(two, "").unlink()
        assert await two.fetch()
        assert names(two) == ["a@v1"]


@pytest.mark.parametrize("mode", [0o4755, -1, 0o1000, "644"])
async def test_manifest_with_another_mode_is_refused(tmp_path: Path, mode: Any):
    async with machines(tmp_path) as (store, one, two):
        one.write(LINES[0])
        save(one, "a@v1", b"first")
        await one.upload()
        objects = ObjectStore(store.js, TRANSCRIPTS)
        entry = await objects.get(SESSION)
        assert entry is not None
        manifest = msgspec.json.decode(entry.data)
        manifest["files"][0][4] = mode
        await objects.put(SESSION, data=msgspec.json.encode(manifest))
        with pytest.raises(ClusterRefused, match="is invalid"):
            await two.fetch()
        assert names(two) == []
