"""Opens the conversation with a CLI. In: options for a new conversation and for a known one. Out: a session that runs.

A CLI knows a conversation once something was said in it, and then refuses to begin it anew; before, it refuses to
resume it. Where it was cut off in its first turn nobody knows which, and both ways are tried.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from handrail.client.errors import HandrailError
from handrail.client.options import Options
from handrail.client.readers import MessageReader
from handrail.client.session import Session

__all__ = ["Opened", "open_session", "ways_to_open"]


class Opened(Struct, frozen=True):
    """A CLI that has shaken hands."""

    session: Session
    reader: MessageReader
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


async def open_session(
    options: Callable[[bool], Options], ways: tuple[bool, ...], launches: Callable[[Session], None]
) -> Opened:
    """Start the CLI, one way or the other. `launches` is told of each that is tried: it may have to be ended while
    nobody answers. Where none works, the error is that of the first."""
    errors: list[HandrailError] = []
    for resumes in ways:
        try:
            chosen = options(resumes)
            session = Session(chosen)
            reader = session.messages()
            launches(session)
            await session.start()
        except HandrailError as error:
            errors.append(error)
        else:
            return Opened(session, reader, chosen, resumes)
    raise errors[0]
