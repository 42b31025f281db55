"""Drives `handrail-acp` as a host does, with a scripted ACP agent behind it."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from handrail.conform.agent_process import AgentProcess, Answers
from handrail.conform.bench import STREAM_FLAGS
from handrail.conform.lines import of_type
from handrail.testing import scripted_acp_agent

BIN = Path(sys.executable).parent
Step = dict[str, Any]
OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
NAMED = {"agentInfo": {"name": "scripted", "title": "Scripted", "version": "1.0"}}


class Stage:
    """A folder with a project, a home, the script of the agent, and what the agent received."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project, self.home, self.log = folder / "project", folder / "home", folder / "requests.jsonl"
        self.project.mkdir(exist_ok=True)
        self.home.mkdir(exist_ok=True)

    def command(self, script: dict[str, Any]) -> list[str]:
        """The command of an agent that plays the script.

        With HANDRAIL_TEST_ACP_AGENT=COMMAND it speaks through that program: the agent side of an official SDK.
        """
        path = self.folder / "script.json"
        path.write_text(json.dumps({"initialize": NAMED, **script}))
        through = shlex.split(os.environ.get("HANDRAIL_TEST_ACP_AGENT", ""))
        return [*through, sys.executable, str(scripted_acp_agent.__file__), str(path)]

    def launcher(self, script: dict[str, Any]) -> Path:
        """A CLI for hosts that start it themselves: `handrail-acp` with an agent that plays the script."""
        path = self.folder / "launcher"
        command = shlex.join([str(BIN / "handrail-acp"), "--", *self.command(script)])
        path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        path.chmod(0o700)
        return path

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "HOME": str(self.home), "ACP_AGENT_LOG": str(self.log)}

    def received(self, method: str) -> list[Any]:
        """The parameters of the requests and notifications that the agent got."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [params for name, params in map(json.loads, lines) if name == method]

    @asynccontextmanager
    async def host(
        self, *turns: Sequence[Step], flags: Sequence[str] = (), answers: Answers | None = None, **script: Any
    ) -> AsyncIterator[AgentProcess]:
        """A host of `handrail-acp`, which asks it for permissions."""
        pipe = asyncio.subprocess.PIPE
        words = [*STREAM_FLAGS, "--permission-prompt-tool", "stdio", *flags]
        process = await asyncio.create_subprocess_exec(
            *(str(BIN / "handrail-acp"), "--", *self.command({"turns": turns, **script}), *words),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=self.project,
            env=self.environment,
            start_new_session=True,
        )
        agent = AgentProcess(process, answers or {})
        try:
            async with asyncio.timeout(60):
                yield agent
        finally:
            await agent.kill()


def asked(call: dict[str, Any], **outcomes: list[Step]) -> Step:
    """A step that asks for permission to make a call."""
    return {"ask": {"toolCall": call, "options": OPTIONS}, **outcomes}


def blocks(lines: list[dict[str, Any]], type: str, block: str) -> list[dict[str, Any]]:
    """The blocks of a kind in lines of a type."""
    return [each for line in of_type(lines, type) for each in line["message"]["content"] if each["type"] == block]


def notices(lines: list[dict[str, Any]]) -> list[str]:
    return [line["content"] for line in of_type(lines, "system", "informational")]
