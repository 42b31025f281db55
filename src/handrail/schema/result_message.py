"""`result` lines: the end of a turn."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.schema.message_view import MessageView, Origin
from handrail.schema.usage import ModelUsage, Usage
from handrail.schema.view import Number, Part

__all__ = [
    "DeferredToolUse",
    "PermissionDenial",
    "ResultMessage",
    "SubagentKills",
    "SubagentRefusals",
    "SubagentRequests",
    "SubagentStats",
]


class PermissionDenial(Part):
    """A tool that was not allowed to run."""

    always = frozenset({"tool_name", "tool_use_id", "tool_input"})
    tool_name: str = ""
    tool_use_id: str = ""
    tool_input: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class DeferredToolUse(Part):
    """The tool call at which a hook stopped the turn."""

    always = frozenset({"id", "name", "input"})
    id: str = ""
    name: str = ""
    input: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class SubagentRequests(Part):
    """How the model wanted its subagents to run."""

    always = frozenset({"background", "foreground", "unset"})
    background: int = 0
    foreground: int = 0
    unset: int = 0


class SubagentKills(Part):
    """Who stopped subagents."""

    always = frozenset({"parent", "user", "system"})
    parent: int = 0
    user: int = 0
    system: int = 0


class SubagentRefusals(Part):
    """Why subagents were not started."""

    always = frozenset({"depth_limit", "concurrency_limit", "budget"})
    depth_limit: int = 0
    concurrency_limit: int = 0
    budget: int = 0


class SubagentStats(Part):
    """Subagents since the session started."""

    always = frozenset(
        {
            "spawned",
            "requested",
            "started_in_background",
            "max_depth",
            "spawned_by_subagents",
            "completed",
            "failed",
            "killed",
            "refused",
            "by_type",
        }
    )
    spawned: int = 0
    requested: SubagentRequests = msgspec.field(default_factory=SubagentRequests)
    started_in_background: int = 0
    max_depth: int = 0
    spawned_by_subagents: int = 0
    completed: int = 0
    failed: int = 0
    killed: SubagentKills = msgspec.field(default_factory=SubagentKills)
    refused: SubagentRefusals = msgspec.field(default_factory=SubagentRefusals)
    by_type: dict[str, int] = msgspec.field(default_factory=dict[str, int])


class ResultMessage(MessageView):
    """The end of a turn. `usage` is that of the turn; cost and `model_usage` add up over the session."""

    always = frozenset(
        {
            "is_error",
            "duration_ms",
            "duration_api_ms",
            "num_turns",
            "stop_reason",
            "total_cost_usd",
            "usage",
            "modelUsage",
            "permission_denials",
            "fast_mode_state",
            "queued_turn_count",
            "safety_stops",
            "model_usage_since_last_result",
        }
    )
    type: str = "result"
    subtype: str = ""
    reported_is_error: bool | None = msgspec.field(default=None, name="is_error")
    result: str | None = None
    reported_errors: list[str] = msgspec.field(default_factory=list[str], name="errors")
    error: str | None = None
    terminal_reason: str = ""
    stop_reason: str | None = None
    num_turns: int = 0
    duration_ms: Number = 0
    duration_api_ms: Number = 0
    total_cost_usd: Number = 0
    usage: Usage | None = None
    model_usage: dict[str, ModelUsage] = msgspec.field(default_factory=dict[str, ModelUsage], name="modelUsage")
    model_usage_since_last_result: dict[str, ModelUsage] = msgspec.field(default_factory=dict[str, ModelUsage])
    permission_denials: list[PermissionDenial] = msgspec.field(default_factory=list[PermissionDenial])
    structured_output: Any = None
    deferred_tool_use: DeferredToolUse | None = None
    local_command: str | None = None
    origin: Origin | None = None
    user_message_uuid: str = ""
    user_message_uuids: list[str] = msgspec.field(default_factory=list[str])
    resume_reason: str = ""
    result_index: int | None = None
    queued_turn_count: int = 0
    api_error_status: int | None = None
    api_error_type: str = ""
    api_error: str = ""
    startup_failure_reason: str = ""
    invalid_config_file: str = ""
    subagent_stats: SubagentStats | None = None
    safety_stops: int = 0
    fast_mode_state: str = ""
    fast_mode_disabled_reason: str = ""
    credential_expires_at: Any = None
    parent_tool_use_id: str | None = None
    ttft_ms: Number | None = None
    ttft_stream_ms: Number | None = None
    time_to_request_ms: Number | None = None
    time_to_request_from_spawn_ms: Number | None = None
    time_origin_ms: Number | None = None
    request_sent_wall_ms: Number | None = None
    first_content_frame_ms: Number | None = None
    first_request_input_tokens: int | None = None
    first_request_cache_read_input_tokens: int | None = None
    warm_spare_claimed: bool = False
    first_stream_post_ms: Number | None = None
    first_stream_post_ack_ms: Number | None = None
    first_stream_post_queue_wait_ms: Number | None = None
    first_stream_post_queued_behind: Number | None = None
    first_stream_post_wall_ms: Number | None = None
    first_text_post_ms: Number | None = None
    first_text_post_queue_wait_ms: Number | None = None
    first_text_post_queued_behind: Number | None = None
    first_text_post_wall_ms: Number | None = None

    @property
    def is_error(self) -> bool:
        """Whether the turn failed. Without the field, as from older CLIs, the subtype or `error` decides."""
        if self.reported_is_error is None:
            return self.subtype.startswith("error") or bool(self.error)
        return self.reported_is_error

    @property
    def errors(self) -> list[str]:
        """The error texts; the single `error` of older CLIs is read too."""
        return self.reported_errors or ([self.error] if self.error else [])

    @property
    def text(self) -> str:
        """The answer, or the error texts."""
        return "\n".join(self.errors) if self.result is None else self.result
