"""Every control request of the client, with a typed answer.

Each takes `timeout=` in seconds (Options.control_timeout by default) and raises ControlRefused, ControlTimeout,
NotSupported or Disconnected. `control(subtype, **fields)` sends any other request.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from handrail.client.errors import ControlRefused, RewindRefused
from handrail.protocol import Success
from handrail.schema import agent_answers as wire
from handrail.schema.control_view import AnswerView
from handrail.schema.handshake import InitializeAnswer
from handrail.schema.view import ViewError, keep_raw, read_json, read_view

__all__ = ["Controls"]

A = TypeVar("A", bound=AnswerView)
Seconds = float | None
UNSUPPORTED = "unsupported_request"
REWIND_HINT = "(files are kept only with Options(enable_file_checkpointing=True))"


class Controls(ABC):
    """The requests; a session implements `request`."""

    @abstractmethod
    async def request(self, subtype: str, fields: Mapping[str, Any], *, timeout: Seconds = None) -> Success:
        """Send a control request and return its answer as a frame."""

    async def control(self, subtype: str, *, timeout: Seconds = None, **fields: Any) -> dict[str, Any]:
        """Send any control request and return the payload of its answer.

        A payload of another type than object is returned under the key `response`.
        """
        success = await self.request(subtype, fields, timeout=timeout)
        payload: Any = read_json(success.body) if success.body else {}
        return cast("dict[str, Any]", payload) if isinstance(payload, dict) else {"response": payload}

    async def _ask(self, cls: type[A], subtype: str, timeout: Seconds, **fields: Any) -> A:
        given = {name: value for name, value in fields.items() if value is not None}
        return _read(cls, await self.request(subtype, given, timeout=timeout))

    # The turn that runs
    async def interrupt(self, *, cancel_queued: bool = False, timeout: Seconds = None) -> wire.InterruptAnswer:
        """Stop the running turn. The answer lists the messages still queued, and the cancelled ones."""
        return await self._ask(wire.InterruptAnswer, "interrupt", timeout, cancel_queued=cancel_queued or None)

    async def cancel_async_message(
        self, message_uuid: str, *, timeout: Seconds = None
    ) -> wire.CancelAsyncMessageAnswer:
        """Cancel a queued message. The answer says whether it was still queued."""
        return await self._ask(
            wire.CancelAsyncMessageAnswer, "cancel_async_message", timeout, message_uuid=message_uuid
        )

    async def side_question(self, question: str, *, timeout: Seconds = None) -> wire.SideQuestionAnswer:
        """Ask the model outside the conversation, which stays unchanged."""
        return await self._ask(wire.SideQuestionAnswer, "side_question", timeout, question=question)

    # Model, mode, thinking
    async def set_model(self, model: str | None = None, *, timeout: Seconds = None) -> wire.SetModelAnswer:
        """Change the model from the next API call on; None selects the default."""
        return await self._ask(wire.SetModelAnswer, "set_model", timeout, model=model)

    async def set_permission_mode(self, mode: str, *, timeout: Seconds = None) -> wire.SetPermissionModeAnswer:
        """Change the permission mode."""
        return await self._ask(wire.SetPermissionModeAnswer, "set_permission_mode", timeout, mode=mode)

    async def set_max_thinking_tokens(
        self, max_thinking_tokens: int | None, *, thinking_display: str | None = None, timeout: Seconds = None
    ) -> None:
        """Change the thinking budget; None restores the value of the launch."""
        fields: dict[str, Any] = {"max_thinking_tokens": max_thinking_tokens}
        if thinking_display is not None:
            fields["thinking_display"] = thinking_display
        await self.request("set_max_thinking_tokens", fields, timeout=timeout)

    async def list_models(self, *, timeout: Seconds = None) -> wire.ModelsAnswer:
        """The models this session can use."""
        return await self._ask(wire.ModelsAnswer, "list_models", timeout)

    # MCP servers
    async def mcp_status(self, *, timeout: Seconds = None) -> wire.McpStatusAnswer:
        """The status of each MCP server."""
        return await self._ask(wire.McpStatusAnswer, "mcp_status", timeout)

    async def mcp_set_servers(self, servers: Mapping[str, Any], *, timeout: Seconds = None) -> wire.McpSetServersAnswer:
        """Replace the servers that were added at run time."""
        return await self._ask(wire.McpSetServersAnswer, "mcp_set_servers", timeout, servers=dict(servers))

    async def mcp_reconnect(self, server_name: str, *, timeout: Seconds = None) -> None:
        """Reconnect a server."""
        await self.request("mcp_reconnect", {"serverName": server_name}, timeout=timeout)

    async def mcp_toggle(self, server_name: str, *, enabled: bool, timeout: Seconds = None) -> None:
        """Enable or disable a server."""
        await self.request("mcp_toggle", {"serverName": server_name, "enabled": enabled}, timeout=timeout)

    async def mcp_authenticate(
        self,
        server_name: str,
        *,
        redirect_uri: str | None = None,
        redirect_uri_only: bool | None = None,
        timeout: Seconds = None,
    ) -> wire.McpAuthenticateAnswer:
        """Begin to sign in to a server. The user opens `auth_url` of the answer.

        The CLI receives the browser's redirect on its own machine. Where the browser cannot reach that, pass its last
        address to `mcp_oauth_callback_url`. With `redirect_uri` the browser is redirected to an address of yours.
        """
        return await self._ask(
            wire.McpAuthenticateAnswer,
            "mcp_authenticate",
            timeout,
            serverName=server_name,
            redirectUri=redirect_uri,
            redirectUriOnly=redirect_uri_only,
        )

    async def mcp_oauth_callback_url(self, server_name: str, callback_url: str, *, timeout: Seconds = None) -> None:
        """Finish a sign-in with the address to which the browser was redirected. Returns once it is connected."""
        given = {"serverName": server_name, "callbackUrl": callback_url}
        await self.request("mcp_oauth_callback_url", given, timeout=timeout)

    async def mcp_clear_auth(self, server_name: str, *, timeout: Seconds = None) -> None:
        """Delete the tokens of a server."""
        await self.request("mcp_clear_auth", {"serverName": server_name}, timeout=timeout)

    async def mcp_message(
        self, server_name: str, message: Mapping[str, Any], *, timeout: Seconds = None
    ) -> dict[str, Any]:
        """Send a message to the CLI as one of the servers in this process."""
        return await self.control("mcp_message", timeout=timeout, server_name=server_name, message=dict(message))

    async def mcp_call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, timeout: Seconds = None
    ) -> wire.McpCallAnswer:
        """Call a tool of an MCP server without the model."""
        given = dict(arguments) if arguments is not None else None
        return await self._ask(wire.McpCallAnswer, "mcp_call", timeout, tool=tool, arguments=given)

    async def mcp_list_resources(
        self, server_name: str | None = None, *, timeout: Seconds = None
    ) -> wire.McpResourcesAnswer:
        """The resources of one MCP server, or of all connected ones.

        handrail-agent answers this. With another CLI the answer is empty, and `supported` is False.
        """
        try:
            return await self._ask(wire.McpResourcesAnswer, "mcp_list_resources", timeout, serverName=server_name)
        except ControlRefused as refused:
            if refused.code != UNSUPPORTED:
                raise
            return wire.McpResourcesAnswer(supported=False)

    async def mcp_read_resource(
        self, server_name: str, uri: str, *, timeout: Seconds = None
    ) -> wire.McpReadResourceAnswer:
        """Read a resource of an MCP server. The official CLI serves only `ui://` addresses."""
        return await self._ask(
            wire.McpReadResourceAnswer, "mcp_read_resource", timeout, serverName=server_name, uri=uri
        )

    # Files
    async def rewind_files(
        self, user_message_id: str, *, dry_run: bool = False, timeout: Seconds = None
    ) -> wire.RewindFilesAnswer:
        """Restore files to their state before a user message. Raises RewindRefused."""
        fields: dict[str, Any] = {"user_message_id": user_message_id, "dry_run": dry_run or None}
        try:
            answer = await self._ask(wire.RewindFilesAnswer, "rewind_files", timeout, **fields)
        except ControlRefused as refused:
            raise RewindRefused("rewind_files", f"{refused.error} {REWIND_HINT}", refused.code) from None
        if not answer.can_rewind:
            raise RewindRefused("rewind_files", answer.error or "the CLI cannot rewind to this message")
        return answer

    async def read_file(
        self, path: str, *, max_bytes: int | None = None, timeout: Seconds = None
    ) -> wire.ReadFileAnswer:
        """Read a file where the CLI runs."""
        return await self._ask(wire.ReadFileAnswer, "read_file", timeout, path=path, max_bytes=max_bytes)

    async def file_suggestions(self, query: str, *, timeout: Seconds = None) -> wire.FileSuggestionsAnswer:
        """Files whose name matches the query."""
        return await self._ask(wire.FileSuggestionsAnswer, "file_suggestions", timeout, query=query)

    async def seed_read_state(self, path: str, mtime: float, *, timeout: Seconds = None) -> None:
        """Tell the CLI that the model has seen a file as of this time."""
        await self.request("seed_read_state", {"path": path, "mtime": mtime}, timeout=timeout)

    # Tasks
    async def stop_task(self, task_id: str, *, timeout: Seconds = None) -> None:
        """End a background task."""
        await self.request("stop_task", {"task_id": task_id}, timeout=timeout)

    async def background_tasks(
        self, tool_use_id: str | None = None, *, timeout: Seconds = None
    ) -> wire.BackgroundTasksAnswer:
        """Move foreground tasks to the background."""
        return await self._ask(wire.BackgroundTasksAnswer, "background_tasks", timeout, tool_use_id=tool_use_id)

    async def get_task_output(self, task_id: str, *, timeout: Seconds = None) -> wire.TaskOutputAnswer:
        """The output of a background task so far."""
        return await self._ask(wire.TaskOutputAnswer, "get_task_output", timeout, task_id=task_id)

    # What the session knows
    async def get_context_usage(self, *, detail: str | None = None, timeout: Seconds = None) -> wire.ContextUsageAnswer:
        """The use of the context window by category."""
        return await self._ask(wire.ContextUsageAnswer, "get_context_usage", timeout, detail=detail)

    async def get_session_cost(self, *, timeout: Seconds = None) -> wire.SessionCostAnswer:
        """The cost so far, as text."""
        return await self._ask(wire.SessionCostAnswer, "get_session_cost", timeout)

    async def get_usage(self, *, timeout: Seconds = None) -> wire.UsageAnswer:
        """Usage and limits of the account."""
        return await self._ask(wire.UsageAnswer, "get_usage", timeout)

    async def get_binary_version(self, *, timeout: Seconds = None) -> wire.BinaryVersionAnswer:
        """The CLI's version."""
        return await self._ask(wire.BinaryVersionAnswer, "get_binary_version", timeout)

    async def rename_session(self, title: str, *, timeout: Seconds = None) -> None:
        """Give the session a title."""
        await self.request("rename_session", {"title": title}, timeout=timeout)

    async def generate_session_title(
        self, description: str, *, persist: bool = False, timeout: Seconds = None
    ) -> wire.SessionTitleAnswer:
        """Have the model write a title, None if it cannot.

        `persist` makes it the title of the session; a session that has one keeps it, and it is returned.
        """
        fields = {"description": description, "persist": persist or None}
        return await self._ask(wire.SessionTitleAnswer, "generate_session_title", timeout, **fields)

    # Settings
    async def get_settings(self, *, timeout: Seconds = None) -> wire.SettingsAnswer:
        """The settings in force, and where they come from."""
        return await self._ask(wire.SettingsAnswer, "get_settings", timeout)

    async def apply_flag_settings(self, settings: Mapping[str, Any], *, timeout: Seconds = None) -> None:
        """Change settings of this session; null removes a key. Raises ControlRefused for a key without effect."""
        await self.request("apply_flag_settings", {"settings": dict(settings)}, timeout=timeout)

    async def update_settings(self, source: str, settings: Mapping[str, Any], *, timeout: Seconds = None) -> None:
        """Change a settings file."""
        await self.request("update_settings", {"source": source, "settings": dict(settings)}, timeout=timeout)

    async def list_permission_rules(self, *, timeout: Seconds = None) -> wire.PermissionRulesAnswer:
        """The permission rules in force."""
        return await self._ask(wire.PermissionRulesAnswer, "list_permission_rules", timeout)

    async def get_hooks_listing(self, *, timeout: Seconds = None) -> wire.HooksListingAnswer:
        """The hooks in force."""
        return await self._ask(wire.HooksListingAnswer, "get_hooks_listing", timeout)

    async def reload_plugins(self, *, timeout: Seconds = None) -> wire.ReloadPluginsAnswer:
        """Read the plugins again."""
        return await self._ask(wire.ReloadPluginsAnswer, "reload_plugins", timeout)

    async def reload_skills(self, *, timeout: Seconds = None) -> wire.SkillsAnswer:
        """Read the skills again."""
        return await self._ask(wire.SkillsAnswer, "reload_skills", timeout)

    async def reload_output_styles(self, *, timeout: Seconds = None) -> wire.OutputStylesAnswer:
        """Read the output styles again."""
        return await self._ask(wire.OutputStylesAnswer, "reload_output_styles", timeout)

    async def initialize(self, fields: Mapping[str, Any], *, timeout: Seconds = None) -> InitializeAnswer:
        """The handshake; a session sends it when it starts."""
        return _read(InitializeAnswer, await self.request("initialize", fields, timeout=timeout))


def _read(cls: type[A], success: Success) -> A:
    try:
        return read_view(cls, success.body or b"{}")
    except ViewError:  # an answer of a new shape: what does not fit is in its raw bytes
        return keep_raw(cls(), success.body)
