"""Runs the command of the setting `apiKeyHelper`, which prints an API key.

The key is kept for CLAUDE_CODE_API_KEY_HELPER_TTL_MS (5 minutes), and dropped when the API does not accept it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from time import monotonic
from typing import Final

from handrail.agent.models.base import ModelError
from handrail.agent.run_program import ProgramFailed, run_program

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
            ran = await run_program(
                ("/bin/sh", "-c", self._command),
                cwd=self._cwd,
                environment=self._environment,
                time_limit=TIME_LIMIT,
                most_output=LONGEST_KEY,
            )
        except ProgramFailed as error:
            raise _failed(str(error)) from None
        key = ran.output.decode("utf-8", "replace").strip()
        if ran.code:
            raise _failed(f"exited with code {ran.code}")
        if not key or not key.isascii() or not key.isprintable():
            raise _failed("did not print a key")
        return key


def _failed(why: str) -> ModelError:
    return ModelError(f"the command of the setting apiKeyHelper {why}", status=403, kind="authentication_error")
