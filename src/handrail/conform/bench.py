"""Starts the executable under test for one check, in a temporary home and project and with a scripted model."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from handrail.agent.models.script import Reply, Script
from handrail.conform.agent_process import AgentProcess, Answers
from handrail.conform.lab import Lab
from handrail.conform.messages_api import Endpoint, ScriptedMessagesApi

__all__ = ["Bench", "FinishedRun"]

STREAM_FLAGS = ("--output-format", "stream-json", "--input-format", "stream-json", "--verbose")
PROMPT_FLAGS = ("--permission-prompt-tool", "stdio")


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """Exit code (128 + N for signal N) and output of a command."""

    code: int
    out: str
    err: str


class Bench:
    """A lab, a scripted model, and the processes started with them."""

    def __init__(self, command: list[str], lab: Lab, api: ScriptedMessagesApi) -> None:
        self.lab = lab
        self.agents: list[AgentProcess] = []
        self._command = command
        self._api = api
        self._running: asyncio.subprocess.Process | None = None
        self.model = api.session(Script())

    def says(self, *replies: Any, afterwards: Reply | None = None, helper: Reply | None = None) -> Endpoint:
        """Start the next agents with a model that gives these replies."""
        self.model = self._api.session(Script.of(*replies, afterwards=afterwards, helper=helper))
        return self.model

    async def start(
        self, *flags: str, asks: bool = True, answers: Answers | None = None, env: dict[str, str] | None = None
    ) -> AgentProcess:
        """Start an agent with stream-json input and output. With `asks`, it asks its host for permission."""
        process = await self._spawn(*STREAM_FLAGS, *(PROMPT_FLAGS if asks else ()), *flags, env=env)
        agent = AgentProcess(process, answers or {})
        self.agents.append(agent)
        return agent

    async def run(self, *flags: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> FinishedRun:
        """Run the command until it exits."""
        self._running = process = await self._spawn(*flags, env=env)
        out, err = await process.communicate(stdin)
        code = process.returncode or 0
        return FinishedRun(
            128 - code if code < 0 else code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
        )

    @property
    def waiting_for(self) -> str:
        """Describes the event that the check waits for, and the last lines of the agent."""
        return f"{self.agents[-1].waiting_for}; {self.agents[-1].last_lines}" if self.agents else "the command to exit"

    async def close(self) -> None:
        """Kill everything that was started, including processes that outlived their parent."""
        for agent in self.agents:
            await agent.kill()
        if self._running and self._running.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._running.pid, signal.SIGKILL)
            await self._running.wait()
        with suppress(RuntimeError):  # without /proc, orphans cannot be found
            for pid in self.lab.leftovers():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    async def _spawn(self, *flags: str, env: dict[str, str] | None) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        # The command may be a script whose interpreter is only on the PATH of the caller.
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
