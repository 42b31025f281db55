"""Copies the transcript of a session to its store while the CLI writes it.

With `--session-mirror` the CLI sends every line of its transcripts as `transcript_mirror` messages. A separate task
appends them in order, so that a store that is slow, hangs or fails never delays a message. An append that fails is
retried at once, then with the next ones of the same transcript, and is reported.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Final, cast

from handrail.protocol import Message
from handrail.session_store.base import SessionKey, SessionStore, SessionStoreEntry, SessionStoreError
from handrail.session_store.files import key_of_path
from handrail.transcripts.entry import decode, mappings

__all__ = ["TranscriptMirror"]

TYPE: Final = "transcript_mirror"
BATCH_ENTRIES: Final = 500
BATCH_BYTES: Final = 1024 * 1024
"""A batch of this size is appended at once."""
BATCH_SECONDS: Final = 1.0
"""Seconds that an entry waits for others, so that a machine that fails during a long turn loses little."""
HELD_BYTES: Final = 64 * 1024 * 1024
"""Entries of a failing store that are held in memory. Above it the oldest are dropped, and that is reported."""
RETRY_AFTER: Final = (0.2, 0.8)
"""Seconds before each further attempt of an append."""

log = logging.getLogger("handrail.client")

_Place = tuple[str, str, str]


class _Batch:
    """Entries of one transcript that are not stored yet, by the message that brought them, with its size in bytes."""

    def __init__(self, key: SessionKey) -> None:
        self.key = key
        self.parts: deque[tuple[int, list[SessionStoreEntry]]] = deque()

    @property
    def entries(self) -> list[SessionStoreEntry]:
        return [entry for _, entries in self.parts for entry in entries]


class TranscriptMirror:
    """The copy of one session. `report` receives the text and the key of a failure; `timeout` is that of one append."""

    def __init__(
        self,
        store: SessionStore,
        *,
        eager: bool,
        timeout: float,
        report: Callable[[str, SessionKey | None], None],
    ) -> None:
        self._store, self._eager, self._timeout, self._report = store, eager, timeout, report
        self._batches: dict[_Place, _Batch] = {}
        self._new_entries = self._new_bytes = 0
        self._held = 0
        self._due, self._idle = asyncio.Event(), asyncio.Event()
        self._idle.set()
        self._failure = ""
        self._reported: set[object] = set()
        """Transcripts, and paths that are not transcripts, whose failure was reported in this turn."""
        self._timer: asyncio.TimerHandle | None = None
        self._writer: asyncio.Task[None] | None = None

    def take(self, messages: list[Message]) -> list[Message]:
        """Take the mirror's messages out of these, and return the others. Never waits."""
        others: list[Message] = []
        for message in messages:
            if message.type == TYPE:
                self._add(message.raw)
            else:
                others.append(message)
                if message.type == "result":
                    self._reported.clear()
                    self._flush()
        return others

    async def flushed(self) -> None:
        """Wait until every entry taken before this call is stored. Raises SessionStoreError if that failed."""
        self._flush()
        await self._idle.wait()
        if self._failure:
            raise SessionStoreError(f"the session store lacks a part of the transcript: {self._failure}")

    async def close(self) -> None:
        """Append the rest, for at most `timeout` seconds. Entries that are lost then are reported."""
        self._flush()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._timeout):
                    await self._idle.wait()
        finally:
            if self._writer is not None:
                self._writer.cancel()  # it puts the batch it is appending back
                await asyncio.gather(self._writer, return_exceptions=True)
            for batch in self._batches.values():
                reason = self._failure or f"append() did not finish within {self._timeout:g} s"
                self._tell(f"{_lost(len(batch.entries))}; {reason}", batch.key)
            self._batches.clear()

    def _add(self, raw: bytes) -> None:
        try:
            frame = decode(raw, dict[str, Any])[0]
        except ValueError as error:
            self._tell(f"a message of {len(raw)} bytes cannot be decoded: {error}", None)
            return
        path, entries = str(frame.get("filePath")), cast("list[SessionStoreEntry]", mappings(frame.get("entries")))
        key = key_of_path(path)
        if key is None:
            self._tell_once(path, f"{path!r} is not the path of a transcript, so its entries are not stored", None)
        elif entries:
            batch = self._batches.setdefault(_place(key), _Batch(key))
            batch.parts.append((len(raw), entries))
            self._new_entries += len(entries)
            self._new_bytes += len(raw)
            self._held += len(raw)
            if self._held > HELD_BYTES:
                self._drop_oldest()
            if self._eager or self._new_entries >= BATCH_ENTRIES or self._new_bytes >= BATCH_BYTES:
                self._flush()
            elif self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self._flush)

    def _drop_oldest(self) -> None:
        """Free half of the memory, so that a store that stays away is reported in large pieces."""
        for place, batch in list(self._batches.items()):
            dropped = 0
            while batch.parts and self._held > HELD_BYTES // 2:
                size, entries = batch.parts.popleft()
                self._held -= size
                dropped += len(entries)
            if dropped:
                self._tell(f"{_lost(dropped)}, because more than {HELD_BYTES} bytes are waiting", batch.key)
            if not batch.parts:
                del self._batches[place]

    def _flush(self) -> None:
        """Let the writer append everything that is pending."""
        self._new_entries = self._new_bytes = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._batches:
            self._idle.clear()
            self._due.set()
            if self._writer is None:
                self._writer = asyncio.create_task(self._write(), name="handrail transcript mirror")

    async def _write(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            self._failure = ""
            for place in list(self._batches):
                batch = self._batches.pop(place, None)
                if batch is not None:
                    await self._append(place, batch)
            if not self._due.is_set():
                self._idle.set()

    async def _append(self, place: _Place, batch: _Batch) -> None:
        size, failure = sum(size for size, _ in batch.parts), "cancelled"
        try:
            failure = await self._attempt(batch)
        finally:
            if not failure:
                self._held -= size
            else:  # before the entries that arrived meanwhile
                newer = self._batches.pop(place, None)
                batch.parts.extend(newer.parts if newer is not None else ())
                self._batches[place] = batch
        if failure:
            self._failure = failure
            self._tell_once(place, failure, batch.key)

    async def _attempt(self, batch: _Batch) -> str:
        """Append a batch. Returns why that failed; "" if it did not."""
        failure = ""
        for pause in (None, *RETRY_AFTER):
            if pause is not None:
                await asyncio.sleep(pause)
            limit = asyncio.timeout(self._timeout)
            try:
                async with limit:
                    await self._store.append(batch.key, batch.entries)
                return ""
            except Exception as error:
                if isinstance(error, TimeoutError) and limit.expired():
                    # Not retried now: the store has had its time, and may still be at work on it.
                    return f"append() did not finish within {self._timeout:g} s"
                failure = f"append() failed: {type(error).__name__}: {error}"
            except asyncio.CancelledError:
                if (task := asyncio.current_task()) is None or task.cancelling():
                    raise
                failure = "append() was cancelled"  # by the store itself
        return failure

    def _tell_once(self, about: object, text: str, key: SessionKey | None) -> None:
        if about not in self._reported:
            self._reported.add(about)
            self._tell(text, key)

    def _tell(self, text: str, key: SessionKey | None) -> None:
        log.warning("session store: %s (%s)", text, key or "no key")
        self._report(text, key)


def _place(key: SessionKey) -> _Place:
    return key["project_key"], key["session_id"], key.get("subpath", "")


def _lost(entries: int) -> str:
    return f"{entries} entries are lost" if entries != 1 else "1 entry is lost"
