"""Griffe extension: the fields of a struct as one table of its documentation, in place of a heading for each field."""

from __future__ import annotations

from typing import Any

import griffe

HIDDEN = {"always"}
"""Class variables of views that matter to `schema/` alone."""


class FieldTables(griffe.Extension):
    """Adds the table to the docstring of every class that has annotated fields and no constructor."""

    def on_class(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        """Called by griffe for each class."""
        if "__init__" in cls.members:
            return
        found = {name: member for name, member in cls.members.items() if is_field(member)}
        shown = {name: member for name, member in found.items() if not name.startswith("_") and name not in HIDDEN}
        for name in found:
            cls.del_member(name)
        if shown and cls.docstring:
            rows = "\n".join(row(name, member) for name, member in shown.items())
            cls.docstring.value += f"\n\n| field | type | default | |\n|---|---|---|---|\n{rows}\n"


def is_field(member: Any) -> bool:
    return member.is_attribute and member.annotation is not None and "property" not in member.labels


def row(name: str, member: griffe.Attribute) -> str:
    default = "" if member.value is None or "field(" in str(member.value) else f"`{member.value}`"
    text = member.docstring.value if member.docstring else ""
    return "| " + " | ".join(cell(one) for one in (f"`{name}`", f"`{member.annotation}`", default, text)) + " |"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
