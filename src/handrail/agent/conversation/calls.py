"""Runs the tool calls of one answer and sends their results to the host and the model.

    check the input → PreToolUse hooks → permission → run → PostToolUse hooks → result

Calls that only read run at the same time; the others run one after the other, in their order.
"""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import groupby
from time import monotonic
from typing import Any, cast
from uuid import uuid4

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from handrail.agent.blocks import missing_result, reminder, text_block
from handrail.agent.conversation.answer import unreadable
from handrail.agent.conversation.permission import Question, Verdict
from handrail.agent.conversation.replaced_output import fits, replaced_output
from handrail.agent.conversation.thread import Thread
from handrail.agent.hooks.base import HookResult
from handrail.agent.prompt.files_shown import files_shown
from handrail.agent.speaker import REJECTED
from handrail.agent.tools.base import Outcome, StoppedByCage, Tool, ToolFailed
from handrail.agent.tools.scaled_picture import fit_blocks
from handrail.files.errors import FileError
from handrail.permissions.modes import class_of
from handrail.permissions.rules.rule import Behavior

__all__ = ["Deferred", "Rejected", "reject_open_calls", "repaired_input", "run_calls", "run_quietly"]

JsonObject = dict[str, Any]


class Rejected(Exception):
    """Permission was denied, and the turn has to stop."""


class Deferred(Exception):
    """A hook defers the call to the host."""


class _Finished(Struct, frozen=True):
    """The result of a call, further fields of its line, and context for the model."""

    outcome: Outcome
    meta: JsonObject | None = None
    context: tuple[str, ...] = ()


class _Halt(Exception):
    """Ends a call early with this result."""

    def __init__(self, text: str, detail: str = "", meta: JsonObject | None = None) -> None:
        self.finished = _Finished(Outcome(text, detail or f"Error: {text}", is_error=True), meta)


async def run_calls(thread: Thread, calls: list[JsonObject]) -> str:
    """Run the calls of an answer. Returns why the turn has to stop after them, or ""."""
    thread.open_calls = {call["id"]: call for call in calls}
    tools = thread.tools()
    aliases = thread.session.tool_aliases
    runs = [_Call(thread, call, _find(tools, str(aliases.get(call["name"], call["name"])))) for call in calls]
    for together, group in groupby(runs, key=lambda run: run.is_concurrent()):
        if together:
            await _together([run.perform() for run in group])
        else:
            for run in group:
                await run.perform()
    stop = await _after_batch(thread, runs)
    return next((run.stop for run in runs if run.stop is not None), stop)


async def run_quietly(thread: Thread, name: str, input: JsonObject, *, asks: bool = True) -> Outcome:
    """Run a call that is not part of an answer. It is checked like any other, but its result is not sent.

    Without `asks` it fails instead of asking for permission.
    """
    call = {"id": f"toolu_{uuid4().hex[:24]}", "name": name, "input": input}
    run = _Call(thread, call, _find(thread.tools(), name))
    run.asks = asks
    try:
        return (await run.outcome()).outcome
    except _Halt as halt:
        return halt.finished.outcome
    except Deferred:
        thread.deferred = None
        return Outcome("a hook deferred it", is_error=True)


async def reject_open_calls(thread: Thread) -> None:
    """Give each open call a result, which the API requires."""
    calls, thread.open_calls = list(thread.open_calls), {}
    for id in calls:
        block = missing_result(id, REJECTED)
        thread.history.add_user([block])
        meta = [{"id": id, "non_execution_kind": "user-rejected"}]
        await thread.speaker.user([block], tool_use_result="User rejected tool use", tool_result_meta=meta)


def repaired_input(thread: Thread, name: str, input: JsonObject) -> JsonObject:
    """The input of a call with numbers and other values that the model wrote as strings."""
    tool = _find(thread.tools(), name)
    return input if tool is None else tool.in_conversation(input)


