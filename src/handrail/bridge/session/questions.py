"""What waits for a human. In: requests of the CLI. Out: one answer each, by whoever is first; nobody is in a hurry.

A question has the hash of what is shown. An answer names it, so that nobody allows what he has not seen.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.grants import BYPASS, for_session
from handrail.bridge.session.suggestions import offered, suggestions_of
from handrail.client.callbacks import Allow, Deny, ElicitationAnswer, ElicitationRequest, PermissionRequest
from handrail.permissions.exact_rule import call_key, exact_update

__all__ = ["Answer", "Granted", "Question", "Questions", "answered", "question_of", "turned_away"]

JsonObject = dict[str, Any]
Kind = Literal["permission", "questions", "plan", "elicitation"]
MOST_QUESTIONS: Final = 100
_KINDS: Mapping[str, Kind] = {"AskUserQuestion": "questions", "ExitPlanMode": "plan"}


class Question(Struct, frozen=True):
    """Something that a human must say. `request` is what the CLI asked, as it came."""

    id: str
    kind: Kind
    hash: str
    request: bytes
    tool_use_id: str = ""


class Chosen(Struct, frozen=True, forbid_unknown_fields=True):
    """One of the updates that the question suggests, by its place, for a scope of the user's choice."""

    index: int
    destination: Literal["session", "localSettings", "projectSettings", "userSettings"] = "session"


