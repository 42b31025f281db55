"""Transfers the CLI's files of a session between machines, through an object store: transcript and checkpoints.

    <session>           the manifest: the files and their chunks. It is written last, and only over the known version
    <session>.<chunk>   part of a file

Chunks that are older than a manifest and not listed in it belong to an interrupted upload, and are deleted.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from msgspec import Struct, field
from nats.js import JetStreamContext

from handrail.bridge.cluster.nats.names import TRANSCRIPTS
from handrail.bridge.cluster.transfer import local_files
from handrail.bridge.cluster.transfer import manifest as manifests
from handrail.bridge.cluster.transfer.local_files import FileReader, FileWriter, Stamp
from handrail.bridge.cluster.transfer.manifest import MAX_BYTES, TRANSCRIPT, Chunk, Manifest, StoredFile
from handrail.bridge.cluster.transfer.object_store import Conflict, ObjectStore, is_name
from handrail.bridge.errors import BridgeError, ClusterRefused
from handrail.bridge.store.base import SessionRecord
from handrail.transcripts import SessionFile, TranscriptError, check_session_id

__all__ = ["TranscriptSync", "Upload", "run_in_thread"]

log = logging.getLogger("handrail.bridge")

MAX_SESSION_BYTES: Final = 64 * 1024 * 1024
"""If the files beside a transcript are larger than this, they are not uploaded."""
MAX_CHECKPOINT_BYTES: Final = 64 * 1024 * 1024
"""Of larger checkpoints the newest are uploaded."""
LOG_INTERVAL_SECONDS: Final = 60.0
_CANCEL_RETRY_SECONDS: Final = 0.001
ATTEMPTS: Final = 3
"""Retries when a manifest is replaced while it is being read or written."""

T = TypeVar("T")
P = ParamSpec("P")


async def run_in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread. If cancelled, wait for the thread first: the caller then closes the files it uses."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        raise


class Upload:
    """One upload of changed files. `sent`: names of the new chunks; `stamps`: of the files as uploaded."""

    def __init__(
        self, store: ObjectStore, id: str, file: SessionFile, before: Manifest, known: Mapping[str, Stamp]
    ) -> None:
        self._store, self._id, self._file, self._known = store, id, file, known
        self._stored = {stored.path: stored for stored in before.files}
        self.sent: list[str] = []
        self.stamps: dict[str, Stamp] = {}

    async def send(self, found: Mapping[str, Stamp]) -> tuple[StoredFile, ...]:
        """Send all changed files, and return the files for the new manifest."""
        files: list[StoredFile] = []
        for path, stamp in found.items():
            stored = self._stored.get(path)
            if stored is not None and self._known.get(path) == stamp:
                self.stamps[path] = stamp
                files.append(stored)
                continue
            try:
                files.append(await self._send_file(path, stored))
            except TranscriptError:
                if path == TRANSCRIPT:
                    raise  # any other file may be deleted by the CLI at any time
        return tuple(files)

    async def _send_file(self, path: str, stored: StoredFile | None) -> StoredFile:
        with FileReader(self._file, path) as reader:
            chunks = [*await run_in_thread(reader.skip_stored, stored)]
            while data := await run_in_thread(reader.next_chunk):
                name = secrets.token_hex(8)
                self.sent.append(name)
                await self._store.put(self._id, name, data=data)
                chunks.append(Chunk(name, len(data)))
            self.stamps[path] = reader.stamp
            return reader.stored_as(chunks)


class _Remote(Struct):
    """The stored state of a session, as last seen. `lost`: another machine has replaced it since.

    `swept`: chunks of interrupted uploads have been deleted.
    """

    number: int
    manifest: Manifest
    stamps: dict[str, Stamp] = field(default_factory=dict[str, Stamp])
    swept: bool = False
    lost: bool = False


class _Session:
    """Upload state of one session."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.remote: _Remote | None = None
        self.record: SessionRecord | None = None
        self.queued: asyncio.Task[None] | None = None
        """The next upload, while it waits for the lock."""
        self.warned: set[str] = set()
        """Limits that were reported already."""


class _ChunkMissing(Exception):
    """A chunk listed in the manifest is not in the store."""


