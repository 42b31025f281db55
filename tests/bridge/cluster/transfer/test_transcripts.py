"""Transfer of transcripts: a session that began on one machine continues on another."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from nats.aio.msg import Msg

import handrail
from handrail.agent.models.script import Reply, Script, Text
from handrail.bridge.cluster.nats.names import TRANSCRIPTS
from handrail.bridge.cluster.transfer import transcripts
from handrail.bridge.cluster.transfer.manifest import Manifest
from handrail.bridge.cluster.transfer.object_store import CHUNK_SIZE, ObjectStore
from handrail.bridge.cluster.transfer.transcripts import TranscriptSync, Upload, run_in_thread
from handrail.bridge.errors import ClusterAway, ClusterRefused
from handrail.bridge.store.base import SessionRecord
from handrail.testing import ScriptedMessagesApi
from handrail.transcripts import SessionFile, SessionNotFound, config_home, project_name
from tests.bridge.cluster.jetstream_server import JetStreamServer, jetstream_server
from tests.bridge.stage import AGENT, Clock

SESSION = str(uuid4())
FOLDER = f"projects/{project_name('/work/garden')}"
LINES = [f'{{"line": {n}}}\n'.encode() for n in range(9)]
NOTHING = (0, 0, 0, 0, 0)


class Machine:
    """A machine with the home folder of a CLI."""

    def __init__(self, home: Path, store: JetStreamServer, clock: Clock | None = None) -> None:
        self.home = home
        self.sync = TranscriptSync(store.js, lambda: [home], node=home.name, clock=clock or Clock())

    @property
    def file(self) -> Path:
        return self.home / FOLDER / f"{SESSION}.jsonl"

    def other(self, path: str) -> Path:
        return self.home / FOLDER / SESSION / path

    def write(self, data: bytes, path: str = "") -> None:
        file = self.other(path) if path else self.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    def add(self, *lines: bytes) -> None:
        with self.file.open("ab") as stream:
            stream.writelines(lines)

    async def upload(self, **fields: Any) -> None:
        await self.sync.upload(record(**fields))

    async def fetch(self, **fields: Any) -> bool:
        return await self.sync.fetch(record(**fields))


def record(**fields: Any) -> SessionRecord:
    return SessionRecord(**{"id": SESSION, "cwd": "/work/garden", "created": 0, "changed": 0, **fields})


@asynccontextmanager
async def machines(
    folder: Path, clock: Clock | None = None
) -> AsyncGenerator[tuple[JetStreamServer, Machine, Machine]]:
    async with jetstream_server(folder) as store:
        one, two = Machine(folder / "one", store, clock), Machine(folder / "two", store, clock)
        yield store, one, two
        await one.sync.close()
        await two.sync.close()


async def put_count(store: JetStreamServer) -> int:
    """The newest sequence number, which grows with every write."""
    return (await store.js.stream_info(f"OBJ_{TRANSCRIPTS}")).state.last_seq


# A real CLI


async def say(text: str, home: Path, cwd: Path, api: ScriptedMessagesApi, **options: Any) -> None:
    env = {"HOME": str(home), "ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
    async with handrail.Session(handrail.Options(cli_path=AGENT, cwd=str(cwd), env=env, **options)) as session:
        turn = await session.send(text)
        await turn.wait()


async def test_conversation_is_resumed_on_another_machine_with_its_history(tmp_path: Path):
    work = tmp_path / "work"
    for folder in (work, tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
    script = Script(replies=(Reply(blocks=(Text("It is a rose."),)),), afterwards=Reply(blocks=(Text("Yes."),)))
    async with jetstream_server(tmp_path) as store, ScriptedMessagesApi(script) as api:
        here = {"HOME": str(tmp_path / "one")}, {"HOME": str(tmp_path / "two")}
        one, two = (TranscriptSync(store.js, lambda env=env: [config_home(env)], node=env["HOME"]) for env in here)
        session = record(cwd=str(work), conversation=SESSION)
        await say("What grows there?", tmp_path / "one", work, api, session_id=SESSION)
        await one.upload(session)
        assert await two.fetch(session)
        await say("Is it red?", tmp_path / "two", work, api, resume=SESSION)
        asked = str((await api.called(2)).body["messages"])
        assert "What grows there?" in asked
        assert "It is a rose." in asked
        await two.upload(session)
        assert await one.fetch(session)
        await say("And now?", tmp_path / "one", work, api, resume=SESSION)
        assert "Is it red?" in str((await api.called(3)).body["messages"])


# Uploading


async def test_all_files_are_transferred_with_private_modes(tmp_path: Path):
    async with machines(tmp_path) as (_, one, two):
        contents = {
            "": b"".join(LINES),
            "subagents/agent-1.jsonl": LINES[0],
            "subagents/deep/er/agent-2.meta.json": b'{"agentType": "x"}',
            "tool-results/toolu_1.txt": b"x" * (2 * CHUNK_SIZE + 7),
            "tool-results/empty": b"",
        }
        for path, data in contents.items():
            one.write(data, path)
        one.write(b"no", "other/file")
        one.write(b"no", "tool-results/.hidden")
        one.other("subagents/link.jsonl").symlink_to("/etc/passwd")
        await one.upload()
        assert await two.fetch()
        assert {path: (two.other(path) if path else two.file).read_bytes() for path in contents} == contents
        found = [path for path in two.home.rglob("*") if path.is_file()]
        assert len(found) == len(contents)
        assert {path.stat().st_mode & 0o777 for path in found} == {0o600}
        assert {path.stat().st_mode & 0o777 for path in two.home.rglob("*") if path.is_dir()} == {0o700}
        assert not await two.fetch(), "everything is up to date"


async def test_only_new_data_is_sent_and_replaced_chunks_are_deleted(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(b"x" * CHUNK_SIZE + b"\n" + b"".join(LINES))
        await one.upload()
        first = set(await store.subjects(TRANSCRIPTS))
        for line in LINES * 4:
            one.add(line)
            await one.upload()
        then = await store.subjects(TRANSCRIPTS)
        assert len(first & set(then)) == 2, "the manifest and the large chunk"
        assert len(then) < 10
        assert set(then.values()) == {1}
        before = await put_count(store)
        await one.upload()
        assert await put_count(store) == before, "nothing has changed"
        await two.fetch()
        assert two.file.read_bytes() == one.file.read_bytes()


@pytest.mark.parametrize("data", [b"another\n", b"another and longer than it was before\n" * 9])
async def test_rewritten_file_is_sent_completely(tmp_path: Path, data: bytes):
    async with machines(tmp_path) as (store, one, two):
        one.write(b"".join(LINES))
        await one.upload()
        one.write(data)
        await one.upload()
        await two.fetch()
        assert two.file.read_bytes() == data
        assert len(await store.subjects(TRANSCRIPTS)) == 2


async def test_incomplete_last_line_is_left_for_the_next_upload(tmp_path: Path):
    async with machines(tmp_path) as (_, one, two):
        one.write(LINES[0] + LINES[1][:5])
        await one.upload()
        await two.fetch()
        assert two.file.read_bytes() == LINES[0]
        one.add(LINES[1][5:])
        await one.upload()
        await two.fetch()
        assert two.file.read_bytes() == LINES[0] + LINES[1]


async def test_concurrent_uploads_are_merged_without_missing_lines(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(LINES[0])
        before = await put_count(store)
        await asyncio.gather(*(one.upload() for _ in range(20)))
        assert await put_count(store) - before == 2
        for line in LINES[1:]:
            running = asyncio.create_task(one.upload())
            await asyncio.sleep(0)  # let the upload start
            one.add(line)
            await asyncio.gather(running, one.upload())
        await two.fetch()
        assert two.file.read_bytes() == b"".join(LINES)


async def test_interrupted_upload_has_no_effect_and_is_cleaned_up_later(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(LINES[0])
        await one.upload()
        seen = asyncio.Event()

        async def see(_: Msg) -> None:
            seen.set()

        watching = await store.connection.subscribe(f"$O.{TRANSCRIPTS}.C.{SESSION}.*", cb=see)
        one.add((b"x" * 99 + b"\n") * (CHUNK_SIZE // 10))
        uploading = asyncio.create_task(one.upload())
        await seen.wait()
        while len(await store.subjects(TRANSCRIPTS)) <= 2:  # subscribers see a message before it is stored
            pass
        await one.sync.close()
        await uploading
        await one.upload()
        await watching.unsubscribe()
        assert await two.fetch()
        assert two.file.read_bytes() == LINES[0]
        two.add(LINES[1])
        await two.upload()
        assert len(await store.subjects(TRANSCRIPTS)) == 2


async def test_only_the_transcript_of_a_very_large_session_is_uploaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(transcripts, "MAX_SESSION_BYTES", 1000)
    async with machines(tmp_path) as (_, one, two):
        one.write(b"x" * 1000, "tool-results/a.txt")
        for line in LINES[:3]:
            one.write(line)
            await one.upload()
        assert caplog.text.count("uploading only its transcript") == 1
        await two.fetch()
        assert two.file.read_bytes() == LINES[2]
        assert not two.other("tool-results").exists()
        monkeypatch.setattr(transcripts, "MAX_BYTES", 5)
        await one.upload()
        assert "more than the limit of 5" in caplog.text


async def test_new_conversation_of_a_session_replaces_the_old_one(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(LINES[0])
        one.write(b"x", "tool-results/a.txt")
        await one.upload()
        cleared = str(uuid4())
        file = one.file.with_name(f"{cleared}.jsonl")
        file.write_bytes(LINES[1])
        await one.upload(conversation=cleared)
        assert len(await store.subjects(TRANSCRIPTS)) == 2
        assert not await two.fetch(), "the first conversation was replaced"
        assert await two.fetch(conversation=cleared)
        assert two.file.with_name(f"{cleared}.jsonl").read_bytes() == LINES[1]


async def test_failed_uploads_are_logged_once_a_minute(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    clock = Clock()
    async with machines(tmp_path, clock) as (store, one, two):
        one.write(LINES[0])
        await one.upload()
        await store.kill()
        one.add(LINES[1])
        for _ in range(2):
            await one.upload()
        assert caplog.text.count("was not uploaded") == 1
        clock.now += transcripts.LOG_INTERVAL_SECONDS
        await one.upload()
        assert caplog.text.count("was not uploaded") == 2
        with pytest.raises(ClusterAway, match="does not answer"):
            await two.fetch()
        await store.start()
        while not await uploaded_again(one, two):
            pass
        assert two.file.read_bytes() == LINES[0] + LINES[1]


async def uploaded_again(one: Machine, two: Machine) -> bool:
    await one.upload()
    try:
        await two.fetch()
    except ClusterAway:  # the client reconnects with a delay
        return False
    return two.file.read_bytes().endswith(LINES[1])


async def test_missing_files_and_invalid_names_are_not_uploaded(tmp_path: Path):
    async with machines(tmp_path) as (store, one, _):
        await one.upload()
        one.write(LINES[0])
        for fields in ({"id": "a.>", "conversation": SESSION}, {"conversation": "../../x"}, {"cwd": "/a\0b"}):
            await one.upload(**fields)
        assert await store.subjects(TRANSCRIPTS) == {}


async def test_deleted_session_can_be_uploaded_again(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(b"".join(LINES))
        await one.upload()
        await one.sync.delete(SESSION)
        await one.sync.delete("a.>")
        assert await store.subjects(TRANSCRIPTS) == {}
        assert not await two.fetch()
        await one.upload()
        assert await two.fetch()


# One upload


async def test_cancelled_caller_waits_for_its_thread():
    begun, may_end, ended = asyncio.Event(), threading.Event(), list[bool]()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(begun.set)
        may_end.wait(60)
        ended.append(True)

    async with asyncio.timeout(60):
        task = asyncio.create_task(run_in_thread(work))
        await begun.wait()
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
            assert not task.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ended == [True]


async def test_missing_file_is_skipped_unless_it_is_the_transcript(tmp_path: Path):
    file = SessionFile(tmp_path, "project", "session")
    file.folder.mkdir(parents=True)
    async with jetstream_server(tmp_path) as store:
        upload = Upload(ObjectStore(store.js, TRANSCRIPTS), "session", file, Manifest(conversation=""), {})
        assert await upload.send({"tool-results/deleted.txt": NOTHING}) == ()
        with pytest.raises(SessionNotFound):
            await upload.send({"": NOTHING})
        assert upload.sent == []


async def test_very_long_incomplete_line_is_not_sent(tmp_path: Path):
    file = SessionFile(tmp_path, "project", "session")
    file.path.parent.mkdir(parents=True)
    async with jetstream_server(tmp_path) as store:
        for before in (b"", b"{}\n"):
            file.path.write_bytes(before + b"x" * 200_000)
            upload = Upload(ObjectStore(store.js, TRANSCRIPTS), "session", file, Manifest(conversation=""), {})
            (stored,) = await upload.send({"": NOTHING})
            assert stored.size == len(before)


# Conflicts between machines


async def test_machine_with_an_outdated_version_replaces_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async with machines(tmp_path) as (store, one, two):
        one.write(LINES[0])
        await one.upload()
        await two.fetch()
        two.add(LINES[2])
        await two.upload()
        stored = await store.subjects(TRANSCRIPTS)
        one.add(LINES[1])
        await one.upload()
        assert "another machine (two)" in caplog.text
        before = await put_count(store)
        await one.upload()
        assert await put_count(store) == before, "the machine does not retry"
        assert await store.subjects(TRANSCRIPTS) == stored
        one.sync.release(SESSION)
        await one.upload()
        assert await store.subjects(TRANSCRIPTS) == stored, "a version of another machine must be fetched first"
        assert await one.fetch()
        one.add(LINES[3])
        await one.upload()
        assert await two.fetch()
        assert two.file.read_bytes() == LINES[0] + LINES[2] + LINES[3]


async def test_upload_continues_after_a_lost_acknowledgement(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(LINES[0])
        await one.upload()
        earlier_process = Machine(one.home, store)
        one.add(LINES[1])
        await earlier_process.upload()
        one.add(LINES[2])
        await one.upload()
        await two.fetch()
        assert two.file.read_bytes() == b"".join(LINES[:3])
        assert len(await store.subjects(TRANSCRIPTS)) == 3, "the manifest and two chunks"


async def test_longer_local_file_is_not_replaced(tmp_path: Path):
    async with machines(tmp_path) as (_, one, two):
        one.write(LINES[0])
        await one.upload()
        two.write(LINES[0] + LINES[1])
        assert not await two.fetch()
        assert two.file.read_bytes() == LINES[0] + LINES[1]


@pytest.mark.parametrize("lines", [LINES[5:6], LINES[5:8], [LINES[0], LINES[5], LINES[1]]])
async def test_diverged_local_lines_are_saved_aside(
    tmp_path: Path, lines: list[bytes], caplog: pytest.LogCaptureFixture
):
    async with machines(tmp_path) as (_, one, two):
        one.write(LINES[0] + LINES[1])
        one.write(b"new", "subagents/agent-1.meta.json")
        await one.upload()
        two.write(b"".join(lines))
        two.write(b"older", "subagents/agent-1.meta.json")
        assert await two.fetch()
        assert two.file.read_bytes() == LINES[0] + LINES[1]
        assert two.other("subagents/agent-1.meta.json").read_bytes() == b"new"
        (aside,) = two.home.rglob("*.aside")
        assert aside.read_bytes() == b"".join(lines)
        assert aside.name in caplog.text


async def test_file_rewritten_after_the_last_upload_is_not_replaced(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(b"".join(LINES))
        await one.upload()
        for data in (b"shorter\n", b"longer than it was\n" * 99):
            one.write(data)
            assert not await Machine(one.home, store).fetch()
            assert one.file.read_bytes() == data
        one.file.unlink()
        again = Machine(one.home, store)
        assert await again.fetch()
        await again.upload()
        await two.fetch()
        assert two.file.read_bytes() == b"".join(LINES)


async def test_fork_starts_with_the_transcript_of_its_origin(tmp_path: Path):
    async with machines(tmp_path) as (_, one, two):
        one.write(LINES[0])
        await one.upload()
        branch = {"id": str(uuid4()), "forked_from": SESSION, "options": {"origin": SESSION}}
        assert await two.fetch(**branch)
        assert two.file.read_bytes() == LINES[0]
        assert not await two.fetch(**branch, conversation=str(uuid4())), "a started fork has its own transcript"


# Hostile input


async def test_symbolic_links_are_not_followed(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    async with machines(tmp_path) as (_, one, two):
        one.write(LINES[0])
        one.write(b"x", "tool-results/a.txt")
        await one.upload()
        two.other("").mkdir(parents=True)
        two.other("tool-results").symlink_to(outside)
        with pytest.raises(ClusterRefused, match="could not be fetched"):
            await two.fetch()
        two.other("tool-results").unlink()
        two.file.symlink_to(outside / "file")
        with pytest.raises(ClusterRefused, match="could not be fetched"):
            await two.fetch()
        assert list(outside.iterdir()) == []
        assert list(two.home.rglob("*.unfinished")) == []


async def test_hostile_manifest_or_chunk_writes_nothing(tmp_path: Path):
    async with machines(tmp_path) as (store, one, two):
        one.write(b"".join(LINES))
        await one.upload()
        (chunk,) = [name for name in await store.subjects(TRANSCRIPTS) if "." in name]
        prefix = f"$O.{TRANSCRIPTS}.C"
        raw = (await store.js.get_last_msg(f"OBJ_{TRANSCRIPTS}", f"{prefix}.{SESSION}")).data or b""
        size = sum(map(len, LINES))
        for hostile in (raw.replace(b'["",', b'["../../../x",'), raw.replace(b'["",', b'["/etc/x",'), b"", b"{}"):
            await store.js.publish(f"{prefix}.{SESSION}", hostile)
            await Machine(one.home, store).upload()  # logged, and does not fail
            with pytest.raises(ClusterRefused, match="is invalid"):
                await two.fetch()
        await store.js.publish(f"{prefix}.{SESSION}", raw)
        for wrong in (b"y" * size, b"y"):
            await store.js.publish(f"{prefix}.{chunk}", wrong)
            with pytest.raises(ClusterRefused, match="does not match"):
                await two.fetch()
        await store.js.purge_stream(f"OBJ_{TRANSCRIPTS}", subject=f"{prefix}.{chunk}")
        with pytest.raises(ClusterRefused, match="missing"):
            await two.fetch()
        assert [path for path in two.home.rglob("*") if path.is_file()] == []


async def test_hostile_record_writes_only_below_the_projects_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    async with machines(tmp_path) as (_, one, two):
        one.write(LINES[0])
        await one.upload()
        for conversation in ("../../x", "*", "a/b"):
            with pytest.raises(ClusterRefused, match="UUID"):
                await two.fetch(conversation=conversation)
        assert not await two.fetch(id="a.>")
        assert await two.fetch(cwd="/../../etc")
        assert {path.parent.parent for path in two.home.rglob("*.jsonl")} == {two.home / "projects"}
