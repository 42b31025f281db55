"""Runs a command of the user's settings. In: its text, the event as JSON, folder, environment. Out: how it ended.

This is the one place where a text goes to a shell, for it is what the user wrote down to be run. Nothing of the event
becomes part of that text: it comes on stdin. The command and all that it started end together, and with
the agent at the latest.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from handrail.transport.base import TransportClosed

if TYPE_CHECKING:
    from handrail.transport.process import ProcessTransport

__all__ = ["Ran", "hook_environment", "run_command"]

SHELL: Final = "/bin/sh"
MOST_OUTPUT: Final = 1024 * 1024
KEYS: Final = frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"})


class Ran(msgspec.Struct, frozen=True):
    """How a command ended. `timed_out`: it was killed at its limit; `problem`: it could not be started."""

    code: int = 0
    printed: str = ""
    errors: str = ""
    timed_out: bool = False
    problem: str = ""


def hook_environment(environment: Mapping[str, str], project: str) -> dict[str, str]:
    """What a hook's process gets: the agent's variables without the keys of the account, and where the project is."""
    kept = {name: value for name, value in environment.items() if name not in KEYS}
    return {**kept, "CLAUDE_PROJECT_DIR": project}


async def run_command(
    command: str, input: Mapping[str, Any], *, cwd: str, environment: Mapping[str, str], limit: float
) -> Ran:
    """Run it and wait, at most so many seconds. A caller that is cancelled leaves no process behind."""
    from handrail.transport.process import ProcessTransport

    printed, errors = bytearray(), bytearray()
    process = ProcessTransport(
        [SHELL, "-c", command],
        cwd=cwd,
        env=environment,
        eof_grace=limit,
        on_stderr=lambda chunk: _keep(errors, chunk),
    )
    try:
        await process.start()
    except (OSError, ValueError) as error:
        return Ran(code=-1, problem=str(error))
    telling = asyncio.create_task(_tell(process, msgspec.json.encode(input) + b"\n"))
    try:
        async with asyncio.timeout(limit):
            while chunk := await process.receive():
                _keep(printed, chunk)
            ending = await process.close()
    except TimeoutError:
        return Ran(-1, _words(printed), _words(errors), timed_out=True)
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
        await _kill(process)
    code = ending.code if ending.code is not None else -1
    return Ran(code, _words(printed), _words(errors))


async def _tell(process: ProcessTransport, data: bytes) -> None:
    """A command need not read what it is told."""
    with contextlib.suppress(TransportClosed):
        await process.send(data)
    await process.end_input()


async def _kill(process: ProcessTransport) -> None:
    """End it and all it started, now; nothing where it has ended already."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0):
            await process.close()


def _keep(kept: bytearray, chunk: bytes) -> None:
    """Outputs are read to their end; their beginning is kept."""
    kept += chunk[: max(MOST_OUTPUT - len(kept), 0)]


def _words(data: bytearray) -> str:
    return data.decode("utf-8", "replace")
