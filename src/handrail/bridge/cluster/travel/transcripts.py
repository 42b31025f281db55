"""What a CLI knows of a session travels with it. In: a session that goes on elsewhere. Out: its files, there.

    <session>           the manifest: which files, in which pieces. It is put last, and only in place of the one we know
    <session>.<piece>   some bytes of a file

What was sent before a manifest and is not named in it never will be, and is removed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from nats.js import JetStreamContext

from handrail.bridge.cluster.link.names import TRANSCRIPTS
from handrail.bridge.cluster.travel import conversation_files as files
from handrail.bridge.cluster.travel import manifest as manifests
from handrail.bridge.cluster.travel.manifest import LARGEST, TRANSCRIPT, Manifest, StoredFile
from handrail.bridge.cluster.travel.pieces import Overtaken, Pieces, is_name
from handrail.bridge.cluster.travel.sending import Sending, in_thread
from handrail.bridge.errors import BridgeError, ClusterRefused
from handrail.bridge.session.launch import Cli
from handrail.bridge.store.index_base import SessionRecord
from handrail.transcripts import SessionFile, TranscriptError, check_session_id, config_home

__all__ = ["Transcripts", "cli_home"]

log = logging.getLogger("handrail.bridge")

MOST: Final = 64 * 1024 * 1024
"""Bytes of one session; where there are more, only its transcript is kept."""
QUIET: Final = 60.0
"""Seconds between two complaints."""
_CANCEL_AGAIN: Final = 0.001
TRIES: Final = 3
"""A manifest that is replaced while it is read is read again."""


def cli_home(cli: Cli, environment: Mapping[str, str] = os.environ) -> Path:
    """Where this CLI looks for conversations. Our agent has a folder of its own, unless it is told another."""
    if cli.kind == "claude" or environment.get("CLAUDE_CONFIG_DIR"):
        return config_home(environment)
    return Path(environment.get("HOME") or Path.home()) / ".handrail"


class _Known(Struct):
    """What the store has of a session, as far as we know. `lost`: another machine has put something there since."""

    number: int
    manifest: Manifest
    stamps: dict[str, files.Stamp] = field(default_factory=dict[str, files.Stamp])
    swept: bool = False
    lost: bool = False


class _Session:
    """One session: what is known of it, and who waits for what."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.known: _Known | None = None
        self.record: SessionRecord | None = None
        self.waiting: asyncio.Task[None] | None = None
        self.told_large = False


class _Missing(Exception):
    """A piece that a manifest names is not there."""


