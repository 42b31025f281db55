"""One turn: from prompts to a result. In: what the host said. Out: init, answers, results of tools, and one result."""

from __future__ import annotations

import asyncio
import traceback
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from handrail.agent.calls import Rejected
from handrail.agent.events import INTERRUPTED, INTERRUPTED_TOOLS, REJECTED, new_id, synthetic_message
from handrail.agent.history import missing_result, text_block
from handrail.agent.loop import End, Loop
from handrail.agent.queue import Prompt

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["Turn"]

JsonObject = dict[str, Any]

_SUBTYPES: Final = {
    "aborted_streaming": "error_during_execution",
    "aborted_tools": "error_during_execution",
    "max_turns": "error_max_turns",
    "budget_exhausted": "error_max_budget_usd",
    "structured_output_retry_exhausted": "error_max_structured_output_retries",
    "internal_error": "error_during_execution",
}
"""Ends that are errors, each with the subtype of its result."""
_NOT_ASKED: Final = frozenset({"blocked", "noted"})
"""Ends of turns in which no model was asked."""
_ERRORS: Final = {
    "aborted_streaming": "The turn was interrupted while the model answered",
    "aborted_tools": "The turn was interrupted while tools ran",
    "max_turns": "Reached maximum number of turns ({max_turns})",
    "budget_exhausted": "Reached maximum budget (${max_budget})",
    "structured_output_retry_exhausted": "No answer fitted the schema after 5 attempts",
    "internal_error": "The agent itself failed: {text}",
}