async def _together(runs: list[Any]) -> None:
    tasks = [asyncio.ensure_future(run) for run in runs]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _after_batch(thread: Thread, runs: list[_Call]) -> str:
    """Run the PostToolBatch hooks with all results of an answer. Returns why the turn has to stop, or ""."""
    results = [
        {"tool_name": run.name, "tool_input": run.input, "tool_use_id": run.id, "tool_response": run.shown}
        for run in runs
    ]
    found = await thread.hear("PostToolBatch", thread.hook_input("PostToolBatch", tool_calls=results))
    thread.add_notes(found.additional_context)
    return "" if found.block is None and found.continue_ else found.block or found.stop_reason or "a hook stopped it"


def _find(tools: dict[str, Tool[Any]], name: str) -> Tool[Any] | None:
    return tools.get(name) or next((tool for tool in tools.values() if name in tool.aliases), None)


class _Call:
    """One running call."""

    def __init__(self, thread: Thread, call: JsonObject, tool: Tool[Any] | None) -> None:
        self.thread, self.call, self.tool = thread, call, tool
        self.id, self.name = str(call["id"]), tool.name if tool else str(call["name"])
        self.input: JsonObject = call["input"]
        self.shown: Any = None
        """The content of its result."""
        self.stop: str | None = None
        self.asks = True
        self.context: list[str] = []
        self.desk = thread.desk
        """The desk of the call: the permission is decided on the paths that the tool will use."""
        self._moved: tuple[str, str] | None = None
        """The working folder before and after the call, if it changed."""

    def is_concurrent(self) -> bool:
        """Whether it may run beside others: it only reads, or it fails anyway."""
        if self.tool is None or unreadable(self.call):
            return True
        try:
            return self.tool.is_concurrent(self.tool.read(self._usual(self.tool)))
        except msgspec.ValidationError:
            return True

    async def perform(self) -> None:
        """Run the call and send its result."""
        try:
            finished = await self.outcome()
        except _Halt as halt:
            finished = replace(halt.finished, context=tuple(self.context))
        await self._send(finished)

    async def outcome(self) -> _Finished:
        """Run the call. Raises _Halt if it ends early."""
        tool = self.tool
        if tool is None:
            text = f"Error: No such tool available: {self.name}"
            raise _Halt(_error(text), text)
        await self._check(tool, self._read(tool, from_model=True))
        hook = await self._before(tool)
        given = self._read(tool)
        verdict = await self._permit(tool, given, hook)
        if verdict.input is not None:
            self.input = verdict.input
            given = self._read(tool)
        start = monotonic()
        try:
            outcome = await self._run(tool, given, caged=verdict.caged)
        except StoppedByCage as stop:
            outcome = await self._run_uncaged(tool, given, stop)
        self.thread.permission.granted += self.thread.session.command_rules(outcome.grants)
        if not outcome.is_error:
            self.context += await self.thread.instructions_about(files_shown(tool.name, self.input, self.thread.desk))
        outcome = await self._after(tool, outcome, round((monotonic() - start) * 1000))
        return _Finished(outcome, verdict.meta(self.id), tuple(self.context))

    def _read(self, tool: Tool[Any], *, from_model: bool = False) -> Any:
        """The checked input. Only the model is told of fields that the tool does not know; else they are dropped."""
        if (raw := unreadable(self.call)) is not None:
            text = f"InputValidationError: {self.name} was called with invalid JSON: {raw['raw']}"
            raise _Halt(_error(text), f"InputValidationError: JSON parse failed ({raw['len']} bytes)")
        try:
            if from_model:
                tool.check_fields(self.input)
            input = self._usual(tool)
            given = tool.read(input)
        except msgspec.ValidationError as error:
            text = f"InputValidationError: {self.name} failed due to the following issue: {error}"
            raise _Halt(_error(text), text) from None
        self.input = tool.shown(given, input)
        return given

    def _usual(self, tool: Tool[Any]) -> JsonObject:
        """The input as the tool expects it: its names and types, and the absolute path of the file.

        The permission is decided on this path and the tool opens it, so `..` after a link cannot lead elsewhere.
        """
        input = tool.repaired(tool.renamed(self.input))
        if isinstance(path := input.get(tool.path_field), str):
            input[tool.path_field] = self.thread.desk.absolute(path)
        return input

    async def _check(self, tool: Tool[Any], given: Any) -> None:
        """End a call that cannot succeed before anyone is asked for permission."""
        self.desk = self.thread.desk.for_call(self.id)
        try:
            await tool.check(given, self.desk)
        except (ToolFailed, FileError) as error:
            raise _Halt(_error(str(error)), f"Error: {error}") from None

    async def _before(self, tool: Tool[Any]) -> HookResult:
        """Run the PreToolUse hooks, which may refuse the call, defer it or change its input."""
        thread = self.thread
        fields = thread.hook_input("PreToolUse", tool_name=tool.name, tool_input=self.input, tool_use_id=self.id)
        found = await thread.hear("PreToolUse", fields, tool_use_id=self.id)
        self._note(found)
        if found.no_verdict:
            raise _Halt(found.reason)
        if found.decision == "deny":
            self._note_denial()
            meta = Verdict(False, source="hook", reason_type="hook").meta(self.id)
            raise _Halt(f"PreToolUse:{tool.name} hook error: {found.reason}", meta=meta)
        if found.decision == "defer":
            thread.deferred = {"id": self.id, "name": tool.name, "input": self.input}
            raise Deferred
        if found.updated_input is not None:
            self._use_input(tool, found.updated_input)
        return found

    def _use_input(self, tool: Tool[Any], updated: JsonObject) -> None:
        """Use the input of a PreToolUse hook. One that the tool cannot read counts as a denial by the hook."""
        try:
            tool.read(updated)
        except msgspec.ValidationError as error:
            self._note_denial()
            meta = Verdict(False, source="hook", reason_type="hook").meta(self.id)
            text = f"A PreToolUse hook replaced the input of {tool.name} by one that does not fit its schema: {error}."
            raise _Halt(f"{text} The input of the model was valid.", meta=meta) from None
        self.input = updated

    def _question(self, tool: Tool[Any], given: Any) -> Question:
        return Question(
            tool.name,
            self.input,
            self.id,
            tool.describe(given),
            self.thread.agent_id,
            getattr(tool, "server", None),
            partial(_fits, tool),
            self.desk.paths if class_of(tool.name) in ("read", "edit") else None,
            self.desk.cwd if self.desk.cwd != self.desk.project else "",
            harmless=tool.is_harmless(given),
            reads=class_of(tool.name) == "mcp" and tool.concurrent,
        )

    async def _permit(self, tool: Tool[Any], given: Any, hook: HookResult) -> Verdict:
        offered, self.desk = self.desk.offered, self.thread.desk.for_call(self.id)
        self.desk.offered = offered
        question = self._question(tool, given)
        word: Behavior | None = hook.decision if hook.decision in ("allow", "ask") else None  # type: ignore[assignment]
        why = hook.reason
        if tool.altered:
            word, why = "ask", "its server has changed its description since it was first seen"
        try:
            verdict = await self.thread.permission.check(question, word, why, asks=self.asks)
        except asyncio.CancelledError:
            self._note_denial()  # an interrupt is a denial too
            raise
        if verdict.allowed:
            if verdict.source.startswith("user"):
                tool.accept()
            return verdict
        if not self.asks:
            raise _Halt(verdict.message)
        self._note_denial()
        if verdict.interrupt:
            raise Rejected
        if verdict.announced:
            await self.thread.speaker.system(
                "permission_denied", tool_name=tool.name, tool_use_id=self.id, message=verdict.message
            )
        raise _Halt(verdict.message, meta=verdict.meta(self.id))

    def _note_denial(self) -> None:
        self.thread.add_denial({"tool_name": self.name, "tool_use_id": self.id, "tool_input": self.input})

    async def _run_uncaged(self, tool: Tool[Any], given: Any, stop: StoppedByCage) -> Outcome:
        """Run a call again that the cage stopped, if the user allows it outside of the cage."""
        if not self.asks:
            return Outcome("\n".join(part for part in (stop.tried, stop.output) if part), is_error=True)
        verdict = await self.thread.permission.check_uncaged(self._question(tool, given), stop.tried)
        if not verdict.allowed:
            self._note_denial()
            if verdict.interrupt:
                raise Rejected
            text = "\n".join(part for part in (stop.tried, verdict.message, stop.output) if part)
            return Outcome(text, f"Error: {text}", is_error=True)
        if verdict.input is not None:
            self.input = verdict.input
            given = self._read(tool)
        return await self._run(tool, given)

    async def _run(self, tool: Tool[Any], given: Any, *, caged: bool = False) -> Outcome:
        desk = self.desk
        desk.caged = caged
        if tool.name == "Bash":
            self.thread.started_commands.add(self.id)
        try:
            return await tool.run(given, desk)
        except (ToolFailed, FileError) as error:
            return Outcome(str(error), f"Error: {error}", is_error=True)
        except StoppedByCage:
            raise
        except Exception as error:  # a bug in a tool must not end the turn
            text = f"{type(error).__name__}: {error}"
            return Outcome(text, f"Error: {text}", is_error=True)
        finally:
            before = self.thread.desk.cwd
            self.thread.desk.take_over(desk)
            if before != desk.cwd:
                self._moved = (before, desk.cwd)

    async def _after(self, tool: Tool[Any], outcome: Outcome, took: int) -> Outcome:
        """Run the hooks after a call. Returns its result, which they may replace unless the call failed."""
        thread = self.thread
        if self._moved is not None:
            old, new = self._moved
            await thread.hear("CwdChanged", thread.hook_input("CwdChanged", old_cwd=old, new_cwd=new))
        event = "PostToolUseFailure" if outcome.is_error else "PostToolUse"
        about: JsonObject = {"tool_name": self.name, "tool_input": self.input, "tool_use_id": self.id}
        if outcome.is_error:
            about |= {"error": _text(outcome.content), "is_interrupt": False}
        else:
            about["tool_response"] = outcome.content if outcome.detail is None else outcome.detail
        found = await thread.hear(event, thread.hook_input(event, **about, duration_ms=took), tool_use_id=self.id)
        self._note(found)
        if found.block:
            self.context.append(reminder(f"{event}:{self.name} hook objects:\n{found.block}"))
        return outcome if outcome.is_error else await self._replaced(tool, outcome, found)

    async def _replaced(self, tool: Tool[Any], outcome: Outcome, found: HookResult) -> Outcome:
        """The result with the output of a hook, if one replaces it."""
        if found.updated_mcp_output is not None and tool.name.startswith("mcp__"):
            return replaced_output(found.updated_mcp_output)
        if found.updated_output is None:
            return outcome
        if not tool.name.startswith("mcp__") and not fits(found.updated_output, outcome):
            text = f"PostToolUse: updatedToolOutput was ignored: it is not shaped like the output of {tool.name}"
            await self.thread.speaker.system("informational", content=text, level="warning")
            return outcome
        return replaced_output(found.updated_output)

    def _note(self, found: HookResult) -> None:
        self.context += found.additional_context
        if not found.continue_:
            self.stop = found.stop_reason or "a hook stopped the turn"

    async def _send(self, finished: _Finished) -> None:
        thread, outcome = self.thread, finished.outcome
        self.shown = _text(outcome.content)
        content = outcome.content if isinstance(outcome.content, str) else await fit_blocks(outcome.content)
        block: JsonObject = {"type": "tool_result", "tool_use_id": self.id, "content": content}
        block["is_error"] = outcome.is_error
        detail = outcome.content if outcome.detail is None else outcome.detail
        shown: JsonObject = {} if thread.speaker.parent else {"tool_use_result": detail}
        if finished.meta:
            shown["tool_result_meta"] = [finished.meta]
        thread.open_calls.pop(self.id, None)
        thread.tool_uses += 1
        if self.name in ("Edit", "Write"):
            thread.ledger.note_change(detail)
        if self.name == "Bash" and not outcome.is_error:
            thread.note_command(str(self.input.get("command", "")), self.shown)
        if self.name == "StructuredOutput":
            thread.note_output(failed=outcome.is_error)
        follow_up = [text_block(outcome.follow_up)] if outcome.follow_up else []
        thread.history.add_user([block, *follow_up])
        await thread.speaker.user([block], **shown)
        if follow_up:
            await thread.speaker.user(follow_up, aloud=not thread.agent_id, isSynthetic=True)
        thread.add_notes(finished.context)


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
