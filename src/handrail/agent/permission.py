"""May a call run? In: a tool, its input, what hooks said. Out: Verdict: by rules and mode, by a hook, or by the host.

The engine in `handrail.permissions` decides; where it says ask, the host is asked, and hooks for PermissionRequest at
the same time: the first answer counts, the other question is withdrawn. So it is withdrawn where the mode is switched
meanwhile and the new one knows the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from handrail.agent.events import Speaker
from handrail.agent.session import Session
from handrail.connection import ControlError, Disconnected
from handrail.files.resolve import Disk
from handrail.permissions.circumstances import Decision
from handrail.permissions.decide import decide, with_hook
from handrail.permissions.rules import Behavior
from handrail.permissions.updates import UpdateRefused
from handrail.schema.permission_types import PermissionUpdate

__all__ = ["Permission", "Verdict"]

JsonObject = dict[str, Any]
AskHost = Callable[[JsonObject], Awaitable[JsonObject]]
Judge = Callable[[], Decision]
"""Decides a call by what is in force now."""
_INVALID: Final = (
    "The canUseTool callback returned an invalid permission result: {why}. It must be"
    ' {{"behavior": "allow", "updatedInput"?: object}} or {{"behavior": "deny", "message": string}}.'
)


class Verdict(Struct, frozen=True):
    """What became of the question whether a call may run."""

    allowed: bool
    input: JsonObject | None = None
    """The input to run with, where somebody changed it."""
    message: str = ""
    interrupt: bool = False
    source: str = "config"
    reason_type: str = ""
    announced: bool = False
    """Nobody was asked: the host is told by a line of its own."""

    def meta(self, call_id: str) -> JsonObject:
        """As a result tells it."""
        decision: JsonObject = {"decision": "accept" if self.allowed else "reject", "source": self.source}
        if self.reason_type:
            decision["reason_type"] = self.reason_type
        kind = {} if self.allowed else {"non_execution_kind": "permission-rule"}
        return {"id": call_id, **kind, "permission_decision": decision}


class Question(Struct, frozen=True):
    """A call that needs a word."""

    tool: str
    input: JsonObject
    call_id: str
    description: str = ""
    agent_id: str = ""
    server: JsonObject | None = None
    fits: Callable[[JsonObject], bool] = lambda input: True
    """Can the tool read this input? What it cannot is told as such, and needs nobody's word."""


