"""The difference between two texts as unified-diff hunks with three lines of context."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["structured_patch"]

_CONTEXT: Final = 3
_NO_NEWLINE: Final = "\\ No newline at end of file"
_MAX_LINES: Final = 20_000
"""Longer texts are not compared line by line, which takes quadratic time; see `_one_change`."""


def structured_patch(old: str, new: str) -> list[dict[str, Any]]:
    """The hunks that turn `old` into `new`; none if they are equal."""
    if old == new:
        return []
    before, after = _lines(old), _lines(new)
    return [_hunk(group, before, after) for group in _groups(before, after)]


_Step = tuple[str, int, int, int, int]


def _groups(before: list[str], after: list[str]) -> list[list[_Step]]:
    if len(before) + len(after) > _MAX_LINES:
        return [_one_change(before, after)]
    from difflib import SequenceMatcher

    return list(SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_CONTEXT))


def _one_change(before: list[str], after: list[str]) -> list[_Step]:
    """Everything between the common first lines and the common last lines as one change, in linear time."""
    shorter = min(len(before), len(after))
    head = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    tail = next((at for at in range(shorter - head) if before[-1 - at] != after[-1 - at]), shorter - head)
    old_end, new_end = len(before) - tail, len(after) - tail
    first, last = min(head, _CONTEXT), min(tail, _CONTEXT)
    return [
        ("equal", head - first, head, head - first, head),
        ("replace", head, old_end, head, new_end),
        ("equal", old_end, old_end + last, new_end, new_end + last),
    ]


def _lines(text: str) -> list[str]:
    """The lines with their newlines, so that a missing newline at the end counts as a difference."""
    parts = text.split("\n")
    last = parts.pop()
    return [f"{part}\n" for part in parts] + ([last] if last else [])


def _hunk(group: list[_Step], before: list[str], after: list[str]) -> dict[str, Any]:
    lines: list[str] = []
    for kind, old_from, old_to, new_from, new_to in group:
        if kind == "equal":
            _append(lines, " ", before[old_from:old_to])
            continue
        _append(lines, "-", before[old_from:old_to])
        _append(lines, "+", after[new_from:new_to])
    (_, old_from, _, new_from, _), (_, _, old_to, _, new_to) = group[0], group[-1]
    return {
        "oldStart": old_from + 1,
        "oldLines": old_to - old_from,
        "newStart": new_from + 1,
        "newLines": new_to - new_from,
        "lines": lines,
    }


def _append(lines: list[str], sign: str, part: list[str]) -> None:
    for line in part:
        lines.append(sign + line.removesuffix("\n"))
        if not line.endswith("\n"):
            lines.append(_NO_NEWLINE)
