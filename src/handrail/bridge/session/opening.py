"""Opens the conversation with a CLI. In: options for a new conversation and for a known one. Out: a session that runs.

A CLI knows a conversation once something was said in it, and then refuses to begin it anew; before, it refuses to
resume it. Where it was cut off in its first turn nobody knows which, and both ways are tried.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Struct

from handrail.bridge.errors import CommandRefused
from handrail.client.errors import HandrailError
from handrail.client.options import Options
from handrail.client.readers import FrameReader, MessageReader
from handrail.client.session import Session

__all__ = ["Opened", "Opening", "ways_to_open"]


class Opened(Struct, frozen=True):
    """A CLI that has shaken hands."""

    session: Session
    reader: MessageReader
    frames: FrameReader
    options: Options
    resumed: bool

    @property
    def version(self) -> str:
        """Which version of the CLI answers; "" where it does not say."""
        return str(getattr(self.session.server_info, "claude_code_version", "") or "")


def ways_to_open(*, known: bool, handed: bool) -> tuple[bool, ...]:
    """Whether to resume, in the order of trying. In: the CLI has named it; the CLI was given something. Pure."""
    if known:
        return (True,)
    return (False, True) if handed else (False,)


class Opening:
    """One attempt to have a CLI; whoever does not want to wait for it any more may stop it."""

    def __init__(self, options: Callable[[bool], Options], ways: tuple[bool, ...]) -> None:
        self._options, self._ways = options, ways
        self._task: asyncio.Task[Opened] | None = None
        self._stopped = False

    async def open(self) -> Opened:
        """Start the CLI, one way or the other. CommandRefused where none works, or where it was stopped meanwhile."""
        self._task = asyncio.create_task(self._try())
        try:
            return await self._task
        except (HandrailError, ValueError, OSError) as error:
            raise CommandRefused("not_started", str(error)) from error
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            raise CommandRefused("stopped", "the session was stopped while its CLI started") from None

    def stop(self) -> None:
        """Give it up. No process is left of it."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()

    async def _try(self) -> Opened:
        errors: list[HandrailError] = []
        for resumes in self._ways:
            try:
                chosen = self._options(resumes)
                session = Session(chosen)
                reader, frames = session.messages(), session.frames()
                await session.start()
            except HandrailError as error:
                errors.append(error)
            else:
                return Opened(session, reader, frames, chosen, resumes)
        raise errors[0]
