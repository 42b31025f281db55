"""The questions that wait for a person: permissions, plans, AskUserQuestion, elicitations.

A question carries the hash of what is shown. An answer names that hash, so a person cannot allow anything other than
what they saw. The first answer wins; questions do not expire.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, cast
from uuid import uuid4

import msgspec
from msgspec import Struct

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.events import event
from handrail.bridge.session.grants import BYPASS, for_session
from handrail.bridge.store.base import NewEvent
from handrail.client.callbacks import Allow, Deny, ElicitationAnswer, ElicitationRequest, PermissionRequest
from handrail.permissions.updates.breadth import update_breadth
from handrail.permissions.updates.exact_rule import call_key, exact_update
from handrail.protocol import Request
from handrail.schema.permission_types import PermissionUpdate, read_suggestions
from handrail.schema.view import ViewError, read_view

__all__ = ["Answer", "Claimed", "Question", "Questions", "Verdict", "offered_suggestions", "verdict"]

log = logging.getLogger("handrail.bridge")

JsonObject = dict[str, Any]
Asked = PermissionRequest | ElicitationRequest
Kind = Literal["permission", "questions", "plan", "elicitation"]
MOST_QUESTIONS: Final = 100
_REQUESTS: Final[Mapping[str, type[Asked]]] = {"can_use_tool": PermissionRequest, "elicitation": ElicitationRequest}
_KINDS: Mapping[str, Kind] = {"AskUserQuestion": "questions", "ExitPlanMode": "plan"}


class Question(Struct, frozen=True):
    """A pending question. `request` is the CLI's request, byte for byte."""

    id: str
    kind: Kind
    hash: str
    request: bytes
    tool_use_id: str = ""


class Chosen(Struct, frozen=True, forbid_unknown_fields=True):
    """A suggested permission update, by its index in the question, and where it is stored."""

    index: int
    destination: Literal["session", "localSettings", "projectSettings", "userSettings"] = "session"


