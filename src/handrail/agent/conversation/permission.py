"""Decides whether a tool call may run: by rules and mode, by a hook, or by asking the host.

The engine in `handrail.permissions` decides. If it says ask, the host and the PermissionRequest hooks are asked at the
same time; the first answer wins, and the other question is withdrawn. It is also withdrawn when the mode changes and
the new mode decides. Without a host that can answer, only the hooks are asked, and if they do not decide, the call is
denied.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from handrail.agent.session import Session
from handrail.agent.speaker import Speaker
from handrail.connection import ControlError, Disconnected
from handrail.files.resolve import Disk, real_path
from handrail.permissions.circumstances import Circumstances, Decision, Step, World
from handrail.permissions.decide import decide, with_hook
from handrail.permissions.modes import class_of
from handrail.permissions.paths.patterns import escape
from handrail.permissions.rules.rule import Behavior, Rule, SourcedRule
from handrail.permissions.updates.apply import UpdateRefused, read_updates

__all__ = ["Permission", "Verdict"]

JsonObject = dict[str, Any]
AskHost = Callable[[JsonObject], Awaitable[JsonObject]]
Judge = Callable[[], Decision]
"""Decides a call by the current rules and mode."""
NOTIFY_AFTER: Final = 6.0
"""Seconds that a permission request is pending before the Notification hooks run."""
_MODES_OF_SUBAGENTS: Final = frozenset({"acceptEdits", "dontAsk", "plan"})
"""The modes that the definition of a subagent can choose. Only the user can choose bypassPermissions."""
_ASKING_LESS: Final = frozenset({"acceptEdits", "bypassPermissions"})
_INVALID: Final = (
    "The canUseTool callback returned an invalid permission result: {why}. It must be"
    ' {{"behavior": "allow", "updatedInput"?: object}} or {{"behavior": "deny", "message": string}}.'
)


class Verdict(Struct, frozen=True):
    """Whether a call may run, and why."""

    allowed: bool
    input: JsonObject | None = None
    """The input to run with, if it was changed."""
    message: str = ""
    interrupt: bool = False
    source: str = "config"
    reason_type: str = ""
    announced: bool = False
    """No one was asked, so the host gets a `permission_denied` line."""
    caged: bool = False
    """The call is allowed only because it reads: it runs in the cage, if there is one."""

    def meta(self, call_id: str) -> JsonObject:
        """The `tool_result_meta` of the call."""
        decision: JsonObject = {"decision": "accept" if self.allowed else "reject", "source": self.source}
        if self.reason_type:
            decision["reason_type"] = self.reason_type
        kind = {} if self.allowed else {"non_execution_kind": "permission-rule"}
        return {"id": call_id, **kind, "permission_decision": decision}


class Question(Struct, frozen=True):
    """A call that needs a decision."""

    tool: str
    input: JsonObject
    call_id: str
    description: str = ""
    agent_id: str = ""
    server: JsonObject | None = None
    fits: Callable[[JsonObject], bool] = lambda input: True
    """Whether the tool can read this input. If it cannot, the call fails without a decision."""
    paths: World | None = None
    """The paths of the call, which the tool will open as they were decided on; None to look at the disk each time."""
    folder: str = ""
    """The current folder of the shell, if it left the working folder."""
    harmless: bool = False
    """Runs unless a rule says otherwise."""
    reads: bool = False
    """It is a call of an MCP tool that only reads."""


class Permission:
    """Decides calls.

    `ask_host` is None without a host to ask; `ask_hooks` runs the PermissionRequest hooks with the suggestions for
    the call; `notify` runs the Notification hooks when the user has to wait for an answer; `outputs` lists the folders
    of this session's own tool output, which may be read without asking, with Read and with commands that only read.
    `mode` is the mode of a subagent, if its definition names one.
    """

    def __init__(
        self,
        session: Session,
        speaker: Speaker,
        ask_host: AskHost | None,
        ask_hooks: Callable[[Question, list[JsonObject]], Awaitable[JsonObject | None]],
        notify: Callable[[Question], Awaitable[None]],
        outputs: Callable[[], tuple[str, ...]] = tuple,
        *,
        mode: str = "",
    ) -> None:
        self._session, self._speaker = session, speaker
        self._ask_host, self._ask_hooks, self._notify, self._outputs = ask_host, ask_hooks, notify, outputs
        self._mode = mode
        self._ruled: tuple[tuple[str, ...], list[SourcedRule]] = ((), [])
        """The folders of output for which rules were written, and these rules."""
        self.granted: tuple[SourcedRule, ...] = ()
        """Allow rules of skills that the model loaded in this thread."""
        self.notify_after = NOTIFY_AFTER
        self._beside: set[asyncio.Future[Any]] = set()
        """Hooks that still run although nothing depends on their answer."""

    async def check(
        self, question: Question, hook: Behavior | None = None, why: str = "", *, asks: bool = True
    ) -> Verdict:
        """Decide one call. `hook`: the decision of PreToolUse hooks, `why`: their reason.

        Without `asks`, neither the host nor hooks are asked, and a call that needs an answer is denied.
        """

        def judge() -> Decision:
            decision, circumstances = self._decide(question, question.input), self._in_mode(self._session.circumstances)
            return decision if hook is None else with_hook(decision, hook, why, circumstances=circumstances)

        decision = judge()
        if not asks:
            return _settled(question, decision)
        if decision.behavior == "ask" and self._ask_host is not None:
            return await self._ask(question, decision, judge)
        if decision.behavior == "deny" and decision.reason_type == "asyncAgent":  # a host would have been asked
            answer = await self._ask_hooks(question, [])
            if answer is not None:
                return await self._read(answer, question, source="hook")
        return _settled(question, decision)

    async def check_uncaged(self, question: Question, tried: str) -> Verdict:
        """Ask whether a call that the cage stopped may run outside of it. `tried`: what the cage stopped."""
        circumstances = self._in_mode(self._session.circumstances)
        step = Step("ask", tried, "sandboxOverride", subject=question.tool)
        decision = Decision("ask", tried, "sandboxOverride", steps=(step,))
        if self._ask_host is not None and circumstances.can_prompt and circumstances.mode != "dontAsk":
            return await self._ask(question, decision, lambda: decision)
        answer = await self._ask_hooks(question, []) if circumstances.mode != "dontAsk" else None
        if answer is not None:
            return await self._read(answer, question, source="hook")
        return _settled(question, decision)

    def _decide(self, question: Question, input: JsonObject) -> Decision:
        circumstances = self._in_mode(self._session.circumstances_for(question.tool, input))
        own = [SourcedRule(Rule(question.tool), "allow", "session")] if question.harmless else []
        rules = (*circumstances.rules, *self._output_rules(), *self.granted, *own)
        circumstances = replace(circumstances, rules=rules, reads=question.reads)
        if class_of(question.tool) == "execute":
            from handrail.cage.guards import find_guard  # imported late: a session that runs no command starts faster

            circumstances = replace(circumstances, cage=find_guard() is not None, folder=question.folder)
        return decide(question.tool, input, circumstances, question.paths or Disk(circumstances.anchors))

    def _in_mode(self, circumstances: Circumstances) -> Circumstances:
        """The circumstances in the mode of a subagent, which does not limit a session that asks less."""
        if self._mode not in _MODES_OF_SUBAGENTS or circumstances.mode in _ASKING_LESS:
            return circumstances
        return replace(circumstances, mode=self._mode)  # type: ignore[arg-type]

    def _output_rules(self) -> list[SourcedRule]:
        """Rules that allow reading this session's own tool output, in both spellings of its folders."""
        folders = self._outputs()
        if folders != self._ruled[0]:
            spelled = dict.fromkeys(path for folder in folders for path in (folder, real_path(folder)))
            rules = [SourcedRule(Rule("Read", f"/{escape(path)}/**"), "allow", "session") for path in spelled]
            self._ruled = (folders, rules)
        return self._ruled[1]

    async def _ask(self, question: Question, decision: Decision, judge: Judge) -> Verdict:
        """Ask, and ask again if the files that would run have changed in the meantime."""
        while True:
            files = self._files(question)
            verdict = await self._ask_once(question, decision, judge, files)
            if not verdict.allowed or self._files(question) == files:
                return verdict

    def _files(self, question: Question) -> dict[str, str]:
        command = question.input.get("command") if class_of(question.tool) == "execute" else None
        if not isinstance(command, str):
            return {}
        from handrail.agent.conversation.run_files import run_files  # few calls are asked about

        return run_files(command, self._session.cwd)

    async def _ask_once(self, question: Question, decision: Decision, judge: Judge, files: dict[str, str]) -> Verdict:
        """Ask the host and the hooks together. The host's answer counts from its arrival, before it is applied."""
        assert self._ask_host is not None
        shown = {"files": [{"path": path, "sha256": mark} for path, mark in files.items()]} if files else {}
        host = asyncio.ensure_future(self._ask_host({**_request(question, decision), **shown}))
        switching = asyncio.ensure_future(self._decided_by_mode(judge))
        suggestions = [update.to_wire() for update in decision.suggestions]
        hooks = asyncio.ensure_future(self._ask_hooks(question, suggestions))
        waiting = asyncio.get_running_loop().call_later(self.notify_after, self._start_notify, question)
        try:
            await asyncio.wait([host, switching, hooks], return_when=asyncio.FIRST_COMPLETED)
            if not host.done() and not switching.done():
                if (answer := hooks.result()) is not None:
                    return await self._read(answer, question, source="hook")
                await asyncio.wait([host, switching], return_when=asyncio.FIRST_COMPLETED)
            if switching.done():
                return _settled(question, switching.result())
            return await self._read_host(host, question)
        finally:
            host.cancel()
            switching.cancel()
            waiting.cancel()
            self._leave(hooks)
            await asyncio.gather(host, switching, return_exceptions=True)

    def _start_notify(self, question: Question) -> None:
        self._leave(asyncio.ensure_future(self._notify(question)))

    def _leave(self, hooks: asyncio.Future[Any]) -> None:
        """Let hooks finish, and ignore their answer."""
        self._beside.add(hooks)
        hooks.add_done_callback(self._beside.discard)

    async def _read_host(self, host: asyncio.Future[JsonObject], question: Question) -> Verdict:
        try:
            answer = host.result()
        except Disconnected:
            return Verdict(
                False, message="Tool permission request failed: Error: the stream was closed", source="user_reject"
            )
        except ControlError as error:
            message = f"Tool permission request failed: Error: {error}"
            return Verdict(False, message=message, source="user_reject")
        return await self._read(answer, question, source="user")

    async def _decided_by_mode(self, judge: Judge) -> Decision:
        """Wait until the mode decides by itself."""
        while True:
            await self._session.mode_switched()
            if (decision := judge()).behavior != "ask":
                return decision

    async def _read(self, answer: JsonObject, question: Question, *, source: str) -> Verdict:
        """Check the answer of a host or a hook, and apply it."""
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
        """Deny rules beat every answer, also rules that were added while the question was pending."""
        if not question.fits(input) or (decision := self._decide(question, input)).behavior != "deny":
            return None
        if decision.reason_type == "asyncAgent":  # denied only because the session has no host
            return None
        message = f"Permission to use {question.tool} has been denied: {decision.reason}."
        return Verdict(False, message=message, reason_type=decision.reason_type)

    async def _judge_again(self, edited: JsonObject, question: Question) -> Verdict | None:
        """Decide again about a changed input. Returns None if the answer covers it too."""
        if not question.fits(edited):
            return None
        decision = self._decide(question, edited)
        if decision.behavior == "allow" or decision.reason_type != "safetyCheck":
            return None
        verdict = await self._ask(replace(question, input=edited), decision, lambda: self._decide(question, edited))
        return replace(verdict, input=verdict.input or edited) if verdict.allowed else verdict

    async def _update(self, updates: Any) -> bool:
        """Apply the permission updates of an answer. Returns whether any outlives the session.

        Valid updates that this session refuses, such as a mode that is not available, do not affect the others.
        """
        lasting = False
        for update in read_updates(updates):
            try:
                self._session.apply(update)
            except UpdateRefused:
                continue
            lasting = lasting or update.destination != "session"
            if update.type == "setMode":
                await self._speaker.system("status", status=None, permissionMode=self._session.mode)
        return lasting


def _settled(question: Question, decision: Decision) -> Verdict:
    """The decision of rules and modes, in a session without a host. A call that would ask is denied."""
    if decision.behavior == "allow":
        source = "hook" if decision.reason_type == "hook" else "config"
        return Verdict(True, source=source, reason_type=decision.reason_type, caged=decision.caged)
    message = f"Permission to use {question.tool} has been denied: {decision.reason}."
    return Verdict(False, message=message, reason_type=decision.reason_type, announced=True)


def _invalid(why: str) -> Verdict:
    return Verdict(False, message=_INVALID.format(why=why), source="user_reject")


def _request(question: Question, decision: Decision) -> JsonObject:
    """The fields of a `can_use_tool` request."""
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
