"""One session of an editor: its messages sent as updates, its questions asked in the editor."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec

from handrail.acp.editors.base import SourceSession
from handrail.acp.editors.prompt import prompt_blocks
from handrail.acp.editors.questions import Questions
from handrail.acp.editors.tool_calls import shown_call
from handrail.acp.editors.updates import Shows, Updates, shown_commands
from handrail.acp.rpc import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from handrail.bridge_client.base import Unreachable
from handrail.client.callbacks import PermissionRequest
from handrail.client.errors import HandrailError, TurnCancelled
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
BUFFER_SECONDS: Final = 5.0
"""How long an editor may take to return a buffer. A tool waits for it."""
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

    @property
    def has_buffers(self) -> bool: ...

    @property
    def shows(self) -> Shows: ...


class _Prompt:
    """A prompt of the editor that has not ended."""

    is_cancelled = False


class EditorSession:
    """A session that an editor opens. It listens to the session behind it, once `bind` has named that.

    Updates of a session whose id the editor does not know yet are held until `announce`.
    """

    def __init__(self, editor: Editor, session_id: str, cwd: str) -> None:
        self.id = session_id
        self._editor = editor
        self._cwd = cwd
        self._updates = Updates(cwd, shows=editor.shows)
        self._held: list[acp.SessionUpdate] | None = None if session_id else []
        self._behind: SourceSession | None = None
        self._prompts: list[_Prompt] = []
        questions = Questions(self._selected, self._elicit if editor.has_forms else None)
        self.permission, self.plan, self.elicitation = questions.permission, questions.plan, questions.elicitation

    def bind(self, session: SourceSession) -> None:
        """Use this session."""
        self.id, self._behind = session.id, session
        self._updates.mode = session.mode

    @property
    def _session(self) -> SourceSession:
        if self._behind is None:
            raise RpcError(INVALID_PARAMS, f"the session {self.id!r} is being opened")
        return self._behind

    async def close(self) -> None:
        """The editor has closed it."""
        if self._behind is not None:
            await self._behind.close()

    @property
    def modes(self) -> acp.SessionModeState:
        """The permission modes, and the one in force."""
        session = self._session
        offered = [mode for mode in MODES if mode.id != "bypassPermissions" or session.may_bypass]
        return acp.SessionModeState(current_mode_id=self._updates.mode, available_modes=offered)

    @property
    def config_options(self) -> list[acp.SessionConfigOption]:
        """What else can be chosen: the model, where the CLI offers several."""
        session = self._session
        if not session.models:
            return []
        choices = [
            acp.SessionConfigSelectOption(
                value=model.value, name=model.display_name or model.value, description=model.description or None
            )
            for model in session.models
        ]
        current = [model.value for model in session.models if session.model in (model.value, model.resolved_model)]
        return [
            acp.SessionConfigOption(
                id="model",
                name="Model",
                category="model",
                type="select",
                current_value=current[0] if current else choices[0].value,
                options=choices,
            )
        ]

    async def announce(self) -> None:
        """The editor knows the session now: send the slash commands and what was held."""
        await self._editor.update(
            self.id, acp.AvailableCommandsUpdate(available_commands=shown_commands(self._session.commands))
        )
        while self._held:
            await self._editor.update(self.id, self._held.pop(0))
        self._held = None

    # Requests of the editor

    async def prompt(self, blocks: Sequence[acp.ContentBlock]) -> acp.PromptResponse:
        """Run a turn and wait for its end. Raises RpcError."""
        asked = _Prompt()
        self._prompts.append(asked)
        try:
            result = await self._session.prompt(prompt_blocks(blocks))
        except TurnCancelled:
            return acp.PromptResponse(stop_reason="cancelled")
        except RpcError:
            raise
        except HandrailError as error:
            if asked.is_cancelled and not isinstance(error, Unreachable):
                return acp.PromptResponse(stop_reason="cancelled")
            raise RpcError(INTERNAL_ERROR, str(error)) from error
        finally:
            self._prompts.remove(asked)
        reason = "cancelled" if asked.is_cancelled else _stop_reason(result)
        return acp.PromptResponse(stop_reason=reason, usage=_usage(result))

    async def cancel(self) -> None:
        """Interrupt the turn, and drop what is queued. Without a prompt of this editor nothing happens."""
        if not self._prompts:
            return
        for asked in self._prompts:
            asked.is_cancelled = True
        try:
            await self._session.interrupt()
        except HandrailError:
            return  # the session has ended, and the prompt with it

    async def set_mode(self, mode: str) -> None:
        """Change the permission mode. Raises RpcError."""
        if mode not in [known.id for known in self.modes.available_modes]:
            raise RpcError(INVALID_PARAMS, f"the mode {mode!r} is not one of those that the session offers")
        await self._controlled(self._session.set_permission_mode(mode))
        self._updates.mode = mode

    async def set_config_option(self, option: str, value: Any) -> None:
        """Change a configuration option. Raises RpcError."""
        offered = {choice.id: [one.value for one in choice.options] for choice in self.config_options}
        if option not in offered or not isinstance(value, str):
            raise RpcError(INVALID_PARAMS, f"unknown configuration option {option!r}, or a value that is not text")
        if value not in offered[option]:
            raise RpcError(INVALID_PARAMS, f"the model {value!r} is not one of those that the session offers")
        await self._controlled(self._session.set_model(value))

    async def _controlled(self, doing: Awaitable[object]) -> None:
        try:
            await doing
        except RpcError:
            raise
        except HandrailError as error:
            raise RpcError(INTERNAL_ERROR, str(error)) from error

    # What happens in the session

    async def received(self, message: MessageView, *, stored: bool) -> None:
        """Send a message of the session as updates."""
        for update in self._updates.of_history(message) if stored else self._updates.of(message):
            await self._update(update)
        if isinstance(message, ResultMessage):
            for update in self._updates.unfinished():
                await self._update(update)

    async def changed(self, *, mode: str = "", model: str = "", title: str = "") -> None:
        """Send a setting that another client changed."""
        for update in self._updates.mode_changed(mode or self._updates.mode):
            await self._update(update)
        if title:
            await self._update(acp.SessionInfoUpdate(title=title))
        if model and self._behind is not None:
            await self._update(acp.ConfigOptionUpdate(config_options=self.config_options))

    @property
    def has_buffers(self) -> bool:
        """Whether the editor tells what it has of a file."""
        return self._editor.has_buffers

    async def buffer(self, path: str) -> str | None:
        """The text that the editor has of a file; None if it does not answer."""
        asked = acp.ReadTextFileRequest(session_id=self.id, path=path)
        try:
            async with asyncio.timeout(BUFFER_SECONDS):
                answer = await self._editor.request("fs/read_text_file", asked)
        except (RpcError, TimeoutError):
            return None
        found = _answer(acp.ReadTextFileResponse, answer)
        return None if found is None else found.content

    async def _update(self, update: acp.SessionUpdate) -> None:
        if self._held is not None:
            self._held.append(update)
        else:
            await self._editor.update(self.id, update)

    async def _selected(self, request: PermissionRequest, options: list[acp.PermissionOption]) -> str | None:
        call = ToolUseBlock(id=request.tool_use_id, name=request.tool_name, input=request.input)
        for update in self._updates.announce(call):
            await self._update(update)
        shown = shown_call(request.tool_name, request.input, self._cwd)
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


def _stop_reason(result: ResultMessage) -> acp.StopReason:
    """How a turn ended, in the words of the protocol. Raises RpcError if it failed."""
    for reason in (result.terminal_reason or "", result.subtype, result.stop_reason or ""):
        if reason in _STOP_REASONS:
            return _STOP_REASONS[reason]
    if result.is_error:
        signed_out = result.api_error_status in (401, 403)
        raise RpcError(AUTH_REQUIRED if signed_out else INTERNAL_ERROR, result.text or result.subtype)
    return "end_turn"


def _usage(result: ResultMessage) -> acp.Usage | None:
    """The tokens of a turn."""
    used = result.usage
    if used is None:
        return None
    read, written = used.cache_read_input_tokens or 0, used.cache_creation_input_tokens or 0
    return acp.Usage(
        total_tokens=used.input_tokens + used.output_tokens + read + written,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cached_read_tokens=read,
        cached_write_tokens=written,
    )
