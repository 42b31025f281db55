"""Chunks of bytes in a NATS object store, addressed by name.

The subjects are those that NATS uses for the chunks of an object, but the caller keeps the list of chunks that belong
together. The caller writes that list last, and only if no other machine has replaced it meanwhile. The object store of
nats-py supports neither.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from msgspec import Struct
from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.errors import APIError, NotFoundError

from handrail.bridge.errors import ClusterAway

__all__ = ["CHUNK_SIZE", "NO_MESSAGE", "Conflict", "Entry", "ObjectStore", "is_name"]

CHUNK_SIZE: Final = 512 * 1024
"""Largest message in bytes. Lease renewals share the connection and must not wait behind more than this."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
NO_MESSAGE: Final = 10037
"""NATS error code: no message under this subject."""
_WRONG_LAST_SEQUENCE: Final = 10071
"""NATS error code: the subject has a newer message than expected."""


class Conflict(Exception):
    """Another writer has replaced the entry since it was read."""


class Entry(Struct, frozen=True):
    """Stored bytes and their sequence number, which grows with every write anywhere in the store."""

    number: int
    data: bytes


def is_name(text: str) -> bool:
    """Whether the text is valid as one token of a name: no dots, wildcards or other characters special to NATS."""
    return _NAME.fullmatch(text) is not None


class ObjectStore:
    """One store. Every method raises ClusterAway if NATS does not answer or refuses the operation."""

    def __init__(self, js: JetStreamContext, store: str) -> None:
        self._js, self._store, self._stream = js, store, f"OBJ_{store}"

    def _subject(self, *name: str) -> str:
        return f"$O.{self._store}.C.{'.'.join(name)}"

    async def put(self, *name: str, data: bytes, after: int | None = None) -> int:
        """Replace the entry and return its sequence number.

        after   expected number of the current entry, 0 if there should be none; raises Conflict if it differs
        """
        headers = {"Nats-Rollup": "sub"}
        if after is not None:
            headers["Nats-Expected-Last-Subject-Sequence"] = str(after)
        with self._translated_errors():
            try:
                done = await self._js.publish(self._subject(*name), data, stream=self._stream, headers=headers)
            except APIError as error:
                if error.err_code == _WRONG_LAST_SEQUENCE:
                    raise Conflict from None
                raise
            return done.seq

    async def get(self, *name: str) -> Entry | None:
        """Read the entry from the stream's leader, so that a replica that lags is never seen."""
        with self._translated_errors():
            try:
                found = await self._js.get_last_msg(self._stream, self._subject(*name))
            except NotFoundError as error:
                if error.err_code != NO_MESSAGE:  # the stream itself is missing
                    raise
                return None
            return Entry(found.seq or 0, found.data or b"")

    async def names(self, first: str) -> list[str]:
        """The second tokens of all names that begin with `first`."""
        with self._translated_errors():
            info = await self._js.stream_info(self._stream, subjects_filter=self._subject(first, "*"))
        return [subject.rpartition(".")[2] for subject in info.state.subjects or {}]

    async def delete(self, *name: str, before: int | None = None) -> None:
        """Delete the entry if its number is below `before`. `*` as the last token matches any token."""
        with self._translated_errors():
            await self._js.purge_stream(self._stream, seq=before, subject=self._subject(*name))

    @contextmanager
    def _translated_errors(self) -> Generator[None]:
        try:
            yield
        except APIError as error:
            raise ClusterAway(f"NATS refused an operation on {self._store}: {error.description or error}") from error
        except Error as error:
            raise ClusterAway(f"NATS does not answer for {self._store}: {error}") from error
