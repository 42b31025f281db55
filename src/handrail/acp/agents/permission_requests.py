"""Answers the permission requests of an ACP agent: rules and modes first, then the host.

An agent offers options, each of a kind. A call that is allowed gets the narrowest option that allows it: lasting
permissions are rules of the session, which decide the next request too, so the agent need not remember them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from handrail.acp.agents.answer_lines import AnswerLines
from handrail.acp.agents.tool_calls import Call
from handrail.acp.rpc import INVALID_PARAMS, RpcError
from handrail.agent.conversation.permission import Permission, Question, Verdict
from handrail.agent.session import Session
from handrail.agent.speaker import Speaker, new_id
from handrail.files.resolve import OneFile, resolve
from handrail.permissions.decide import decide
from handrail.permissions.modes import class_of
from handrail.permissions.paths.matching import Resolved
from handrail.permissions.rules.rule import Behavior
from handrail.schema.acp import messages as acp

__all__ = ["PermissionRequests"]

JsonObject = dict[str, Any]
_ALLOW: Final = ("allow_once", "allow_always")
_REJECT: Final = ("reject_once", "reject_always")
_NOT_DESCRIBED: Final = "the agent does not describe the call well enough to decide by rules"
_CANCELLED: Final = acp.RequestPermissionResponse(outcome=acp.Cancelled())
_OTHER_INPUT: Final = "The call was allowed with another input, which ACP cannot pass on, so it was rejected."


class PermissionRequests:
    """Answers them.

    `ask_host` is None without a host to ask. `interrupt` ends the turn; `settled` waits until earlier updates are
    written, so that hosts know a call before they are asked about it.
    """

    def __init__(
        self,
        session: Session,
        speaker: Speaker,
        lines: AnswerLines,
        *,
        ask_host: Callable[[JsonObject], Awaitable[JsonObject]] | None,
        settled: Callable[[], Awaitable[None]],
        interrupt: Callable[[], None],
    ) -> None:
        self._session, self._speaker, self._lines = session, speaker, lines
        self._settled, self._interrupt = settled, interrupt
        self._permission = Permission(session, speaker, ask_host, _no_hooks, _no_notice)
        self._pending: set[asyncio.Task[Any]] = set()
        self.denials: list[JsonObject] = []
        """The calls of the turn that were not allowed."""
        self._granted: set[str | None] = set()
        """The real paths of the files that the agent may change in this turn."""

    async def answer(self, request: acp.RequestPermissionRequest) -> acp.RequestPermissionResponse:
        """Answer one request. Raises RpcError for a request that hosts could not understand."""
        await self._settled()
        update = request.tool_call
        if not self._lines.knows(update.tool_call_id) and not update.title:
            text = f"The agent asked about a call that it has not announced: {update.tool_call_id[:80]}"
            await self._speaker.system("informational", content=text, level="warning")
            raise RpcError(INVALID_PARAMS, "toolCall has an unknown toolCallId and no title")
        call = await self._lines.call(update, asks=True)
        if call.ended:
            raise RpcError(INVALID_PARAMS, f"the call {call.id[:80]} has ended")
        verdict = await self._check_call(call)
        if verdict is None:
            return _CANCELLED
        if verdict.interrupt:
            self._interrupt()
            return _CANCELLED
        chosen = _option(request.options, _ALLOW if verdict.allowed else _REJECT, self._session.mode)
        if chosen is None:
            return _CANCELLED  # the only answer that runs nothing where the agent offers no way to reject
        return acp.RequestPermissionResponse(outcome=acp.SelectedPermissionOutcome(option_id=chosen.option_id))

    async def refusal_of_file(self, tool: str, given: JsonObject, resolved: Resolved) -> str:
        """Why the agent may not read or write this file through its client; "" if it may."""
        if tool == "Write" and resolved.real in self._granted:
            decision = decide(tool, given, self._session.circumstances, OneFile(resolved))
            if decision.reason_type != "rule" or decision.behavior != "deny":
                return ""
        await self._settled()
        verdict = await self._check(Question(tool, given, f"file_{new_id()}", paths=OneFile(resolved)))
        if verdict is None:
            return "the turn was interrupted"
        return "" if verdict.allowed and verdict.input in (None, given) else verdict.message or _OTHER_INPUT

    def begin(self) -> None:
        """Begin a turn."""
        self.denials, self._granted = [], set()

    def withdraw(self) -> None:
        """Withdraw all pending questions, because the turn is interrupted."""
        for task in self._pending:
            task.cancel()

    async def _check(self, question: Question, *, must_ask: bool = False) -> Verdict | None:
        """Decide, or ask. None if the question was withdrawn.

        `must_ask`: rules and modes cannot allow it, because they do not know what the agent will do.
        """
        hook: Behavior | None = "ask" if must_ask and self._session.mode != "bypassPermissions" else None
        task = asyncio.ensure_future(self._permission.check(question, hook, _NOT_DESCRIBED))
        self._pending.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._pending.discard(task)
            task.cancel()
        return None if task.cancelled() else task.result()

    async def _check_call(self, call: Call) -> Verdict | None:
        """Decide about a call: every file that it concerns must be allowed. None if a question was withdrawn."""
        verdict, files = Verdict(False), set[str | None]()
        for tool in call.asked_tools(self._session.cwd):
            question = Question(tool.name, tool.input, call.id, call.title)
            must_ask = not tool.is_exact or class_of(tool.name) == "internal"
            if (found := await self._check(question, must_ask=must_ask)) is None:
                return None
            verdict = await self._without_other_input(question, found)
            if not verdict.allowed:
                await self._note_denial(call, question, verdict)
                return verdict
            if class_of(tool.name) == "edit":
                path = str(tool.input.get("file_path") or "")
                files.add(resolve(path, self._session.circumstances.anchors).real)
        self._granted |= files
        return verdict

    async def _without_other_input(self, question: Question, verdict: Verdict) -> Verdict:
        """A call that was allowed with another input is denied."""
        if not verdict.allowed or verdict.input in (None, question.input):
            return verdict
        await self._speaker.system("informational", content=_OTHER_INPUT, level="warning")
        return Verdict(False, message=_OTHER_INPUT)

    async def _note_denial(self, call: Call, question: Question, verdict: Verdict) -> None:
        call.denied = verdict.message
        self.denials.append({"tool_name": question.tool, "tool_use_id": call.id, "tool_input": question.input})
        if verdict.announced:
            await self._speaker.system(
                "permission_denied", tool_name=question.tool, tool_use_id=call.id, message=verdict.message
            )


def _option(options: list[acp.PermissionOption], kinds: tuple[str, ...], mode: str) -> acp.PermissionOption | None:
    """The option to choose. If options name modes, the one of the session is chosen."""
    for kind in kinds:
        found = [option for option in options if option.kind == kind]
        if found:
            every = [option for option in options if option.kind in kinds]
            return next((option for option in every if option.option_id == mode), found[0])
    return None


async def _no_hooks(question: Question, suggestions: list[JsonObject]) -> JsonObject | None:
    return None


async def _no_notice(question: Question) -> None:
    return None
