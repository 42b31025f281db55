"""Turns frames of the CLI into messages, by one table.

A frame that lacks a field which the class requires gets an empty value: a message of an old or new CLI never ends the
conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from handrail.claude_agent_sdk.blocks import (
    ContentBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from handrail.claude_agent_sdk.messages import (
    AssistantMessage,
    ConversationResetMessage,
    DeferredToolUse,
    HookEventMessage,
    Message,
    MirrorErrorMessage,
    RateLimitEvent,
    RateLimitInfo,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TaskNotificationMessage,
    TaskProgressMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    UserMessage,
)
from handrail.schema.view import read_json

__all__ = ["as_message", "as_stream_event"]

Frame = Mapping[str, Any]


_decode_stream_event = msgspec.json.Decoder(StreamEvent).decode


def as_stream_event(line: bytes) -> Message | None:
    """The message of a line that is a stream event. It keeps the line, which `raw` decodes again."""
    try:
        message = _decode_stream_event(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return as_message(read_json(line))
    message.__dict__["_line"] = line
    return message


def as_message(frame: dict[str, Any]) -> Message | None:
    """The message of a frame; None for a type without a class or an unknown shape."""
    convert = MESSAGES.get(frame.get("type", ""))
    if convert is None:
        return None
    try:
        message = convert(frame)
    except (TypeError, AttributeError, KeyError):  # a list where an object belongs, and the like
        return None
    if type(message) in _KEEPS_FRAME:
        message.__dict__["_frame"] = frame
    return message


def _user(frame: dict[str, Any]) -> Message:
    content = frame["message"].get("content", "")
    unknown: list[dict[str, Any]] = []
    if isinstance(content, list):
        content = _blocks(cast("list[Any]", content), USER_BLOCKS, unknown)
    message = UserMessage(
        content,
        frame.get("uuid"),
        frame.get("parent_tool_use_id"),
        frame.get("tool_use_result"),
        frame.get("origin"),
    )
    if unknown:
        message.__dict__["_unknown_blocks"] = unknown
    return message


def _assistant(frame: dict[str, Any]) -> Message:
    inner = frame["message"]
    unknown: list[dict[str, Any]] = []
    message = AssistantMessage(
        _blocks(inner.get("content") or [], BLOCKS, unknown),
        inner.get("model", ""),
        frame.get("parent_tool_use_id"),
        frame.get("error"),
        inner.get("usage"),
        inner.get("id"),
        inner.get("stop_reason"),
        frame.get("session_id"),
        frame.get("uuid"),
    )
    if unknown:
        message.__dict__["_unknown_blocks"] = unknown
    return message


def _system(frame: dict[str, Any]) -> Message:
    subtype = frame.get("subtype", "")
    convert = SYSTEM_MESSAGES.get(subtype)
    return SystemMessage(subtype, frame) if convert is None else convert(subtype, frame)


def _stream_event(frame: dict[str, Any]) -> Message:
    return StreamEvent(
        frame.get("uuid", ""), frame.get("session_id", ""), frame.get("event", {}), frame.get("parent_tool_use_id")
    )


def _result(frame: dict[str, Any]) -> Message:
    deferred = frame.get("deferred_tool_use")
    return ResultMessage(
        subtype=frame.get("subtype", ""),
        duration_ms=frame.get("duration_ms", 0),
        duration_api_ms=frame.get("duration_api_ms", 0),
        is_error=frame.get("is_error", False),
        num_turns=frame.get("num_turns", 0),
        session_id=frame.get("session_id", ""),
        stop_reason=frame.get("stop_reason"),
        total_cost_usd=frame.get("total_cost_usd"),
        usage=frame.get("usage"),
        result=frame.get("result"),
        structured_output=frame.get("structured_output"),
        model_usage=frame.get("modelUsage"),
        permission_denials=frame.get("permission_denials"),
        deferred_tool_use=None
        if deferred is None
        else DeferredToolUse(deferred.get("id", ""), deferred.get("name", ""), deferred.get("input", {})),
        errors=frame.get("errors"),
        api_error_status=frame.get("api_error_status"),
        uuid=frame.get("uuid"),
        terminal_reason=frame.get("terminal_reason"),
        origin=frame.get("origin"),
    )


def _rate_limit(frame: dict[str, Any]) -> Message:
    info = frame["rate_limit_info"]
    limit = RateLimitInfo(
        status=info.get("status", ""),
        resets_at=info.get("resetsAt"),
        rate_limit_type=info.get("rateLimitType"),
        utilization=info.get("utilization"),
        overage_status=info.get("overageStatus"),
        overage_resets_at=info.get("overageResetsAt"),
        overage_disabled_reason=info.get("overageDisabledReason"),
        raw=info,
    )
    return RateLimitEvent(limit, frame.get("uuid", ""), frame.get("session_id", ""))


def _conversation_reset(frame: dict[str, Any]) -> Message:
    return ConversationResetMessage(
        frame.get("new_conversation_id", ""), frame.get("uuid", ""), frame.get("session_id", "")
    )


def _task_started(subtype: str, frame: dict[str, Any]) -> Message:
    return TaskStartedMessage(
        subtype,
        frame,
        task_id=frame.get("task_id", ""),
        description=frame.get("description", ""),
        uuid=frame.get("uuid", ""),
        session_id=frame.get("session_id", ""),
        tool_use_id=frame.get("tool_use_id"),
        task_type=frame.get("task_type"),
    )


def _task_progress(subtype: str, frame: dict[str, Any]) -> Message:
    return TaskProgressMessage(
        subtype,
        frame,
        task_id=frame.get("task_id", ""),
        description=frame.get("description", ""),
        usage=frame.get("usage") or {"total_tokens": 0, "tool_uses": 0, "duration_ms": 0},
        uuid=frame.get("uuid", ""),
        session_id=frame.get("session_id", ""),
        tool_use_id=frame.get("tool_use_id"),
        last_tool_name=frame.get("last_tool_name"),
    )


def _task_updated(subtype: str, frame: dict[str, Any]) -> Message:
    patch: dict[str, Any] = frame.get("patch") or {}
    return TaskUpdatedMessage(
        subtype,
        frame,
        task_id=frame.get("task_id", ""),
        patch=patch,
        status=patch.get("status"),
        session_id=frame.get("session_id"),
        uuid=frame.get("uuid"),
    )


def _task_notification(subtype: str, frame: dict[str, Any]) -> Message:
    return TaskNotificationMessage(
        subtype,
        frame,
        task_id=frame.get("task_id", ""),
        status=frame.get("status", ""),
        output_file=frame.get("output_file", ""),
        summary=frame.get("summary", ""),
        uuid=frame.get("uuid", ""),
        session_id=frame.get("session_id", ""),
        tool_use_id=frame.get("tool_use_id"),
        usage=frame.get("usage"),
    )


def _hook_event(subtype: str, frame: dict[str, Any]) -> Message:
    return HookEventMessage(subtype, frame, frame.get("hook_event", ""), frame.get("session_id"), frame.get("uuid"))


def _mirror_error(subtype: str, frame: dict[str, Any]) -> Message:
    return MirrorErrorMessage(subtype, frame, frame.get("key"), frame.get("error", ""))


MESSAGES: dict[str, Callable[[dict[str, Any]], Message]] = {
    "assistant": _assistant,
    "conversation_reset": _conversation_reset,
    "rate_limit_event": _rate_limit,
    "result": _result,
    "stream_event": _stream_event,
    "system": _system,
    "user": _user,
}
"""The messages, by the type of their frame."""

SYSTEM_MESSAGES: dict[str, Callable[[str, dict[str, Any]], Message]] = {
    "hook_response": _hook_event,
    "hook_started": _hook_event,
    "mirror_error": _mirror_error,
    "task_notification": _task_notification,
    "task_progress": _task_progress,
    "task_started": _task_started,
    "task_updated": _task_updated,
}
"""The system messages with a class, by subtype. The others are a SystemMessage."""

_KEEPS_FRAME = frozenset(
    {AssistantMessage, ConversationResetMessage, RateLimitEvent, ResultMessage, StreamEvent, UserMessage}
)
"""System messages have the frame in `data`."""

_USER_AND_MODEL: dict[str, Callable[[Frame], ContentBlock]] = {
    "text": lambda block: TextBlock(block["text"]),
    "tool_use": lambda block: ToolUseBlock(block["id"], block["name"], block["input"]),
    "tool_result": lambda block: ToolResultBlock(block["tool_use_id"], block.get("content"), block.get("is_error")),
}
BLOCKS: dict[str, Callable[[Frame], ContentBlock]] = {
    **_USER_AND_MODEL,
    "thinking": lambda block: ThinkingBlock(block["thinking"], block.get("signature", "")),
    "server_tool_use": lambda block: ServerToolUseBlock(block["id"], block["name"], block["input"]),
    "advisor_tool_result": lambda block: ServerToolResultBlock(block["tool_use_id"], block["content"]),
}
"""The blocks of a message of the model, by type."""
USER_BLOCKS = _USER_AND_MODEL


def _blocks(
    given: list[Any], table: Mapping[str, Callable[[Frame], ContentBlock]], unknown: list[dict[str, Any]]
) -> list[ContentBlock]:
    """The blocks with a class. The others are added to `unknown`."""
    found: list[ContentBlock] = []
    for block in given:
        try:
            found.append(table[block["type"]](block))
        except (KeyError, TypeError):
            unknown.append(block)
    return found
