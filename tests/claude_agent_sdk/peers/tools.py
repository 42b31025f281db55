"""What the tools of a package answer over MCP: `python tools.py claude_agent_sdk`.

A transport asks the server of this process for its tools, then calls them.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from typing import Annotated, Any, NotRequired, Optional, TypedDict


class Inner(TypedDict):
    a: int
    b: NotRequired[str]
    c: Annotated[str, "described"]


class Outer(TypedDict, total=False):
    numbers: list[int]
    inner: Inner


class Opaque:
    """A type that JSON cannot express."""


SCHEMAS: dict[str, Any] = {
    "plain": {"a": int, "b": str, "c": float, "d": bool},
    "described": {"a": Annotated[int, "the a"]},
    "compound": {"l": list, "ls": list[str], "d": dict, "ds": dict[str, int], "o": Optional[str], "u": int | str},  # noqa: UP045
    "odd": {"any": Any, "opaque": Opaque, "tuple": tuple, "inner": Inner},
    "typed_dict": Inner,
    "nested": Outer,
    "schema": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]},
    "open": {"type": "object", "properties": {}},
    "empty": {},
}
BLOCKS = [
    {"type": "text", "text": "t"},
    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    {"type": "resource_link", "name": "n", "uri": "file:///x", "description": "d"},
    {"type": "resource", "resource": {"uri": "file:///x", "text": "body"}},
    {"type": "block_of_tomorrow"},
]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("plain", {"a": 1, "b": "x", "c": 1, "d": True}),
    ("plain", {"a": 1, "b": "x", "c": 1.5, "d": True, "more": [1]}),
    ("typed_dict", {"a": 1, "c": "x"}),
    ("schema", {"n": 5}),
    ("empty", {"any": 1}),
    ("open", {"raise": "it broke"}),
    ("open", {"return": {"content": BLOCKS}}),
    ("open", {"return": {"content": BLOCKS[:1], "is_error": True}}),
    ("open", {"return": {}}),
]
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("plain", {"a": "no", "b": "x", "c": 1, "d": True}),
    ("plain", {"a": 1}),
    ("plain", {"a": True, "b": "x", "c": 1, "d": True}),
    ("typed_dict", {"a": 1}),
    ("nested", {"numbers": [1, "two"]}),
    ("nested", {"inner": {"a": 1}}),
    ("schema", {"n": 1}),
    ("open", {"return": "text"}),
]
"""Calls that are answered with an error, whose text is not compared."""


async def handler(arguments: dict[str, Any]) -> Any:
    if "raise" in arguments:
        raise ValueError(arguments["raise"])
    return arguments.get("return") if "return" in arguments else {"content": [{"type": "text", "text": str(arguments)}]}


def main(package: str) -> dict[str, Any]:
    sdk = importlib.import_module(package)
    hints = sdk.ToolAnnotations(readOnlyHint=True, maxResultSizeChars=9)
    tools = [
        sdk.tool(name, f"the {name}", schema, hints if name == "plain" else None)(handler)
        for name, schema in SCHEMAS.items()
    ]
    server = sdk.create_sdk_mcp_server("srv", "2.0.0", tools)
    found: dict[str, Any] = {"server": [server["type"], server["name"], sorted(server)]}

    class Asker(sdk.Transport):
        """Sends one MCP request after the other, then ends."""

        async def connect(self) -> None:
            self.frames: asyncio.Queue[Any] = asyncio.Queue()
            self.answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

        async def write(self, data: str) -> None:
            line = json.loads(data)
            if line["type"] == "control_request":
                response = {"subtype": "success", "request_id": line["request_id"], "response": {}}
                self.frames.put_nowait({"type": "control_response", "response": response})
            elif line["type"] == "control_response":
                self.answers.put_nowait(line["response"]["response"]["mcp_response"])

        async def ask(self, method: str, **params: Any) -> Any:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            request = {"subtype": "mcp_message", "server_name": "srv", "message": message}
            self.frames.put_nowait({"type": "control_request", "request_id": "r", "request": request})
            return (await self.answers.get())["result"]

        async def read_messages(self) -> Any:
            while (frame := await self.frames.get()) is not None:
                yield frame

        async def close(self) -> None: ...

        def is_ready(self) -> bool:
            return True

        async def end_input(self) -> None: ...

    async def talk(transport: Asker) -> None:
        client = {"name": "peer", "version": "1"}
        opened = await transport.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        found["opened"] = [opened["serverInfo"], opened["protocolVersion"]]
        found["tools"] = (await transport.ask("tools/list"))["tools"]
        answers = [await transport.ask("tools/call", name=name, arguments=given) for name, given in CALLS]
        found["answers"] = [[answer["content"], bool(answer.get("isError"))] for answer in answers]
        refusals = [await transport.ask("tools/call", name=name, arguments=given) for name, given in REFUSED]
        found["refused"] = [bool(answer.get("isError")) for answer in refusals]
        transport.frames.put_nowait(None)

    async def run() -> None:
        transport = Asker()
        options = sdk.ClaudeAgentOptions(mcp_servers={"srv": server})
        async with sdk.ClaudeSDKClient(options, transport=transport):
            await talk(transport)

    asyncio.run(run())
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1]), indent=1, sort_keys=True))
