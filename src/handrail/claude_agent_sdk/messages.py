"""The messages of a conversation, as dataclasses.

Beyond the fields, a message that was received keeps its whole frame in `raw`, and user and assistant messages keep the
blocks of unknown types in `unknown_blocks`. Neither is a field: they do not change `==`, `repr` or the constructor.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Required, TypedDict

from handrail.claude_agent_sdk.blocks import ContentBlock
from handrail.schema.view import read_json

if TYPE_CHECKING:
    from handrail.claude_agent_sdk.session_store import SessionKey

__all__ = [
    "TERMINAL_TASK_STATUSES",
    "AssistantMessage",
    "AssistantMessageError",
    "ConversationResetMessage",
    "DeferredToolUse",
    "HookEventMessage",
    "Message",
    "MessageOrigin",
    "MessageOriginKind",
    "MirrorErrorMessage",
    "ModelUsage",
    "RateLimitEvent",
    "RateLimitInfo",
    "RateLimitStatus",
    "RateLimitType",
    "ResultMessage",
    "StreamEvent",
    "SystemMessage",
    "TaskNotificationMessage",
    "TaskNotificationOriginSubkind",
    "TaskNotificationStatus",
    "TaskProgressMessage",
    "TaskStartedMessage",
    "TaskUpdatedMessage",
    "TaskUpdatedStatus",
    "TaskUsage",
    "UserMessage",
]


AssistantMessageError = Literal[
    "authentication_failed", "billing_error", "rate_limit", "invalid_request", "server_error", "unknown"
]

MessageOriginKind = Literal[
    "human",
    "channel",
    "peer",
    "task-notification",
    "coordinator",
    "unclassified",
    "observer",
    "auto-continuation",
    "observer-activity",
]

TaskNotificationOriginSubkind = Literal["scheduled-trigger", "peer-send-message"]

MessageOrigin = TypedDict(
    "MessageOrigin",
    {
        "kind": Required[MessageOriginKind],
        "server": str,
        "from": str,
        "name": str,
        "fromSession": str,
        "senderTaskId": str,
        "body": str,
        "verifiedPeerPid": int,
        "subkind": TaskNotificationOriginSubkind,
    },
    total=False,
)
"""Who caused a message. The keys beside `kind` depend on it."""


def _frame(message: Any) -> dict[str, Any]:
    """The frame that the message was read from; empty if the program made it."""
    kept = message.__dict__
    if "_frame" not in kept and "_line" in kept:
        kept["_frame"] = read_json(kept["_line"])
    return kept.get("_frame", {})


def _unknown_blocks(message: Any) -> list[dict[str, Any]]:
    """The blocks of types that have no class here, in the form of the wire."""
    return message.__dict__.get("_unknown_blocks", [])


@dataclass
class UserMessage:
    """A message in the role of the user: a tool result, a prompt that the CLI repeats, or a synthetic one.

    `tool_use_result` is the structured output of the tool. Blocks of unknown types are in `unknown_blocks`.
    """

    content: str | list[ContentBlock]
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    tool_use_result: dict[str, Any] | None = None
    origin: MessageOrigin | None = None

    raw = property(_frame)
    unknown_blocks = property(_unknown_blocks)


@dataclass
class AssistantMessage:
    """A message of the model, or of a subagent if `parent_tool_use_id` is set.

    `error` names a failure of the API. Blocks of unknown types are in `unknown_blocks`.
    """

    content: list[ContentBlock]
    model: str
    parent_tool_use_id: str | None = None
    error: AssistantMessageError | None = None
    usage: dict[str, Any] | None = None
    message_id: str | None = None
    stop_reason: str | None = None
    session_id: str | None = None
    uuid: str | None = None

    raw = property(_frame)
    unknown_blocks = property(_unknown_blocks)


@dataclass
class SystemMessage:
    """A message of the CLI itself; `data` is the whole frame."""

    subtype: str
    data: dict[str, Any]


class TaskUsage(TypedDict):
    """The consumption of a background task so far."""

    total_tokens: int
    tool_uses: int
    duration_ms: int


TaskNotificationStatus = Literal["completed", "failed", "stopped"]

TaskUpdatedStatus = Literal["pending", "running", "paused", "completed", "failed", "killed"]

TERMINAL_TASK_STATUSES = frozenset({"completed", "failed", "stopped", "killed"})
"""The statuses after which a task does not change any more."""


@dataclass
class TaskStartedMessage(SystemMessage):
    """A background task began."""

    task_id: str
    description: str
    uuid: str
    session_id: str
    tool_use_id: str | None = None
    task_type: str | None = None


@dataclass
class TaskProgressMessage(SystemMessage):
    """A background task reports its progress."""

    task_id: str
    description: str
    usage: TaskUsage
    uuid: str
    session_id: str
    tool_use_id: str | None = None
    last_tool_name: str | None = None


@dataclass
class TaskUpdatedMessage(SystemMessage):
    """The state of a background task changed. A task may end with this message alone."""

    task_id: str
    patch: dict[str, Any]
    status: TaskUpdatedStatus | None = None
    session_id: str | None = None
    uuid: str | None = None


@dataclass
class TaskNotificationMessage(SystemMessage):
    """A background task ended."""

    task_id: str
    status: TaskNotificationStatus
    output_file: str
    summary: str
    uuid: str
    session_id: str
    tool_use_id: str | None = None
    usage: TaskUsage | None = None


@dataclass
class HookEventMessage(SystemMessage):
    """A hook of the settings started or ended; sent with `include_hook_events`."""

    hook_event_name: str = ""
    session_id: str | None = None
    uuid: str | None = None


@dataclass
class MirrorErrorMessage(SystemMessage):
    """The session store did not accept entries; the turn continues."""

    key: "SessionKey | None" = None
    error: str = ""


@dataclass
class DeferredToolUse:
    """A tool call that a PreToolUse hook deferred."""

    id: str
    name: str
    input: dict[str, Any]


class ModelUsage(TypedDict):
    """Tokens and cost of one model, over the whole connection."""

    inputTokens: int
    outputTokens: int
    cacheReadInputTokens: int
    cacheCreationInputTokens: int
    webSearchRequests: int
    costUSD: float
    contextWindow: int
    maxOutputTokens: int
    canonicalModel: NotRequired[str]
    provider: NotRequired[str]


@dataclass
class ResultMessage:
    """The end of a turn. `raw` is the whole frame, with the fields that have no attribute here.

    `usage` counts this turn without subagents; `model_usage` and `total_cost_usd` are totals of the connection.
    """

    subtype: str
    duration_ms: int
    duration_api_ms: int
    is_error: bool
    num_turns: int
    session_id: str
    stop_reason: str | None = None
    total_cost_usd: float | None = None
    usage: dict[str, Any] | None = None
    result: str | None = None
    structured_output: Any = None
    model_usage: dict[str, ModelUsage] | None = None
    permission_denials: list[Any] | None = None
    deferred_tool_use: DeferredToolUse | None = None
    errors: list[str] | None = None
    api_error_status: int | None = None
    uuid: str | None = None
    terminal_reason: str | None = None
    origin: MessageOrigin | None = None

    raw = property(_frame)


@dataclass
class StreamEvent:
    """A streaming event of the API; sent with `include_partial_messages`."""

    uuid: str
    session_id: str
    event: dict[str, Any]
    parent_tool_use_id: str | None = None

    raw = property(_frame)


RateLimitStatus = Literal["allowed", "allowed_warning", "rejected"]

RateLimitType = Literal["five_hour", "seven_day", "seven_day_opus", "seven_day_sonnet", "overage"]


@dataclass
class RateLimitInfo:
    """The state of a rate limit. Times are seconds since 1970; `raw` has all fields."""

    status: RateLimitStatus
    resets_at: int | None = None
    rate_limit_type: RateLimitType | None = None
    utilization: float | None = None
    overage_status: RateLimitStatus | None = None
    overage_resets_at: int | None = None
    overage_disabled_reason: str | None = None
    raw: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class RateLimitEvent:
    """The state of a rate limit changed."""

    rate_limit_info: RateLimitInfo
    uuid: str
    session_id: str

    raw = property(_frame)


@dataclass
class ConversationResetMessage:
    """The conversation was cleared and continues under a new id."""

    new_conversation_id: str
    uuid: str
    session_id: str

    raw = property(_frame)


Message = (
    UserMessage
    | AssistantMessage
    | SystemMessage
    | ResultMessage
    | StreamEvent
    | RateLimitEvent
    | ConversationResetMessage
)
