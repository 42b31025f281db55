"""Runs the command of the setting `apiKeyHelper`, which prints an API key.

The key is kept for CLAUDE_CODE_API_KEY_HELPER_TTL_MS (5 minutes), and dropped when the API does not accept it.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import Final

from handrail.agent.models.base import ModelError

__all__ = ["KeyHelper"]

TIME_LIMIT: Final = 60.0
LIFETIME: Final = 300.0
LONGEST_KEY: Final = 16 * 1024


class KeyHelper:
    """The key of a command. The command is a shell command by definition, and comes from trusted settings only."""

    def __init__(self, command: str, *, environment: Mapping[str, str], cwd: str) -> None:
        self._command, self._environment, self._cwd = command, dict(environment), cwd
        wanted = environment.get("CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "")
        self._lifetime = int(wanted) / 1000 if re.fullmatch("[0-9]{1,12}", wanted) else LIFETIME
        self._key, self._until = "", 0.0
        self._running = asyncio.Lock()

    def __repr__(self) -> str:
        return "KeyHelper(...)"

    async def key(self) -> str:
        """The key; the command runs where none is kept. Raises ModelError if it fails."""
        async with self._running:  # requests of subagents that start together need one key, not several
            if not self._key or monotonic() >= self._until:
                self._key, self._until = await self._run(), monotonic() + self._lifetime
            return self._key

    def forget(self) -> None:
        """Run the command again for the next request."""
        self._key = ""

    async def _run(self) -> str:
        try:
            process = await asyncio.create_subprocess_exec(
                *("/bin/sh", "-c", self._command),
                cwd=self._cwd,
                env=self._environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise _failed(f"cannot be started: {error.strerror}") from None
        try:
            async with asyncio.timeout(TIME_LIMIT):
                printed, _ = await process.communicate()
        except TimeoutError:
            raise _failed(f"did not end within {TIME_LIMIT:.0f} seconds") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        key = printed[:LONGEST_KEY].decode("utf-8", "replace").strip()
        if process.returncode:
            raise _failed(f"exited with code {process.returncode}")
        if not key or not key.isascii() or not key.isprintable():
            raise _failed("did not print a key")
        return key


def _failed(why: str) -> ModelError:
    return ModelError(f"the command of the setting apiKeyHelper {why}", status=403, kind="authentication_error")
