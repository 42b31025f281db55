"""MCP servers for tests: child processes with scripted behaviour, and servers of a host."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

JsonObject = dict[str, Any]

ADD = {
    "name": "add",
    "description": "Adds",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
}

HEAD = """
import json, os, sys
def send(message): sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n"); sys.stdout.flush()
def answer(message, result): send({"id": message["id"], "result": result})
def tool(name, **more): return {"name": name, "description": "d", "inputSchema": {"type": "object"}, **more}
TOOLS, CAPABILITIES = [tool("go")], {"tools": {}}
def text(words): return {"content": [{"type": "text", "text": words}]}
def called(message): answer(message, text("went"))
def other(message): pass
"""
TAIL = """
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        answer(message, {"protocolVersion": message["params"]["protocolVersion"], "capabilities": CAPABILITIES,
                         "serverInfo": {"name": "child", "version": "1"}})
    elif method == "tools/list":
        answer(message, {"tools": TOOLS})
    elif method == "tools/call":
        called(message)
    else:
        other(message)
"""


def child(folder: Path, body: str = "", name: str = "server.py") -> JsonObject:
    """The configuration of a server as a child process; `body` may replace TOOLS, CAPABILITIES, called and other."""
    path = folder / name
    path.write_text(HEAD + body + TAIL)
    return {"command": sys.executable, "args": ["-I", "-S", str(path)]}


class Host:
    """Servers in the host: `tools` are listed, `call` answers a call, `heard` has the messages received."""

    def __init__(self, tools: list[JsonObject] | None = None) -> None:
        self.tools = [ADD] if tools is None else tools
        self.heard: list[tuple[str, JsonObject]] = []
        self.pages = 1

    async def send(self, server: str, message: JsonObject) -> JsonObject:
        self.heard.append((server, message))
        method = message.get("method")
        if method == "initialize":
            result = await self.greet(server)
        elif method == "tools/list":
            result = self.page(message.get("params", {}).get("cursor"))
        elif method == "tools/call":
            return await self.call(message)
        else:
            return {"jsonrpc": "2.0", "result": {}}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    async def greet(self, server: str) -> JsonObject:
        info = {"name": server, "version": "1.0.0"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}

    def page(self, cursor: str | None) -> JsonObject:
        number = int(cursor or 0)
        share = self.tools[number :: self.pages]
        return {"tools": share, **({"nextCursor": str(number + 1)} if number + 1 < self.pages else {})}

    async def call(self, message: JsonObject) -> JsonObject:
        result = {"content": [{"type": "text", "text": "5"}]}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def methods(self, server: str = "calc") -> list[str]:
        return [str(message.get("method")) for name, message in self.heard if name == server]


async def no_one(request: JsonObject) -> JsonObject:
    """A user who declines every question."""
    return {"action": "decline"}


async def no_host(server: str, message: JsonObject) -> JsonObject:
    """A host without servers."""
    raise LookupError(f"no server {server}")
