"""Whoever started the agent. In: questions. Out: answers."""

from __future__ import annotations

from typing import Any

__all__ = ["Host"]

JsonObject = dict[str, Any]


class Host:
    """What the engine may ask of whoever started it. Without a wire, nobody answers."""

    async def ask(self, subtype: str, fields: JsonObject, *, timeout: float | None = None) -> JsonObject:
        """A control request. Out: the payload of its answer; ControlError or Disconnected."""
        raise NotImplementedError

    def unanswered(self, subtype: str) -> list[JsonObject]:
        """The control requests of this kind that wait for their answer, as they were sent."""
        return []

    listens = False
