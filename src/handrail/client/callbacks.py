"""The CLI's questions to the program. In: control requests. Out: what the user's functions answer, in wire form.

`can_use_tool`, `answer_questions`, `approve_plan`, `on_elicitation`, `on_user_dialog` and hooks may be plain or async
functions; plain ones run in a thread, so they may take their time. A function whose question is withdrawn is cancelled,
and its request's `cancelled` event is set.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeVar, cast

import msgspec

from handrail.client.options import Options
from handrail.connection import Handler
from handrail.connection.router import Refusal
from handrail.protocol import Request
from handrail.schema import agent_requests as wire
from handrail.schema.permission_types import PermissionUpdate, Suggestion
from handrail.schema.questions import Question
from handrail.schema.view import View, ViewError, as_builtins, read_view

__all__ = [
    "Allow",
    "Answer",
    "Callbacks",
    "Deny",
    "ElicitationAnswer",
    "ElicitationRequest",
    "PermissionRequest",
    "UserDialogRequest",
    "call",
]

V = TypeVar("V", bound=View)

Classification = Literal["user_temporary", "user_permanent", "user_reject"]

NO_CALLBACK = "No permission callback is set, so the tool was not run."
DENIED = "The user denied this tool."


class _Withdrawable(View):
    @property
    def cancelled(self) -> asyncio.Event:
        """Set when the CLI withdraws the question: the answer no longer counts."""
        return self._event

    @property
    def request_id(self) -> str:
        """The id of the control request; "" for a view built by hand."""
        return self.__dict__.get("_request_id", "")

    @cached_property
    def _event(self) -> asyncio.Event:
        return asyncio.Event()


class PermissionRequest(wire.PermissionRequest, _Withdrawable):
    """The CLI asks whether a tool may run, with everything it says about it."""


class ElicitationRequest(wire.ElicitationRequest, _Withdrawable):
    """An MCP server asks the user for something."""


class UserDialogRequest(wire.UserDialogRequest, _Withdrawable):
    """The CLI asks for a dialog of a kind that was declared."""


class Allow(msgspec.Struct, frozen=True, kw_only=True):
    """The tool may run: as asked, or with `input` in its place; `updates` are rules to remember, the question's own
    suggestions among them. `classification` tells the CLI how it was decided."""

    input: Mapping[str, Any] | None = None
    updates: Sequence[Suggestion | Mapping[str, Any]] = ()
    classification: Classification | None = None

    def to_wire(self, tool_use_id: str) -> dict[str, Any]:
        """In wire form."""
        answer: dict[str, Any] = {"behavior": "allow", "toolUseID": tool_use_id}
        if self.input is not None:
            answer["updatedInput"] = dict(self.input)
        if self.updates:
            answer["updatedPermissions"] = [_update(update) for update in self.updates]
        return answer if self.classification is None else {**answer, "decisionClassification": self.classification}


class _Reason(msgspec.Struct, frozen=True):
    reason: str = DENIED


class Deny(_Reason, frozen=True, kw_only=True):
    """The tool may not run; the model is told `reason`. With `interrupt` the turn ends too."""

    interrupt: bool = False
    classification: Classification | None = None

    def to_wire(self, tool_use_id: str) -> dict[str, Any]:
        """In wire form."""
        answer: dict[str, Any] = {"behavior": "deny", "message": self.reason or DENIED, "toolUseID": tool_use_id}
        if self.interrupt:
            answer["interrupt"] = True
        return answer if self.classification is None else {**answer, "decisionClassification": self.classification}


Answer = str | Sequence[str] | None
"""To one question: a label, several, or free text; None leaves it open."""


class ElicitationAnswer(msgspec.Struct, frozen=True):
    """What an MCP server is told that asked the user for something."""

    action: Literal["accept", "decline", "cancel"] = "decline"
    content: Mapping[str, Any] | None = None


async def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a plain function in a thread, an async one here. In: function and arguments. Out: what it returns."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return await function(*arguments)
    found = await _in_thread(function, arguments)
    return await found if inspect.isawaitable(found) else found


async def _in_thread(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """A thread of its own: one that waits for a person takes no place in a pool, and keeps no program from ending."""
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(found: Any, error: Exception | None) -> None:
        if not done.done():
            done.set_result(found) if error is None else done.set_exception(error)

    def run() -> None:
        found, problem = None, None
        try:
            found = context.run(function, *arguments)
        except BaseException as error:  # whatever it is, the CLI waits for an answer
            fit = isinstance(error, Exception) and not isinstance(error, StopIteration)  # no end of a loop or a program
            problem = cast("Exception", error) if fit else RuntimeError(f"the callback raised {error!r}")
        with contextlib.suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(settle, found, problem)

    threading.Thread(target=run, name="handrail callback", daemon=True).start()
    return await done


class Callbacks:
    """The program's side of one session."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.handlers: dict[str, Handler] = {"can_use_tool": self._can_use_tool, "elicitation": self._elicitation}
        if options.on_user_dialog is not None:
            self.handlers["request_user_dialog"] = self._user_dialog

    async def _can_use_tool(self, request: Request) -> Mapping[str, Any]:
        asked = _as(PermissionRequest, request)
        answer = await _told(asked, self._route(asked))
        if isinstance(answer, Allow | Deny):
            return answer.to_wire(asked.tool_use_id)
        if isinstance(answer, bool):
            return (Allow() if answer else Deny()).to_wire(asked.tool_use_id)
        raise Refusal(f"the permission callback returned {type(answer).__name__}; it must return Allow or Deny")

    async def _route(self, asked: PermissionRequest) -> Any:
        options = self._options
        if asked.tool_name == "AskUserQuestion" and options.answer_questions is not None:
            return await self._answer_questions(asked, options.answer_questions)
        if asked.tool_name == "ExitPlanMode" and options.approve_plan is not None:
            return await call(options.approve_plan, asked)
        if options.can_use_tool is not None:
            return await call(options.can_use_tool, asked)
        return Deny(NO_CALLBACK)

    async def _answer_questions(self, asked: PermissionRequest, function: Callable[..., Any]) -> Allow | Deny:
        questions = asked.questions
        answers = await call(function, questions)
        if isinstance(answers, Allow | Deny):
            return answers
        if answers is None:
            return Deny("The user did not answer the questions.")
        return Allow(input={**asked.input, "answers": _answers(questions, answers)})

    async def _elicitation(self, request: Request) -> Mapping[str, Any]:
        asked = _as(ElicitationRequest, request)
        if self._options.on_elicitation is None:
            return {"action": "decline"}
        answer = await _told(asked, call(self._options.on_elicitation, asked))
        if isinstance(answer, ElicitationAnswer):
            told: dict[str, Any] = {"action": answer.action}
            return told if answer.content is None else {**told, "content": dict(answer.content)}
        if isinstance(answer, Mapping):
            return {"action": "accept", "content": dict(cast("Mapping[str, Any]", answer))}
        return {"action": "decline"}

    async def _user_dialog(self, request: Request) -> Mapping[str, Any]:
        asked = _as(UserDialogRequest, request)
        result = await _told(asked, call(cast("Callable[..., Any]", self._options.on_user_dialog), asked))
        return {"behavior": "cancelled"} if result is None else {"behavior": "completed", "result": result}


