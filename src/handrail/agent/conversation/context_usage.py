"""How the context window is used."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from handrail.agent.conversation.compaction import compaction_limit
from handrail.agent.conversation.side_requests import SideRequests
from handrail.agent.conversation.thread import Thread
from handrail.agent.known_models import facts_of

__all__ = ["context_parts", "memory_tokens", "tool_tokens"]

_CHARACTERS: Final = 4
"""The characters of one token, roughly."""


async def context_parts(thread: Thread, side_requests: SideRequests) -> dict[str, int]:
    """The tokens of the window by category, with the free space and the room that is kept for a summary.

    The API counts only the whole. The parts are estimated, and the messages are the rest.
    """
    window = facts_of(thread.session.model).context_window
    tools = thread.tools()
    loaded = thread.desk.state.loaded_tools
    from_servers = [
        tool for name, tool in tools.items() if name.startswith("mcp__") and (not tool.deferred or name in loaded)
    ]
    own = [tool for name, tool in tools.items() if not name.startswith("mcp__") and name != "Skill"]
    parts = {
        "System prompt": _estimate(thread.system()),
        "System tools": sum(map(tool_tokens, own)),
        "MCP tools": sum(map(tool_tokens, from_servers)),
        "Memory files": sum(tokens for _, _, tokens in memory_tokens(thread)),
        "Skills": sum(tool_tokens(tool) for name, tool in tools.items() if name == "Skill"),
    }
    counted = thread.history.tokens or await side_requests.count()
    parts["Messages"] = max(counted - sum(parts.values()), 0) if counted else _estimate(thread.history.messages)
    used = sum(parts.values())
    buffer = max(window - compaction_limit(thread.session), 0)
    return {**parts, "Free space": max(window - used - buffer, 0), "Autocompact buffer": buffer}


def memory_tokens(thread: Thread) -> list[tuple[str, str, int]]:
    """The memory files that the conversation begins with: kind, path and estimated tokens of each."""
    files = thread.memory.loaded() if thread.memory else []
    return [(file.kind, file.path, _estimate(file.shown())) for file in files]


def tool_tokens(tool: Any) -> int:
    """The estimated tokens of a tool's definition."""
    return _estimate([tool.name, tool.description, tool.schema()])


def _estimate(value: Any) -> int:
    return len(msgspec.json.encode(value)) // _CHARACTERS if value else 0
