"""ClaudeSDKClient: a conversation with one CLI process."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast

from handrail.claude_agent_sdk.errors import CLIConnectionError, shim_errors
from handrail.claude_agent_sdk.link import Link, user_line
from handrail.claude_agent_sdk.loops import CallerLoop, caller_loop
from handrail.claude_agent_sdk.messages import Message, ResultMessage
from handrail.claude_agent_sdk.options import ClaudeAgentOptions
from handrail.claude_agent_sdk.queries import send_each
from handrail.claude_agent_sdk.transport import Transport
from handrail.client.session import Session
from handrail.schema.view import read_json

if TYPE_CHECKING:
    from handrail.claude_agent_sdk.context_usage import ContextUsageResponse
    from handrail.claude_agent_sdk.mcp_configs import McpStatusResponse
    from handrail.claude_agent_sdk.permissions import PermissionMode

__all__ = ["ClaudeSDKClient"]

T = TypeVar("T")


class ClaudeSDKClient:
    """A conversation. Use it with `async with`, or with `connect` and `disconnect`, in one event loop.

    Methods raise CLIConnectionError before `connect`. A control request that the CLI refuses raises an error that is
    both a ClaudeSDKError and a `handrail.ControlRefused`; one that it does not answer, a `handrail.ControlTimeout`.
    """

    def __init__(self, options: ClaudeAgentOptions | None = None, transport: Transport | None = None) -> None:
        self.options = options or ClaudeAgentOptions()
        self._transport = transport
        self._link: Link | None = None
        self._caller: CallerLoop | None = None

    @property
    def other_messages(self) -> deque[dict[str, Any]]:
        """Frames of types without a class, such as `tool_progress`; the newest 1000."""
        return self._link.others if self._link is not None else deque()

    async def connect(self, prompt: str | AsyncIterable[dict[str, Any]] | None = None) -> None:
        """Start the CLI and send the prompt, if any. Prompts of an iterable are sent in the background.

        After the last prompt of an iterable the input of the CLI is closed; otherwise it stays open until `disconnect`.
        """
        await self.disconnect()
        caller = caller_loop()
        link = Link(self.options, self._transport, caller)
        try:
            await caller.run(link.start)
        except BaseException:
            await caller.finish(link.close)
            raise
        self._link, self._caller = link, caller
        if isinstance(prompt, str):
            await self.query(prompt, session_id="")
        elif prompt is not None:
            caller.spawn(lambda: send_each(prompt, link, caller))

    async def receive_messages(self) -> AsyncIterator[Message]:
        """The messages, until the CLI exits. Raises ProcessError or ResultError if it exits with an error."""
        ready = self._connected()[0].ready
        while await self._has_message():
            while ready:
                yield ready.popleft()

    async def receive_response(self) -> AsyncIterator[Message]:
        """The messages up to and including the next ResultMessage."""
        ready = self._connected()[0].ready
        while await self._has_message():
            while ready:
                yield (message := ready.popleft())
                if isinstance(message, ResultMessage):
                    return

    async def _has_message(self) -> bool:
        """Wait for a message; False at the end."""
        link, caller = self._connected()
        if not link.ready and not link.ended:
            await caller.run(link.fill)
        return bool(link.ready)

    async def query(self, prompt: str | AsyncIterable[dict[str, Any]], session_id: str = "default") -> None:
        """Send a prompt, or each prompt of an iterable. A prompt without a `session_id` gets this one."""
        link, caller = self._connected()
        if isinstance(prompt, str):
            return await caller.run(link.send, user_line(prompt, session_id, self.options))
        async for line in prompt:
            await caller.run(link.send, {"session_id": session_id, **line})

    async def interrupt(self) -> None:
        """Stop the running turn."""
        await self._control(Session.interrupt)

    async def set_permission_mode(self, mode: PermissionMode) -> None:
        """Change the permission mode."""
        await self._control(Session.set_permission_mode, mode)

    async def set_model(self, model: str | None = None) -> None:
        """Change the model from the next request on; None selects the default."""
        await self._control(Session.set_model, model)

    async def rewind_files(self, user_message_id: str) -> None:
        """Restore the files as they were at a user message. Needs `enable_file_checkpointing`.

        Raises an error that is also a `handrail.RewindRefused` if the CLI cannot do it.
        """
        await self._control(Session.rewind_files, user_message_id)

    async def reconnect_mcp_server(self, server_name: str) -> None:
        """Reconnect an MCP server."""
        await self._control(Session.mcp_reconnect, server_name)

    async def toggle_mcp_server(self, server_name: str, enabled: bool) -> None:  # noqa: FBT001
        """Enable or disable an MCP server."""

        async def toggle(session: Session) -> None:
            await session.mcp_toggle(server_name, enabled=enabled)

        await self._control(toggle)

    async def stop_task(self, task_id: str) -> None:
        """End a background task."""
        await self._control(Session.stop_task, task_id)

    async def get_mcp_status(self) -> McpStatusResponse:
        """The status of each MCP server."""
        return cast("McpStatusResponse", await self._control(Session.control, "mcp_status"))

    async def get_context_usage(self) -> ContextUsageResponse:
        """The use of the context window."""
        return cast("ContextUsageResponse", await self._control(Session.control, "get_context_usage"))

    async def get_server_info(self) -> dict[str, Any] | None:
        """The answer of the CLI to the handshake: its commands, models and account."""
        link, _ = self._connected()
        info = link.session.server_info
        return None if info is None else read_json(info.raw)

    async def disconnect(self) -> None:
        """End the conversation and its CLI. Does nothing without one."""
        link, caller, self._link, self._caller = self._link, self._caller, None, None
        if link is not None and caller is not None:
            await caller.finish(link.close)

    async def __aenter__(self) -> ClaudeSDKClient:
        await self.connect()
        return self

    async def __aexit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> bool:
        await self.disconnect()
        return False

    async def _control(self, request: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
        link, caller = self._connected()

        async def send() -> T:
            with shim_errors():
                return await request(link.session, *arguments)

        return await caller.run(send)

    def _connected(self) -> tuple[Link, CallerLoop]:
        if self._link is None or self._caller is None:
            raise CLIConnectionError("Not connected. Call connect() first.")
        return self._link, self._caller