def _answers(questions: Sequence[Question], given: Any) -> dict[str, Any]:
    """Answers by question text, as the CLI wants them. In: by text, header or position, or in order. Out: by text."""
    if not isinstance(given, Mapping):
        row = [given] if isinstance(given, str) else list(cast("Sequence[Answer]", given))
        if len(row) > len(questions):
            raise Refusal(f"answer_questions gave {len(row)} answers to {len(questions)} questions")
        given = dict(zip((question.question for question in questions), row, strict=False))
    names: dict[Any, str] = {}
    for position, question in enumerate(questions):
        names |= {position: question.question, str(position): question.question, question.header: question.question}
    names |= {question.question: question.question for question in questions}
    found: dict[str, str] = {}
    for key, value in cast("Mapping[Any, Answer]", given).items():
        if key not in names:
            raise Refusal(f"answer_questions answered {key!r}, which was not asked")
        if value is not None:
            found[names[key]] = value if isinstance(value, str) else ", ".join(value)
    return found


def _update(update: Suggestion | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(update, Mapping):
        return update
    return update.to_wire() if isinstance(update, PermissionUpdate) else as_builtins(update)


def _as(cls: type[V], request: Request) -> V:
    try:
        view = read_view(cls, request.body)
    except ViewError as error:
        raise Refusal(f"{request.subtype}: {error}", "invalid_request") from None
    view.__dict__["_request_id"] = request.id  # pyright: ignore[reportIndexIssue]
    return view


async def _told(asked: _Withdrawable, answer: Awaitable[Any]) -> Any:
    """Wait for the answer; whoever holds the question is told when it is withdrawn."""
    try:
        return await answer
    except asyncio.CancelledError:
        asked.cancelled.set()
        raise
