"""Rounds with the model until there is nothing left to do. In: a thread whose history ends with a prompt. Out: End.

One round: ask, listen, run the calls, and ask again with their results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Final, Protocol

from msgspec import Struct

from handrail.agent.answer import Answer
from handrail.agent.calls import Deferred, run_calls
from handrail.agent.history import text_block
from handrail.agent.models.base import ModelError, ModelRequest
from handrail.agent.models.retry import (
    ApiFailure,
    api_failure,
    is_prompt_too_long,
    is_retried,
    max_retries,
    retry_delay,
    retry_word,
)
from handrail.agent.thread import Thread
from handrail.agent.usage import COUNTED

__all__ = ["End", "Loop", "request_of"]

JsonObject = dict[str, Any]
_OVERLOADS_BEFORE_FALLBACK: Final = 3
_MOST_CONTINUATIONS: Final = 3
_MOST_BAD_OUTPUTS: Final = 5
_CUT: Final = "The answer above was cut off while it was sent. Go on exactly where it ends; if nothing is there, begin."
_TOO_LONG: Final = "The answer above reached the limit of its length. Go on exactly where it ends, in smaller pieces."
_REFUSED: Final = "The answer above was stopped by a safety check. Do not say it again, not even in other words."
_NUDGE: Final = "The answer must be given by calling the tool StructuredOutput. Call it now."


class End(Struct, frozen=True):
    """Why the rounds ended. `reason` is the terminal reason of a result."""

    reason: str = "completed"
    text: str = ""
    stop_reason: str | None = None
    failure: ApiFailure | None = None


async def _nothing() -> bool:
    return False


class MakesRoom(Protocol):
    """Replaces what was said by something shorter. Out: whether it did."""

    async def if_needed(self) -> bool:
        """Where the window is nearly full."""
        ...

    async def after_refusal(self) -> bool:
        """The API says that the conversation is too long."""
        ...


class Loop:
    """The rounds of one turn. `fold_in` adds what the host has said meanwhile."""

    def __init__(
        self,
        thread: Thread,
        *,
        fold_in: Callable[[], Awaitable[bool]] = _nothing,
        compaction: MakesRoom | None = None,
        schema: JsonObject | None = None,
    ) -> None:
        self.thread, self._fold_in, self._compaction, self._schema = thread, fold_in, compaction, schema
        self.rounds = 0
        self._continued = 0
        self._nudged = False
        self._refused = False
        self._stop_hook_active = False
        self._fallback = ""

    async def run(self) -> End:
        """Go on until it ends."""
        while True:
            try:
                answer = await self._ask()
            except ModelError as error:
                return End("api_error", failure=api_failure(error))
            self.rounds += 1
            end = await self._follow(answer)
            if end is not None:
                return end

    # Asking

    async def _ask(self) -> Answer:
        """One answer. Errors that may pass are waited out; what was said before one is thrown away."""
        if self._compaction is not None:
            await self._compaction.if_needed()
        attempt, overloads, most = 0, 0, max_retries(self.thread.session.environment)
        if self.thread.speaker.partial:
            await self.thread.speaker.system("status", status="requesting")
        while True:
            try:
                return await self._listen()
            except ModelError as error:
                answer, self.thread.answer = self.thread.answer, None
                if answer is not None:
                    await answer.cut_off(keep=False)
                    if answer.blocks:  # those that are whole stay, and the model is asked to go on
                        self._enter(answer, 0)
                        return answer
                overloads += error.status == 529 or error.kind == "overloaded_error"
                if overloads >= _OVERLOADS_BEFORE_FALLBACK and await self._fall_back():
                    attempt = overloads = 0
                    continue
                if is_prompt_too_long(error) and await self._make_room():
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

    async def _make_room(self) -> bool:
        """Once in a turn."""
        compaction, self._compaction = self._compaction, None
        return compaction is not None and await compaction.after_refusal()

    async def _fall_back(self) -> bool:
        """Use the other model from now on, if there is one."""
        other = self.thread.session.arguments.fallback_model
        if not other or self._fallback or self.thread.agent_id:
            return False
        before, self._fallback = self.thread.model_name(), other
        await self.thread.speaker.system(
            "model_fallback",
            trigger="overloaded",
            original_model=before,
            fallback_model=other,
            content=f"{before} is overloaded: {other} is used instead",
        )
        return True

    def _request(self) -> ModelRequest:
        return request_of(self.thread, self._fallback)

    async def _listen(self) -> Answer:
        thread, begun = self.thread, monotonic()
        first: float | None = None
        async with thread.model.stream(self._request()) as stream:
            answer = thread.answer = Answer(thread.speaker, stream.request_id)
            async for event in stream:
                extra: JsonObject = {}
                if first is None:
                    first = monotonic() - begun
                    extra["ttft_ms"] = round(first * 1000)
                await answer.take(event, **extra)
        self._enter(answer, (monotonic() - begun) * 1000)
        return answer

    def _enter(self, answer: Answer, api_ms: float) -> None:
        """Into the books and the history."""
        thread = self.thread
        thread.answer = None
        thread.ledger.add(answer.model or thread.model_name(), answer.usage, api_ms)
        thread.history.add_assistant(answer.blocks)
        usage = answer.usage
        if counted := sum(count for name in COUNTED if isinstance(count := usage.get(name), int)):
            thread.history.note_tokens(counted)

    # Following

    async def _follow(self, answer: Answer) -> End | None:
        """What an answer leads to. Out: the end, or None for another round."""
        thread, limit = self.thread, self.thread.session.arguments.max_budget_usd
        if limit is not None and not thread.agent_id and thread.ledger.total_cost >= limit:
            return End("budget_exhausted", stop_reason=answer.stop_reason)
        if answer.calls:
            return await self._do(answer)
        note = await self._note_on(answer) or await self._hear_stop(answer)
        if not note:
            return End(text=answer.text, stop_reason=answer.stop_reason)
        if self._is_last_round():
            return End("max_turns", stop_reason=answer.stop_reason)
        thread.history.add_user(note)
        await thread.speaker.user([text_block(note)], isSynthetic=True)
        return None

    async def _do(self, answer: Answer) -> End | None:
        thread = self.thread
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

    def _is_last_round(self) -> bool:
        return self.thread.max_turns is not None and self.rounds >= self.thread.max_turns

    async def _note_on(self, answer: Answer) -> str:
        """What the model is told where its answer is no end."""
        short = _CUT if not answer.whole else _TOO_LONG if answer.stop_reason == "max_tokens" else ""
        if short and self._continued < _MOST_CONTINUATIONS:
            self._continued += 1
            return short
        if answer.stop_reason == "refusal" and not self._refused:
            self._refused = True
            await self.thread.speaker.system(
                "informational", content="A safety check stopped the answer above; going on once.", level="notice"
            )
            return _REFUSED
        if self._schema is not None and not self._nudged:
            self._nudged = True
            return _NUDGE
        return ""

    async def _hear_stop(self, answer: Answer) -> str:
        """The model has nothing more to do; Stop hooks may see it otherwise. Out: what the model is told then."""
        thread = self.thread
        event = "SubagentStop" if thread.agent_id else "Stop"
        fields = thread.hook_input(event, stop_hook_active=self._stop_hook_active, last_assistant_message=answer.text)
        found = await thread.hear(event, fields)
        if not found.block or not found.continue_:
            return ""
        self._stop_hook_active = True
        return f"Stop hook feedback:\n{found.block}"


def request_of(thread: Thread, model: str = "") -> ModelRequest:
    """What the model is asked next. In: a thread, and another model than its own."""
    session = thread.session
    name = model or thread.model_name()
    tools = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema()}
        for tool in thread.tools().values()
    ]
    return ModelRequest(
        model=name,
        messages=thread.history.messages,
        system=thread.system(),
        tools=tools,
        max_tokens=session.max_tokens(name),
        thinking=session.thinking_for(name),
        effort=session.effort_for(name),
    )
