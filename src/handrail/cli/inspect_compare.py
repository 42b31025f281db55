"""Compares two recordings: lines that only one has, lines in another order, fields that differ. Pure.

Ids and times differ in every run and are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, Final, NamedTuple, cast

import msgspec

from handrail.cli.inspect_report import Report
from handrail.cli.inspect_summary import body_of, pick, shorten
from handrail.protocol.codec import decode

__all__ = ["Change", "Comparison", "Line", "Place", "compare", "lines_of"]

_IGNORED: Final = re.compile(
    r"(?:^|_)(?:id|ids|pid|uuid|uuids|timestamp|time|date|at|ms|seconds|duration)$|(?:Id|Ids|Uuid|Ms|At|Time)$"
)
"""Names of fields that hold ids or times."""
_ID: Final = re.compile(
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|\b(?:toolu|msg|req|srvtoolu)_\w+|\bagent-[0-9a-f]{8,}\b"
)
_TIME: Final = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")
_DELTA: Final = "stream_event content_block_delta"
_REQUEST_WORDS: Final = (("tool_name",), ("input", "hook_event_name"), ("message", "method"))
"""Fields that say what a request is about."""
_DEEPEST: Final = 40


class Line(msgspec.Struct, frozen=True):
    """One line to compare. `dir` is in or out, `kind` what it is, `value` what it holds."""

    number: int
    dir: str
    kind: str
    value: Any


class Place(msgspec.Struct, frozen=True):
    """A line that the other side has elsewhere (`other` is its number there) or not at all (`other` is 0)."""

    number: int
    dir: str
    kind: str
    other: int = 0


class Change(msgspec.Struct, frozen=True):
    """A line that both have, with other fields. `a` and `b` are its numbers; fields are named by their path."""

    a: int
    b: int
    dir: str
    kind: str
    only_in_a: list[str]
    only_in_b: list[str]
    changed: dict[str, tuple[Any, Any]]


class Comparison(msgspec.Struct, frozen=True):
    """All differences. `agree` counts the lines without any."""

    agree: int
    only_in_a: list[Place]
    only_in_b: list[Place]
    moved: list[Place]
    changed: list[Change]

    @property
    def same(self) -> bool:
        return not (self.only_in_a or self.only_in_b or self.moved or self.changed)


def lines_of(report: Report, only: str = "") -> list[Line]:
    """The lines of a recording, stderr left out. Deltas that follow each other count as one line."""
    lines: list[Line] = []
    for entry in report.entries:
        if entry.row is None or entry.dir == "err" or (only and only not in entry.words):
            continue
        body = body_of(decode(entry.row.data.removesuffix(b"\r"))) if entry.row.data.strip() else {}
        lines.append(Line(entry.number, entry.dir, _kind(entry.kind, body), body))
    if not only:
        lines.append(Line(len(report.entries) + 1, "out", "end", {"ending": report.totals.ending}))
    return [line for _, run in groupby(lines, _run) for line in _once(list(run))]


def _run(line: Line) -> Any:
    return _DELTA if line.kind.startswith(_DELTA) else line.number


def _once(run: list[Line]) -> list[Line]:
    """Deltas are cut where the network cuts them, so only their kinds count."""
    if not run[0].kind.startswith(_DELTA):
        return run
    kinds = list(dict.fromkeys(line.kind for line in run))
    return [Line(run[0].number, run[0].dir, ", ".join(kinds), {})]


def _kind(kind: str, body: dict[str, Any]) -> str:
    """The kind of a line, with those of its blocks or its event, or what a request is about."""
    if kind == "stream_event":
        words = (kind, pick(body, "event", "type"), pick(body, "event", "delta", "type"))
        return " ".join(word for word in words if isinstance(word, str))
    if kind == "result":
        return f"result/{body.get('subtype')}"
    if kind.startswith("request "):
        words = (pick(body, *path) for path in _REQUEST_WORDS)
        return " ".join((kind, *(word for word in words if isinstance(word, str))))
    content = pick(body, "message", "content")
    if kind not in ("assistant", "user") or not isinstance(content, list):
        return kind
    blocks = (" ".join(_words(block)) for block in cast("list[Any]", content))
    return f"{kind} {', '.join(blocks)}".strip()


def _words(block: Any) -> Iterator[str]:
    for name in ("type", "name"):
        if isinstance(word := pick(block, name), str):
            yield word


# Comparing


def compare(a: Sequence[Line], b: Sequence[Line]) -> Comparison:
    """Align two sequences of lines: equal ones first, then those of the same kind between them."""
    fields_a, fields_b = [_fields(line.value) for line in a], [_fields(line.value) for line in b]
    keys_a, keys_b = ([(line.dir, line.kind) for line in side] for side in (a, b))
    whole_a = [(key, _digest(fields)) for key, fields in zip(keys_a, fields_a, strict=True)]
    whole_b = [(key, _digest(fields)) for key, fields in zip(keys_b, fields_b, strict=True)]
    pairs: list[tuple[int, int]] = []
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, whole_a, whole_b, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs += zip(range(a1, a2), range(b1, b2), strict=True)
        elif tag == "replace":
            gap = SequenceMatcher(None, keys_a[a1:a2], keys_b[b1:b2], autojunk=False)
            for at, bt, size in gap.get_matching_blocks():
                pairs += zip(range(a1 + at, a1 + at + size), range(b1 + bt, b1 + bt + size), strict=True)
    left = sorted(set(range(len(a))) - {i for i, _ in pairs})
    right = sorted(set(range(len(b))) - {j for _, j in pairs})
    moved = _moved(left, right, whole_a, whole_b) + _moved(left, right, keys_a, keys_b)
    aligned = sorted(pairs + moved)
    changes = [change for i, j in aligned if (change := _change(a[i], b[j], fields_a[i], fields_b[j])) is not None]
    return Comparison(
        agree=len(pairs) + len(moved) - len({(change.a, change.b) for change in changes} | _numbers(moved, a, b)),
        only_in_a=[_place(a[i]) for i in left],
        only_in_b=[_place(b[j]) for j in right],
        moved=[_place(a[i], b[j].number) for i, j in sorted(moved)],
        changed=changes,
    )


def _numbers(pairs: list[tuple[int, int]], a: Sequence[Line], b: Sequence[Line]) -> set[tuple[int, int]]:
    return {(a[i].number, b[j].number) for i, j in pairs}


def _moved(left: list[int], right: list[int], keys_a: Sequence[Any], keys_b: Sequence[Any]) -> list[tuple[int, int]]:
    """Pairs of unmatched lines with equal keys; they are taken out of `left` and `right`."""
    places: dict[Any, list[int]] = {}
    for j in right:
        places.setdefault(keys_b[j], []).append(j)
    pairs = [(i, places[keys_a[i]].pop(0)) for i in left if places.get(keys_a[i])]
    for i, j in pairs:
        left.remove(i)
        right.remove(j)
    return pairs


def _place(line: Line, other: int = 0) -> Place:
    return Place(line.number, line.dir, line.kind, other)


def _change(a: Line, b: Line, fields_a: _Fields, fields_b: _Fields) -> Change | None:
    missing, added = _missing(fields_a, fields_b), _missing(fields_b, fields_a)
    changed = {
        path: (_shown(field.value), _shown(fields_b[path].value))
        for path, field in fields_a.items()
        if path in fields_b and fields_b[path].value != field.value
    }
    if not (missing or added or changed):
        return None
    return Change(a.number, b.number, a.dir, a.kind, missing, added, changed)


def _missing(fields: _Fields, other: _Fields) -> list[str]:
    """The fields that only one side has; of an object or a list that the other lacks, only itself."""
    return [path for path in fields if path not in other and (fields[path].parent in other or not fields[path].parent)]


def _digest(fields: _Fields) -> int:
    return hash(tuple(sorted((path, repr(field.value)) for path, field in fields.items())))


def _shown(value: Any) -> Any:
    """A value for the report; a long text by its beginning and length."""
    if isinstance(value, str) and len(value) > 120:
        return f"{shorten(value, 80)} ({len(value):,} characters)"
    return value


# Fields


class _Field(NamedTuple):
    """A value at a path. An object or list with something in it has only a mark as its value."""

    value: Any
    parent: str


_Fields = dict[str, _Field]


def _fields(value: Any) -> _Fields:
    """The fields of a value by their paths, without ids and times."""
    found: _Fields = {}
    _collect(value, "", "", found, 0)
    found.pop("", None)
    return found


def _collect(value: Any, path: str, parent: str, found: _Fields, depth: int) -> None:
    if depth > _DEEPEST:
        found[path] = _Field("…", parent)
    elif isinstance(value, dict) and value:
        found[path] = _Field("{…}", parent)
        for name, inner in cast("dict[str, Any]", value).items():
            if not _IGNORED.search(name) or isinstance(inner, dict | list):
                _collect(inner, f"{path}.{name}" if path else name, path, found, depth + 1)
    elif isinstance(value, list) and value:
        found[path] = _Field("[…]", parent)
        for name, inner in _items(cast("list[Any]", value)):
            _collect(inner, f"{path}[{name}]", path, found, depth + 1)
    else:
        plain = cast("Any", value)
        found[path] = _Field(_TIME.sub("<time>", _ID.sub("<id>", plain)) if isinstance(plain, str) else plain, parent)


def _items(values: list[Any]) -> list[tuple[str, Any]]:
    """The items of a list with their names. Unique words and named objects have their own, so that order does not
    count; others are numbered.
    """
    if all(isinstance(value, str) and len(value) < 80 for value in values) and len(set(values)) == len(values):
        return [(value, True) for value in values if not _ID.fullmatch(value)]
    names = [pick(value, "name") for value in values]
    if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
        return list(zip(names, values, strict=True))
    return [(str(number), value) for number, value in enumerate(values)]
