"""Reports whether the session is idle, running or waiting for an answer of the host.

Hosts ask for it with CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS; SDKs ask for themselves with
CLAUDE_CODE_SDK_READS_SESSION_STATE, and hide the lines from their users.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from handrail.agent.speaker import Speaker
from handrail.agent.variables import is_on

__all__ = ["StateEvents"]

JsonObject = dict[str, Any]
State = Literal["idle", "running", "requires_action"]
Ask = Callable[[JsonObject], Awaitable[JsonObject]]


class StateEvents:
    """Sends `session_state_changed` when the state changes, if the environment asks for it."""

    def __init__(self, speaker: Speaker, environment: Mapping[str, str]) -> None:
        self._speaker = speaker
        for_all = is_on(environment, "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS")
        for_sdk = is_on(environment, "CLAUDE_CODE_SDK_READS_SESSION_STATE")
        self._enabled = for_all or for_sdk
        self._mark: JsonObject = {} if for_all else {"sdk_host_only": True}
        self._state: State = "idle"
        self._waiting = 0

    async def set(self, state: State) -> None:
        """Report a state that differs from the last one."""
        if self._enabled and state != self._state:
            self._state = state
            await self._speaker.system("session_state_changed", state=state, **self._mark)

    def around(self, ask: Ask | None) -> Ask | None:
        """A function that asks the host and reports the wait. Several questions may be pending at once."""
        if ask is None or not self._enabled:
            return ask

        async def waiting(fields: JsonObject) -> JsonObject:
            self._waiting += 1
            await self.set("requires_action")
            try:
                return await ask(fields)
            finally:
                self._waiting -= 1
                if not self._waiting:
                    await self.set("running")

        return waiting
