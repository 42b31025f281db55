"""What changed between two texts. In: both. Out: hunks as a unified diff has them, three lines around each."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["structured_patch"]

_AROUND: Final = 3
_NO_NEWLINE: Final = "\\ No newline at end of file"
_MOST_LINES: Final = 20_000
"""Beyond this, lines are not compared one by one: what lies between the common ends is one change."""


def structured_patch(old: str, new: str) -> list[dict[str, Any]]:
    """The hunks that lead from one text to the other; none where they are equal."""
    if old == new:
        return []
    before, after = _lines(old), _lines(new)
    return [_hunk(group, before, after) for group in _groups(before, after)]


_Step = tuple[str, int, int, int, int]


def _groups(before: list[str], after: list[str]) -> list[list[_Step]]:
    if len(before) + len(after) > _MOST_LINES:
        return [_ends_kept(before, after)]
    from difflib import SequenceMatcher

    return list(SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_AROUND))


def _ends_kept(before: list[str], after: list[str]) -> list[_Step]:
    """One change between the lines that both begin with and those that both end with: quick for any size."""
    shorter = min(len(before), len(after))
    head = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    tail = next((at for at in range(shorter - head) if before[-1 - at] != after[-1 - at]), shorter - head)
    old_end, new_end = len(before) - tail, len(after) - tail
    first, last = min(head, _AROUND), min(tail, _AROUND)
    return [
        ("equal", head - first, head, head - first, head),
        ("replace", head, old_end, head, new_end),
        ("equal", old_end, old_end + last, new_end, new_end + last),
    ]


def _lines(text: str) -> list[str]:
    """The lines with their ends, so that a missing newline at the end is a difference."""
    parts = text.split("\n")
    last = parts.pop()
    return [f"{part}\n" for part in parts] + ([last] if last else [])


def _hunk(group: list[_Step], before: list[str], after: list[str]) -> dict[str, Any]:
    lines: list[str] = []
    for kind, old_from, old_to, new_from, new_to in group:
        if kind == "equal":
            _put(lines, " ", before[old_from:old_to])
            continue
        _put(lines, "-", before[old_from:old_to])
        _put(lines, "+", after[new_from:new_to])
    (_, old_from, _, new_from, _), (_, _, old_to, _, new_to) = group[0], group[-1]
    return {
        "oldStart": old_from + 1,
        "oldLines": old_to - old_from,
        "newStart": new_from + 1,
        "newLines": new_to - new_from,
        "lines": lines,
    }


def _put(lines: list[str], sign: str, part: list[str]) -> None:
    for line in part:
        lines.append(sign + line.removesuffix("\n"))
        if not line.endswith("\n"):
            lines.append(_NO_NEWLINE)