class Answer(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a human says.

    allow, deny   a tool, a plan, questions; `input` is run in place of what was asked, `reason` goes to the model
    updates       which suggestions of the question are granted besides
    remember      to a permission: allow exactly this call for the session, by a rule and by memory
    answers       to questions: by their text
    notes         to questions: what the human adds to an answer, by the text of the question
    mode          to a plan: the mode to go on in
    content       to an elicitation that is allowed
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


class Granted(Struct, frozen=True):
    """What the CLI is told, and which rules of the session go with it."""

    reply: Allow | Deny | ElicitationAnswer
    rules: tuple[JsonObject, ...] = ()
    remembered: bytes = b""
    """The call that is allowed for the session, as `call_key` identifies it."""


class _Open(Struct):
    question: Question
    asked: PermissionRequest | ElicitationRequest
    reply: asyncio.Future[Any]


class Questions:
    """The open questions of one session."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._remembered: dict[bytes, str] = {}
        """Calls allowed for the session, with the name of the device that allowed each."""

    def __len__(self) -> int:
        return len(self._open)

    @property
    def full(self) -> bool:
        """Do so many wait that whoever asks more is told no?"""
        return len(self._open) >= MOST_QUESTIONS

    def all(self) -> list[Question]:
        """Those that wait, oldest first."""
        return [entry.question for entry in self._open.values()]

    def put(self, question: Question, asked: PermissionRequest | ElicitationRequest) -> asyncio.Future[Any]:
        """One more. Out: where its answer will be."""
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._open[question.id] = _Open(question, asked, reply)
        return reply

    def claim(self, id: str, shown: str, answer: Answer) -> tuple[_Open, Granted]:
        """Take a question out, to answer it. CommandRefused where it is not open, or is another than was shown."""
        entry = self._open.get(id)
        if entry is None:
            raise CommandRefused("not_pending", f"no question {id} is open: it was answered or withdrawn")
        if entry.question.hash != shown:
            raise CommandRefused("changed", "the question is not the one that was shown: look at it again")
        granted = answered(entry.asked, answer)
        del self._open[id]
        return entry, granted

    def put_back(self, entry: _Open) -> None:
        """The answer could not be kept: it waits as before, unless it was withdrawn meanwhile."""
        if not entry.reply.done():
            self._open[entry.question.id] = entry

    def remember(self, call: bytes, by: str) -> None:
        """Allow identical calls until the process ends."""
        self._remembered[call] = by

    def remembered_by(self, asked: PermissionRequest | ElicitationRequest) -> str | None:
        """The device that allowed identical calls for the session; None if the question has to be asked."""
        if isinstance(asked, ElicitationRequest) or _asked_every_time(asked):
            return None
        return self._remembered.get(call_key(asked.tool_name, asked.input))

    def drop(self, id: str) -> bool:
        """The CLI has withdrawn it. Out: whether it was open."""
        return self._open.pop(id, None) is not None

    def drop_all(self) -> list[Question]:
        """Nobody waits for an answer any more. Out: those that were open."""
        dropped = self.all()
        self._open.clear()
        self._remembered.clear()
        return dropped


def question_of(id: str, asked: PermissionRequest | ElicitationRequest) -> Question:
    """What is shown of a request."""
    raw = asked.raw
    kind: Kind = "elicitation"
    call = ""
    if isinstance(asked, PermissionRequest):
        kind, call = _KINDS.get(asked.tool_name, "permission"), asked.tool_use_id
    return Question(id, kind, hashlib.sha256(raw).hexdigest(), raw, call)


def turned_away(asked: PermissionRequest | ElicitationRequest) -> Deny | ElicitationAnswer:
    """What is said to one question too many."""
    if isinstance(asked, ElicitationRequest):
        return ElicitationAnswer("cancel")
    return Deny("too_many_prompts: so many questions wait for the user already that this one was not shown")


def answered(asked: PermissionRequest | ElicitationRequest, answer: Answer) -> Granted:
    """What an answer means for this question. CommandRefused where it does not fit."""
    if answer.remember:
        _check_remember(asked, answer)
    if isinstance(asked, ElicitationRequest):
        action = "accept" if answer.behavior == "allow" else "decline"
        return Granted(ElicitationAnswer(action, answer.content if action == "accept" else None))
    if answer.behavior == "deny":
        return Granted(Deny(answer.reason, interrupt=answer.interrupt))
    input, updates = answer.input, _updates(asked, answer.updates)
    if answer.answers is not None or answer.notes:
        input = _with_answers(asked, answer)
    if answer.mode is not None:
        if asked.tool_name != "ExitPlanMode":
            raise CommandRefused("bad_answer", "a mode is chosen with a plan; this is no plan")
        updates = [*updates, {"type": "setMode", "mode": answer.mode, "destination": "session"}]
    if not answer.remember:
        return Granted(Allow(input=input, updates=updates), tuple(for_session(updates)))
    # The rule keeps the CLI from asking. It may ask all the same (plan mode, a symlink, a tool without such a rule), so
    # the call itself is remembered as well.
    rule = exact_update(asked.tool_name, asked.input)
    updates = [*updates, *([rule.to_wire()] if rule else [])]
    key = call_key(asked.tool_name, asked.input)
    return Granted(Allow(input=input, updates=updates), tuple(for_session(updates)), key)


def _check_remember(asked: PermissionRequest | ElicitationRequest, answer: Answer) -> None:
    """Raise CommandRefused if the call cannot be allowed for the session."""
    if answer.behavior == "deny" or answer.input is not None:
        raise CommandRefused("bad_answer", "`remember` needs behavior allow and the unchanged input")
    if isinstance(asked, ElicitationRequest) or _asked_every_time(asked):
        raise CommandRefused("bad_answer", "this question is asked every time and cannot be remembered")


def _asked_every_time(asked: PermissionRequest) -> bool:
    """Whether only a person may answer, every time: questions, plans, and calls that a policy reserves."""
    reserved = asked.requires_user_interaction or asked.suppress_always_allow_rule or asked.server_policy_ask_only
    return reserved or asked.tool_name in _KINDS


def _with_answers(asked: PermissionRequest, answer: Answer) -> JsonObject:
    """The questions with what was said to them. CommandRefused where nobody asked that."""
    if asked.tool_name != "AskUserQuestion":
        raise CommandRefused("bad_answer", "answers and notes are for questions; this is no question")
    answers, notes = answer.answers or {}, {text: one for text, one in answer.notes.items() if one.strip()}
    texts = {question.question for question in asked.questions}
    if unknown := sorted((set(answers) | set(notes)) - texts):
        raise CommandRefused("bad_answer", f"nobody asked {unknown[0]!r}: answers go by the text of a question")
    said = {text: one if isinstance(one, str) else ", ".join(one) for text, one in answers.items()}
    added = {"annotations": {text: {"notes": one} for text, one in notes.items()}} if notes else {}
    return {**asked.input, "answers": said, **added}


def _updates(asked: PermissionRequest, chosen: list[Chosen]) -> list[JsonObject]:
    """The chosen suggestions as they were shown, each for its scope."""
    if not chosen:
        return []
    shown = suggestions_of(asked)
    places = {one["index"]: one["destinations"] for one in offered(asked)}
    for one in chosen:
        if not 0 <= one.index < len(shown):
            raise CommandRefused("bad_answer", f"there is no suggestion {one.index}: {len(shown)} were shown")
        if shown[one.index].get("mode") == BYPASS:
            raise CommandRefused("bad_answer", "bypassPermissions is not granted by an answer")
        if one.index not in places:
            raise CommandRefused("bad_answer", f"suggestion {one.index} cannot be granted: it is no rule that holds")
        if one.destination not in places[one.index]:
            raise CommandRefused(
                "bad_answer", f"suggestion {one.index} cannot be kept in {one.destination}: {places[one.index]}"
            )
    return [{**shown[one.index], "destination": one.destination} for one in chosen]
