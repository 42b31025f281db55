"""The MCP server of Demo mode: one tool, answered inside the agent, so that the tour can show a call of such a tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

__all__ = ["DEMO_SERVER", "with_demo_server"]

JsonObject = dict[str, Any]
NAME: Final = "demo"
DEMO_SERVER: Final = {NAME: {"type": "sdk", "name": NAME}}
"""Its entry in a configuration of servers."""
_FACTS: Final = {"what": "handrail", "steps": 6, "rail": {"material": "oak", "length_m": 2.4}, "sturdy": True}
_TOOL: Final[JsonObject] = {
    "name": "get_stairs",
    "description": "Facts about the stairs in the picture of the tour.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True},
}
_RESULTS: Final[dict[str, Callable[[JsonObject], JsonObject]]] = {
    "initialize": lambda params: {
        "protocolVersion": params.get("protocolVersion", "2025-06-18"),
        "capabilities": {"tools": {}},
        "serverInfo": {"name": NAME, "version": "1"},
    },
    "ping": lambda params: {},
    "tools/list": lambda params: {"tools": [_TOOL]},
    "tools/call": lambda params: {"content": [{"type": "text", "text": msgspec.json.encode(_FACTS).decode()}]},
}


def with_demo_server(
    send: Callable[[str, JsonObject], Awaitable[Any]],
) -> Callable[[str, JsonObject], Awaitable[Any]]:
    """Answer messages to the demo server here, and hand the others to the host."""

    async def answer(server: str, message: JsonObject) -> Any:
        if server != NAME:
            return await send(server, message)
        result = _RESULTS.get(str(message.get("method")))
        if result is None:
            return {"error": {"code": -32601, "message": f"unknown method {message.get('method')}"}}
        return {"result": result(message.get("params") or {})}

    return answer
