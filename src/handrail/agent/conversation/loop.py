"""Rounds with the model until it has nothing more to do.

One round: send the conversation, receive the answer, run its tool calls. Their results start the next round.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from time import monotonic
from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from handrail.agent.blocks import text_block
from handrail.agent.conversation.answer import Answer
from handrail.agent.conversation.calls import Deferred, repaired_input, run_calls
from handrail.agent.conversation.refused_media import refused_media, without_media
from handrail.agent.conversation.thread import Thread
from handrail.agent.models.base import ModelError, ModelRequest
from handrail.agent.models.retry import (
    ApiFailure,
    api_failure,
    is_invalid_request,
    is_overload,
    is_prompt_too_long,
    is_retried,
    max_retries,
    reduced_output,
    retry_delay,
    retry_word,
)
from handrail.agent.record.usage import COUNTED
from handrail.agent.speaker import synthetic_message
from handrail.agent.tools.base import Tool

__all__ = ["End", "Loop", "request_of"]

JsonObject = dict[str, Any]
_FULL: Final = ApiFailure("Prompt is too long", "invalid_request", "blocking_limit")
_ENDLESS: Final = ApiFailure(
    "API Error: the answer reached the limit of its length several times. Ask for less at once, or set"
    " CLAUDE_CODE_MAX_OUTPUT_TOKENS to a higher number.",
    "max_output_tokens",
    "api_error",
)
_OVERLOADS_BEFORE_FALLBACK: Final = 3
_MOST_INVALID: Final = 5
"""How often a request that the API calls invalid is repeated at once, as CLI 2.1.325 does: gateways differ."""
_MOST_CONTINUATIONS: Final = 3
_MOST_BAD_OUTPUTS: Final = 5
_CUT: Final = "The answer above was cut off while it was sent. Go on exactly where it ends; if nothing is there, begin."
_TOO_LONG: Final = "The answer above reached the limit of its length. Go on exactly where it ends, in smaller pieces."
_NO_CALL: Final = "The answer above announces a tool call, but has none. Call the tool now."
_NO_TEXT: Final = "The answer above has no text, so the user sees nothing. Go on, and say what there is to say."
_TOO_LONG_STOPS: Final = frozenset({"max_tokens", "model_context_window_exceeded"})
_CUT_OFF: Final = "API Error: The connection was lost before the end of the answer. What is above may be incomplete."
_MEDIA_REMOVED: Final = (
    "API Error: the API could not process a {kind} in the conversation, and it was removed. Provide it in another form"
    " if it is still needed."
)
_REFUSED: Final = "The answer above was stopped by a safety check. Do not say it again, not even in other words."
_ASK_FOR_OUTPUT: Final = "The answer must be given by calling the tool StructuredOutput. Call it now."


class End(Struct, frozen=True):
    """Why the rounds ended. `reason` is the `terminal_reason` of a result."""

    reason: str = "completed"
    text: str = ""
    stop_reason: str | None = None
    failure: ApiFailure | None = None


class WindowFull(Exception):
    """The conversation fills the context window, and compaction is turned off."""


async def _nothing() -> bool:
    return False


async def _ignore(calls: list[JsonObject]) -> None:
    pass


class MakesRoom(Protocol):
    """Compacts the conversation."""

    async def if_needed(self) -> bool:
        """Compact if the context window is nearly full. Returns whether it did."""
        ...

    def is_full(self) -> bool:
        """Whether another answer would not fit, and compaction is switched off."""
        ...

    async def after_refusal(self) -> bool:
        """Compact because the API refused the conversation as too long. Returns whether it did."""
        ...


class Loop:
    """The rounds of one turn.

    `fold_in` adds prompts that the host sent meanwhile. `before_calls` gets the calls of an answer before any runs.
    """

    def __init__(
        self,
        thread: Thread,
        *,
        fold_in: Callable[[], Awaitable[bool]] = _nothing,
        compaction: MakesRoom | None = None,
        schema: JsonObject | None = None,
        before_calls: Callable[[list[JsonObject]], Awaitable[None]] = _ignore,
    ) -> None:
        self.thread, self._fold_in, self._compaction, self._schema = thread, fold_in, compaction, schema
        self._before_calls = before_calls
        self.rounds = 0
        self._continued = 0
        """How often the model was asked to go on with an answer that was cut off."""
        self._refused = self._asked_for_call = self._asked_for_text = self._asked_for_output = False
        self._stop_blocks = 0
        """How often a Stop hook has kept the turn from ending."""
        self._prevented = False
        self._context_only = False
        """Whether a Stop hook answered `continue: false`."""
        self._fallback = ""
        """The model that is used instead, after the session's own was overloaded."""
        self._without_thinking = False
        """Whether requests leave thinking out, because the API called one with it invalid twice."""
        self._most_output = 0
        """Tokens that an answer may have at most, if the API named fewer than usual."""

    async def run(self) -> End:
        """Ask the model and run its calls until it has nothing more to do."""
        if self._is_over_budget():
            return End("budget_exhausted")
        while True:
            try:
                answer = await self._ask()
            except WindowFull:
                return await self._fail(_FULL)
            except ModelError as error:
                return await self._fail(api_failure(error))
            self.rounds += 1
            end = await self._follow(answer)
            if end is not None:
                return end

    async def _fail(self, failure: ApiFailure) -> End:
        """End because the API failed. The StopFailure hooks of the main thread only observe."""
        if not self.thread.agent_id:
            about = {"error": failure.error, "error_details": failure.text, "last_assistant_message": failure.text}
            await self.thread.hear("StopFailure", self.thread.hook_input("StopFailure", **about))
        return End("api_error", failure=failure)

    # Asking

    async def _ask(self) -> Answer:
        """Get one answer. Temporary errors are retried, and what was received before one is discarded."""
        if self._compaction is not None and not await self._compaction.if_needed() and self._compaction.is_full():
            raise WindowFull
        attempt, overloads, invalid, most = 0, 0, 0, max_retries(self.thread.session.environment)
        if self.thread.speaker.partial:
            await self.thread.speaker.system("status", status="requesting")
        while True:
            try:
                return await self._listen()
            except ModelError as error:
                answer, self.thread.answer = self.thread.answer, None
                if answer is not None:
                    await answer.cut_off(keep=False)
                    if answer.says_something:  # complete blocks stay, and the model is asked to continue
                        self._enter(answer, 0)
                        if answer.calls:
                            await self.thread.speaker.assistant(
                                synthetic_message(_CUT_OFF),
                                error="server_error",
                                is_api_error_message=True,
                                api_error="connection_failed",
                            )
                        return answer
                if is_overload(error):
                    overloads += 1
                    last = overloads >= _OVERLOADS_BEFORE_FALLBACK or attempt >= most
                    if last and await self._fall_back():
                        attempt = overloads = 0
                        continue
                most_output = reduced_output(error)
                if most_output and not 0 < self._most_output <= most_output:  # else the API would be asked for ever
                    self._most_output = most_output
                    continue
                if is_prompt_too_long(error) and await self._make_room():
                    continue
                if await self._remove_media(error):
                    continue
                if is_invalid_request(error) and invalid < _MOST_INVALID:
                    invalid += 1
                    self._without_thinking = invalid > 1
                    continue
                attempt += 1
                if attempt > most or not is_retried(error):
                    raise
                await self._wait(error, attempt, most)

    async def _wait(self, error: ModelError, attempt: int, most: int) -> None:
        from random import random

        delay = retry_delay(attempt, error, chance=random())  # noqa: S311
        await self.thread.speaker.system(
            "api_retry",
            attempt=attempt,
            max_retries=most,
            retry_delay_ms=round(delay * 1000),
            error_status=error.status,
            error=retry_word(error),
        )
        await asyncio.sleep(delay)

    async def _remove_media(self, error: ModelError) -> bool:
        """Take pictures or documents out of the conversation if the API refuses them. Returns whether it did."""
        kind, history = refused_media(error), self.thread.history
        changed = without_media(history.messages, kind) if kind else None
        if changed is None:
            return False
        history.replace(changed)
        params = {"media": kind, "media_reason": "unprocessable"}
        await self.thread.speaker.assistant(
            synthetic_message(_MEDIA_REMOVED.format(kind=kind)),
            error="invalid_request",
            is_api_error_message=True,
            api_error="media_removed",
            api_error_params=params,
        )
        return True

    async def _make_room(self) -> bool:
        """Compact after a refusal, once in a turn."""
        compaction, self._compaction = self._compaction, None
        return compaction is not None and await compaction.after_refusal()

    async def _fall_back(self) -> bool:
        """Use the next fallback model for the rest of the turn, if there is one."""
        before, names = self._fallback or self.thread.model_name(), self.thread.session.fallback_models
        rest = names[names.index(before) + 1 :] if self._fallback else names
        other = next((name for name in rest if name != before), "")
        if not other or self.thread.agent_id:
            return False
        self._fallback = other
        await self.thread.speaker.system(
            "model_fallback",
            trigger="overloaded",
            original_model=before,
            fallback_model=other,
            content=f"{before} is overloaded: {other} is used instead",
        )
        return True

    def _request(self) -> ModelRequest:
        request = request_of(self.thread, self._fallback)
        if self._without_thinking:
            request = replace(request, thinking=None)
        return replace(request, max_tokens=self._most_output) if self._most_output else request

    async def _listen(self) -> Answer:
        thread, begun = self.thread, monotonic()
        first: float | None = None
        thread.timing.note_request()
        async with thread.model.stream(self._request()) as stream:
            answer = thread.answer = Answer(thread.speaker, stream.request_id, partial(repaired_input, thread))
            async for event in stream:
                if not thread.timing.complete:
                    thread.timing.note_event(event)
                extra: JsonObject = {}
                if first is None:
                    first = monotonic() - begun
                    extra["ttft_ms"] = round(first * 1000)
                await answer.take(event, **extra)
        self._enter(answer, (monotonic() - begun) * 1000)
        return answer

    def _enter(self, answer: Answer, api_ms: float) -> None:
        """Add an answer to the usage and the history."""
        thread = self.thread
        thread.answer = None
        thread.ledger.add(answer.model or thread.model_name(), answer.usage, api_ms)
        thread.history.add_assistant(answer.blocks)
        usage = answer.usage
        if counted := sum(count for name in COUNTED if isinstance(count := usage.get(name), int)):
            thread.history.note_tokens(counted)

    # Following

    async def _follow(self, answer: Answer) -> End | None:
        """Act on an answer. Returns the end, or None for another round."""
        thread = self.thread
        if self._is_over_budget():
            return End("budget_exhausted", stop_reason=answer.stop_reason)
        if answer.calls:
            return await self._do(answer)
        if answer.whole and answer.stop_reason in _TOO_LONG_STOPS and self._continued == _MOST_CONTINUATIONS:
            return await self._fail(_ENDLESS)
        self._context_only = False
        try:
            note = await self._note_on(answer) or await self._hear_stop(answer)
        except asyncio.CancelledError:
            if thread.agent_id:
                raise
            note = ""  # an interrupt while Stop hooks run ends only these: the answer is whole
        if not note:
            reason = "stop_hook_prevented" if self._prevented else "completed"
            shown = answer.text if thread.agent_id else answer.last_text  # the report of a subagent is all of its text
            return End(reason, text=shown, stop_reason=answer.stop_reason)
        if self._is_last_round():
            return End("max_turns", stop_reason=answer.stop_reason)
        thread.history.add_user(note)
        if not self._context_only:
            await thread.speaker.user([text_block(note)], isSynthetic=True)
        return None

    async def _do(self, answer: Answer) -> End | None:
        thread = self.thread
        await self._before_calls(answer.calls)
        try:
            stopped = await run_calls(thread, answer.calls)
        except Deferred:
            return End("tool_deferred", stop_reason="tool_deferred")
        if stopped:
            return End("hook_stopped", stop_reason=answer.stop_reason)
        if thread.structured is not None:
            return End(text=thread.structured_text(), stop_reason=answer.stop_reason)
        if self._schema is not None and thread.bad_outputs >= _MOST_BAD_OUTPUTS:
            return End("structured_output_retry_exhausted", stop_reason=answer.stop_reason)
        if self._is_last_round():
            return End("max_turns", stop_reason=answer.stop_reason)
        await self._fold_in()
        return None

    def _is_over_budget(self) -> bool:
        """Whether the session has used up its budget, subagents included."""
        limit = self.thread.session.arguments.max_budget_usd
        return limit is not None and self.thread.ledger.total_cost >= limit

    def _is_last_round(self) -> bool:
        return self.thread.max_turns is not None and self.rounds >= self.thread.max_turns

    async def _note_on(self, answer: Answer) -> str:
        """The note to the model if its answer cannot be the last one."""
        short = _CUT if not answer.whole else _TOO_LONG if answer.stop_reason in _TOO_LONG_STOPS else ""
        if short and self._continued < _MOST_CONTINUATIONS:
            self._continued += 1
            return short
        if answer.stop_reason == "tool_use" and not self._asked_for_call:
            self._asked_for_call = True
            return _NO_CALL
        if not short and not answer.text.strip() and answer.stop_reason == "end_turn" and not self._asked_for_text:
            self._asked_for_text = True
            return _NO_TEXT
        if answer.stop_reason == "refusal" and not self._refused:
            self._refused = True
            await self.thread.speaker.system(
                "informational", content="A safety check stopped the answer above; going on once.", level="notice"
            )
            return _REFUSED
        if self._schema is not None and not self._asked_for_output:
            self._asked_for_output = True
            return _ASK_FOR_OUTPUT
        return ""

    async def _hear_stop(self, answer: Answer) -> str:
        """Run the Stop hooks. Returns the feedback for the model if one of them blocks or adds context, else ""."""
        thread = self.thread
        event = "SubagentStop" if thread.agent_id else "Stop"
        fields = thread.hook_input(event, stop_hook_active=self._stop_blocks > 0, last_assistant_message=answer.text)
        found = await thread.hear(event, fields)
        self._prevented = not found.continue_
        context = "\n".join(found.additional_context)
        self._context_only = bool(context and not found.block)
        if not (found.block or context) or not found.continue_:
            return ""
        self._stop_blocks += 1
        if self._stop_blocks > thread.most_stop_blocks:
            warning = (
                f"A {event} hook kept the turn from ending {self._stop_blocks} times, and the turn ends nevertheless."
                " Let the hook succeed while stop_hook_active is true in its input, or set"
                " CLAUDE_CODE_STOP_HOOK_BLOCK_CAP to a higher number."
            )
            await thread.speaker.system("informational", content=warning, level="warning")
            return ""
        return "\n".join(filter(None, (found.block and f"Stop hook feedback:\n{found.block}", context)))


def request_of(thread: Thread, model: str = "") -> ModelRequest:
    """The next request of a thread, with another model than its own if one is named."""
    session = thread.session
    name = model or thread.model_name()
    offered, loaded = thread.tools(), thread.desk.state.loaded_tools
    searching = "ToolSearch" in offered
    whole = {name: tool for name, tool in offered.items() if not (searching and tool.deferred)}
    tools = [_definition(tool) for tool in whole.values()]
    tools += [{**_definition(offered.get(name), name), "defer_loading": True} for name in loaded if name not in whole]
    return ModelRequest(
        model=name,
        messages=thread.messages(),
        system=thread.system(),
        tools=tools,
        max_tokens=session.max_tokens(name),
        thinking=session.thinking_for(name),
        effort=session.effort_for(name),
        betas=session.betas_for(name, main=not thread.agent_id, searches_tools=searching or bool(loaded)),
        **(session.budget_fields() if not thread.agent_id else {}),
    )


def _definition(tool: Tool[Any] | None, name: str = "") -> JsonObject:
    """The definition of a tool. None stands for a loaded tool whose server disconnected: results still name it."""
    if tool is None:
        return {"name": name, "description": "This tool is no longer available.", "input_schema": {"type": "object"}}
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema()}
