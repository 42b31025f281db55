"""One thread of the conversation: the session's own, or that of a subagent. Data that its rounds share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from handrail.agent.answer import Answer
from handrail.agent.desk import Desk
from handrail.agent.events import Speaker, new_id
from handrail.agent.history import History
from handrail.agent.hooks.base import HookResult
from handrail.agent.permission import Permission
from handrail.agent.session import Session
from handrail.agent.tools.base import Tool

if TYPE_CHECKING:
    from handrail.agent.hooks.run import Hooks
    from handrail.agent.models.base import Model
    from handrail.agent.transcript import Transcript
    from handrail.agent.usage import Ledger

__all__ = ["Thread"]

JsonObject = dict[str, Any]


class Thread:
    """Who speaks, with what, and to whom.

    `tools` and `system` are asked for anew each round: servers come and go, and so may rules about tools.
    `answer` is the answer that is being given, `open_calls` the calls that have no result yet: what an interruption
    has to tidy up.
    """

    def __init__(
        self,
        session: Session,
        *,
        speaker: Speaker,
        history: History,
        desk: Desk,
        model: Model,
        ledger: Ledger,
        hooks: Hooks,
        permission: Permission,
        transcript: Transcript,
        tools: Callable[[], dict[str, Tool[Any]]],
        system: Callable[[], Sequence[JsonObject]],
        model_name: Callable[[], str],
        agent_id: str = "",
        agent_type: str = "",
        max_turns: int | None = None,
    ) -> None:
        self.session, self.speaker, self.history, self.desk = session, speaker, history, desk
        self.model, self.ledger, self.hooks, self.permission = model, ledger, hooks, permission
        self.tools, self.system, self.model_name, self._transcript = tools, system, model_name, transcript
        self.agent_id, self.agent_type, self.max_turns = agent_id, agent_type, max_turns
        self.answer: Answer | None = None
        self.open_calls: dict[str, JsonObject] = {}
        self.denials: list[JsonObject] = []
        self.structured: Any = None
        """The answer that was asked for by a schema."""
        self.bad_outputs = 0
        self.deferred: JsonObject | None = None
        self.prompt_id = ""
        self.tool_uses = 0

    def hook_input(self, event: str, **fields: Any) -> JsonObject:
        """What every hook is told, and what this one is told besides."""
        session = self.session
        return {
            "session_id": session.id,
            "transcript_path": str(self._transcript.path),
            "cwd": self.desk.cwd,
            "prompt_id": self.prompt_id,
            "permission_mode": session.mode,
            "hook_event_name": event,
            **({"agent_id": self.agent_id, "agent_type": self.agent_type} if self.agent_id else {}),
            **fields,
        }

    async def hear(self, event: str, fields: JsonObject, *, tool_use_id: str | None = None) -> HookResult:
        """Tell the hooks, and tell the host what they want it to see."""
        if not self.hooks.has(event):
            return HookResult()
        found = await self.hooks.run(event, fields, tool_use_id=tool_use_id or new_id())
        for text in found.system_messages:
            await self.speaker.system("informational", content=text, level="info")
        for text in found.failures:
            await self.speaker.system("informational", content=text, level="warning", tag="hook_callback_failed")
        return found

    def note_output(self, *, failed: bool) -> None:
        """An answer by the schema was given, or one that does not fit."""
        if failed:
            self.bad_outputs += 1
        else:
            self.structured = self.desk.notes.pop("structured_output", None)

    def structured_text(self) -> str:
        """The answer by a schema, as text."""
        return msgspec.json.encode(self.structured).decode()
