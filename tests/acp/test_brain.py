"""The brain of an ACP agent without a process around it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from handrail.acp.agents.brain import AcpBrain
from handrail.agent.arguments import read_arguments
from handrail.agent.base import Prompt
from handrail.agent.session import Session
from handrail.conform.bench import STREAM_FLAGS
from handrail.testing.scripted_acp_agent import chunk
from tests.acp.acp_agent import Stage


class _Unheard:
    """A host without answers."""

    listens = False

    async def ask(self, subtype: str, fields: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        raise AssertionError(subtype)

    def unanswered(self, subtype: str) -> list[dict[str, Any]]:
        return []

    def stop(self, code: int) -> None:
        return


async def test_prompt_is_not_sent_after_the_session_was_given_up(tmp_path: Path):
    class GivesUp:
        async def emit(self, line: dict[str, Any]) -> None:
            if line.get("subtype") == "init":  # the session is open, and the prompt is about to be sent
                assert await brain.give_up()

        async def finish(self) -> None:
            return

    stage = Stage(tmp_path)
    session = Session(read_arguments(STREAM_FLAGS), stage.environment, str(stage.project))
    command = stage.command({"turns": [[{"update": chunk("too late")}]]})
    brain = AcpBrain(session, command, output=GivesUp(), host=_Unheard(), log=lambda _: None)
    brain.put(Prompt("hi"))
    brain.end_input()
    async with asyncio.timeout(30):
        await brain.run()
        await brain.close()
    assert (len(stage.received("session/new")), stage.received("session/prompt")) == (1, [])
