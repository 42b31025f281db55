"""Tells hooks what happens and hears what they say. In: an event and its input. Out: HookResult of all together.

All hooks that an event means run at once; the same command runs once. A hook that fails counts as one that said
nothing, but one that does not answer about a tool in time keeps that tool from running.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

from handrail.agent.hooks.base import EVENTS, HookResult, InvalidHookOutput, merge, read_output, read_printed
from handrail.agent.hooks.command import Ran, hook_environment, run_command
from handrail.agent.hooks.registration import CallbackHook, CommandHook, is_meant, read_callbacks, read_commands
from handrail.settings.merge import HookEntry

__all__ = ["TIMED_OUT", "Hooks"]

JsonObject = dict[str, Any]
Send = Callable[[str, JsonObject, str | None], Awaitable[Any]]
Report = Callable[[JsonObject], Awaitable[Any]]

TIMED_OUT: Final = (
    "PreToolUse hook did not answer before its timeout (the host may be out of reach). The tool was not run; other"
    " hooks may not have finished."
)
ALWAYS_REPORTED: Final = frozenset({"SessionStart", "Setup"})
MOST_REPORTED: Final = 30_000


async def _unreported(message: JsonObject) -> None:
    pass


class Hooks:
    """The hooks of a session. `callbacks` is `hooks` of initialize (InvalidHooks where it cannot be used).

    send         asks the host: callback id, input, tool use id; raises where the host answers with an error
    report       takes hook_started and hook_response messages; those of SessionStart commands always, all others only
                 with `report_all`
    trusted      whether the folder is: commands run only then, and what settings hold for it was read accordingly
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
    ) -> None:
        self._callbacks = read_callbacks(callbacks)
        self._trusted = trusted
        self.use_commands(commands)
        self._send, self._report, self._report_all = send, report, report_all
        self._environment, self._cwd = hook_environment(environment, cwd), cwd
        self._background: set[asyncio.Task[HookResult]] = set()

    def use_commands(self, entries: Sequence[HookEntry]) -> None:
        """Take the hooks of settings and plugins in place of earlier ones; of an untrusted folder, none."""
        usable = [one for one in entries if self._trusted or one.scope not in ("projectSettings", "localSettings")]
        self._commands, self.problems = read_commands(usable)

    def register(self, callbacks: Any) -> None:
        """Take the hooks of an initialize request in place of earlier ones. InvalidHooks: they stay as they were."""
        self._callbacks = read_callbacks(callbacks)

    def has(self, event: str) -> bool:
        """Whether anybody wants to hear of an event: making its input may be work."""
        return any(hook.event == event for hook in (*self._callbacks, *self._commands))

    def listing(self) -> dict[str, list[JsonObject]]:
        """All hooks by event, for whoever asks what is set up."""
        found: dict[str, list[JsonObject]] = {}
        for hook in (*self._callbacks, *self._commands):
            what = (
                {"type": "callback"} if isinstance(hook, CallbackHook) else {"type": "command", "command": hook.command}
            )
            found.setdefault(hook.event, []).append({"matcher": hook.matcher, **what, "timeout": hook.limit})
        return found

    async def run(
        self, event: str, input: JsonObject, *, tool_use_id: str | None = None, matches: str = ""
    ) -> HookResult:
        """Tell all hooks that mean this event. `matches`: what matchers look at, else the input's own field."""
        known = EVENTS.get(event)
        field = known.matched if known else ""
        name = matches or (str(input.get(field, "")) if field else "")
        callbacks = [hook for hook in self._callbacks if hook.event == event and is_meant(hook.matcher, name)]
        commands = {
            hook.command: hook for hook in self._commands if hook.event == event and is_meant(hook.matcher, name)
        }
        if not callbacks and not commands:
            return HookResult()
        given = {**input, "hook_event_name": event}
        label = f"{event}:{name}" if name else event
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(self._ask(hook, given, tool_use_id)) for hook in callbacks]
            running += [group.create_task(self._execute(hook, given, label)) for hook in commands.values()]
        return merge(task.result() for task in running)

    async def close(self) -> None:
        """End what still runs in the background."""
        tasks = [*self._background]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, hook: CallbackHook, given: JsonObject, tool_use_id: str | None) -> HookResult:
        try:
            async with asyncio.timeout(hook.limit):
                answer = await self._send(hook.callback, given, tool_use_id)
        except TimeoutError:
            text = f"{hook.event}: Hook callback {hook.callback} did not answer within {hook.limit:g} seconds."
            return _timed_out(hook.event, text)
        except Exception:
            return _failed(hook)
        try:
            return read_output(answer, hook.event)
        except InvalidHookOutput:
            return _failed(hook)

    async def _execute(self, hook: CommandHook, given: JsonObject, label: str) -> HookResult:
        if not hook.in_background:
            return await self._run_command(hook, given, label)
        task = asyncio.create_task(self._run_command(hook, given, label))
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return HookResult(is_async=True)

    async def _run_command(self, hook: CommandHook, given: JsonObject, label: str) -> HookResult:
        told = self._report_all or hook.event in ALWAYS_REPORTED
        marks = {"hook_id": str(uuid4()), "hook_name": label, "hook_event": hook.event}
        if told:
            await self._report({"type": "system", "subtype": "hook_started", **marks})
        ran = await run_command(hook.command, given, cwd=self._cwd, environment=self._environment, limit=hook.limit)
        if told:
            await self._report({"type": "system", "subtype": "hook_response", **marks, **_response(ran)})
        return _command_result(hook, ran)


def _failed(hook: CallbackHook) -> HookResult:
    text = (
        f"{hook.event}: Hook callback {hook.callback} failed: the host answered with an error or with something that is"
        " no answer. It counts as an empty one."
    )
    return HookResult(failures=(text,))


def _timed_out(event: str, text: str) -> HookResult:
    """Whoever guards a tool and says nothing has not let it pass."""
    if event == "PreToolUse":
        return HookResult(decision="deny", reason=TIMED_OUT, timed_out=True)
    return HookResult(failures=(text,), timed_out=True)


def _response(ran: Ran) -> JsonObject:
    outcome = "cancelled" if ran.timed_out else "success" if ran.code == 0 else "error"
    printed, errors = ran.printed[:MOST_REPORTED], (ran.errors or ran.problem)[:MOST_REPORTED]
    return {"output": printed + errors, "stdout": printed, "stderr": errors, "exit_code": ran.code, "outcome": outcome}


def _command_result(hook: CommandHook, ran: Ran) -> HookResult:
    if ran.problem:
        return HookResult(failures=(f"{hook.event}: the hook [{hook.command}] could not be started: {ran.problem}",))
    if ran.timed_out:
        text = f"{hook.event}: the hook [{hook.command}] was ended after {hook.limit:g} seconds"
        return _timed_out(hook.event, text)
    return read_printed(ran.code, ran.printed, ran.errors, event=hook.event, command=hook.command)
