"""Counts the subagents of a session for `subagent_stats` of the `result` line."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from handrail.agent.conversation.loop import End
from handrail.schema.result_message import SubagentStats
from handrail.schema.view import as_builtins

__all__ = ["SubagentCounts"]


class SubagentCounts:
    """The counts since the session started; `fields` is their JSON object."""

    def __init__(self) -> None:
        self._stats = SubagentStats()
        self.fields: dict[str, Any] = as_builtins(self._stats)

    async def watch(
        self,
        work: Awaitable[End],
        *,
        kind: str,
        wanted: bool | None,
        background: bool,
        depth: int,
        stopped_by: Callable[[], str],
    ) -> End:
        """Await the rounds of a subagent, and count its start and its end.

        `wanted` is `run_in_background` of the call, `background` whether it runs there, `stopped_by` who stopped it:
        user or parent.
        """
        stats = self._stats
        stats.spawned += 1
        stats.max_depth = max(stats.max_depth, depth)
        stats.started_in_background += background
        stats.by_type[kind] = stats.by_type.get(kind, 0) + 1
        if wanted is None:
            stats.requested.unset += 1
        elif wanted:
            stats.requested.background += 1
        else:
            stats.requested.foreground += 1
        self.fields = as_builtins(stats)
        try:
            end = await work
            stats.failed += end.failure is not None
            stats.completed += end.failure is None
            return end
        except asyncio.CancelledError:
            by_parent = stopped_by() == "parent"
            stats.killed.parent += by_parent
            stats.killed.user += not by_parent
            raise
        except Exception:
            stats.failed += 1
            raise
        finally:
            self.fields = as_builtins(stats)
