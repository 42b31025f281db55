"""Control requests of the host, answered for an ACP agent. Requests without a handler are refused."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from handrail.acp.agents.agent_process import AgentError
from handrail.agent.arguments import VERSION
from handrail.agent.controls.table import INVALID, Answered, control
from handrail.connection.router import Refusal
from handrail.permissions.modes import MODES
from handrail.schema import agent_answers as answers
from handrail.schema.activity_messages import CommandLifecycleMessage
from handrail.schema.handshake import Account, InitializeAnswer
from handrail.schema.system_messages import StatusMessage

if TYPE_CHECKING:
    from handrail.acp.agents.brain import AcpBrain

__all__ = ["AcpControls"]

JsonObject = dict[str, Any]
_CANNOT: Final[Mapping[str, str]] = {
    "hooks": "hooks do not run in ACP agents",
    "sdkMcpServers": "ACP agents cannot reach MCP servers that run in the host; use --mcp-config",
    "jsonSchema": "ACP lacks structured output",
    "agents": "ACP lacks subagents of the host",
    "plugins": "ACP agents load no plugins of the host",
    "skills": "ACP lacks a choice of skills",
    "toolAliases": "ACP agents choose their tools themselves",
    "planModeInstructions": "ACP lacks instructions for a mode",
    "managedSettings": "give policies with --managed-settings",
}
"""Fields of `initialize` that ask for something that ACP lacks; they are refused."""
_WITHOUT_EFFECT: Final = frozenset(
    "forwardSubagentText promptSuggestions agentProgressSummaries excludeDynamicSections systemPromptSnapshot".split()
)
"""Fields of `initialize` that only ask for more lines; a notice on stderr says that they are ignored."""


class AcpControls:
    """Answers them."""

    def __init__(self, brain: AcpBrain) -> None:
        self._brain = brain

    @control("initialize")
    async def initialize(self, fields: JsonObject) -> Answered:
        brain = self._brain
        self._use(fields)
        brain.initialized()
        try:
            await brain.ready()
        except AgentError as error:
            raise Refusal(f"initialize: {error}") from None
        await brain.wait_for_commands()
        pending = {
            "pending_permission_requests": brain.host.unanswered("can_use_tool"),
            "pending_user_dialog_requests": [],
        }
        state = InitializeAnswer(
            commands=brain.choices.commands,
            models=brain.choices.listed_models(),
            account=Account(token_source="none", api_key_source="none"),  # noqa: S106 - a word of the wire
            output_style="default",
            available_output_styles=["default"],
            pid=os.getpid(),
            claude_code_version=VERSION,
            current_permission_mode=brain.mode,
            fast_mode_state="off",
            session_state="running" if brain.is_running else "idle",
        )
        return Answered(state, pending)

    def _use(self, fields: JsonObject) -> None:
        """Apply the fields of the handshake. Raises Refusal."""
        brain = self._brain
        for name, why in _CANNOT.items():
            if fields.get(name):
                raise Refusal(f"initialize: {name} is not supported by handrail-acp: {why}", INVALID)
        for name in sorted(_WITHOUT_EFFECT & fields.keys()):
            if fields[name]:
                print(f"initialize: {name} is not supported by ACP agents and was ignored", file=sys.stderr, flush=True)
        prompt = _joined(fields.get("systemPrompt"))
        append = _joined(fields.get("appendSystemPrompt"))
        if (prompt or append) and brain.is_open:
            raise Refusal("initialize: a system prompt must come before the first prompt", INVALID)
        if prompt:
            brain.session.system_prompt = prompt
        if append:
            brain.session.append_system_prompt = append
        if (title := _joined(fields.get("title")).strip()) and not brain.session.title:
            brain.session.title = title

    @control("interrupt")
    async def interrupt(self, fields: JsonObject) -> Answered:
        brain = self._brain
        cancelled = brain.queue.clear() if fields.get("cancel_queued") is True else []
        for uuid in cancelled:
            await brain.speaker.send(CommandLifecycleMessage(command_uuid=uuid, state="cancelled"))
        answer = answers.InterruptAnswer(still_queued=brain.queue.uuids(), cancelled=cancelled)
        return Answered(answer, then=brain.interrupt)

    @control("cancel_async_message")
    async def cancel_message(self, fields: JsonObject) -> answers.CancelAsyncMessageAnswer:
        uuid = str(fields.get("message_uuid") or fields.get("uuid") or "")
        cancelled = self._brain.queue.cancel(uuid)
        if cancelled:
            await self._brain.speaker.send(CommandLifecycleMessage(command_uuid=uuid, state="cancelled"))
        return answers.CancelAsyncMessageAnswer(cancelled=cancelled)

    @control("set_model")
    async def set_model(self, fields: JsonObject) -> answers.SetModelAnswer:
        model = fields.get("model")
        if not isinstance(model, str) or not model.strip():
            raise Refusal("set_model: name one of the models of the agent", INVALID)
        try:
            await self._brain.ready()
            await self._brain.choose_model(model)
        except AgentError as error:
            raise Refusal(f"set_model: {error}", INVALID) from None
        return answers.SetModelAnswer(model=self._brain.model)

    @control("set_permission_mode")
    async def set_mode(self, fields: JsonObject) -> answers.SetPermissionModeAnswer:
        mode, brain = fields.get("mode"), self._brain
        if mode == "bypassPermissions" and not brain.session.circumstances.bypass_available:
            raise Refusal(
                "Cannot set permission mode to bypassPermissions because the session was not launched with"
                " --dangerously-skip-permissions",
                "bypass_not_launched",
            )
        try:
            await brain.ready()
            await brain.choose_mode(str(mode))
        except AgentError as error:
            code = "" if mode in MODES else "invalid_mode"
            raise Refusal(f"set_permission_mode: {error}", code) from None
        await brain.speaker.send(StatusMessage(permission_mode=brain.mode))
        return answers.SetPermissionModeAnswer(mode=brain.mode)

    @control("get_settings")
    async def settings(self, fields: JsonObject) -> answers.SettingsAnswer:
        session = self._brain.session
        files = [file for file in session.loaded.files if file.values]
        return answers.SettingsAnswer(
            effective=dict(session.settings.values),
            sources=[{"source": file.place.scope, "settings": dict(file.values)} for file in files],
            errors=[answers.SettingsError(file=one.path, message=one.text) for one in session.settings.problems],
        )

    @control("get_context_usage")
    async def context_usage(self, fields: JsonObject) -> answers.ContextUsageAnswer:
        usage, name = self._brain.usage, self._brain.agent.name
        if not usage.window:
            raise Refusal(f"get_context_usage: {name} has not reported the size of its context")
        free = max(usage.window - usage.used, 0)
        return answers.ContextUsageAnswer(
            categories=[
                answers.ContextCategory(id="used", name="Used", tokens=usage.used, color="blue", kind="used"),
                answers.ContextCategory(id="free_space", name="Free space", tokens=free, color="gray", kind="free"),
            ],
            total_tokens=usage.used,
            max_tokens=usage.window,
            raw_max_tokens=usage.window,
            percentage=round(100 * usage.used / usage.window),
            model=self._brain.model,
        )

    @control("get_binary_version")
    async def binary_version(self, fields: JsonObject) -> answers.BinaryVersionAnswer:
        return answers.BinaryVersionAnswer(version=VERSION)

    @control("list_models")
    async def list_models(self, fields: JsonObject) -> answers.ModelsAnswer:
        try:
            await self._brain.ready()
        except AgentError as error:
            raise Refusal(f"list_models: {error}") from None
        return answers.ModelsAnswer(models=self._brain.choices.listed_models())

    @control("mcp_status")
    async def mcp_status(self, fields: JsonObject) -> answers.McpStatusAnswer:
        """Agents connect to their servers themselves and report nothing about them."""
        return answers.McpStatusAnswer()

    @control("rename_session")
    async def rename(self, fields: JsonObject) -> None:
        title = str(fields.get("title") or "").strip()
        if not title:
            raise Refusal("rename_session: title must be a text", INVALID)
        brain = self._brain
        brain.session.title = title
        if brain.agent_session:
            brain.store()
        await brain.speaker.system("session_title_changed", title=title, source=str(fields.get("source") or "host"))

    @control("end_session")
    async def end_session(self, fields: JsonObject) -> Answered:
        return Answered(then=lambda: self._brain.host.stop(0))


def _joined(given: Any) -> str:
    """A text, or a list of them."""
    if isinstance(given, list):
        return "\n\n".join(part for part in given if isinstance(part, str) and part)  # pyright: ignore[reportUnknownVariableType]
    return given if isinstance(given, str) else ""
