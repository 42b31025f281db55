"""The calls of one answer. In: what the model wants done. Out: results, told to the host and to the model.

    check the input → PreToolUse hooks → permission → run → PostToolUse hooks → result

Calls that only look run together; others one after the other, in their order.
"""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import groupby
from typing import Any, cast
from uuid import uuid4

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from handrail.agent.answer import unreadable
from handrail.agent.history import text_block
from handrail.agent.hooks.base import HookResult
from handrail.agent.permission import Question, Verdict
from handrail.agent.thread import Thread
from handrail.agent.tools.base import Outcome, Tool, ToolFailed
from handrail.permissions.rules import Behavior

__all__ = ["Deferred", "Rejected", "run_calls", "run_quietly"]

JsonObject = dict[str, Any]


class Rejected(Exception):
    """Somebody said no, and that the whole turn shall stop."""


class Deferred(Exception):
    """A hook wants the call to be made later, by somebody else."""


class _Told(Struct, frozen=True):
    """A result, with what the line about it says besides."""

    outcome: Outcome
    meta: JsonObject | None = None
    context: tuple[str, ...] = ()


class _Halt(Exception):
    """A call ends here, with this result."""

    def __init__(self, text: str, detail: str = "", meta: JsonObject | None = None) -> None:
        self.told = _Told(Outcome(text, detail or f"Error: {text}", is_error=True), meta)


async def run_calls(thread: Thread, calls: list[JsonObject]) -> str:
    """Run the calls of an answer. Out: why the turn must stop after them; empty where it goes on."""
    thread.open_calls = {call["id"]: call for call in calls}
    tools = thread.tools()
    runs = [_Call(thread, call, _find(tools, call["name"])) for call in calls]
    for together, group in groupby(runs, key=lambda run: run.is_concurrent()):
        if together:
            await _together([run.perform() for run in group])
        else:
            for run in group:
                await run.perform()
    await _after_batch(thread, runs)
    return next((run.stop for run in runs if run.stop is not None), "")


async def run_quietly(thread: Thread, name: str, input: JsonObject) -> Outcome:
    """A call that no answer asked for: checked, allowed and run like any other, but no line tells its result."""
    call = {"id": f"toolu_{uuid4().hex[:24]}", "name": name, "input": input}
    run = _Call(thread, call, _find(thread.tools(), name))
    try:
        return (await run.outcome()).outcome
    except _Halt as halt:
        return halt.told.outcome
    except Deferred:
        thread.deferred = None
        return Outcome("a hook wants it to be done later", is_error=True)


async def _together(runs: list[Any]) -> None:
    tasks = [asyncio.ensure_future(run) for run in runs]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _after_batch(thread: Thread, runs: list[_Call]) -> None:
    """All results of an answer together."""
    results = [
        {"tool_name": run.name, "tool_input": run.input, "tool_use_id": run.id, "tool_response": run.response}
        for run in runs
    ]
    found = await thread.hear("PostToolBatch", thread.hook_input("PostToolBatch", tool_calls=results))
    if found.additional_context:
        thread.history.add_user([text_block(text) for text in found.additional_context])


def _find(tools: dict[str, Tool[Any]], name: str) -> Tool[Any] | None:
    return tools.get(name) or next((tool for tool in tools.values() if name in tool.aliases), None)


