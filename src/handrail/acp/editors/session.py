"""One session of an editor: a session of the SDK, its messages sent as updates, its questions asked in the editor."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec

from handrail.acp.editors.prompt import prompt_blocks
from handrail.acp.editors.questions import Questions
from handrail.acp.editors.tool_calls import shown_call
from handrail.acp.editors.updates import Updates, shown_commands
from handrail.acp.rpc import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from handrail.client.callbacks import PermissionRequest
from handrail.client.errors import HandrailError
from handrail.client.options import Options
from handrail.client.session import Session
from handrail.client.turn import TurnResult
from handrail.schema.acp import messages as acp
from handrail.schema.content import ToolUseBlock
from handrail.schema.message_view import MessageView
from handrail.schema.result_message import ResultMessage

__all__ = ["Editor", "EditorSession"]

MODES: Final = (
    acp.SessionMode(id="default", name="Ask", description="Asks before it changes files or runs commands"),
    acp.SessionMode(id="acceptEdits", name="Accept edits", description="Edits files without asking"),
    acp.SessionMode(id="plan", name="Plan", description="Explores and makes a plan; changes nothing"),
    acp.SessionMode(id="dontAsk", name="Don't ask", description="Refuses what no rule allows, without asking"),
    acp.SessionMode(id="bypassPermissions", name="Bypass permissions", description="Runs everything without asking"),
)
AUTH_REQUIRED: Final = -32000
PERMISSION: Final = "session/request_permission"
T = TypeVar("T")
_STOP_REASONS: Final[dict[str, acp.StopReason]] = {
    "error_max_turns": "max_turn_requests",
    "max_turns": "max_turn_requests",
    "refusal": "refusal",
    "max_tokens": "max_tokens",
    "aborted_streaming": "cancelled",
    "aborted_tools": "cancelled",
}


class Editor(Protocol):
    """What a session needs of the connection to the editor."""

    async def update(self, session_id: str, update: acp.SessionUpdate) -> None: ...

    async def request(self, method: str, params: Any) -> Any: ...

    @property
    def has_forms(self) -> bool: ...


class EditorSession:
    """A session that an editor opened."""

    def __init__(self, editor: Editor, options: Options, cwd: str) -> None:
        self.cwd = cwd
        self._editor = editor
        self._updates = Updates(cwd)
        questions = Questions(self._selected, self._elicit if editor.has_forms else None)
        self.session = Session(
            options.replace(
                cwd=cwd,
                include_partial_messages=True,
                can_use_tool=questions.permission,
                approve_plan=questions.plan,
                on_elicitation=questions.elicitation,
            )
        )
        self.id = self.session.id
        self._pump: asyncio.Task[None] | None = None
        self._sent: deque[str] = deque(maxlen=64)
        """The newest results up to which everything was sent to the editor."""
        self._sent_more = asyncio.Condition()
        self._ended = False
        self._cancelled = False
        self._model = "default"

    async def start(self) -> None:
        """Start the CLI. Raises RpcError."""
        try:
            await self.session.start()
            messages = self.session.messages()
            info = await self.session.ready()
        except HandrailError as error:
            raise RpcError(INTERNAL_ERROR, f"the session could not be started: {error}") from error
        self._updates.mode = info.current_permission_mode or "default"
        self._pump = asyncio.create_task(self._send_updates(messages))

    async def close(self) -> None:
        """End the CLI."""
        await self.session.close()
        if self._pump is not None:
            await asyncio.wait([self._pump])

    @property
    def modes(self) -> acp.SessionModeState:
        """The permission modes, and the one in force."""
        dangerous = self.session.options.allow_dangerously_skip_permissions
        offered = [mode for mode in MODES if mode.id != "bypassPermissions" or dangerous]
        return acp.SessionModeState(current_mode_id=self._updates.mode, available_modes=offered)

    @property
    def config_options(self) -> list[acp.SessionConfigOption]:
        """What else can be chosen: the model, where the CLI offers several."""
        info = self.session.server_info
        models = info.models if info is not None else []
        if not models:
            return []
        choices = [
            acp.SessionConfigSelectOption(
                value=model.value, name=model.display_name or model.value, description=model.description or None
            )
            for model in models
        ]
        current = self._model if any(choice.value == self._model for choice in choices) else choices[0].value
        return [
            acp.SessionConfigOption(
                id="model", name="Model", category="model", type="select", current_value=current, options=choices
            )
        ]

    async def offer_commands(self) -> None:
        """Send the slash commands to the editor."""
        commands = shown_commands(self.session.commands)
        await self._editor.update(self.id, acp.AvailableCommandsUpdate(available_commands=commands))

    async def replay(self, history: Sequence[MessageView]) -> None:
        """Send a stored conversation to the editor."""
        for message in history:
            for update in self._updates.of_history(message):
                await self._editor.update(self.id, update)

    # Requests of the editor

    async def prompt(self, blocks: Sequence[acp.ContentBlock]) -> acp.PromptResponse:
        """Run a turn and wait for its end. Raises RpcError."""
        self._cancelled = False
        try:
            turn = await self.session.send(prompt_blocks(blocks))
            result = await turn
        except HandrailError as error:
            if self._cancelled:
                return acp.PromptResponse(stop_reason="cancelled")
            raise RpcError(INTERNAL_ERROR, str(error)) from error
        async with self._sent_more:
            await self._sent_more.wait_for(lambda: self._ended or result.message.uuid in self._sent)
        return acp.PromptResponse(stop_reason=self._stop_reason(result))

    def _stop_reason(self, result: TurnResult) -> acp.StopReason:
        if self._cancelled:
            return "cancelled"
        for reason in (result.reason, result.message.subtype, result.message.stop_reason or ""):
            if reason in _STOP_REASONS:
                return _STOP_REASONS[reason]
        if result.is_error:
            signed_out = result.message.api_error_status in (401, 403)
            raise RpcError(AUTH_REQUIRED if signed_out else INTERNAL_ERROR, result.text or result.reason)
        return "end_turn"

    async def cancel(self) -> None:
        """Interrupt the turn, and drop what is queued."""
        self._cancelled = True
        try:
            await self.session.interrupt(cancel_queued=True)
        except HandrailError:
            return  # the CLI has ended, and the prompt with it

    async def set_mode(self, mode: str) -> None:
        """Change the permission mode. Raises RpcError."""
        if mode not in [known.id for known in self.modes.available_modes]:
            raise RpcError(INVALID_PARAMS, f"the mode {mode!r} is not one of those that the session offers")
        await self._controlled(self.session.set_permission_mode(mode))
        self._updates.mode = mode

    async def set_config_option(self, option: str, value: Any) -> None:
        """Change a configuration option. Raises RpcError."""
        if option != "model" or not isinstance(value, str):
            raise RpcError(INVALID_PARAMS, f"there is no configuration option {option!r} with such a value")
        if value not in [choice.value for choice in self.config_options[0].options]:
            raise RpcError(INVALID_PARAMS, f"the model {value!r} is not one of those that the session offers")
        await self._controlled(self.session.set_model(value))
        self._model = value

    async def _controlled(self, doing: Awaitable[Any]) -> None:
        try:
            await doing
        except HandrailError as error:
            raise RpcError(INTERNAL_ERROR, str(error)) from error

    # What the CLI sends

    async def _send_updates(self, messages: Any) -> None:
        try:
            async for message in messages:
                for update in self._updates.of(message):
                    await self._editor.update(self.id, update)
                if isinstance(message, ResultMessage):
                    for update in self._updates.unfinished():
                        await self._editor.update(self.id, update)
                    await self._note(message.uuid)
        finally:
            self._ended = True
            await self._note("")

    async def _note(self, result: str) -> None:
        """Let the prompts know that everything up to a result was sent, or that nothing more will be."""
        async with self._sent_more:
            self._sent.append(result)
            self._sent_more.notify_all()

    async def _selected(self, request: PermissionRequest, options: list[acp.PermissionOption]) -> str | None:
        call = ToolUseBlock(id=request.tool_use_id, name=request.tool_name, input=request.input)
        for update in self._updates.announce(call):
            await self._editor.update(self.id, update)
        shown = shown_call(request.tool_name, request.input, self.cwd)
        title = request.questions[0].question if request.questions else shown.title
        asked = acp.ToolCallUpdate(
            tool_call_id=request.tool_use_id,
            title=title,
            kind=shown.kind,
            content=shown.content or None,
            locations=shown.locations or None,
            raw_input=request.input,
        )
        params = acp.RequestPermissionRequest(session_id=self.id, tool_call=asked, options=options)
        answer = _answer(acp.RequestPermissionResponse, await self._editor.request(PERMISSION, params))
        outcome = answer.outcome if answer is not None else None
        return outcome.option_id if isinstance(outcome, acp.SelectedPermissionOutcome) else None

    async def _elicit(self, params: dict[str, Any]) -> acp.CreateElicitationResponse:
        answer = await self._editor.request("elicitation/create", {"sessionId": self.id, **params})
        return _answer(acp.CreateElicitationResponse, answer) or acp.CreateElicitationResponse(action="cancel")


def _answer(type: type[T], answer: Any) -> T | None:
    """An answer of the editor; None if it is not what the protocol says."""
    try:
        return msgspec.convert(answer, type)
    except msgspec.ValidationError:
        return None