class Turn:
    """Answers some prompts. `interrupt` ends it early; it still has its result."""

    def __init__(self, engine: Engine, prompts: list[Prompt]) -> None:
        self._engine, self._prompts = engine, prompts
        self._thread, self._speaker = engine.thread, engine.speaker
        self._work: asyncio.Task[Any] | None = None
        self._interrupted = False
        self._dropped = False
        self._begun = monotonic()
        self._uuids = [prompt.uuid for prompt in prompts if prompt.uuid]
        self._folded: list[str] = []

    def interrupt(self) -> None:
        """End it now."""
        self._interrupted = True
        if self._work is not None:
            self._work.cancel()

    async def give_up(self) -> None:
        """The process ends: what runs is ended and told, but there is no result."""
        if self._work is not None:
            self._dropped = True
            self._work.cancel()
            await asyncio.wait([self._work])

    async def run_command(self) -> bool:
        """Answer a prompt that is a command, where no model need be asked. Out: whether that was all."""
        if len(self._prompts) != 1 or self._interrupted:
            return False
        self._begin()
        work = self._work = asyncio.create_task(self._engine.commands.run(self._prompts[0]), name="handrail command")
        await asyncio.wait([work])
        self._work = None
        if work.cancelled():
            if not self._dropped:
                await self._engine.say_init()
                await self._finish(End("aborted_streaming"))
        elif (error := work.exception()) is not None:
            traceback.print_exception(error)
            await self._finish(await self._break(error))
        else:
            return work.result()
        return True

    async def run(self) -> None:
        """From the first line to the result."""
        self._begin()
        await self._lifecycle("started", self._uuids)
        self._work = asyncio.create_task(self._answer(), name="handrail turn")
        if self._interrupted:
            self._work.cancel()
        await asyncio.wait([self._work])
        if self._dropped:
            return await self._reject_open_calls()
        try:
            end = self._work.result()
        except asyncio.CancelledError:
            end = await self._abort()
        except Rejected:
            end = await self._abort()
        except Exception as error:  # whatever happens, a turn has its result and the session goes on
            traceback.print_exc()
            end = await self._break(error)
        self._thread.history.answer_open_calls("The turn ended before this tool was run.")
        await self._finish(end)

    def _begin(self) -> None:
        self._engine.ledger.begin_turn()
        self._speaker.user_lines = 0
        self._speaker.prompts = list(self._uuids)
        thread = self._thread
        thread.answer, thread.open_calls, thread.denials = None, {}, []
        thread.structured, thread.bad_outputs, thread.deferred, thread.prompt_id = None, 0, None, new_id()

    async def _answer(self) -> End:
        """Everything that may be interrupted."""
        engine = self._engine
        await engine.ready()
        asked = [prompt for prompt in self._prompts if prompt.asks]
        blocked = await self._submit(asked)
        await engine.say_init()
        if blocked:
            await self._speaker.system("informational", content=blocked, level="warning")
            return End("blocked")
        for prompt in self._prompts:
            await engine.take_prompt(prompt)
        if not asked:
            return End("noted")
        loop = Loop(self._thread, fold_in=self._fold_in, compaction=engine.compaction, schema=engine.toolbox.schema)
        return await loop.run()

    async def _submit(self, prompts: list[Prompt]) -> str:
        """What hooks say to the prompts. Out: why they are blocked, if they are."""
        thread = self._thread
        for prompt in prompts:
            fields = thread.hook_input("UserPromptSubmit", prompt=prompt.text)
            found = await thread.hear("UserPromptSubmit", fields)
            if found.block or not found.continue_:
                return f"The prompt was blocked by a hook: {found.block or found.stop_reason}"
            if found.additional_context:
                thread.history.add_user([text_block(text) for text in found.additional_context])
        return ""

    async def _fold_in(self) -> bool:
        """What the host has said meanwhile joins this turn."""
        prompts = self._engine.queue.fold()
        for prompt in prompts:
            if prompt.uuid:
                self._folded.append(prompt.uuid)
                await self._lifecycle("started", [prompt.uuid])
            await self._engine.take_prompt(prompt)
        return bool(prompts)

    # Interrupted

    async def _abort(self) -> End:
        """Tidy up: what was being said is kept, calls without a result get one."""
        thread, speaker = self._thread, self._speaker
        if thread.answer is not None:
            answer, thread.answer = thread.answer, None
            await answer.cut_off(keep=True)
            thread.history.add_assistant([block for block in answer.blocks if block.get("type") == "text"])
        if not thread.open_calls:
            thread.history.add_user(INTERRUPTED)
            await speaker.user([text_block(INTERRUPTED)])
            return End("aborted_streaming")
        await self._reject_open_calls()
        thread.history.add_user(INTERRUPTED_TOOLS)
        await speaker.user([text_block(INTERRUPTED_TOOLS)])
        return End("aborted_tools", stop_reason="tool_use")

    async def _break(self, error: BaseException) -> End:
        """Something failed that never should: what is open is closed, and the host told."""
        if self._thread.answer is not None:
            answer, self._thread.answer = self._thread.answer, None
            await answer.cut_off(keep=False)
        await self._reject_open_calls()
        return End("internal_error", text=f"{type(error).__name__}: {error}")

    async def _reject_open_calls(self) -> None:
        """Every call has a result, also one that was stopped."""
        thread, calls = self._thread, list(self._thread.open_calls)
        thread.open_calls = {}
        for id in calls:
            block = missing_result(id, REJECTED)
            thread.history.add_user([block])
            meta = [{"id": id, "non_execution_kind": "user-rejected"}]
            await self._speaker.user([block], tool_use_result="User rejected tool use", tool_result_meta=meta)

    # The end

    async def _finish(self, end: End) -> None:
        if end.failure is not None:
            await self._tell_failure(end)
        await self._lifecycle("completed", self._folded)
        await self._engine.say_result(self.result(end))
        await self._lifecycle("completed", self._uuids)

    async def _tell_failure(self, end: End) -> None:
        failure = end.failure
        assert failure is not None
        await self._speaker.assistant(
            synthetic_message(failure.text),
            error=failure.error,
            is_api_error_message=True,
            **failure.fields(),
        )

    def result(self, end: End) -> JsonObject:
        """The result line."""
        engine, thread = self._engine, self._thread
        failure, subtype = end.failure, _SUBTYPES.get(end.reason, "success")
        line: JsonObject = {
            "subtype": subtype,
            "is_error": failure is not None or subtype != "success",
            "duration_ms": round((monotonic() - self._begun) * 1000),
            "num_turns": 0 if end.reason in _NOT_ASKED else 1 + self._speaker.user_lines,
            "stop_reason": "stop_sequence" if failure else end.stop_reason,
            "permission_denials": thread.denials,
        }
        if end.reason not in _NOT_ASKED:
            line["terminal_reason"] = failure.terminal_reason if failure else end.reason
        if subtype == "success":
            line["result"] = failure.text if failure else end.text
            line["api_error_status"] = failure.status if failure else None
        else:
            limits = engine.arguments
            told = {"max_turns": limits.max_turns, "max_budget": limits.max_budget_usd, "text": end.text}
            line["errors"] = [_ERRORS[end.reason].format(**told)]
        if thread.structured is not None:
            line["structured_output"] = thread.structured
        if thread.deferred is not None:
            line["deferred_tool_use"] = thread.deferred
        uuids = [*self._uuids, *self._folded]
        if uuids:
            line |= {"user_message_uuid": uuids[-1], "user_message_uuids": uuids}
        if origin := next((prompt.origin for prompt in self._prompts if prompt.origin), None):
            line["origin"] = origin
        return line

    async def _lifecycle(self, state: str, uuids: list[str]) -> None:
        for uuid in uuids:
            await self._engine.tell_lifecycle(uuid, state)