class Answer(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A person's answer.

    allow, deny   for a tool, a plan or questions; `input` replaces the requested input, `reason` is sent to the model
    updates       the suggestions that are granted as well
    remember      for a permission, allow exactly this call for the rest of the session
    answers       for questions, by their text
    notes         for questions, what the person adds to an answer, by the text of the question
    mode          for a plan, the permission mode to continue in
    content       for an elicitation that is accepted
    """

    behavior: Literal["allow", "deny"]
    input: JsonObject | None = None
    updates: list[Chosen] = []
    remember: bool = False
    reason: str = ""
    interrupt: bool = False
    answers: dict[str, str | list[str]] | None = None
    notes: dict[str, str] = {}
    mode: Literal["default", "acceptEdits"] | None = None
    content: JsonObject | None = None


class Verdict(Struct, frozen=True):
    """An answer in the form the CLI takes, and what it grants for the session.

    `remembered` is the key of a call that is allowed from now on, regardless of the CLI's own rules.
    """

    reply: Allow | Deny | ElicitationAnswer
    rules: tuple[JsonObject, ...] = ()
    remembered: bytes = b""


class _Open(Struct):
    question: Question
    asked: Asked
    request_id: str


class Claimed(Struct, frozen=True):
    """A question taken out to be answered: deliver the verdict once the answer is durable, or put it back."""

    entry: _Open
    verdict: Verdict


class Questions:
    """The open questions of one session.

    The reader opens a question where its request appears among the messages; the SDK's callback for the same request
    waits in `reply`. Either may come first. `help_for` adds to a question what helps a person to decide.
    """

    def __init__(self, help_for: Callable[[PermissionRequest], JsonObject] = lambda asked: {}) -> None:
        self._help_for = help_for
        self._open: dict[str, _Open] = {}
        self._replies: dict[str, asyncio.Future[Any]] = {}
        self._remembered: dict[bytes, str] = {}
        """Calls allowed for the session, with the name of the device that allowed each."""
        self._unreported: list[str] = []
        """Requests answered from memory, whose events are not durable yet."""

    def __len__(self) -> int:
        return len(self._open)

    def all(self) -> list[Question]:
        """The open questions, oldest first."""
        return [entry.question for entry in self._open.values()]

    # The CLI's side

    def ask(self, request: Request, agents: Mapping[str, str]) -> list[NewEvent]:
        """Open the question that a control request asks; returns the events to record.

        `agents` gives the kind of each subagent by its id, for a question that a subagent asks. A request that is not a
        question, or that the SDK refuses as malformed, opens none.
        """
        view = _REQUESTS.get(request.subtype)
        if view is None:
            return []
        try:
            asked = read_view(view, request.body)
        except ViewError:
            return []
        if len(self._open) >= MOST_QUESTIONS:
            self._settle(request.id, _too_many(asked))
            return []
        question = _question(asked)
        shown: JsonObject = {"question": question.id, "kind": question.kind, "hash": question.hash}
        suggestions, agent, help = list[JsonObject](), "", JsonObject()
        if isinstance(asked, PermissionRequest):
            suggestions, agent = offered_suggestions(asked), agents.get(asked.agent_id or "", "")
            help = self._help(asked)
        self._reply(request.id)  # so that an answer finds it, even if the callback has not been called yet
        shown |= {"request": msgspec.Raw(question.request), "suggestions": suggestions, "agent": agent, "help": help}
        opened = event("asked", **shown)
        if by := self._remembered_by(asked):
            self._unreported.append(request.id)
            given = {"behavior": "allow", "remember": True}
            return [opened, event("answered", question=question.id, by=by, answer=given, granted=())]
        self._open[question.id] = _Open(question, asked, request.id)
        return [opened]

    def _help(self, asked: PermissionRequest) -> JsonObject:
        try:
            return self._help_for(asked)
        except Exception:  # a question without help can be answered, one that is not asked cannot
            log.exception("no help for a question about %s", asked.tool_name)
            return {}

    def deliver_remembered(self) -> None:
        """Answer the requests that were allowed from memory, now that their events are durable."""
        for request_id in self._unreported:
            self._settle(request_id, Allow())
        self._unreported.clear()

    def _remembered_by(self, asked: Asked) -> str:
        if isinstance(asked, ElicitationRequest) or _asked_every_time(asked):
            return ""
        return self._remembered.get(call_key(asked.tool_name, asked.input), "")

    def withdraw(self, request_id: str) -> list[NewEvent]:
        """The CLI withdrew a request; returns the events to record."""
        self._replies.pop(request_id, None)
        withdrawn = [id for id, entry in self._open.items() if entry.request_id == request_id]
        for id in withdrawn:
            del self._open[id]
        return [event("closed", question=id, why="withdrawn") for id in withdrawn]

    async def reply(self, asked: Asked) -> Any:
        """Wait for the answer to a request. For the SDK's callbacks."""
        id = asked.request_id
        try:
            return await self._reply(id)
        finally:
            self._replies.pop(id, None)

    def close_all(self, why: str, **fields: Any) -> list[NewEvent]:
        """Close all questions, because no process waits for answers; return the events to record."""
        closed = [event("closed", question=id, why=why, **fields) for id in self._open]
        self._open.clear()
        self._replies.clear()
        self._remembered.clear()
        self._unreported.clear()
        return closed

    def _reply(self, request_id: str) -> asyncio.Future[Any]:
        if request_id not in self._replies:
            self._replies[request_id] = asyncio.get_running_loop().create_future()
        return self._replies[request_id]

    def _settle(self, request_id: str, reply: Any) -> None:
        if not (waiting := self._reply(request_id)).done():
            waiting.set_result(reply)

    # The person's side

    def claim(self, id: str, shown: str, answer: Answer) -> Claimed:
        """Take a question out to answer it. CommandRefused if it is not open, or not the one that was shown."""
        entry = self._open.get(id)
        if entry is None:
            raise CommandRefused("not_pending", f"question {id} is not open; it was answered or withdrawn")
        if entry.question.hash != shown:
            raise CommandRefused("changed", "the question changed after it was shown; review it again")
        decided = verdict(entry.asked, answer)
        del self._open[id]
        return Claimed(entry, decided)

    def put_back(self, claimed: Claimed) -> None:
        """The answer could not be stored: the question is open again, unless it was withdrawn meanwhile."""
        entry = claimed.entry
        if entry.request_id in self._replies:
            self._open[entry.question.id] = entry

    def deliver(self, claimed: Claimed, by: str) -> None:
        """Give the CLI its answer. A request that was withdrawn meanwhile gets none."""
        if claimed.verdict.remembered:
            self._remembered[claimed.verdict.remembered] = by
        waiting = self._replies.get(claimed.entry.request_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(claimed.verdict.reply)


def _question(asked: Asked) -> Question:
    raw = asked.raw
    kind: Kind = "elicitation"
    call = ""
    if isinstance(asked, PermissionRequest):
        kind, call = _KINDS.get(asked.tool_name, "permission"), asked.tool_use_id
    return Question(str(uuid4()), kind, hashlib.sha256(raw).hexdigest(), raw, call)


def _too_many(asked: Asked) -> Deny | ElicitationAnswer:
    if isinstance(asked, ElicitationRequest):
        return ElicitationAnswer("cancel")
    return Deny(f"too_many_prompts: {MOST_QUESTIONS} questions are already pending, so this one was not shown")


# What an answer means


def verdict(asked: Asked, answer: Answer) -> Verdict:
    """The CLI's form of an answer. Raises CommandRefused if the answer does not fit the question."""
    if answer.remember:
        _check_remember(asked, answer)
    if isinstance(asked, ElicitationRequest):
        action = "accept" if answer.behavior == "allow" else "decline"
        return Verdict(ElicitationAnswer(action, answer.content if action == "accept" else None))
    if answer.behavior == "deny":
        return Verdict(Deny(answer.reason, interrupt=answer.interrupt))
    input, updates = answer.input, _updates(asked, answer.updates)
    if answer.answers is not None or answer.notes:
        input = _with_answers(asked, answer)
    if answer.mode is not None:
        if asked.tool_name != "ExitPlanMode":
            raise CommandRefused("bad_answer", "`mode` is only valid for a plan, and this question is not a plan")
        updates = [*updates, {"type": "setMode", "mode": answer.mode, "destination": "session"}]
    if not answer.remember:
        return Verdict(Allow(input=input, updates=updates), tuple(for_session(updates)))
    # A rule keeps the CLI from asking. It may ask all the same (plan mode, a symlink, a tool without such a rule), so
    # the call itself is remembered as well.
    rule = exact_update(asked.tool_name, asked.input)
    updates = [*updates, *([rule.to_wire()] if rule else [])]
    key = call_key(asked.tool_name, asked.input)
    return Verdict(Allow(input=input, updates=updates), tuple(for_session(updates)), key)


def _check_remember(asked: Asked, answer: Answer) -> None:
    if answer.behavior == "deny" or answer.input is not None:
        raise CommandRefused("bad_answer", "`remember` needs behavior allow and the unchanged input")
    if isinstance(asked, ElicitationRequest) or _asked_every_time(asked):
        raise CommandRefused("bad_answer", "this question is asked every time and cannot be remembered")


def _asked_every_time(asked: PermissionRequest) -> bool:
    """Only a person may answer, every time: questions, plans, and calls that a policy reserves."""
    reserved = asked.requires_user_interaction or asked.suppress_always_allow_rule or asked.server_policy_ask_only
    return reserved or asked.tool_name in _KINDS


def _with_answers(asked: PermissionRequest, answer: Answer) -> JsonObject:
    """The tool's input with the answers in it. CommandRefused for an answer to a question that was not asked."""
    if asked.tool_name != "AskUserQuestion":
        raise CommandRefused("bad_answer", "answers and notes are only valid for AskUserQuestion")
    answers, notes = answer.answers or {}, {text: note for text, note in answer.notes.items() if note.strip()}
    texts = {question.question for question in asked.questions}
    if unknown := sorted((set(answers) | set(notes)) - texts):
        raise CommandRefused("bad_answer", f"{unknown[0]!r} was not asked; use the text of a question as key")
    joined = {text: given if isinstance(given, str) else ", ".join(given) for text, given in answers.items()}
    added = {"annotations": {text: {"notes": note} for text, note in notes.items()}} if notes else {}
    return {**asked.input, "answers": joined, **added}


# Suggestions: permission updates that an answer may grant as well

DESTINATIONS: Final = ("session", "localSettings", "projectSettings", "userSettings")
MOST_SUGGESTIONS: Final = 10
SUGGESTION_BYTES: Final = 4096
"""Of all suggestions of a question. A person would not read more before granting it, and parsing it takes time."""
_SESSION_ONLY: Final[Mapping[str, tuple[str, ...]]] = {"setMode": ("session",)}
"""A mode that an answer sets ends with the session and is never written to a settings file."""


def _suggestions(asked: PermissionRequest) -> list[JsonObject]:
    raw = bytes(asked.suggestions_raw)
    found: Any = msgspec.json.decode(raw) if raw else []
    entries = cast("list[Any]", found) if isinstance(found, list) else []
    return [cast("JsonObject", entry) for entry in entries if isinstance(entry, dict)]


def offered_suggestions(asked: PermissionRequest) -> list[JsonObject]:
    """The suggestions that may be granted: index, breadth in words, possible destinations.

    The words come from the permission engine. A rule that the engine would not honour, and bypassPermissions, are
    never offered.
    """
    offered: list[JsonObject] = []
    room = SUGGESTION_BYTES
    for index, suggestion in enumerate(_suggestions(asked)[:MOST_SUGGESTIONS]):
        raw = msgspec.json.encode([suggestion])
        if len(raw) > room:
            continue
        room -= len(raw)
        (update,) = read_suggestions(raw)
        words = update_breadth(update) if isinstance(update, PermissionUpdate) else ""
        if isinstance(update, PermissionUpdate) and words:
            places = _SESSION_ONLY.get(update.type, DESTINATIONS)
            suggested = update.destination if update.destination in places else places[0]
            offered.append({"index": index, "words": words, "destinations": list(places), "suggested": suggested})
    return offered


def _updates(asked: PermissionRequest, chosen: list[Chosen]) -> list[JsonObject]:
    """The chosen suggestions as they were shown, each with its destination. CommandRefused."""
    if not chosen:
        return []
    shown = _suggestions(asked)
    places = {offer["index"]: offer["destinations"] for offer in offered_suggestions(asked)}
    for one in chosen:
        if not 0 <= one.index < len(shown):
            raise CommandRefused("bad_answer", f"suggestion {one.index} does not exist; {len(shown)} were shown")
        if shown[one.index].get("mode") == BYPASS:
            raise CommandRefused("bad_answer", "an answer cannot grant bypassPermissions")
        if one.index not in places:
            raise CommandRefused("bad_answer", f"suggestion {one.index} cannot be granted; the rule is invalid")
        if one.destination not in places[one.index]:
            allowed = ", ".join(places[one.index])
            raise CommandRefused(
                "bad_answer", f"suggestion {one.index} cannot be stored in {one.destination}, only in {allowed}"
            )
    return [{**shown[one.index], "destination": one.destination} for one in chosen]
