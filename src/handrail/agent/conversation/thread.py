"""One thread of the conversation: that of the session, or that of a subagent."""

from __future__ import annotations

import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from handrail.agent.blocks import reminder, text_block
from handrail.agent.conversation.answer import Answer
from handrail.agent.conversation.history import History
from handrail.agent.conversation.permission import Permission, Question
from handrail.agent.conversation.timing import TurnTiming
from handrail.agent.hooks.base import EVENTS, HookResult
from handrail.agent.prompt.memory import Memory, memory_text
from handrail.agent.record.pull_requests import link_of
from handrail.agent.session import Session
from handrail.agent.speaker import Speaker, new_id
from handrail.agent.tools.base import Tool, ToolFailed
from handrail.agent.tools.desk import Desk

if TYPE_CHECKING:
    from handrail.agent.hooks.run import Hooks
    from handrail.agent.models.base import Model
    from handrail.agent.record.transcript import Transcript
    from handrail.agent.record.usage import Ledger

__all__ = ["Thread"]

JsonObject = dict[str, Any]
_AT_START: Final = frozenset({"startup", "resume"})
_LONGEST_TITLE: Final = 200
_MOST_STOP_BLOCKS: Final = 8


class Thread:
    """The parts and the state that the rounds of one thread share.

    `tools` and `system` are called for every round, because servers, rules and the mode change between rounds.
    `ask_host` asks for permission; None without a host to ask. `memory` has the memory files; None if the thread does
    without. `permission_mode` is the mode of its calls; "" for the session's. `note_denial` takes calls that were
    denied; None if the thread counts them itself. `preface` are further texts that are sent before the first prompt.
    `state_notes` are texts about the state of the session, which a compaction must not lose. `answer` is the answer
    being received, `open_calls` are the calls
    without a result: an interrupt has to finish both.
    """

    def __init__(
        self,
        session: Session,
        *,
        speaker: Speaker,
        history: History,
        desk: Desk,
        model: Model,
        ledger: Ledger,
        hooks: Hooks,
        ask_host: Callable[[JsonObject], Awaitable[JsonObject]] | None,
        transcript: Transcript,
        tools: Callable[[], dict[str, Tool[Any]]],
        system: Callable[[], Sequence[JsonObject]],
        model_name: Callable[[], str],
        agent_id: str = "",
        agent_type: str = "",
        agent_transcript: str = "",
        max_turns: int | None = None,
        memory: Memory | None = None,
        permission_mode: str = "",
        note_denial: Callable[[JsonObject], None] | None = None,
        preface: Callable[[], Iterable[str]] = tuple,
        state_notes: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self.session, self.speaker, self.history, self.desk = session, speaker, history, desk
        self.model, self.ledger, self.hooks = model, ledger, hooks
        self.permission = Permission(
            session, speaker, ask_host, self._ask_hooks, self._notify, self._outputs, mode=permission_mode
        )
        self.tools, self.system, self.model_name, self._transcript = tools, system, model_name, transcript
        self.agent_id, self.agent_type, self.max_turns = agent_id, agent_type, max_turns
        self._agent_transcript, self.memory = agent_transcript, memory
        self._preface, self.state_notes = preface, state_notes
        self._announced = self._prefaced = False
        self.restarts = 0
        """How often the conversation has started over, by a compaction or a command."""
        self._nested: set[str] = set()
        """Paths of memory files that were added because of a file they are about."""
        desk.ask_hooks, desk.worktree_hooks = self.object_to, self.hear_worktree
        desk.output_folders = self._outputs
        desk.report_output = speaker.tool_output
        self.answer: Answer | None = None
        self.open_calls: dict[str, JsonObject] = {}
        self.started_commands: set[str] = set()
        """The calls of this turn that started a shell command."""
        self.denials: list[JsonObject] = []
        self._note_denial = note_denial
        self.structured: Any = None
        """The answer that fits the schema of the host."""
        self.bad_outputs = 0
        self.most_stop_blocks = _most_stop_blocks(session.environment)
        self.deferred: JsonObject | None = None
        self.prompt_id = ""
        self.timing = TurnTiming()
        self.tool_uses = 0

    def begin_turn(self) -> None:
        """Reset what counts for one turn."""
        self.answer, self.open_calls, self.denials, self.timing = None, {}, [], TurnTiming()
        self.started_commands = set()
        self.structured, self.bad_outputs, self.deferred, self.prompt_id = None, 0, None, new_id()
        self.permission.granted = ()

    def add_denial(self, call: JsonObject) -> None:
        """Count a call that was denied. Those of a subagent count in the turn of the main conversation."""
        if self._note_denial is not None:
            self._note_denial(call)
        else:
            self.denials.append(call)

    # Hooks

    def hook_input(self, event: str, **fields: Any) -> JsonObject:
        """The input of a hook: the fields of every event, and those of this one."""
        session = self.session
        return {
            "session_id": session.id,
            "transcript_path": str(self._transcript.path),
            "cwd": self.desk.cwd,
            "prompt_id": self.prompt_id,
            "permission_mode": session.mode,
            "hook_event_name": event,
            **({"agent_id": self.agent_id, "agent_type": self.agent_type} if self.agent_id else {}),
            **({"agent_transcript_path": self._agent_transcript} if event == "SubagentStop" else {}),
            **fields,
        }

    async def hear(
        self, event: str, fields: JsonObject, *, tool_use_id: str | None = None, callbacks: bool = True
    ) -> HookResult:
        """Run the hooks of an event, report their messages and failures to the host, and apply what they set.

        Their contexts for the model are returned as reminders that name the hook: they are not words of the user.
        """
        if not self.hooks.has(event):
            return HookResult()
        found = await self.hooks.run(event, fields, tool_use_id=tool_use_id or new_id(), callbacks=callbacks)
        matched = str(fields.get(EVENTS[event].matched, ""))
        label = f"{event}:{matched}" if matched else event
        for text in found.system_messages:
            await self.speaker.system("informational", content=f"{label} says: {text}", level="notice")
        for text in found.failures:
            await self.speaker.system("informational", content=text, level="warning", tag="hook_callback_failed")
        for text in found.killed:
            verdict = {"hook_event": event, "tool_use_id": tool_use_id, "timed_out": True}
            await self.speaker.system(
                "informational", content=text, level="warning", tag="hook_no_verdict", hook_no_verdict=verdict
            )
        self.desk.environment.update(found.environment)
        if found.title:
            await self._rename(found.title[:_LONGEST_TITLE])
        notes = tuple(reminder(f"{label} hook adds:\n{text}") for text in found.additional_context)
        return replace(found, additional_context=notes)

    async def _rename(self, title: str) -> None:
        self.session.title = title
        self._transcript.name(title)
        await self.speaker.system("session_title_changed", title=title)

    async def object_to(self, event: str, **fields: Any) -> str:
        """Run the hooks of an event that they may refuse. Returns the reason of the hook that does, or ""."""
        found = await self.hear(event, self.hook_input(event, **fields))
        if found.block is None and found.continue_:
            return ""
        return found.block or found.stop_reason or "a hook refused it"

    async def hear_worktree(self, event: str, **fields: Any) -> str | None:
        """Run the hooks that make or remove a worktree. Returns the path that they name; None without such hooks."""
        if not self.hooks.has(event):
            return None
        found = await self.hear(event, self.hook_input(event, **fields))
        if problem := found.block or found.stop_reason or " ".join((*found.failures, *found.killed)):
            raise ToolFailed(f"{event}: {problem}")
        return str(found.specific.get("worktreePath") or "").strip().rpartition("\n")[2]

    async def start_session(self, source: str) -> None:
        """Run the SessionStart hooks. Callbacks of the host are not called when the process starts."""
        fields = self.hook_input("SessionStart", source=source, model=self.model_name())
        found = await self.hear("SessionStart", fields, callbacks=source not in _AT_START)
        for text in found.additional_context:
            self.history.add_user(text)

    async def before_switch(self, other: str) -> str:
        """Run the PreModelSwitch hooks. Returns the reason of one that blocks the switch, or ""."""
        if not self.hooks.has("PreModelSwitch"):
            return ""
        return await self.object_to("PreModelSwitch", **self._switch(self.model_name(), other))

    async def after_switch(self, before: str) -> None:
        """Run the PostModelSwitch hooks. They only observe."""
        event = "PostModelSwitch"
        await self.hear(event, self.hook_input(event, **self._switch(before, self.model_name())))

    def _switch(self, before: str, after: str) -> JsonObject:
        return {"from_model": before, "to_model": after, "requested_model": after, "source": "sdk"}

    async def exit_session(self) -> None:
        """Run the SessionEnd commands before the process exits. Callbacks are not called: the host may have exited."""
        event = "SessionEnd"
        fields = self.hook_input(event, reason="other")
        found = await self.hooks.run(event, fields, callbacks=False, limit=_exit_limit(self.session.environment))
        for text in (*found.system_messages, *found.failures, *found.killed):
            print(text, file=sys.stderr, flush=True)

    # Memory

    def messages(self) -> Sequence[JsonObject]:
        """The conversation as it is sent. The memory files are read for the first request."""
        if not self._prefaced:
            self._prefaced = True
            texts = [*self._preface(), memory_text(self.memory.loaded()) if self.memory else ""]
            self.history.preface = [text_block(text) for text in texts if text]
        return self.history.sent()

    def add_notes(self, texts: Iterable[str]) -> None:
        """Add texts of the agent to the conversation. They are recorded, so that a resumed session has them too."""
        if blocks := [text_block(text) for text in texts]:
            self.history.add_user(blocks)
            self.speaker.keep({"type": "attachment", "attachment": {"type": "files", "content": blocks}})

    def forget_shown(self) -> None:
        """The conversation starts over: memory files are read again, and no file counts as seen by the model."""
        self.restarts += 1
        self._prefaced, self._nested = False, set()
        self.desk.seen.clear()
        if self.memory is not None:
            self.memory.forget()

    async def instructions_about(self, paths: Iterable[str]) -> list[str]:
        """The texts of memory files about files that the model has just read or changed."""
        found = [file for path in paths for file in self.memory.about(path, self._nested)] if self.memory else []
        for file in found:
            event = "InstructionsLoaded"
            await self.hear(event, self.hook_input(event, **file.hook_fields()))
        notes = [reminder(file.shown()) for file in found]
        return [note for note in notes if not self.history.has(text_block(note))]  # a resumed session may have them

    async def announce_instructions(self, reason: str) -> None:
        """Run the InstructionsLoaded hooks for each memory file: once at the start, and after each compaction.

        The hooks only observe.
        """
        event = "InstructionsLoaded"
        if reason == "session_start" and self._announced:
            return
        self._announced = True
        if self.memory is not None and self.hooks.has(event):
            for file in (file for file in self.memory.loaded() if file.kind != "AutoMem"):
                fields = file.hook_fields() | ({"load_reason": reason} if file.reason == "session_start" else {})
                await self.hear(event, self.hook_input(event, **fields))

    async def _ask_hooks(self, question: Question, suggestions: list[JsonObject]) -> JsonObject | None:
        """The decision of PermissionRequest hooks, if any."""
        event = "PermissionRequest"
        about = {"tool_name": question.tool, "tool_input": question.input, "permission_suggestions": suggestions}
        return (await self.hear(event, self.hook_input(event, **about), tool_use_id=question.call_id)).permission

    async def _notify(self, question: Question) -> None:
        """Run the Notification hooks for a permission request. They only observe."""
        event = "Notification"
        if self.hooks.has(event):
            about = {
                "message": f"Claude needs your permission to use {question.tool}",
                "notification_type": "permission_prompt",
            }
            await self.hear(event, self.hook_input(event, **about))

    def _outputs(self) -> tuple[str, ...]:
        """The folders of long tool results and of background tasks."""
        return tuple(str(self._transcript.folder / name) for name in ("tool-results", "tasks"))

    def note_command(self, command: str, output: str) -> None:
        """Link the session to the pull request that a successful command opened or changed."""
        if link := link_of(command, output):
            self._transcript.link_pull_request(link)

    # The structured answer

    def note_output(self, *, failed: bool) -> None:
        """Count an answer that does not fit the schema, or keep the one that does."""
        if failed:
            self.bad_outputs += 1
        else:
            state = self.desk.state
            self.structured, state.structured_output = state.structured_output, None

    def structured_text(self) -> str:
        """The structured answer as JSON text."""
        return msgspec.json.encode(self.structured).decode()


def _most_stop_blocks(environment: Mapping[str, str]) -> float:
    """How often Stop hooks may keep a turn from ending; infinite if the environment says 0 or less."""
    given = environment.get("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "")
    wanted = int(given) if re.fullmatch(r"-?[0-9]{1,9}", given) else _MOST_STOP_BLOCKS
    return wanted if wanted > 0 else inf


def _exit_limit(environment: Mapping[str, str]) -> float | None:
    """Seconds that every SessionEnd command may take, if the environment says so."""
    given = environment.get("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS", "")
    return int(given) / 1000 if given.isdecimal() and 0 < len(given) < 9 and int(given) else None
