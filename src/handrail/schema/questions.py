"""What the tool AskUserQuestion asks. In: the input of the tool. Out: questions, each with its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from handrail.schema.view import Part

__all__ = ["Option", "Question", "read_questions"]


class Option(Part):
    """One answer to choose."""

    label: str
    description: str = ""
    preview: str | None = None


class Question(Part, rename="camel"):
    """One question. The answer goes under its text, which is why the text is never empty."""

    question: str
    header: str = ""
    options: list[Option] = msgspec.field(default_factory=list[Option])
    multi_select: bool = False


def read_questions(input: Mapping[str, Any]) -> list[Question]:
    """The questions. In: the input of the tool. Out: its questions; none where they cannot be read."""
    try:
        return msgspec.convert(input.get("questions", []), list[Question])
    except msgspec.ValidationError:
        return []