class TranscriptSync:
    """Uploads and fetches the files of sessions.

    homes   folders where CLIs keep conversations; the first belongs to the CLI that runs here
    node    name of this machine; data stored by another machine is replaced only after `fetch`
    """

    def __init__(
        self,
        js: JetStreamContext,
        homes: Callable[[], list[Path | None]],
        *,
        node: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._homes, self._node, self._clock = ObjectStore(js, TRANSCRIPTS), homes, node, clock
        self._sessions: dict[str, _Session] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._last_warning, self._closed = -LOG_INTERVAL_SECONDS, False

    async def close(self) -> None:
        """Cancel all uploads. An interrupted upload has no effect, because its manifest was not written."""
        self._closed = True
        while tasks := list(self._tasks):
            for task in tasks:
                task.cancel()
            # Before Python 3.12, asyncio.wait_for swallows a cancellation if the answer arrives in the same moment.
            await asyncio.wait(tasks, timeout=_CANCEL_RETRY_SECONDS)

    def release(self, session: str) -> None:
        """Forget the cached state of a session that this machine no longer owns."""
        found = self._sessions.get(session)
        if found is not None and not found.lock.locked() and found.queued is None:
            del self._sessions[session]

    def _session(self, id: str) -> _Session:
        return self._sessions.setdefault(id, _Session())

    # Uploading

    async def upload(self, record: SessionRecord) -> None:
        """Upload what has changed. Never raises; failures are logged at most once a minute.

        Calls made while an upload is running share the next one.
        """
        if self._closed or not is_name(record.id):
            return
        session = self._session(record.id)
        session.record = record
        if session.queued is None:
            session.queued = asyncio.create_task(self._next_upload(session), name="handrail transcript upload")
            self._tasks.add(session.queued)
            session.queued.add_done_callback(self._upload_done)
        await asyncio.wait([session.queued])

    def _upload_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("transcript upload failed: %r", error)

    async def _next_upload(self, session: _Session) -> None:
        try:
            await session.lock.acquire()
        finally:
            session.queued = None  # from here on changes may be missed, so later calls need another upload
        try:
            if session.record is not None:
                await self._upload(session, session.record)
        except (BridgeError, TranscriptError, OSError, ValueError) as error:
            self._warn(f"the transcript of session {session.record and session.record.id} was not uploaded: {error}")
        finally:
            session.lock.release()

    def _warn(self, text: str) -> None:
        now = self._clock()
        if now - self._last_warning >= LOG_INTERVAL_SECONDS:
            self._last_warning = now
            log.warning("%s", text)

    async def _upload(self, session: _Session, record: SessionRecord) -> None:
        conversation = check_session_id(record.conversation or record.id)
        file = await asyncio.to_thread(local_files.find, conversation, record.cwd, self._homes())
        if file is None:
            return
        for _ in range(ATTEMPTS):
            remote = session.remote = session.remote or await self._first_read(record.id)
            if remote.lost:
                return
            try:
                return await self._send(session, remote, record.id, file)
            except Conflict:
                session.remote = await self._after_conflict(record.id, remote)

    async def _first_read(self, session: str) -> _Remote:
        """Read the stored state of a session that was not fetched: it must be missing, or written by this machine."""
        remote = await self._read_remote(session)
        if remote.number and remote.manifest.writer != self._node:
            writer = remote.manifest.writer or "another machine"
            raise ClusterRefused(f"{writer} stored a version that was not fetched here")
        return remote

    async def _after_conflict(self, session: str, remote: _Remote) -> _Remote:
        """Find out who wrote the newer manifest. If it was this machine, only the acknowledgement was lost."""
        found = await self._read_remote(session)
        if found.manifest.writer == self._node:
            return found
        remote.lost = True
        self._warn(f"another machine ({found.manifest.writer}) now uploads the transcript of session {session}")
        return remote

    async def _read_remote(self, session: str) -> _Remote:
        found = await self._store.get(session)
        if found is None:
            return _Remote(0, Manifest(conversation=""))
        try:
            return _Remote(found.number, manifests.decode(found.data))
        except ValueError as error:
            raise ClusterRefused(f"the stored manifest of session {session} is invalid: {error}") from error

    async def _send(self, session: _Session, remote: _Remote, id: str, file: SessionFile) -> None:
        """Send the chunks, then the manifest. Raises Conflict if another manifest was written meanwhile."""
        before = remote.manifest
        if before.conversation != file.session_id:
            before, remote.stamps = Manifest(conversation=file.session_id), {}
        upload = Upload(self._store, id, file, before, remote.stamps)
        swept, remote.swept = remote.swept, False  # an upload that fails may leave chunks behind
        to_send, left_behind = await asyncio.to_thread(self._files_to_send, session, file)
        files = await upload.send(to_send)
        if (files, left_behind) == (before.files, before.left_behind) and before is remote.manifest:
            remote.stamps, remote.swept = upload.stamps, swept
            return
        manifest = Manifest(conversation=file.session_id, writer=self._node, files=files, left_behind=left_behind)
        try:
            number = await self._store.put(id, data=manifests.encode(manifest), after=remote.number)
        except Conflict:
            for name in upload.sent:
                await self._store.delete(id, name)
            raise
        session.remote = _Remote(number, manifest, upload.stamps)
        old = remote.manifest.chunk_names() if swept else set(await self._store.names(id))
        for name in old - manifest.chunk_names():
            await self._store.delete(id, name, before=number)
        session.remote.swept = True

    def _files_to_send(self, session: _Session, file: SessionFile) -> tuple[dict[str, Stamp], int]:
        """The files within the limits, and the number of checkpoints beyond theirs."""
        found = local_files.stamps(file)
        length = found[TRANSCRIPT][0]
        if length > MAX_BYTES:
            raise ClusterRefused(f"it has {length:,} bytes, more than the limit of {MAX_BYTES:,}")
        others = {path: stamp for path, stamp in found.items() if not local_files.is_checkpoint(path)}
        if sum(stamp[0] for stamp in others.values()) > MAX_SESSION_BYTES:
            self._warn_once(session, f"the files of conversation {file.session_id} are too large; uploading only its"
                            " transcript and checkpoints")  # fmt: skip
            others = {TRANSCRIPT: found[TRANSCRIPT]}
        checkpoints = local_files.newest_checkpoints(found, MAX_CHECKPOINT_BYTES)
        if left_behind := sum(map(local_files.is_checkpoint, found)) - len(checkpoints):
            self._warn_once(session, f"the checkpoints of conversation {file.session_id} are too large; the oldest"
                            " are not uploaded, and rewinding to them works on this machine only")  # fmt: skip
        return {**checkpoints, **others}, left_behind

    def _warn_once(self, session: _Session, text: str) -> None:
        if text not in session.warned:
            session.warned.add(text)
            log.warning("%s", text)

    async def delete(self, session: str) -> None:
        """Delete everything stored for the session. Raises ClusterAway if NATS does not answer."""
        if not is_name(session):
            return
        async with self._session(session).lock:
            await self._store.delete(session)
            await self._store.delete(session, "*")
            self._session(session).remote = None
        self.release(session)

    # Fetching

    async def fetch(self, record: SessionRecord) -> bool:
        """Write the session's stored files where the local CLI looks for them; uploads continue from that version.

        Returns whether a file was written. Raises ClusterAway if NATS does not answer and ClusterRefused if the stored
        files are unusable. In both cases the CLI must not be started: it would continue from an older state.
        """
        origin, wrote = str(record.options.get("origin") or ""), False
        if origin and record.forked_from and not record.conversation:  # a fork starts from its origin's transcript
            found = await self._fetch(record, record.forked_from, origin)
            wrote = found is not None and found[1]
        session = self._session(record.id)
        async with session.lock:
            found = await self._fetch(record, record.id, record.conversation or record.id)
            if found is not None:
                session.remote = found[0]
                wrote = found[1] or wrote
        return wrote

    async def _fetch(self, record: SessionRecord, session: str, conversation: str) -> tuple[_Remote, bool] | None:
        if not is_name(session):
            return None
        try:
            check_session_id(conversation)
            for _ in range(ATTEMPTS):
                remote = await self._read_remote(session)
                if remote.manifest.conversation != conversation:
                    if remote.number:
                        log.warning("session %s is stored with a conversation other than %s", session, conversation)
                    return remote, False
                try:
                    return remote, await self._write_files(record, session, remote.manifest)
                except _ChunkMissing:  # the manifest was replaced while its chunks were read
                    continue
        except (TranscriptError, OSError, ValueError) as error:
            raise ClusterRefused(f"the transcript of session {session} could not be fetched: {error}") from error
        raise ClusterRefused(f"the stored transcript of session {session} is incomplete: a chunk is missing")

    async def _write_files(self, record: SessionRecord, session: str, manifest: Manifest) -> bool:
        conversation, homes = manifest.conversation, self._homes()
        file = await asyncio.to_thread(local_files.find, conversation, record.cwd, homes[:1])
        file = file or await asyncio.to_thread(local_files.new_location, conversation, record.cwd, homes[0])
        wrote = False
        if manifest.left_behind:
            log.warning(
                "%d older checkpoints of session %s stay on %s; rewinding to them is not possible on this machine",
                manifest.left_behind,
                session,
                manifest.writer,
            )
        # The transcript last: its path is empty, and it refers to the other files.
        for stored in sorted(manifest.files, key=lambda stored: stored.path, reverse=True):
            wrote = await self._write_file(file, session, stored, ours=manifest.writer == self._node) or wrote
        return wrote

    async def _write_file(self, file: SessionFile, session: str, stored: StoredFile, *, ours: bool) -> bool:
        local = await asyncio.to_thread(local_files.compare, file, stored)
        if local is not None and (local.complete or (ours and local.size >= stored.size)):
            return False
        with FileWriter(file, stored, local) as writer:
            for chunk in stored.chunks:
                found = await self._store.get(session, chunk.name)
                if found is None:
                    raise _ChunkMissing
                if len(found.data) != chunk.size:
                    raise ValueError("a chunk does not match the manifest")
                await run_in_thread(writer.write, found.data)
            if not writer.complete:
                raise ValueError("a file does not match the manifest")
            if ours and writer.diverged:
                return False  # uploaded from here, and rewritten by the CLI since
            if aside := await run_in_thread(writer.finish):
                log.warning("session %s continued on another machine; lines found only here are in %s", session, aside)
            return True
