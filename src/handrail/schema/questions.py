"""The questions of the AskUserQuestion tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from handrail.schema.view import Part

__all__ = ["Option", "Question", "read_questions"]


class Option(Part):
    """An answer to choose."""

    label: str
    description: str = ""
    preview: str | None = None


class Question(Part, rename="camel"):
    """One question. Its text is the key of its answer, so the text is never empty."""

    question: str
    header: str = ""
    options: list[Option] = msgspec.field(default_factory=list[Option])
    multi_select: bool = False


def read_questions(input: Mapping[str, Any]) -> list[Question]:
    """The questions in the input of the tool; an empty list if they cannot be read."""
    try:
        return msgspec.convert(input.get("questions", []), list[Question])
    except msgspec.ValidationError:
        return []
