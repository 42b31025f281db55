"""Runs the hooks of a session: callbacks in the host, and commands of the settings.

All hooks of an event run at once, and equal commands run once. A hook that fails decides nothing. A callback that does
not answer about a tool or a prompt in time blocks it; a command that takes too long is killed and ignored.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from handrail.agent.hooks.base import (
    EVENTS,
    Event,
    HookResult,
    InvalidHookOutput,
    WrongEvent,
    merge,
    read_output,
    read_printed,
)
from handrail.agent.hooks.command import Ran, hook_environment, run_program
from handrail.agent.hooks.registration import (
    CallbackHook,
    CommandHook,
    is_meant,
    never_fires,
    read_callbacks,
    read_commands,
)
from handrail.connection import Disconnected
from handrail.settings.merge import HookEntry

__all__ = ["TIMED_OUT", "Hooks"]

JsonObject = dict[str, Any]
Send = Callable[[str, JsonObject, str | None], Awaitable[Any]]
Report = Callable[[JsonObject], Awaitable[Any]]

TIMED_OUT: Final = (
    "PreToolUse hook did not answer before its timeout (the host may be out of reach). The tool was not run; other"
    " hooks may not have finished."
)
FAILED: Final = "PreToolUse hook answered to another event. The tool was not run; other hooks may not have finished."
CLOSED: Final = "The host disconnected before its PreToolUse hook had answered, so the tool was not run."
GUARD: Final = "PreToolUse"
"""The event whose hooks keep a tool from running if they give no usable answer."""
ALWAYS_REPORTED: Final = frozenset({"SessionStart", "Setup"})
MOST_REPORTED: Final = 30_000


async def _unreported(message: JsonObject) -> None:
    pass


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Hooks:
    """The hooks of a session. `callbacks` is `hooks` of initialize; raises InvalidHooks if it cannot be used.

    send         calls a hook of the host with its callback id, the input and the tool use id; raises if the host
                 answers with an error
    report       takes hook_started and hook_response messages: always for SessionStart commands, for all others only
                 with `report_all`
    trusted      whether the folder is trusted; commands of its settings run only then
    warn         takes one line about each hook that cannot run
    """

    def __init__(
        self,
        callbacks: Any = None,
        commands: Sequence[HookEntry] = (),
        *,
        send: Send,
        environment: Mapping[str, str],
        cwd: str,
        trusted: bool = True,
        report: Report = _unreported,
        report_all: bool = False,
        warn: Callable[[str], None] = _print,
    ) -> None:
        self._trusted, self._warn, self._warned = trusted, warn, set[str]()
        self.register(callbacks)
        self.use_commands(commands)
        self._send, self._report, self._report_all = send, report, report_all
        self._environment, self._cwd = hook_environment(environment, cwd), cwd
        self._background: set[asyncio.Task[HookResult]] = set()

    def use_commands(self, entries: Sequence[HookEntry]) -> None:
        """Replace the hooks of settings and plugins; those of an untrusted folder are left out."""
        usable = [one for one in entries if self._trusted or one.scope not in ("projectSettings", "localSettings")]
        self._commands, self.problems = read_commands(usable)
        for problem in self.problems:
            self._warn_once(problem)

    def register(self, callbacks: Any) -> None:
        """Replace the hooks of the host. Raises InvalidHooks, and then changes nothing."""
        self._callbacks = read_callbacks(callbacks)
        for event in {hook.event: None for hook in self._callbacks}:
            if why := never_fires(event):
                self._warn_once(f"initialize: hooks.{event[:60]}: this hook does not run: {why}")

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._warn(text)

    def has(self, event: str) -> bool:
        """Whether any hook is for this event, so that its input need not be made for nothing."""
        return any(hook.event == event for hook in (*self._callbacks, *self._commands))

    def has_command(self, event: str) -> bool:
        """Whether any command is for this event."""
        return any(hook.event == event for hook in self._commands)

    def listing(self) -> dict[str, list[JsonObject]]:
        """All hooks by event."""
        found: dict[str, list[JsonObject]] = {}
        for hook in (*self._callbacks, *self._commands):
            what = (
                {"type": "callback"} if isinstance(hook, CallbackHook) else {"type": "command", "command": hook.command}
            )
            found.setdefault(hook.event, []).append({"matcher": hook.matcher, **what, "timeout": hook.limit})
        return found

    async def run(
        self,
        event: str,
        input: JsonObject,
        *,
        tool_use_id: str | None = None,
        matches: str = "",
        callbacks: bool = True,
        limit: float | None = None,
    ) -> HookResult:
        """Run all hooks that match an event.

        `matches` is compared with the matchers; by default it is a field of the input. `callbacks`: whether the host
        can answer. `limit`: seconds that each command may take, instead of the configured limit.
        """
        known = EVENTS.get(event) or Event()
        name = matches or (str(input.get(known.matched, "")) if known.matched else "")
        asked = [hook for hook in self._callbacks if callbacks and _matches(hook, event, name)]
        commands = self._matching(event, name, input)
        if limit is not None:
            commands = [replace(hook, limit=limit) for hook in commands]
        if not asked and not commands:
            return HookResult()
        given = {**input, "hook_event_name": event}
        label = f"{event}:{name}" if name else event
        with ExitStack() as stack:
            exports = None
            if known.exports and commands:
                from handrail.agent.hooks.exported_variables import ExportFiles  # few events have such files

                exports = stack.enter_context(ExportFiles())
            async with asyncio.TaskGroup() as group:
                running = [group.create_task(self._ask(hook, given, tool_use_id)) for hook in asked]
                for hook in commands:
                    more = exports.variables() if exports else {}
                    running.append(group.create_task(self._execute(hook, given, label, more)))
            found = merge(task.result() for task in running)
            if exports and (variables := await exports.read(self._environment, self._cwd)):
                found = replace(found, environment=variables)
        for field in found.specific:
            self._warn_once(f"{event}: the field {field[:60]} of a hook's answer is ignored by handrail-agent")
        return found

    def _matching(self, event: str, name: str, input: JsonObject) -> list[CommandHook]:
        """The commands for an event, each once."""
        found: dict[tuple[str, ...], CommandHook] = {}
        for hook in self._commands:
            if _matches(hook, event, name) and self._applies(hook, input):
                found.setdefault(tuple(hook.argv()), hook)
        return list(found.values())

    def _applies(self, hook: CommandHook, input: JsonObject) -> bool:
        if not hook.condition:
            return True
        from handrail.agent.hooks.condition import applies  # loads the permission engine

        return applies(hook.condition, input, self._cwd)

    async def close(self) -> None:
        """Stop all commands in the background."""
        tasks = [*self._background]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, hook: CallbackHook, given: JsonObject, tool_use_id: str | None) -> HookResult:
        try:
            async with asyncio.timeout(hook.limit):
                answer = await self._send(hook.callback, given, tool_use_id)
        except TimeoutError:
            return _unanswered(hook)
        except Disconnected:
            return HookResult(decision="deny", reason=CLOSED, no_verdict=True) if hook.event == GUARD else _failed(hook)
        except Exception:
            return _failed(hook)
        try:
            return read_output(answer, hook.event)
        except WrongEvent:
            return HookResult(decision="deny", reason=FAILED, no_verdict=True) if hook.event == GUARD else _failed(hook)
        except InvalidHookOutput:
            return _failed(hook)

    async def _execute(
        self, hook: CommandHook, given: JsonObject, label: str, variables: Mapping[str, str]
    ) -> HookResult:
        if not hook.in_background:
            return await self._run_command(hook, given, label, variables)
        task = asyncio.create_task(self._run_command(hook, given, label, {}))
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return HookResult(is_async=True)

    async def _run_command(
        self, hook: CommandHook, given: JsonObject, label: str, variables: Mapping[str, str]
    ) -> HookResult:
        reported = self._report_all or hook.event in ALWAYS_REPORTED
        marks = {"hook_id": str(uuid4()), "hook_name": label, "hook_event": hook.event}
        if reported:
            await self._report({"type": "system", "subtype": "hook_started", **marks})
        ran = await run_program(
            hook.argv(),
            msgspec.json.encode(given) + b"\n",
            cwd=self._cwd,
            environment={**self._environment, **variables},
            limit=hook.limit,
        )
        if reported:
            await self._report({"type": "system", "subtype": "hook_response", **marks, **_response(ran)})
        return _command_result(hook, ran)


def _matches(hook: CallbackHook | CommandHook, event: str, name: str) -> bool:
    """Whether a hook is for an event. Without a name to compare, matchers are ignored."""
    return hook.event == event and (not name or is_meant(hook.matcher, name))


def _failed(hook: CallbackHook) -> HookResult:
    text = (
        f"{hook.event}: Hook callback {hook.callback} failed: the host answered with an error or with an invalid"
        " answer. It counts as an empty one."
    )
    return HookResult(failures=(text,))


def _unanswered(hook: CallbackHook) -> HookResult:
    """A hook that guards a tool or the prompts and does not answer has not allowed them."""
    if hook.event == GUARD:
        return HookResult(decision="deny", reason=TIMED_OUT, no_verdict=True)
    text = f"{hook.event}: Hook callback {hook.callback} did not answer within {hook.limit:g} seconds."
    if hook.event == "UserPromptSubmit":
        return HookResult(block=text, no_verdict=True)
    return HookResult(failures=(text,), no_verdict=True)


def _response(ran: Ran) -> JsonObject:
    outcome = "cancelled" if ran.timed_out else "success" if ran.code == 0 else "error"
    printed, errors = ran.printed[:MOST_REPORTED], (ran.errors or ran.problem)[:MOST_REPORTED]
    return {"output": printed + errors, "stdout": printed, "stderr": errors, "exit_code": ran.code, "outcome": outcome}


def _command_result(hook: CommandHook, ran: Ran) -> HookResult:
    if ran.problem:
        return HookResult(failures=(f"{hook.event}: the hook [{hook.command}] could not be started: {ran.problem}",))
    if ran.timed_out:
        text = f"{hook.event}: the hook [{hook.command}] was killed after {hook.limit:g} seconds"
        return HookResult(killed=(text,))
    return read_printed(ran.code, ran.printed, ran.errors, event=hook.event, command=hook.command)
