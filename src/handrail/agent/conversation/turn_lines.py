"""The lines around a turn: `system/init` before it, `result` after it, and the state of its prompts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handrail.agent.arguments import VERSION
from handrail.agent.base import Prompt
from handrail.agent.conversation.queue import PromptQueue
from handrail.agent.record.transcript import Transcript
from handrail.agent.record.usage import Ledger
from handrail.agent.session import Session
from handrail.agent.speaker import Speaker
from handrail.schema.view import build_line

__all__ = ["TurnLines"]

JsonObject = dict[str, Any]


class TurnLines:
    """Sends them.

    `lists` returns the tools, servers, commands, agents and plugins at the moment, `subagents` the counts of subagents.
    """

    def __init__(
        self,
        session: Session,
        speaker: Speaker,
        ledger: Ledger,
        transcript: Transcript,
        queue: PromptQueue,
        lists: Callable[[], JsonObject],
        subagents: Callable[[], JsonObject],
    ) -> None:
        self._session, self._speaker, self._ledger = session, speaker, ledger
        self._transcript, self._queue, self._lists, self._subagents = transcript, queue, lists, subagents
        self._results = 0
        self.last_failed = False

    async def say_init(self) -> None:
        """Send `system/init`, the first line of every turn."""
        session = self._session
        fields: JsonObject = {
            "cwd": session.cwd,
            "model": session.model,
            "permissionMode": session.mode,
            "terminal_slash_commands": [],
            "apiKeySource": session.key_source,
            "claude_code_version": VERSION,
            "capabilities": ["interrupt_receipt_v1", "interrupt_cancel_queued_v1"],
            "memory_paths": {},
            "original_cwd": session.cwd,
            "additional_directories": list(session.folders),
            "fast_mode_state": "off",
        }
        await self._speaker.system("init", **fields, **self._lists())

    async def say_result(self, line: JsonObject) -> None:
        """Send `result`, the last line of every turn: `line`, and the usage of the turn and of the session."""
        from handrail.schema.result_message import ResultMessage  # the handshake does without it

        ledger = self._ledger
        line = {
            **line,
            "duration_api_ms": round(ledger.api_ms),
            "total_cost_usd": ledger.total_cost,
            "usage": ledger.usage(),
            "modelUsage": ledger.models(),
            "model_usage_since_last_result": ledger.since_last_result(),
            "fast_mode_state": "off",
            "subagent_stats": self._subagents(),
            "safety_stops": 0,
            "queued_turn_count": len(self._queue),
            "result_index": self._results,
        }
        self._results += 1
        self._session.turns += 1
        self.last_failed = bool(line["is_error"])
        self._transcript.end_turn(ledger.total_cost, ledger.models())
        await self._speaker.say(build_line(ResultMessage, line))

    async def echo(self, prompt: Prompt) -> None:
        """Repeat a prompt that starts no turn."""
        message = {"role": "user", "content": prompt.content}
        line = {"type": "user", "message": message, "parent_tool_use_id": None, "uuid": prompt.uuid}
        await self._speaker.say({**line, "isReplay": True})

    async def tell_lifecycle(self, uuid: str, state: str) -> None:
        """Report the state of a prompt: queued, started, completed or cancelled."""
        from handrail.schema.activity_messages import CommandLifecycleMessage

        await self._speaker.send(CommandLifecycleMessage(command_uuid=uuid, state=state))
