"""A ccpocket client written from the protocol's tables alone, with the standard library and websockets.

`CLIENT`, `SERVER` and `STATUSES` are the tables of section 8. The client checks every message against them: messages it
sends must have the required fields (`send_text` sends anything), messages it receives the listed fields and types.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import websockets
from websockets.asyncio.client import ClientConnection

TIMEOUT = 30.0
NUMBER = (int, float)
Fields = dict[str, Any]

# Section 8.1: required and optional fields of each type.
CLIENT: dict[str, tuple[Fields, Fields]] = {
    "start": ({"projectPath": str}, {"sessionId": str, "continue": bool, "permissionMode": str}),
    "input": ({"text": str}, {"sessionId": str}),
    "approve": ({"id": str}, {"sessionId": str}),
    "approve_always": ({"id": str}, {"sessionId": str}),
    "reject": ({"id": str}, {"message": str, "sessionId": str}),
    "answer": ({"toolUseId": str, "result": str}, {"sessionId": str}),
    "list_sessions": ({}, {}),
    "stop_session": ({"sessionId": str}, {}),
    "get_history": ({"sessionId": str}, {}),
    "list_recent_sessions": ({}, {"limit": int}),
    "resume_session": ({"sessionId": str, "projectPath": str}, {"permissionMode": str}),
}
# Section 8.2.
SERVER: dict[str, tuple[Fields, Fields]] = {
    "system": ({"subtype": str}, {"sessionId": str, "model": str}),
    "assistant": ({"message": dict}, {}),
    "tool_result": ({"toolUseId": str, "content": str}, {"toolName": str, "images": list}),
    "result": (
        {"subtype": str},
        {"result": str, "error": str, "cost": NUMBER, "duration": NUMBER, "sessionId": str},
    ),
    "error": ({"message": str}, {}),
    "status": ({"status": str}, {}),
    "history": ({"messages": list}, {}),
    "permission_request": ({"toolUseId": str, "toolName": str, "input": dict}, {}),
    "stream_delta": ({"text": str}, {}),
    "thinking_delta": ({"text": str}, {}),
}
# Section 8.3.
STATUSES = {"idle", "running", "waiting_approval"}
# The tables omit the answers to the two list requests and to a clientMessageId; these are ccpocket's own names.
EXTENSIONS: dict[str, tuple[Fields, Fields]] = {
    "session_list": ({"sessions": list}, {}),
    "recent_sessions": ({"sessions": list}, {}),
    "input_ack": ({"sessionId": str, "clientMessageId": str}, {}),
}
CONTENT_BLOCKS = {
    "text": {"text": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "thinking": {"thinking": str},
}


def check(message: Fields) -> None:
    """Assert that a server message has the required fields, and that all listed fields have their types."""
    required, optional = {**SERVER, **EXTENSIONS}[message["type"]]
    assert set(required) <= set(message), message
    _check_types(message, {**required, **optional})
    if message["type"] == "status":
        assert message["status"] in STATUSES, message
    if message["type"] == "assistant":
        for block in message["message"]["content"]:
            _check_types(block, CONTENT_BLOCKS[block["type"]])
    if message["type"] == "history":
        for one in message["messages"]:
            check(one)


def _check_types(found: Fields, types: Fields) -> None:
    for name, type in types.items():
        assert name not in found or isinstance(found[name], type), (name, found)


class CcpocketClient:
    """One socket. `seen` holds all received messages in order; `sent` the fields sent of each type."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.seen: list[Fields] = []
        self.sent: dict[str, set[str]] = {}
        self._read = 0

    async def send(self, type: str, **fields: Any) -> None:
        """Send a message of the table; `fields` may include extensions."""
        required, _ = CLIENT[type]
        assert set(required) <= set(fields), (type, fields)
        self.sent.setdefault(type, set()).update(fields)
        await self.send_text(json.dumps({"type": type, **fields}))

    async def send_text(self, text: str | bytes) -> None:
        await self._socket.send(text)

    async def receive(self) -> Fields:
        """The next message, checked."""
        async with asyncio.timeout(TIMEOUT):
            message = json.loads(await self._socket.recv())
        check(message)
        self.seen.append(message)
        return message

    async def until(self, type: str, **fields: Any) -> Fields:
        """Read until a message of this type with these fields. Messages skipped once are not searched again."""
        while True:
            if self._read == len(self.seen):
                await self.receive()
            message = self.seen[self._read]
            self._read += 1
            if message["type"] == type and fields.items() <= message.items():
                return message

    async def ask(self, type: str, answer: str, **fields: Any) -> Fields:
        """Send a message and read until an answer of the given type."""
        await self.send(type, **fields)
        return await self.until(answer)

    async def start(self, folder: object, **fields: Any) -> str:
        """Start a session, wait for its status and return its id."""
        created = await self.ask("start", "system", projectPath=str(folder), **fields)
        assert created["subtype"] == "session_created"
        await self.until("status")
        return created["sessionId"]

    async def quiet(self) -> list[Fields]:
        """Messages received before the answer to a request sent now."""
        before = len(self.seen)
        await self.send("list_sessions")
        while (await self.receive())["type"] != "session_list":
            pass
        self._read = len(self.seen)
        return self.seen[before:-1]

    def abort(self) -> None:
        """Close the connection without a closing handshake."""
        self._socket.transport.abort()

    def of(self, type: str) -> list[Fields]:
        """All received messages of a type."""
        return [message for message in self.seen if message["type"] == type]


@asynccontextmanager
async def connected(url: str, token: str = "") -> AsyncIterator[CcpocketClient]:
    """A client on a new socket. Without `token` the URL must contain one."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with websockets.connect(url, additional_headers=headers, max_size=None, proxy=None) as socket:
        yield CcpocketClient(socket)
