"""Runs a program to its end, with a limit on its time and its output."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from handrail.errors import PeerError

__all__ = ["Finished", "ProgramFailed", "run_program"]

MOST_OUTPUT: Final = 8 * 1024 * 1024
MOST_ERRORS: Final = 64 * 1024
_CHUNK: Final = 64 * 1024


class ProgramFailed(PeerError):
    """The output of the program cannot be used. The text continues a sentence that begins with its name."""


class Finished(NamedTuple):
    """A program that has exited; `code` is negative after a signal. `errors` is cut at MOST_ERRORS."""

    code: int
    output: bytes
    errors: bytes


async def run_program(
    argv: Sequence[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    time_limit: float,
    most_output: int = MOST_OUTPUT,
) -> Finished:
    """Run a program in a new session, with an empty stdin, until it has exited and closed its output.

    It is killed with its process group if it takes longer than `time_limit` seconds, or if the caller is cancelled.
    Raises ProgramFailed if it cannot be started, does not end in time or prints more than `most_output` bytes.
    """
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    )
    finished = False
    try:
        async with asyncio.timeout(time_limit):
            # Shielded: a start that is cancelled half-way would leave the children of the program running.
            process = await asyncio.shield(starting)
            # One byte more than is allowed, to know that there is more.
            output, errors = await asyncio.gather(
                _first_bytes(process.stdout, most_output + 1), _first_bytes(process.stderr, MOST_ERRORS)
            )
            code = await process.wait()
        finished = True
    except TimeoutError:
        raise ProgramFailed(f"did not end within {time_limit:g} seconds") from None
    except OSError as error:
        raise ProgramFailed(f"cannot be started in {cwd}: {error.strerror}") from error
    finally:
        if not finished:
            await _kill(starting)
    if len(output) > most_output:
        raise ProgramFailed(f"printed more than {most_output:,} bytes")
    return Finished(code, output, errors)


async def _kill(starting: asyncio.Task[asyncio.subprocess.Process]) -> None:
    with suppress(OSError):  # it could not be started
        process = await starting
        # The program itself may have exited already, while a child of it still holds the pipes.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _first_bytes(stream: asyncio.StreamReader | None, most: int) -> bytes:
    """Read to the end, so that the program never waits for a reader; what is beyond the limit is dropped."""
    assert stream is not None
    kept = bytearray()
    while part := await stream.read(_CHUNK):
        kept += part[: most - len(kept)]
    return bytes(kept)
