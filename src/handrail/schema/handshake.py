"""The handshake: the `initialize` request and its answer.

They are apart from the other control requests because every program needs them first, and most need few of the others.
"""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.schema.control_view import AnswerView, RequestView
from handrail.schema.view import Part

__all__ = ["Account", "Agent", "InitializeAnswer", "InitializeRequest", "Model", "SlashCommand"]


class InitializeRequest(RequestView, rename="camel"):
    """The handshake, with the client's options. It is optional, and precedes the first prompt."""

    subtype: str = "initialize"
    hooks: dict[str, Any] | None = None
    sdk_mcp_servers: list[str] = msgspec.field(default_factory=list[str])
    sdk_mcp_server_configs: dict[str, Any] | None = None
    sdk_mcp_server_manifests: dict[str, Any] | None = None
    sdk_mcp_server_manifests_origin: str = ""
    json_schema: dict[str, Any] | None = None
    system_prompt: list[str] | str | None = None
    append_system_prompt: str | None = None
    system_prompt_snapshot: Any = None
    plan_mode_instructions: str | None = None
    tool_aliases: dict[str, Any] | None = None
    exclude_dynamic_sections: bool = False
    managed_settings: dict[str, Any] | str | None = None
    agents: dict[str, Any] | None = None
    title: str | None = None
    skills: Any = None
    prompt_suggestions: bool = False
    agent_progress_summaries: bool = False
    forward_subagent_text: bool = False
    supported_dialog_kinds: list[str] = msgspec.field(default_factory=list[str])
    per_task_stop_affordance: bool = False
    plugins: list[Any] = msgspec.field(default_factory=list[Any])


class SlashCommand(Part):
    """A slash command or a skill."""

    always = frozenset({"name", "description", "argumentHint"})
    name: str = ""
    description: str = ""
    argument_hint: Any = msgspec.field(default="", name="argumentHint")
    aliases: list[str] = msgspec.field(default_factory=list[str])
    builtin: bool = False


class Agent(Part):
    """An agent that can be started as a subagent."""

    always = frozenset({"name", "description"})
    name: str = ""
    description: str = ""
    model: str = ""


class Model(Part, rename="camel"):
    """A model to choose."""

    value: str = ""
    resolved_model: str = ""
    display_name: str = ""
    description: str = ""
    supports_effort: bool = False
    supported_effort_levels: list[str] = msgspec.field(default_factory=list[str])
    supports_adaptive_thinking: bool = False
    supports_fast_mode: bool = False
    supports_auto_mode: bool = False
    supports_thinking_off: bool = False


class Account(Part, rename="camel"):
    """The account, as far as the CLI reports it."""

    email: str = ""
    organization: str = ""
    subscription_type: str = ""
    token_source: str = ""
    api_key_source: str = ""
    api_provider: str = ""


class InitializeAnswer(AnswerView):
    """What the CLI can do."""

    always = frozenset(
        {
            "commands",
            "agents",
            "models",
            "output_style",
            "available_output_styles",
            "user_output_styles_dir",
            "claude_code_version",
            "current_permission_mode",
            "session_state",
            "capabilities",
            "hook_on_failure_supported",
            "fast_mode_state",
            "analytics_disabled",
        }
    )
    commands: list[SlashCommand] = msgspec.field(default_factory=list[SlashCommand])
    agents: list[Agent] = msgspec.field(default_factory=list[Agent])
    models: list[Model] = msgspec.field(default_factory=list[Model])
    account: Account | None = None
    output_style: str = ""
    available_output_styles: list[str] = msgspec.field(default_factory=list[str])
    user_output_styles_dir: str = ""
    pid: int | None = None
    claude_code_version: str = ""
    current_permission_mode: str = ""
    session_state: str = ""
    capabilities: list[str] = msgspec.field(default_factory=list[str])
    hooks_applied: bool | None = None
    hook_on_failure_supported: bool = False
    plugins_applied: bool | None = None
    sdk_mcp_manifests_parked: dict[str, str] | None = None
    fast_mode_state: str = ""
    fast_mode_disabled_reason: str = ""
    analytics_disabled: bool = False
    feedback_mode: Any = None
    ide_rc_auto_enable_gate: Any = None
    other_hook_ask_outranks_host: Any = None
    remote_control_auto_connect_default: Any = None
    remote_control_auto_enable: Any = None
    remote_control_auto_on_by_default: Any = None
    remote_control_available: Any = None
