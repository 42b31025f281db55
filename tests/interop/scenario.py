"""Common parts of interop tests: tool calls, contents of model requests, process ids."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

from handrail import Options, Session
from handrail.schema.content import ToolResultBlock
from handrail.schema.messages import UserMessage
from handrail.testing import Endpoint, ReceivedRequest, tool_use

LIMIT = 60.0
"""Seconds that a scenario may take on a busy machine."""

Model = Callable[..., Endpoint]
SessionOptions = Callable[..., Options]
Talk = Callable[..., AbstractAsyncContextManager[Session]]
T = TypeVar("T")

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6364f8cf500f0003860180 5a347d6b0000000049454e44ae426082".replace(" ", "")
)
"""A picture of one pixel."""


def bash(command: str, **extra: Any) -> Any:
    """A call of Bash."""
    return tool_use("Bash", command=command, **extra)


def of(kind: type[T], messages: Iterable[Any]) -> list[T]:
    """The messages of one class."""
    return [message for message in messages if isinstance(message, kind)]


def results_seen(messages: Iterable[Any]) -> list[ToolResultBlock]:
    """The tool results among the messages of a turn."""
    return [result for message in of(UserMessage, messages) for result in message.tool_results]


def blocks_sent(request: ReceivedRequest, role: str = "user") -> list[dict[str, Any]]:
    """All content blocks of one role in a request."""
    contents = [message["content"] for message in request.messages if message["role"] == role]
    return [
        block
        for content in contents
        for block in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
    ]


def texts_sent(request: ReceivedRequest, role: str = "user") -> list[str]:
    """The texts of one role, without those that the CLI adds in angle brackets."""
    texts = [block["text"] for block in blocks_sent(request, role) if block["type"] == "text"]
    return [text for text in texts if not text.startswith("<")]


def results_sent(request: ReceivedRequest) -> list[str]:
    """The texts of all tool results in a request."""
    return [_text(block.get("content")) for block in blocks_sent(request) if block["type"] == "tool_result"]


def system_prompt(request: ReceivedRequest) -> str:
    """The system prompt of a request."""
    return _text(request.body.get("system"))


def everything_sent(request: ReceivedRequest) -> str:
    """All text of a request's messages, of both roles."""
    return "\n".join(_text(message["content"]) for message in request.messages)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = [
        _text(block.get("content")) if block["type"] == "tool_result" else block.get("text", "")
        for block in content or ()
    ]
    return "\n".join(parts)


async def ended(pid: int) -> None:
    """Wait until a process has exited."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(handle, done.set)
    try:
        await done.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


async def first_line(fifo: Path) -> str:
    """Wait for and return the text that is written into a named pipe."""
    return await asyncio.to_thread(lambda: fifo.read_text().strip())