class _Call:
    """One call on its way."""

    def __init__(self, thread: Thread, call: JsonObject, tool: Tool[Any] | None) -> None:
        self.thread, self.call, self.tool = thread, call, tool
        self.id, self.name = str(call["id"]), tool.name if tool else str(call["name"])
        self.input: JsonObject = call["input"]
        self.response: Any = None
        self.stop: str | None = None
        self.context: list[str] = []

    def is_concurrent(self) -> bool:
        """Does it only look?"""
        if self.tool is None or unreadable(self.call):
            return True
        try:
            return self.tool.is_concurrent(self.tool.read(self.input))
        except msgspec.ValidationError:
            return True

    async def perform(self) -> None:
        """From the check to the result."""
        try:
            told = await self.outcome()
        except _Halt as halt:
            told = replace(halt.told, context=tuple(self.context))
        await self._tell(told)

    async def outcome(self) -> _Told:
        """What comes of it; _Halt where it ends early."""
        tool = self.tool
        if tool is None:
            text = f"Error: No such tool available: {self.name}"
            raise _Halt(_error(text), text)
        await self._check(tool, self._read(tool))
        hook = await self._before(tool)
        given = self._read(tool)
        verdict = await self._permit(tool, given, hook)
        if verdict.input is not None:
            self.input = verdict.input
            given = self._read(tool)
        outcome = await self._run(tool, given)
        await self._after(outcome)
        return _Told(outcome, verdict.meta(self.id), tuple(self.context))

    def _read(self, tool: Tool[Any]) -> Any:
        """The input, checked; what a tool does not know is dropped."""
        if (raw := unreadable(self.call)) is not None:
            text = f"InputValidationError: {self.name} was called with an input that is no JSON: {raw['raw']}"
            raise _Halt(_error(text), f"InputValidationError: JSON parse failed ({raw['len']} bytes)")
        try:
            given = tool.read(self.input)
        except msgspec.ValidationError as error:
            text = f"InputValidationError: {self.name} failed due to the following issue: {error}"
            raise _Halt(_error(text), text) from None
        self.input = tool.shown(given, self.input)
        return given

    async def _check(self, tool: Tool[Any], given: Any) -> None:
        """What cannot succeed is told at once: nobody need be asked about it."""
        try:
            await tool.check(given, self.thread.desk.for_call(self.id))
        except ToolFailed as error:
            raise _Halt(_error(str(error)), f"Error: {error}") from None

    async def _before(self, tool: Tool[Any]) -> HookResult:
        """PreToolUse hooks: they may refuse, change the input, or put it off."""
        thread = self.thread
        fields = thread.hook_input("PreToolUse", tool_name=tool.name, tool_input=self.input, tool_use_id=self.id)
        found = await thread.hear("PreToolUse", fields, tool_use_id=self.id)
        self._note(found)
        if found.timed_out:
            raise _Halt(found.reason)
        if found.decision == "deny":
            self._note_denial()
            meta = Verdict(False, source="hook", reason_type="hook").meta(self.id)
            raise _Halt(f"PreToolUse:{tool.name} hook error: {found.reason}", meta=meta)
        if found.decision == "defer":
            thread.deferred = {"id": self.id, "name": tool.name, "input": self.input}
            raise Deferred
        if found.updated_input is not None:
            self.input = found.updated_input
        return found

    async def _permit(self, tool: Tool[Any], given: Any, hook: HookResult) -> Verdict:
        question = Question(
            tool.name,
            self.input,
            self.id,
            tool.describe(given),
            self.thread.agent_id,
            getattr(tool, "server", None),
            partial(_fits, tool),
        )
        word: Behavior | None = hook.decision if hook.decision in ("allow", "ask") else None  # type: ignore[assignment]
        why = hook.reason
        if tool.altered:
            word, why = "ask", "its server describes it in other words than when it was first seen"
        try:
            verdict = await self.thread.permission.check(question, word, why)
        except asyncio.CancelledError:
            self._note_denial()  # an interruption answers the question too
            raise
        if verdict.allowed:
            if verdict.source.startswith("user"):
                tool.accept()
            return verdict
        self._note_denial()
        if verdict.interrupt:
            raise Rejected
        if verdict.announced:
            await self.thread.speaker.system(
                "permission_denied", tool_name=tool.name, tool_use_id=self.id, message=verdict.message
            )
        raise _Halt(verdict.message, meta=verdict.meta(self.id))

    def _note_denial(self) -> None:
        self.thread.denials.append({"tool_name": self.name, "tool_use_id": self.id, "tool_input": self.input})

    async def _run(self, tool: Tool[Any], given: Any) -> Outcome:
        desk = self.thread.desk.for_call(self.id)
        try:
            return await tool.run(given, desk)
        except ToolFailed as error:
            return Outcome(str(error), f"Error: {error}", is_error=True)
        except Exception as error:  # whatever a tool does, the turn goes on
            text = f"{type(error).__name__}: {error}"
            return Outcome(text, f"Error: {text}", is_error=True)
        finally:
            self.thread.desk.take_over(desk)

    async def _after(self, outcome: Outcome) -> None:
        """PostToolUse hooks, or those for a failure."""
        thread = self.thread
        self.response = outcome.content if outcome.detail is None else outcome.detail
        event = "PostToolUseFailure" if outcome.is_error else "PostToolUse"
        told = {"error": _text(outcome.content)} if outcome.is_error else {"tool_response": self.response}
        fields = thread.hook_input(event, tool_name=self.name, tool_input=self.input, tool_use_id=self.id, **told)
        found = await thread.hear(event, fields, tool_use_id=self.id)
        self._note(found)
        if found.block:
            self.context.append(f"A hook objects to this: {found.block}")

    def _note(self, found: HookResult) -> None:
        self.context += found.additional_context
        if not found.continue_:
            self.stop = found.stop_reason or "a hook stopped the turn"

    async def _tell(self, told: _Told) -> None:
        thread, outcome = self.thread, told.outcome
        block: JsonObject = {"type": "tool_result", "tool_use_id": self.id, "content": outcome.content}
        block["is_error"] = outcome.is_error
        detail = outcome.content if outcome.detail is None else outcome.detail
        shown: JsonObject = {} if thread.speaker.parent else {"tool_use_result": detail}
        if told.meta:
            shown["tool_result_meta"] = [told.meta]
        thread.open_calls.pop(self.id, None)
        thread.tool_uses += 1
        if self.name in ("Edit", "Write"):
            thread.ledger.note_change(detail)
        if self.name == "StructuredOutput":
            thread.note_output(failed=outcome.is_error)
        thread.history.add_user([block, *(text_block(text) for text in told.context)])
        await thread.speaker.user([block], **shown)


def _fits(tool: Tool[Any], input: JsonObject) -> bool:
    try:
        tool.read(input)
    except msgspec.ValidationError:
        return False
    return True


def _error(text: str) -> str:
    return f"<tool_use_error>{text}</tool_use_error>"


def _text(content: str | list[JsonObject]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(cast("str", block.get("text", "")) for block in content)
