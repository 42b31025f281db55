"""Facts about requests to the Messages API, so that two CLIs or two requests can be compared without their texts.

facts = request_facts(endpoint.main_requests[0])
facts.system, facts.tools, facts.marks
keeps_prefix(endpoint.main_requests[0].body, endpoint.main_requests[1].body)
"""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from handrail.conform.messages_api import ReceivedRequest

__all__ = ["RequestFacts", "keeps_prefix", "request_facts"]

JsonObject = dict[str, Any]
_MARK: Final = "cache_control"
_REMINDER: Final = "<system-reminder>"


class RequestFacts(Struct, frozen=True):
    """Sizes in bytes of JSON, counts and settings of one request.

    `reminders` are texts that the CLI adds to the conversation: system messages, and blocks marked as reminders.
    `messages` is the rest of the conversation. `marks` are the cache marks in system, tools and messages.
    """

    system: int
    tools: int
    tool_names: tuple[str, ...]
    reminders: int
    messages: int
    marks: tuple[int, int, int]
    thinking: str
    effort: str
    max_tokens: int
    betas: int


def request_facts(request: ReceivedRequest) -> RequestFacts:
    """Measure one request."""
    body = request.body
    blocks = [(message["role"], block) for message in body["messages"] for block in _blocks(message["content"])]
    reminders = [block for role, block in blocks if role == "system" or _is_reminder(block)]
    rest = [block for role, block in blocks if role != "system" and not _is_reminder(block)]
    system, tools = _blocks(body.get("system") or []), cast("list[JsonObject]", body.get("tools") or [])
    thinking, output = (
        cast("JsonObject", body.get("thinking") or {}),
        cast("JsonObject", body.get("output_config") or {}),
    )
    return RequestFacts(
        system=_size(system),
        tools=_size(tools),
        tool_names=tuple(str(tool.get("name")) for tool in tools),
        reminders=_size(reminders),
        messages=_size(rest),
        marks=(_marks(system), _marks(tools), _marks([block for _, block in blocks])),
        thinking=str(thinking.get("type", "")),
        effort=str(output.get("effort", "")),
        max_tokens=int(body.get("max_tokens") or 0),
        betas=len([name for name in request.headers.get("anthropic-beta", "").split(",") if name]),
    )


def keeps_prefix(before: JsonObject, after: JsonObject) -> bool:
    """Whether a request begins with all of an earlier one, cache marks ignored, so that the API can use its cache."""
    first, second = _stream(before), _stream(after)
    return second[: len(first)] == first


def _stream(body: JsonObject) -> list[bytes]:
    """The parts of a request in the order in which the API caches them."""
    tools = cast("list[JsonObject]", body.get("tools") or [])
    parts = [("tools", tool) for tool in tools]
    parts += [("system", block) for block in _blocks(body.get("system") or [])]
    for message in body["messages"]:
        parts += [(str(message["role"]), block) for block in _blocks(message["content"])]
    return [msgspec.json.encode((kind, _unmarked(part)), order="sorted") for kind, part in parts]


def _unmarked(part: JsonObject) -> JsonObject:
    return {name: value for name, value in part.items() if name != _MARK}


def _blocks(content: Any) -> list[JsonObject]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else cast("list[JsonObject]", content)


def _is_reminder(block: JsonObject) -> bool:
    return str(block.get("text") or "").lstrip().startswith(_REMINDER)


def _marks(parts: list[JsonObject]) -> int:
    return sum(_MARK in part for part in parts)


def _size(parts: list[JsonObject]) -> int:
    return sum(len(msgspec.json.encode(_unmarked(part))) for part in parts)