class Permission:
    """Decides calls. `ask_host` is None where nobody can be asked; `ask_hooks` runs those for PermissionRequest."""

    def __init__(
        self,
        session: Session,
        speaker: Speaker,
        ask_host: AskHost | None,
        ask_hooks: Callable[[Question], Awaitable[JsonObject | None]],
    ) -> None:
        self._session, self._speaker = session, speaker
        self._ask_host, self._ask_hooks = ask_host, ask_hooks
        self._beside: set[asyncio.Future[JsonObject | None]] = set()

    async def check(self, question: Question, hook: Behavior | None = None, why: str = "") -> Verdict:
        """Decide one call. `hook`: what a PreToolUse hook said of it."""

        def judge() -> Decision:
            decision, circumstances = self._decide(question.tool, question.input), self._session.circumstances
            return decision if hook is None else with_hook(decision, hook, why, circumstances=circumstances)

        decision = judge()
        if decision.behavior == "ask" and self._ask_host is not None:
            return await self._ask(question, decision, judge)
        return _settled(question, decision)

    def _decide(self, tool: str, input: JsonObject) -> Decision:
        circumstances = self._session.circumstances
        return decide(tool, input, circumstances, Disk(circumstances.anchors))

    async def _ask(self, question: Question, decision: Decision, judge: Judge) -> Verdict:
        """Ask, and ask again where what would run is not what was shown any more."""
        while True:
            files = self._files(question)
            verdict = await self._ask_once(question, decision, judge, files)
            if not verdict.allowed or self._files(question) == files:
                return verdict

    def _files(self, question: Question) -> dict[str, str]:
        command = question.input.get("command") if question.tool == "Bash" else None
        if not isinstance(command, str):
            return {}
        from handrail.agent.run_files import run_files  # only who is asked needs it

        return run_files(command, self._session.cwd)

    async def _ask_once(self, question: Question, decision: Decision, judge: Judge, files: dict[str, str]) -> Verdict:
        """Ask the host and the hooks together."""
        host = asyncio.ensure_future(self._from_host(question, decision, judge, files))
        hooks = asyncio.ensure_future(self._ask_hooks(question))
        try:
            await asyncio.wait([host, hooks], return_when=asyncio.FIRST_COMPLETED)
            if hooks.done() and (answer := hooks.result()):
                return await self._read(answer, question, source="hook")
            return await host
        finally:
            host.cancel()
            self._beside.add(hooks)  # a hook that was told may answer in its own time; nobody listens any more
            hooks.add_done_callback(self._beside.discard)
            await asyncio.gather(host, return_exceptions=True)

    async def _from_host(self, question: Question, decision: Decision, judge: Judge, files: dict[str, str]) -> Verdict:
        assert self._ask_host is not None
        shown = {"files": [{"path": path, "sha256": mark} for path, mark in files.items()]} if files else {}
        asking = asyncio.ensure_future(self._ask_host({**_request(question, decision), **shown}))
        switching = asyncio.ensure_future(self._decided_by_mode(judge))
        try:
            await asyncio.wait([asking, switching], return_when=asyncio.FIRST_COMPLETED)
            if switching.done():
                return _settled(question, switching.result())
            answer = asking.result()
        except Disconnected:
            return Verdict(
                False, message="Tool permission request failed: Error: the stream was closed", source="user_reject"
            )
        except ControlError as error:
            message = f"Tool permission request failed: Error: {error}"
            return Verdict(False, message=message, source="user_reject")
        finally:
            asking.cancel()
            switching.cancel()
            await asyncio.gather(asking, switching, return_exceptions=True)
        return await self._read(answer, question, source="user")

    async def _decided_by_mode(self, judge: Judge) -> Decision:
        """Wait until the mode is one under which nobody need be asked."""
        while True:
            await self._session.mode_switched()
            if (decision := judge()).behavior != "ask":
                return decision

    async def _read(self, answer: JsonObject, question: Question, *, source: str) -> Verdict:
        """The answer of a host or a hook, checked."""
        behavior = answer.get("behavior")
        if behavior == "deny":
            message = answer.get("message")
            if not isinstance(message, str):
                return _invalid("message must be a string")
            how = "hook" if source == "hook" else "user_reject"
            return Verdict(False, message=message, interrupt=answer.get("interrupt") is True, source=how)
        if behavior != "allow":
            return _invalid("behavior must be allow or deny")
        updated = answer.get("updatedInput", {})
        if not isinstance(updated, dict):
            return _invalid("updatedInput must be an object")
        edited = cast("JsonObject", updated)
        self._session.read_rules_again()
        if (verdict := self._denied(edited or question.input, question)) is not None:
            return verdict
        if edited and edited != question.input and (verdict := await self._judge_again(edited, question)) is not None:
            return verdict
        lasting = await self._update(answer.get("updatedPermissions"))
        how = "hook" if source == "hook" else "user_permanent" if lasting else "user_temporary"
        return Verdict(True, input=cast("JsonObject", updated) or None, source=how)

    def _denied(self, input: JsonObject, question: Question) -> Verdict | None:
        """A rule that denies holds against every answer, also one that came while the question waited."""
        if not question.fits(input) or (decision := self._decide(question.tool, input)).behavior != "deny":
            return None
        message = f"Permission to use {question.tool} has been denied: {decision.reason}."
        return Verdict(False, message=message, reason_type=decision.reason_type)

    async def _judge_again(self, edited: JsonObject, question: Question) -> Verdict | None:
        """A changed input is another call. Out: what becomes of it; None where the answer holds for it too."""
        if not question.fits(edited):
            return None
        decision = self._decide(question.tool, edited)
        if decision.behavior == "allow" or decision.reason_type != "safetyCheck":
            return None
        verdict = await self._ask(
            replace(question, input=edited), decision, lambda: self._decide(question.tool, edited)
        )
        return replace(verdict, input=verdict.input or edited) if verdict.allowed else verdict

    async def _update(self, updates: Any) -> bool:
        """Carry out what the answer grants besides; what cannot be is left out. Out: whether anything lasts."""
        lasting = False
        for item in cast("list[Any]", updates) if isinstance(updates, list) else ():
            try:
                update = msgspec.convert(item, PermissionUpdate)
                self._session.apply(update)
            except (msgspec.ValidationError, UpdateRefused):
                continue
            lasting = lasting or update.destination != "session"
            if update.type == "setMode":
                await self._speaker.system("status", status=None, permissionMode=self._session.mode)
        return lasting


def _settled(question: Question, decision: Decision) -> Verdict:
    """What rules and modes decided by themselves; what they would ask is denied where nobody can be asked."""
    if decision.behavior == "allow":
        source = "hook" if decision.reason_type == "hook" else "config"
        return Verdict(True, source=source, reason_type=decision.reason_type)
    message = f"Permission to use {question.tool} has been denied: {decision.reason}."
    return Verdict(False, message=message, reason_type=decision.reason_type, announced=True)


def _invalid(why: str) -> Verdict:
    return Verdict(False, message=_INVALID.format(why=why), source="user_reject")


def _request(question: Question, decision: Decision) -> JsonObject:
    """The question as the wire carries it."""
    fields: JsonObject = {
        "tool_name": question.tool,
        "display_name": question.tool.rpartition("__")[2] if question.server else question.tool,
        "input": question.input,
        "tool_use_id": question.call_id,
        "permission_suggestions": [update.to_wire() for update in decision.suggestions],
    }
    if question.description:
        fields["description"] = question.description
    if decision.reason_type == "interaction":
        fields["requires_user_interaction"] = True
        del fields["permission_suggestions"]
    elif decision.reason_type != "mode":
        fields |= {"decision_reason": decision.reason, "decision_reason_type": decision.reason_type}
    if decision.blocked_path:
        fields["blocked_path"] = decision.blocked_path
    if question.agent_id:
        fields["agent_id"] = question.agent_id
    if question.server:
        fields["mcp_server"] = question.server
    return fields
