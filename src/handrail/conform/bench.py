"""The place where one check is tried. In: a command. Out: agents of it, each with a model that says what is told it.

Everything is thrown away: the home, the project, the key; nothing but loopback can be reached.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from handrail.agent.models.script import Reply, Script
from handrail.conform.lab import Lab
from handrail.conform.messages_api import Endpoint, ScriptedMessagesApi
from handrail.conform.talk import Answers, Talk

__all__ = ["Bench", "Finished"]

STREAMS = ("--output-format", "stream-json", "--input-format", "stream-json", "--verbose")
ASKS = ("--permission-prompt-tool", "stdio")


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ran to its end."""

    code: int
    out: str
    err: str


class Bench:
    """A throw-away home and project, a scripted model, and the agents that were started there."""

    def __init__(self, command: list[str], lab: Lab, api: ScriptedMessagesApi) -> None:
        self.lab = lab
        self.talks: list[Talk] = []
        self._command = command
        self._api = api
        self._once: asyncio.subprocess.Process | None = None
        self.model = api.session(Script())

    def says(self, *replies: Any, afterwards: Reply | None = None, helper: Reply | None = None) -> Endpoint:
        """From now on agents are started with a model that gives these replies."""
        self.model = self._api.session(Script.of(*replies, afterwards=afterwards, helper=helper))
        return self.model

    async def start(
        self, *flags: str, asks: bool = True, answers: Answers | None = None, env: dict[str, str] | None = None
    ) -> Talk:
        """Start an agent that reads and writes lines; with `asks` it asks its host for permission."""
        process = await self._spawn(*STREAMS, *(ASKS if asks else ()), *flags, env=env)
        talk = Talk(process, answers or {})
        self.talks.append(talk)
        return talk

    async def once(self, *flags: str, given: bytes = b"", env: dict[str, str] | None = None) -> Finished:
        """Run it to its end."""
        self._once = process = await self._spawn(*flags, env=env)
        out, err = await process.communicate(given)
        code = process.returncode or 0
        return Finished(
            128 - code if code < 0 else code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
        )

    @property
    def waits_for(self) -> str:
        """What is awaited now, in words."""
        return f"{self.talks[-1].waits_for}; {self.talks[-1].last}" if self.talks else "the end of the command"

    async def close(self) -> None:
        """End everything that was started, and what it left behind."""
        for talk in self.talks:
            await talk.kill()
        if self._once and self._once.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._once.pid, signal.SIGKILL)
            await self._once.wait()
        with suppress(RuntimeError):  # without /proc there is no telling what was left
            for pid in self.lab.leftovers():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    async def _spawn(self, *flags: str, env: dict[str, str] | None) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        # The command may need an interpreter, so it is found on the PATH of whoever asks.
        variables = {"PATH": os.environ.get("PATH", os.defpath), "CLAUDE_CONFIG_DIR": str(self.lab.home / ".claude")}
        return await asyncio.create_subprocess_exec(
            *self._command,
            *flags,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=self.lab.project,
            env=self.lab.environment(self.model, **variables, **(env or {})),
            start_new_session=True,
        )
