"""When a run has ended, so that the input of the CLI can be closed. Pure.

A program that answers requests of the CLI (permissions, hooks, tools) has to keep the input open until the CLI asks no
more. A result is not the end: background agents may still run, and the CLI then starts turns by itself. The CLI reports
the end with the state `idle`; an older one does not, and then the first result without a running agent is the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.claude_agent_sdk.messages import TERMINAL_TASK_STATUSES

__all__ = ["RunEnd"]

AGENT_TASKS = frozenset({"local_agent", "local_workflow"})
"""Types of tasks whose end starts another turn."""


class RunEnd:
    """Follows the frames of the CLI. `over` is set at the end of the run, `between_turns` after each result."""

    def __init__(self) -> None:
        self.over = False
        self.between_turns = False
        self._has_result = False
        self._reports_state = False
        self._agents: set[str] = set()

    @property
    def waits_for_agents(self) -> bool:
        """Whether a background agent runs."""
        return bool(self._agents)

    def observe(self, frame: Mapping[str, Any]) -> None:
        """Take the next frame."""
        kind = frame.get("type")
        if kind == "result":
            self._has_result = self.between_turns = True
        elif kind == "system":
            self._observe_system(frame)
        elif kind in ("assistant", "stream_event") and not frame.get("parent_tool_use_id"):
            self.between_turns = False
        if self._has_result and kind == "result" and not self._reports_state and not self._agents:
            self.over = True

    def _observe_system(self, frame: Mapping[str, Any]) -> None:
        subtype, task = frame.get("subtype"), str(frame.get("task_id"))
        if subtype == "session_state_changed":
            self._reports_state = True
            self.between_turns = frame.get("state") == "idle"
            self.over = self.over or (self._has_result and frame.get("state") == "idle")
        elif subtype == "task_started" and frame.get("task_type") in AGENT_TASKS:
            self._agents.add(task)
        elif subtype == "task_notification":
            self._agents.discard(task)
        elif subtype == "task_updated":
            patch: Mapping[str, Any] = frame.get("patch") or {}
            if patch.get("status") in TERMINAL_TASK_STATUSES:
                self._agents.discard(task)
