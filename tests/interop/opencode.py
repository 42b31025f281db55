"""OpenCode behind `handrail-acp`: its command, and one running session for many scenarios.

OpenCode asks the Messages API of the test for its models' answers, and can reach no other address. It needs seconds to
start, so scenarios that only need a turn share a session.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail.conform.agent_process import AgentProcess, Answers
from handrail.conform.bench import STREAM_FLAGS
from handrail.conform.messages_api import Endpoint
from handrail.testing import Lab, PlayedReply, Player, Script
from tests.acp.acp_agent import BIN

OPENCODE = os.environ.get("HANDRAIL_OPENCODE", "")
"""The program; read here, because tests run without the variables of the caller."""
LIMIT = 120
_MODEL = {
    "name": "Scripted",
    "attachment": True,
    "reasoning": True,
    "tool_call": True,
    "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]},
    "limit": {"context": 200_000, "output": 8_000},
    "cost": {"input": 3, "output": 15},
}
_CONFIG = {
    "autoupdate": False,
    "share": "disabled",
    "enabled_providers": ["anthropic"],
    "model": "anthropic/scripted",
    "small_model": "anthropic/scripted",
    "permission": {"edit": "ask", "bash": "ask", "webfetch": "ask"},
    "provider": {
        "anthropic": {
            "options": {"baseURL": "{env:ANTHROPIC_BASE_URL}/v1", "apiKey": "{env:ANTHROPIC_API_KEY}"},
            "models": {"scripted": _MODEL, "other": {**_MODEL, "name": "Other"}},
        }
    },
}
_OFF = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")


def launcher(folder: Path) -> str:
    """A program that starts OpenCode as an ACP agent with a configuration for tests."""
    if not OPENCODE:
        pytest.fail("set HANDRAIL_OPENCODE, or run `make interop`", pytrace=False)
    (folder / "opencode.json").write_text(json.dumps(_CONFIG))
    off = " ".join(f"OPENCODE_DISABLE_{name}=1" for name in _OFF)
    path = folder / "opencode"
    path.write_text(
        f'#!/bin/sh\nexport OPENCODE_CONFIG={folder}/opencode.json OPENCODE_PURE=1 {off}\nexec {OPENCODE} acp "$@"\n'
    )
    path.chmod(0o700)
    return str(path)


class Replies(Player):
    """A model whose script changes from scenario to scenario."""

    def __init__(self) -> None:
        super().__init__(Script())
        self._now = Player(Script())

    def set(self, *replies: Any) -> None:
        self._now = Player(Script.of(*replies), label=secrets.token_hex(4))

    def is_main(self, request: dict[str, Any]) -> bool:
        return self._now.is_main(request)

    def reply_to(self, request: dict[str, Any]) -> PlayedReply:
        return self._now.reply_to(request)


@asynccontextmanager
async def run_opencode(
    lab: Lab, endpoint: Endpoint, *flags: str, answers: Answers | None = None, limit: float = LIMIT
) -> AsyncIterator[AgentProcess]:
    """A host of `handrail-acp` with OpenCode behind it."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command(lab, *STREAM_FLAGS, "--permission-prompt-tool", "stdio", *flags),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        cwd=lab.project,
        env=lab.environment(endpoint),
        start_new_session=True,
    )
    agent = AgentProcess(process, answers or {})
    try:
        async with asyncio.timeout(limit):
            yield agent
    finally:
        await agent.kill()


def command(lab: Lab, *flags: str) -> Sequence[str]:
    return [str(BIN / "handrail-acp"), "--", launcher(lab.root), *flags]


class Shared:
    """A session that many scenarios use, one after the other."""

    def __init__(self, lab: Lab, endpoint: Endpoint, replies: Replies) -> None:
        self.lab, self.endpoint, self._replies = lab, endpoint, replies
        self.host: AgentProcess
        self.answer: dict[str, Any] | None = {"behavior": "allow"}
        """The answer to the next questions; None leaves them open."""
        self.questions: list[dict[str, Any]] = []

    def asked(self, request: dict[str, Any]) -> dict[str, Any] | None:
        self.questions.append(request)
        return self.answer

    def says(self, *replies: Any, answer: dict[str, Any] | None = None, leave_open: bool = False) -> None:
        """Begin a scenario: the replies of the model, and the answer to questions (default: allow)."""
        self._replies.set(*replies)
        self.answer, self.questions = None if leave_open else answer or {"behavior": "allow"}, []

    async def turn(
        self, *replies: Any, prompt: Any = "go", answer: dict[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """A turn with these replies. Returns its lines."""
        self.says(*replies, answer=answer)
        async with asyncio.timeout(LIMIT):
            return await self.host.turn(prompt)

    @property
    def last_request(self) -> dict[str, Any]:
        """The last request of the conversation that the model got."""
        return self.endpoint.main_requests[-1].body
