"""Prints a comparison for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from handrail.cli.inspect_compare import Change, Comparison
from handrail.cli.printable import printable

__all__ = ["print_differences"]

_ARROWS: Final = {"in": "→", "out": "←"}
MOST_FIELDS: Final = 20
"""Fields of one line that are listed of each kind."""


def print_differences(found: Comparison) -> None:
    """Print each difference in the order of the first recording, and a summary."""
    rows: list[tuple[int, list[str]]] = []
    rows += [(place.number, [f"- {place.number:5}       {_what(place)}"]) for place in found.only_in_a]
    rows += [(place.number, [f"+       {place.number:5} {_what(place)}"]) for place in found.only_in_b]
    rows += [(place.number, [f"> {place.number:5} {place.other:5} {_what(place)}"]) for place in found.moved]
    rows += [(change.a, [f"~ {change.a:5} {change.b:5} {_what(change)}", *_fields(change)]) for change in found.changed]
    for _, lines in sorted(rows, key=lambda row: row[0]):
        for line in lines:
            print(printable(line))
    print(
        f"{found.agree} lines agree, {len(found.only_in_a)} only in the first, {len(found.only_in_b)} only in the"
        f" second, {len(found.moved)} in another place, {len(found.changed)} with other fields"
    )


def _what(line: Any) -> str:
    return f"{_ARROWS.get(line.dir, line.dir)} {line.kind}"


def _fields(change: Change) -> Iterator[str]:
    changed = [f"~ {path}: {_json(a)} | {_json(b)}" for path, (a, b) in change.changed.items()]
    missing, added = [f"- {path}" for path in change.only_in_a], [f"+ {path}" for path in change.only_in_b]
    for rows in (changed, missing, added):
        yield from (f"                {row}" for row in rows[:MOST_FIELDS])
        if len(rows) > MOST_FIELDS:
            yield f"                {rows[0][0]} … {len(rows) - MOST_FIELDS} more"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
