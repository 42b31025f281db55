"""Base classes of control requests and answers, and the unknown of each."""

from __future__ import annotations

from typing import ClassVar

from handrail.schema.view import View

__all__ = ["AnswerView", "RequestView", "UnknownAnswer", "UnknownRequest"]


class RequestView(View):
    """A control request."""

    subtype: str = ""


class UnknownRequest(RequestView):
    """A request without a row in the table, or one that does not fit its row: then `problem` says why."""

    opaque: ClassVar[bool] = True
    problem: str = ""


class AnswerView(View):
    """The payload of an answer. One without fields is an acknowledgement."""


class UnknownAnswer(AnswerView):
    """An answer to a request without a row in the table, or one that does not fit its row: then `problem` says why."""

    opaque: ClassVar[bool] = True
    subtype: str = ""
    problem: str = ""
