"""Runs hook commands.

This is the one place that passes a text to a shell, because the user wrote it in the settings to be run. No part of an
event becomes part of that text: the event is written to stdin. A command and its children end together, and at the
latest with the agent.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from handrail.transport.base import TransportClosed

if TYPE_CHECKING:
    from handrail.transport.process import ProcessTransport

__all__ = ["Ran", "hook_environment", "run_program", "shell_argv"]

SHELL: Final = "/bin/sh"
MOST_OUTPUT: Final = 1024 * 1024
KEYS: Final = frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"})


class Ran(msgspec.Struct, frozen=True):
    """How a command ended. `timed_out`: it was killed at its time limit; `problem`: why it could not be started."""

    code: int = 0
    printed: str = ""
    errors: str = ""
    timed_out: bool = False
    problem: str = ""


def hook_environment(environment: Mapping[str, str], project: str) -> dict[str, str]:
    """The environment of a hook: the variables of the agent without API keys, and the path of the project."""
    kept = {name: value for name, value in environment.items() if name not in KEYS}
    return {**kept, "CLAUDE_PROJECT_DIR": project}


def shell_argv(command: str) -> list[str]:
    """The arguments that run a command line."""
    return [SHELL, "-c", command]


async def run_program(
    argv: Sequence[str], data: bytes, *, cwd: str, environment: Mapping[str, str], limit: float
) -> Ran:
    """Run a program with `data` on stdin, for at most `limit` seconds. Cancelling it kills the program."""
    from handrail.transport.process import ProcessTransport

    printed, errors = bytearray(), bytearray()
    process = ProcessTransport(
        list(argv),
        cwd=cwd,
        env=environment,
        eof_grace=limit,
        on_stderr=lambda chunk: _keep(errors, chunk),
    )
    try:
        await process.start()
    except (OSError, ValueError) as error:
        return Ran(code=-1, problem=str(error))
    writing = asyncio.create_task(_write(process, data))
    try:
        async with asyncio.timeout(limit):
            while chunk := await process.receive():
                _keep(printed, chunk)
            ending = await process.close()
    except TimeoutError:
        return Ran(-1, _decoded(printed), _decoded(errors), timed_out=True)
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await _kill(process)
    code = ending.code if ending.code is not None else -1
    return Ran(code, _decoded(printed), _decoded(errors))


async def _write(process: ProcessTransport, data: bytes) -> None:
    """Write the input. A program may exit without reading it."""
    with contextlib.suppress(TransportClosed):
        await process.send(data)
    await process.end_input()


async def _kill(process: ProcessTransport) -> None:
    """Kill the program and its children, if it has not ended."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0):
            await process.close()


def _keep(kept: bytearray, chunk: bytes) -> None:
    """Keep the first MOST_OUTPUT bytes. The rest is read too, so that the program is never blocked."""
    kept += chunk[: max(MOST_OUTPUT - len(kept), 0)]


def _decoded(data: bytearray) -> str:
    return data.decode("utf-8", "replace")
