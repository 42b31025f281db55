"""One line of words for one line of the wire.

Fields that are missing or of another type are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from handrail.protocol.frames import BadLine, CancelRequest, Failure, Frame, KeepAlive, Message, Request, Success

__all__ = ["body_of", "kind_of", "pick", "shorten", "summary_of"]

WIDTH = 160
Object = dict[str, Any]


def kind_of(frame: Frame) -> str:
    """The kind of a frame, in a word or two."""
    match frame:
        case Message():
            return f"{frame.type or 'no type'}/{frame.subtype}" if frame.type == "system" else frame.type or "no type"
        case Request():
            return f"request {frame.subtype}"
        case Success():
            return "answer"
        case Failure():
            return "refusal"
        case CancelRequest():
            return "cancel request"
        case KeepAlive():
            return "keep alive"
        case BadLine():
            return "bad line"


def summary_of(frame: Frame) -> str:
    """What a frame says, in one line."""
    match frame:
        case BadLine():
            return shorten(f"{frame.reason}: {frame.raw[:WIDTH].decode('utf-8', 'replace')}")
        case Failure():
            return shorten(f"{frame.error} ({frame.code})" if frame.code else frame.error)
        case CancelRequest():
            return shorten(frame.id)
        case KeepAlive():
            return ""
        case Message():
            tell = _MESSAGES.get(kind_of(frame), _others)
        case Request():
            tell = _REQUESTS.get(frame.subtype, _others)
        case Success():
            tell = _answer
    return shorten(tell(body_of(frame)))


def body_of(frame: Frame) -> Object:
    """The object that carries the meaning: of a request its body, of an answer its payload, else the line."""
    source = frame.body if isinstance(frame, Request | Success) else frame.raw
    try:
        value: Any = json.loads(source or b"{}")
    except (ValueError, RecursionError):
        return {}
    return cast(Object, value) if isinstance(value, dict) else {}


def pick(value: Any, *path: str | int) -> Any:
    """A nested value; None if a part of the path is missing."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = cast(Object, value).get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(cast(list[Any], value)):
            value = cast(list[Any], value)[step]
        else:
            return None
    return value


def shorten(text: str, width: int = WIDTH) -> str:
    """Text on one line, cut if it is too long."""
    line = " ".join(text[: 4 * width].split())
    return line if len(line) <= width and len(text) <= 4 * width else f"{line[: width - 1]}…"


def _words(*parts: Any) -> str:
    return ", ".join(str(part) for part in parts if part not in (None, "", [], {}))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[: 4 * WIDTH] if value not in (None, {}, []) else ""


def _items(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def _others(body: Object) -> str:
    hidden = ("type", "subtype", "uuid", "session_id", "user_message_uuid", "user_message_uuids")
    return _json({key: value for key, value in body.items() if key not in hidden})


def _init(body: Object) -> str:
    return _words(
        body.get("model"), body.get("permissionMode"), f"{len(_items(body.get('tools')))} tools", body.get("cwd")
    )


def _block(block: Any) -> str:
    kind = pick(block, "type")
    match kind:
        case "text":
            return f"“{pick(block, 'text')}”"
        case "thinking":
            return f"thinking “{pick(block, 'thinking')}”"
        case "tool_use":
            return f"{pick(block, 'name')} {_json(pick(block, 'input'))}"
        case "tool_result":
            return f"{'error' if pick(block, 'is_error') else 'result'} “{_text(pick(block, 'content'))}”"
        case _:
            return str(kind)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(str(pick(item, "text") or f"[{pick(item, 'type')}]") for item in _items(content))


def _conversation(body: Object) -> str:
    content = pick(body, "message", "content")
    said = f"“{content}”" if isinstance(content, str) else " ".join(map(_block, _items(content)))
    marks = [mark for mark in ("isReplay", "isSynthetic", "aborted", "error") if body.get(mark)]
    return " ".join([said, *(f"[{mark}]" for mark in marks)])


def _stream(body: Object) -> str:
    event = body.get("event")
    kind, delta, block = pick(event, "type"), pick(event, "delta"), pick(event, "content_block")
    if kind == "content_block_start":
        return _words(kind, pick(block, "type"), pick(block, "name"))
    if kind == "content_block_delta":
        said = next((pick(delta, key) for key in ("text", "thinking", "partial_json") if pick(delta, key)), "")
        return f"{pick(delta, 'type')} “{said}”"
    return _words(kind, pick(delta, "stop_reason"))


def _result(body: Object) -> str:
    cost, duration = body.get("total_cost_usd"), body.get("duration_ms")
    return _words(
        body.get("subtype"),
        "failed" if body.get("is_error") else "",
        body.get("terminal_reason"),
        f"{duration / 1000:.2f} s" if isinstance(duration, int | float) else "",
        f"${cost:.4f} so far" if isinstance(cost, int | float) else "",
        body.get("result") or body.get("errors"),
    )


def _permission(body: Object) -> str:
    return f"{body.get('tool_name')} {_json(body.get('input'))}"


def _hook(body: Object) -> str:
    return _words(pick(body, "input", "hook_event_name"), pick(body, "input", "tool_name"), body.get("callback_id"))


def _mcp(body: Object) -> str:
    return _words(body.get("server_name"), pick(body, "message", "method"), pick(body, "message", "params", "name"))


def _answer(body: Object) -> str:
    if "behavior" in body:
        return _words(body.get("behavior"), body.get("message"), "remembers" if body.get("updatedPermissions") else "")
    return _json(body) or "done"


_MESSAGES: Mapping[str, Callable[[Object], str]] = {
    "system/init": _init,
    "assistant": _conversation,
    "user": _conversation,
    "stream_event": _stream,
    "result": _result,
    "command_lifecycle": lambda body: _words(body.get("state"), body.get("command_uuid")),
}
_REQUESTS: Mapping[str, Callable[[Object], str]] = {
    "can_use_tool": _permission,
    "hook_callback": _hook,
    "mcp_message": _mcp,
}
