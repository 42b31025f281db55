"""Bytes in an object store of NATS. In: a name of a few words. Out: the bytes that were put there last.

The pieces lie where an object store keeps its own, but the list of what belongs together is the owner's business: it
is put last, and only where nobody else has put another meanwhile. Object stores themselves ask for neither.
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

__all__ = ["NO_MESSAGE", "PIECE", "Overtaken", "Pieces", "Put", "is_name"]

PIECE: Final = 512 * 1024
"""Bytes of one message: a lease is renewed on the same line, and never waits behind much more."""
_WORD: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
NO_MESSAGE: Final = 10037
"""The server's number for: nothing has this name."""
_OTHERS: Final = 10071
"""The server's number for: somebody has put something there since."""


class Overtaken(Exception):
    """Somebody else has put something there since we looked."""


class Put(Struct, frozen=True):
    """What is there, and its number: it grows with everything that is put anywhere in the store."""

    number: int
    data: bytes


def is_name(text: str) -> bool:
    """Whether it can be a word of a name: no dot, no star, nothing else that means something to NATS."""
    return _WORD.fullmatch(text) is not None


class Pieces:
    """One store. Everything raises ClusterAway where NATS does not answer, or refuses."""

    def __init__(self, js: JetStreamContext, store: str) -> None:
        self._js, self._store, self._stream = js, store, f"OBJ_{store}"

    def _subject(self, *name: str) -> str:
        return f"$O.{self._store}.C.{'.'.join(name)}"

    async def put(self, *name: str, data: bytes, after: int | None = None) -> int:
        """Put bytes there, in place of all that was. Out: their number.

        after   the number of what is there, 0 for nothing; Overtaken where that is not so
        """
        headers = {"Nats-Rollup": "sub"}
        if after is not None:
            headers["Nats-Expected-Last-Subject-Sequence"] = str(after)
        with self._explained():
            try:
                done = await self._js.publish(self._subject(*name), data, stream=self._stream, headers=headers)
            except APIError as error:
                if error.err_code == _OTHERS:
                    raise Overtaken from None
                raise
            return done.seq

    async def get(self, *name: str) -> Put | None:
        """What is there, as the one knows who leads; None for nothing."""
        with self._explained():
            try:
                found = await self._js.get_last_msg(self._stream, self._subject(*name))
            except NotFoundError as error:
                if error.err_code != NO_MESSAGE:  # the store itself is not there
                    raise
                return None
            return Put(found.seq or 0, found.data or b"")

    async def names(self, first: str) -> list[str]:
        """The second words of all that is there under a first one."""
        with self._explained():
            info = await self._js.stream_info(self._stream, subjects_filter=self._subject(first, "*"))
        return [subject.rpartition(".")[2] for subject in info.state.subjects or {}]

    async def drop(self, *name: str, before: int | None = None) -> None:
        """Remove what is there, if it came before that number; `*` as the last word is everything under the others."""
        with self._explained():
            await self._js.purge_stream(self._stream, seq=before, subject=self._subject(*name))

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except APIError as error:
            raise ClusterAway(f"NATS refuses in {self._store}: {error.description or error}") from error
        except Error as error:
            raise ClusterAway(f"NATS does not answer about {self._store}: {error}") from error