class Transcripts:
    """The files of conversations, in the store and here.

    homes   where CLIs keep theirs; the first is that of the CLI which runs here
    node    the name of this machine: what another one has kept is replaced only after `fetch`
    """

    def __init__(
        self,
        js: JetStreamContext,
        homes: Callable[[], list[Path | None]],
        *,
        node: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pieces, self._homes, self._node, self._clock = Pieces(js, TRANSCRIPTS), homes, node, clock
        self._sessions: dict[str, _Session] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._complained, self._closed = -QUIET, False

    async def close(self) -> None:
        """Nothing more is sent. What was sent in part does not count."""
        self._closed = True
        while tasks := list(self._tasks):
            for task in tasks:
                task.cancel()
            # An answer of NATS that comes at this very moment swallows it (asyncio.wait_for before Python 3.12).
            await asyncio.wait(tasks, timeout=_CANCEL_AGAIN)

    def release(self, session: str) -> None:
        """The session is another machine's now, or nobody's: what is known of it here will not be true any more."""
        found = self._sessions.get(session)
        if found is not None and not found.lock.locked() and found.waiting is None:
            del self._sessions[session]

    def _session(self, id: str) -> _Session:
        return self._sessions.setdefault(id, _Session())

    # There

    async def keep(self, record: SessionRecord) -> None:
        """Send what is new of the session's files. It raises nothing; what goes wrong is told once a minute.

        Whoever comes while something is being sent waits for the next time, and all of them for the same one.
        """
        if self._closed or not is_name(record.id):
            return
        session = self._session(record.id)
        session.record = record
        if session.waiting is None:
            session.waiting = asyncio.create_task(self._next(session), name="handrail transcript")
            self._tasks.add(session.waiting)
            session.waiting.add_done_callback(self._done)
        await asyncio.wait([session.waiting])

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a transcript was not kept: %r", error)

    async def _next(self, session: _Session) -> None:
        try:
            await session.lock.acquire()
        finally:
            session.waiting = None
        try:
            if session.record is not None:
                await self._keep(session, session.record)
        except (BridgeError, TranscriptError, OSError, ValueError) as error:
            self._complain(f"the transcript of session {session.record and session.record.id} was not kept: {error}")
        finally:
            session.lock.release()

    def _complain(self, text: str) -> None:
        now = self._clock()
        if now - self._complained >= QUIET:
            self._complained = now
            log.warning("%s", text)

    async def _keep(self, session: _Session, record: SessionRecord) -> None:
        conversation = check_session_id(record.conversation or record.id)
        file = await asyncio.to_thread(files.find, conversation, record.cwd, self._homes())
        if file is None:
            return
        for _ in range(TRIES):
            known = session.known = session.known or await self._first_look(record.id)
            if known.lost:
                return
            try:
                return await self._send(session, known, record.id, file)
            except Overtaken:
                session.known = await self._ours(record.id, known)

    async def _first_look(self, session: str) -> _Known:
        """What the store has where nothing was fetched: only we may have put it there."""
        known = await self._look(session)
        if known.number and known.manifest.writer != self._node:
            raise ClusterRefused(f"it was kept by {known.manifest.writer or 'another machine'}, and not fetched here")
        return known

    async def _ours(self, session: str, known: _Known) -> _Known:
        """Somebody has put a manifest: where it was us, only the answer was lost."""
        found = await self._look(session)
        if found.manifest.writer == self._node:
            return found
        known.lost = True
        self._complain(f"another machine ({found.manifest.writer}) keeps the transcript of session {session} now")
        return known

    async def _look(self, session: str) -> _Known:
        found = await self._pieces.get(session)
        if found is None:
            return _Known(0, Manifest(conversation=""))
        try:
            return _Known(found.number, manifests.decode(found.data))
        except ValueError as error:
            raise ClusterRefused(f"what is stored of session {session} cannot be used: {error}") from error

    async def _send(self, session: _Session, known: _Known, id: str, file: SessionFile) -> None:
        """Send the pieces, then the manifest. Overtaken where another was put meanwhile."""
        before = known.manifest
        if before.conversation != file.session_id:
            before, known.stamps = Manifest(conversation=file.session_id), {}
        sending = Sending(self._pieces, id, file, before, known.stamps)
        swept, known.swept = known.swept, False
        kept = await sending.send(await asyncio.to_thread(self._chosen, session, file))
        if kept == before.files and before is known.manifest:
            known.stamps, known.swept = sending.stamps, swept
            return
        manifest = Manifest(conversation=file.session_id, writer=self._node, files=kept)
        try:
            number = await self._pieces.put(id, data=manifests.encode(manifest), after=known.number)
        except Overtaken:
            for name in sending.sent:
                await self._pieces.drop(id, name)
            raise
        session.known = _Known(number, manifest, sending.stamps)
        old = known.manifest.pieces() if swept else set(await self._pieces.names(id))
        for name in old - manifest.pieces():
            await self._pieces.drop(id, name, before=number)
        session.known.swept = True

    def _chosen(self, session: _Session, file: SessionFile) -> dict[str, files.Stamp]:
        """Which files are kept: all, where they are not too much; the transcript is the last to be sent."""
        found = files.stamps(file)
        length = found[TRANSCRIPT][0]
        if length > LARGEST:
            raise ClusterRefused(f"it has {length:,} bytes, and at most {LARGEST:,} are kept")
        if sum(stamp[0] for stamp in found.values()) <= MOST:
            return found
        if not session.told_large:
            session.told_large = True
            log.warning("the files of conversation %s are large: only its transcript is kept", file.session_id)
        return {TRANSCRIPT: found[TRANSCRIPT]}

    async def forget(self, session: str) -> None:
        """Nothing of it stays in the store. ClusterAway where that cannot be just now."""
        if not is_name(session):
            return
        async with self._session(session).lock:
            await self._pieces.drop(session)
            await self._pieces.drop(session, "*")
            self._session(session).known = None
        self.release(session)

    # Here

    async def fetch(self, record: SessionRecord) -> bool:
        """Bring the session's files to where a CLI looks for them here, and keep them from now on.

        Out: whether something was written. ClusterAway where NATS does not answer, ClusterRefused where what is stored
        cannot be used: then the CLI would go on from an older state, and must not be started.
        """
        origin, wrote = str(record.options.get("origin") or ""), False
        if origin and record.forked_from and not record.conversation:  # a branch begins with what its origin knows
            known = await self._bring(record, record.forked_from, origin)
            wrote = known is not None and known[1]
        session = self._session(record.id)
        async with session.lock:
            brought = await self._bring(record, record.id, record.conversation or record.id)
            if brought is not None:
                session.known = brought[0]
                wrote = brought[1] or wrote
        return wrote

    async def _bring(self, record: SessionRecord, session: str, conversation: str) -> tuple[_Known, bool] | None:
        if not is_name(session):
            return None
        try:
            check_session_id(conversation)
            for _ in range(TRIES):
                known = await self._look(session)
                if known.manifest.conversation != conversation:
                    if known.number:
                        log.warning("session %s is stored with another conversation than %s", session, conversation)
                    return known, False
                try:
                    return known, await self._write(record, session, known.manifest)
                except _Missing:
                    continue
        except (TranscriptError, OSError, ValueError) as error:
            raise ClusterRefused(f"the transcript of session {session} could not be brought here: {error}") from error
        raise ClusterRefused(f"the transcript of session {session} is not all there: a part of it is missing")

    async def _write(self, record: SessionRecord, session: str, manifest: Manifest) -> bool:
        conversation, homes = manifest.conversation, self._homes()
        file = await asyncio.to_thread(files.find, conversation, record.cwd, homes[:1])
        file = file or await asyncio.to_thread(files.place_for, conversation, record.cwd, homes[0])
        wrote = False
        for stored in sorted(manifest.files, key=lambda one: one.path, reverse=True):  # the transcript last
            wrote = await self._write_file(file, session, stored, ours=manifest.writer == self._node) or wrote
        return wrote

    async def _write_file(self, file: SessionFile, session: str, stored: StoredFile, *, ours: bool) -> bool:
        here = await asyncio.to_thread(files.look, file, stored)
        if here is not None and (here.enough or (ours and here.size >= stored.size)):
            return False
        with files.Writing(file, stored, here) as writing:
            for piece in stored.pieces:
                found = await self._pieces.get(session, piece.name)
                if found is None:
                    raise _Missing
                if len(found.data) != piece.size:
                    raise ValueError("a piece is not what it should be")
                await in_thread(writing.add, found.data)
            if not writing.whole:
                raise ValueError("it is not what was kept")
            if ours and writing.diverged:
                return False  # we kept it, and the CLI has written it anew since
            if aside := await in_thread(writing.finish):
                log.warning("session %s went on elsewhere: what only this machine had is in %s", session, aside)
            return True
