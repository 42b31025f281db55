"""Handlers of control requests: methods marked with `@control`, each for one subtype.

A handler takes the fields of the request. It returns the view of its answer, or None for a bare acknowledgement, and
raises Refusal if the request was not done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, TypeVar

from msgspec import Struct

from handrail.connection.router import Handler, Refusal, Reply
from handrail.protocol import Request
from handrail.schema.control_view import AnswerView
from handrail.schema.view import as_builtins
from handrail.transcripts.entry import decode

__all__ = ["INVALID", "Answer", "Answered", "Asked", "Handlers", "control", "handlers"]

JsonObject = dict[str, Any]
INVALID: Final = "invalid_request"


class Asked(dict[str, Any]):
    """The fields of a request. `id` is the request's id, for progress reports."""

    id: str = ""


class Answered(Struct, frozen=True):
    """An answer with fields beside its payload, or with a function to call after it is sent."""

    view: AnswerView | None = None
    beside: Mapping[str, Any] = {}
    then: Callable[[], None] | None = None


Answer = AnswerView | Answered | None
F = TypeVar("F", bound=Callable[..., Awaitable[Answer]])


def control(subtype: str) -> Callable[[F], F]:
    """Mark a method as the handler of this subtype."""

    def mark(method: F) -> F:
        method.__dict__["control"] = subtype
        return method

    return mark


def handlers(*parts: object) -> dict[str, Handler]:
    """The handlers of these objects by subtype."""
    found: dict[str, Handler] = {}
    for part in parts:
        for name, member in vars(type(part)).items():
            if subtype := getattr(member, "control", ""):
                found[subtype] = _serve(getattr(part, name))
    return found


class Handlers(Mapping[str, Handler]):
    """Handlers by subtype. `make_others` makes those that are not needed first, when one of them is looked up."""

    def __init__(self, first: dict[str, Handler], make_others: Callable[[], dict[str, Handler]]) -> None:
        self._first, self._make_others = first, make_others

    @cached_property
    def _all(self) -> dict[str, Handler]:
        return self._first | self._make_others()

    def __getitem__(self, subtype: str) -> Handler:
        return self._first[subtype] if subtype in self._first else self._all[subtype]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


def _serve(handle: Callable[[Asked], Awaitable[Answer]]) -> Handler:
    async def serve(request: Request) -> JsonObject | Reply | None:
        try:
            fields = Asked(decode(request.body, dict[str, Any])[0])
        except ValueError:
            raise Refusal(f"{request.subtype}: its fields cannot be read", INVALID) from None
        fields.id = request.id
        answer = await handle(fields)
        if isinstance(answer, Answered):
            return Reply(as_builtins(answer.view) if answer.view is not None else None, answer.beside, answer.then)
        return as_builtins(answer) if answer is not None else None

    return serve
