"""Compare-and-swap on the entries of a NATS bucket.

Every write names the revision it replaces and fails with Conflict if that is outdated. A read, and also a Conflict, may
come from a server that lost its leadership and has not noticed yet. Only a successful write is certain, or `confirm`,
which needs the agreement of a majority.
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

from handrail.bridge.cluster.nats.failures import conflicts, is_missing
from handrail.bridge.cluster.nats.names import bucket_stream, bucket_subject, proof_subject, session_of
from handrail.bridge.errors import ClusterAway

__all__ = ["Conflict", "Entries", "Entry"]

_CONFLICT_PAUSE: Final = 0.01
"""Seconds."""
_EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
_EXPECTED_OF: Final = "Nats-Expected-Last-Subject-Sequence-Subject"
_OPERATION: Final = "KV-Operation"
_DELETE_MARKERS: Final = (_OPERATION, "Nats-Marker-Reason")
"""Headers of a message that replaces a deleted or expired value."""


class Conflict(Exception):
    """Another machine changed the entry."""


class Entry(Struct, frozen=True):
    """The value of a key; None if it was deleted. The revision is 0 if NATS never had the key or dropped its marker."""

    revision: int = 0
    value: bytes | None = None


class Entries:
    """One bucket, keyed by sessions or machines.

    All methods raise ClusterAway if NATS does not respond in time; a write may have happened or not.
    """

    def __init__(self, js: JetStreamContext, bucket: str, *, timeout: float = 3.0) -> None:
        self._js, self._bucket, self._timeout = js, bucket, timeout

    async def read(self, key: str) -> Entry:
        """The current entry of a key."""
        with self._translated_errors():
            async with asyncio.timeout(self._timeout):
                try:
                    found = await self._js.get_last_msg(bucket_stream(self._bucket), self._subject(key))
                except NotFoundError as error:
                    if not is_missing(error):
                        raise
                    return Entry()
        headers = cast("dict[str, str]", found.headers or {})  # pyright: ignore[reportUnknownMemberType]
        deleted = any(name in headers for name in _DELETE_MARKERS)
        return Entry(found.seq or 0, None if deleted else found.data or b"")

    async def write(self, key: str, value: bytes, *, after: int, ttl: float | None = None) -> int:
        """Replace revision `after`; return the new revision. `ttl` is in whole seconds. Raises Conflict."""
        return await self._publish(self._subject(key), value, {_EXPECTED: str(after)}, ttl)

    async def remove(self, key: str, *, after: int, ttl: float | None = None) -> None:
        """Delete the entry at revision `after`; NATS keeps the delete marker for `ttl` seconds. Raises Conflict."""
        await self._publish(self._subject(key), b"", {_EXPECTED: str(after), _OPERATION: "DEL"}, ttl)

    async def confirm(self, key: str, revision: int, *, by: str) -> bool:
        """Whether a majority of the servers has this revision as the newest. `by` is the name of this machine."""
        headers = {_EXPECTED: str(revision), _EXPECTED_OF: self._subject(key)}
        try:
            await self._publish(proof_subject(self._bucket, by), b"", headers, 1.0)
        except Conflict:
            return False
        return True

    async def all(self) -> dict[str, Entry]:
        """All entries that have a value."""
        found: dict[str, Entry] = {}
        with self._translated_errors():
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
            with self._translated_errors():
                async with asyncio.timeout(self._timeout):
                    acknowledged = await self._js.publish(subject, value, headers=headers, msg_ttl=ttl)
        except Conflict:
            # JetStream reports the conflict while the other write is being stored; a read right now could miss it.
            await asyncio.sleep(_CONFLICT_PAUSE)
            raise
        return acknowledged.seq

    @contextmanager
    def _translated_errors(self) -> Generator[None]:
        try:
            yield
        except APIError as error:
            if conflicts(error):
                raise Conflict from None
            raise ClusterAway(f"bucket {self._bucket} is unavailable: {error.description}") from error
        except (Error, TimeoutError, OSError) as error:
            raise ClusterAway(
                f"no response from NATS about bucket {self._bucket}: {str(error) or 'timeout'}"
            ) from error
