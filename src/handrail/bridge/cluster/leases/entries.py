"""The entries of a bucket, one by one, as whoever leads it has them. In: a key. Out: what stands there.

Every write names the revision that it follows, and counts only where that is still the newest. What is read, and that
a write came too late, may have been told by a server that leads no longer and has not noticed yet: only what was
written is certain, and what most of the servers `confirm`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, cast

from msgspec import Struct
from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.errors import APIError, NotFoundError

from handrail.bridge.cluster.failures import conflicts, is_missing
from handrail.bridge.cluster.names import bucket_stream, bucket_subject, proof_subject, session_of
from handrail.bridge.errors import ClusterAway

__all__ = ["Conflict", "Entries", "Entry"]

_MOMENT: Final = 0.01
"""Seconds."""
_EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
_EXPECTED_OF: Final = "Nats-Expected-Last-Subject-Sequence-Subject"
_OPERATION: Final = "KV-Operation"
_MARKERS: Final = (_OPERATION, "Nats-Marker-Reason")
"""Headers of what stands in place of a value that was deleted or has lapsed."""


class Conflict(Exception):
    """Somebody else wrote meanwhile."""


class Entry(Struct, frozen=True):
    """What stands under a key, None for nothing. The revision is 0 where nothing ever did, or that is forgotten."""

    revision: int = 0
    value: bytes | None = None


class Entries:
    """One bucket, by the names of sessions or machines.

    ClusterAway from everything where NATS does not answer in time: then it may be done, or not.
    """

    def __init__(self, js: JetStreamContext, bucket: str, *, timeout: float = 3.0) -> None:
        self._js, self._bucket, self._timeout = js, bucket, timeout

    async def read(self, key: str) -> Entry:
        """What stands there."""
        with self._in_words():
            async with asyncio.timeout(self._timeout):
                try:
                    found = await self._js.get_last_msg(bucket_stream(self._bucket), self._subject(key))
                except NotFoundError as error:
                    if not is_missing(error):
                        raise
                    return Entry()
        headers = cast("dict[str, str]", found.headers or {})  # pyright: ignore[reportUnknownMemberType]
        gone = any(name in headers for name in _MARKERS)
        return Entry(found.seq or 0, None if gone else found.data or b"")

    async def write(self, key: str, value: bytes, *, after: int, ttl: float | None = None) -> int:
        """Put it in place of the revision `after`, for `ttl` whole seconds. Out: its own revision. Conflict."""
        return await self._publish(self._subject(key), value, {_EXPECTED: str(after)}, ttl)

    async def remove(self, key: str, *, after: int, ttl: float | None = None) -> None:
        """Delete it where the revision is still this one; that it was deleted stays on record for `ttl`. Conflict."""
        await self._publish(self._subject(key), b"", {_EXPECTED: str(after), _OPERATION: "DEL"}, ttl)

    async def confirm(self, key: str, revision: int, *, by: str) -> bool:
        """Whether this is the newest revision of a key, as most of the servers know. `by`: the machine that asks."""
        headers = {_EXPECTED: str(revision), _EXPECTED_OF: self._subject(key)}
        try:
            await self._publish(proof_subject(self._bucket, by), b"", headers, 1.0)
        except Conflict:
            return False
        return True

    async def all(self) -> dict[str, Entry]:
        """Everything that has a value."""
        found: dict[str, Entry] = {}
        with self._in_words():
            async with asyncio.timeout(10 * self._timeout):
                bucket = await self._js.key_value(self._bucket)
                watcher = await bucket.watch("*", ignore_deletes=True)  # pyright: ignore[reportUnknownMemberType]
                try:
                    async for entry in watcher:
                        if entry is None:
                            break
                        found[session_of(entry.key)] = Entry(entry.revision or 0, entry.value or b"")
                finally:
                    await watcher.stop()
        return found

    def _subject(self, key: str) -> str:
        return bucket_subject(self._bucket, key)

    async def _publish(self, subject: str, value: bytes, headers: dict[str, str], ttl: float | None) -> int:
        try:
            with self._in_words():
                async with asyncio.timeout(self._timeout):
                    acknowledged = await self._js.publish(subject, value, headers=headers, msg_ttl=ttl)
        except Conflict:
            await asyncio.sleep(_MOMENT)  # another may just be being stored: whoever reads again should see it
            raise
        return acknowledged.seq

    @contextmanager
    def _in_words(self) -> Generator[None]:
        try:
            yield
        except APIError as error:
            if conflicts(error):
                raise Conflict from None
            raise ClusterAway(f"NATS cannot tell or keep {self._bucket} just now: {error.description}") from error
        except (Error, TimeoutError, OSError) as error:
            raise ClusterAway(f"NATS does not answer about {self._bucket}: {str(error) or 'nothing came'}") from error
