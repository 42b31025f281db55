"""Answering the CLI's requests with the user's callbacks.

`can_use_tool`, `answer_questions`, `approve_plan`, `on_elicitation`, `on_user_dialog` and hooks may be plain or async
functions; plain ones run in a thread, so they may block. When the CLI withdraws a request, an async callback is
cancelled and the `cancelled` event of the request is set.
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

MOST_AT_ONCE = 256
"""Callbacks of one session that run at the same time. Many may wait for a person; a plain function uses a thread."""
MOST_WAITING = 1000
"""Requests that wait for their turn; more are refused, because a CLI that asks so often is broken or hostile."""
NO_CALLBACK = "No permission callback is set, so the tool was not run."
DENIED = "The user denied this tool."


class _Withdrawable(View):
    @property
    def cancelled(self) -> asyncio.Event:
        """Set when the CLI withdraws the request: the answer is no longer needed."""
        return self._event

    @property
    def request_id(self) -> str:
        """The id of the control request; "" if the object was not read from the wire."""
        return self.__dict__.get("_request_id", "")

    @cached_property
    def _event(self) -> asyncio.Event:
        return asyncio.Event()


class PermissionRequest(wire.PermissionRequest, _Withdrawable):
    """The CLI asks for permission to run a tool."""


class ElicitationRequest(wire.ElicitationRequest, _Withdrawable):
    """An MCP server asks the user for input."""


class UserDialogRequest(wire.UserDialogRequest, _Withdrawable):
    """The CLI asks for a dialog of a declared kind."""


class Allow(msgspec.Struct, frozen=True, kw_only=True):
    """Allow the tool to run, with `input`, or with the input of the request if that is None.

    `updates` are permission updates to apply, such as the suggestions of the request. `classification` tells the CLI
    how the decision was made.
    """

    input: Mapping[str, Any] | None = None
    updates: Sequence[Suggestion | Mapping[str, Any]] = ()
    classification: Classification | None = None

    def to_wire(self, asked: wire.PermissionRequest) -> dict[str, Any]:
        """In wire form."""
        # Older CLIs reject an answer without an input.
        given = asked.input if self.input is None else dict(self.input)
        answer: dict[str, Any] = {"behavior": "allow", "updatedInput": given, "toolUseID": asked.tool_use_id}
        if self.updates:
            answer["updatedPermissions"] = [_update(update) for update in self.updates]
        return answer if self.classification is None else {**answer, "decisionClassification": self.classification}


class _Reason(msgspec.Struct, frozen=True):
    reason: str = DENIED


class Deny(_Reason, frozen=True, kw_only=True):
    """Do not run the tool; the model receives `reason`. With `interrupt` the turn ends too."""

    interrupt: bool = False
    classification: Classification | None = None

    def to_wire(self, asked: wire.PermissionRequest) -> dict[str, Any]:
        """In wire form."""
        answer: dict[str, Any] = {"behavior": "deny", "message": self.reason or DENIED, "toolUseID": asked.tool_use_id}
        if self.interrupt:
            answer["interrupt"] = True
        return answer if self.classification is None else {**answer, "decisionClassification": self.classification}


Answer = str | Sequence[str] | None
"""The answer to one question: a label, several labels, or free text; None leaves it unanswered."""


class ElicitationAnswer(msgspec.Struct, frozen=True):
    """The answer to an elicitation of an MCP server."""

    action: Literal["accept", "decline", "cancel"] = "decline"
    content: Mapping[str, Any] | None = None


async def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function and return its result: a plain one in a thread, an async one on the loop."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return await function(*arguments)
    found = await _in_thread(function, arguments)
    return await found if inspect.isawaitable(found) else found


async def _in_thread(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Run in a new daemon thread: a callback that waits for a person would occupy a pool and block the exit."""
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(found: Any, error: Exception | None) -> None:
        if not done.done():
            done.set_result(found) if error is None else done.set_exception(error)

    def run() -> None:
        found, problem = None, None
        try:
            found = context.run(function, *arguments)
        except BaseException as error:  # the CLI waits for an answer in any case
            # A future cannot hold StopIteration, and SystemExit must not end the program.
            usable = isinstance(error, Exception) and not isinstance(error, StopIteration)
            problem = cast("Exception", error) if usable else RuntimeError(f"the callback raised {error!r}")
        with contextlib.suppress(RuntimeError):  # the loop has been closed
            loop.call_soon_threadsafe(settle, found, problem)

    threading.Thread(target=run, name="handrail callback", daemon=True).start()
    return await done


class Callbacks:
    """The handlers of one session for the CLI's requests."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._turns = asyncio.Semaphore(MOST_AT_ONCE)
        self._pending = 0
        self.handlers: dict[str, Handler] = {"can_use_tool": self._can_use_tool, "elicitation": self._elicitation}
        if options.on_user_dialog is not None:
            self.handlers["request_user_dialog"] = self._user_dialog

    async def _can_use_tool(self, request: Request) -> Mapping[str, Any]:
        asked = _as(PermissionRequest, request)
        answer = await self._answered(asked, lambda: self._route(asked))
        if isinstance(answer, Allow | Deny):
            return answer.to_wire(asked)
        if isinstance(answer, bool):
            return (Allow() if answer else Deny()).to_wire(asked)
        raise Refusal(f"the permission callback returned {type(answer).__name__}; it must return Allow or Deny")

    async def _answered(self, asked: _Withdrawable, answer: Callable[[], Awaitable[Any]]) -> Any:
        """Wait for a turn and for the answer; set `cancelled` if the request is withdrawn. Raises Refusal."""
        if self._pending >= MOST_AT_ONCE + MOST_WAITING:
            raise Refusal(
                f"{self._pending} requests are waiting for an answer; no more are accepted until some are answered"
            )
        self._pending += 1
        try:
            async with self._turns:
                return await answer()
        except asyncio.CancelledError:
            asked.cancelled.set()
            raise
        finally:
            self._pending -= 1

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
        if (function := self._options.on_elicitation) is None:
            return {"action": "decline"}
        answer = await self._answered(asked, lambda: call(function, asked))
        if isinstance(answer, ElicitationAnswer):
            body: dict[str, Any] = {"action": answer.action}
            return body if answer.content is None else {**body, "content": dict(answer.content)}
        if isinstance(answer, Mapping):
            return {"action": "accept", "content": dict(cast("Mapping[str, Any]", answer))}
        return {"action": "decline"}

    async def _user_dialog(self, request: Request) -> Mapping[str, Any]:
        asked = _as(UserDialogRequest, request)
        function = cast("Callable[..., Any]", self._options.on_user_dialog)
        result = await self._answered(asked, lambda: call(function, asked))
        return {"behavior": "cancelled"} if result is None else {"behavior": "completed", "result": result}


def _answers(questions: Sequence[Question], given: Any) -> dict[str, Any]:
    """Key answers by question text, as the CLI expects. They may be given by text, header or index, or as a list."""
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
