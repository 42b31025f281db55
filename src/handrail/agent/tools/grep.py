"""Grep: files by what they contain. In: a regular expression, and where. Out: files, lines or counts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec import Meta, Struct, field

from handrail.agent.tools.base import JsonObject, Outcome, Tool
from handrail.agent.tools.large_output import fitted
from handrail.agent.tools.ripgrep import place_of, ripgrep, shown_path

if TYPE_CHECKING:
    from handrail.agent.desk import Desk

__all__ = ["Grep", "GrepInput"]

_USUAL_LIMIT: Final = 250
_MOST_CHARACTERS: Final = 20_000
_LONGEST_LINE: Final = 500
_MODES: Final = {
    "files_with_matches": ("--files-with-matches", "--sortr=modified", "--null"),
    "count": ("--count-matches", "--with-filename", "--null"),
    # No name of a file and no line of a text has a NUL, so that the fields can be told apart.
    "content": (
        "--with-filename",
        f"--max-columns={_LONGEST_LINE}",
        "--max-columns-preview",
        r"--field-match-separator=\x00:",
        r"--field-context-separator=\x00-",
    ),
}
Lines = Annotated[int, Meta(ge=0)] | None


class GrepInput(Struct, frozen=True):
    """What to search for, and where."""

    pattern: Annotated[str, Meta(description="A regular expression, as ripgrep reads it.")]
    path: Annotated[str | None, Meta(description="The file or folder to search; else the working folder.")] = None
    glob: Annotated[str | None, Meta(description="Only files that match, such as `*.{ts,tsx}`.")] = None
    type: Annotated[str | None, Meta(description="Only files of this kind, such as py, js, rust.")] = None
    output_mode: Literal["content", "files_with_matches", "count"] = "files_with_matches"
    before: Annotated[Lines, Meta(description="Lines to show before each match.")] = field(default=None, name="-B")
    after: Annotated[Lines, Meta(description="Lines to show after each match.")] = field(default=None, name="-A")
    around: Annotated[Lines, Meta(description="Lines to show around each match.")] = field(default=None, name="-C")
    context: Annotated[Lines, Meta(description="The same as -C.")] = None
    numbers: Annotated[bool, Meta(description="Show line numbers.")] = field(default=True, name="-n")
    any_case: Annotated[bool, Meta(description="Small and capital letters are the same.")] = field(
        default=False, name="-i"
    )
    multiline: Annotated[bool, Meta(description="Matches may span lines, and `.` also means a line end.")] = False
    head_limit: Annotated[Lines, Meta(description="At most so many lines or files; 0 for all. Usually 250.")] = None
    offset: Annotated[int, Meta(ge=0, description="Skip so many lines or files first.")] = 0


class Grep(Tool[GrepInput]):
    """Finds files by what they contain."""

    name = "Grep"
    description = (
        "Searches the contents of files with ripgrep. output_mode: files_with_matches (paths, newest first), content "
        "(the lines, with -A, -B, -C, -n), count. Narrow it with path, glob or type."
    )
    Input = GrepInput
    concurrent = True

    def describe(self, given: GrepInput) -> str:
        return given.pattern

    async def run(self, given: GrepInput, desk: Desk) -> Outcome:
        place = place_of(given.path, desk, kinds=("file", "directory"))
        target = place.real or ""
        found = await ripgrep(_arguments(given), os.path.dirname(target) or "/", target)
        rows = list(_READERS[given.output_mode](found.output, desk, named=place.kind == "directory"))
        limit = _USUAL_LIMIT if given.head_limit is None else given.head_limit
        chosen = rows[given.offset : given.offset + limit] if limit else rows[given.offset :]
        page: JsonObject = {}
        if given.offset + len(chosen) < len(rows):
            page["appliedLimit"] = limit
        if given.offset:
            page["appliedOffset"] = given.offset
        if not found.complete:
            page["timedOut"] = True
        content, detail = _SHAPES[given.output_mode](chosen, rows, _told(page))
        return Outcome(fitted(content, desk, _MOST_CHARACTERS), detail | page)


def _arguments(given: GrepInput) -> list[str]:
    arguments = [*_MODES[given.output_mode], f"--regexp={given.pattern}"]
    arguments += [f"--glob={part}" for part in (given.glob or "").split()]
    if given.type:
        arguments.append(f"--type={given.type}")
    if given.any_case:
        arguments.append("--ignore-case")
    if given.multiline:
        arguments += ["--multiline", "--multiline-dotall"]
    if given.output_mode == "content":
        arguments.append("--line-number" if given.numbers else "--no-line-number")
        around = given.around if given.around is not None else given.context
        lines = {"--context": around} if around is not None else {"-B": given.before, "-A": given.after}
        arguments += [part for name, count in lines.items() if count for part in (name, str(min(count, 1000)))]
    return arguments


def _read_lines(output: bytes, desk: Desk, *, named: bool) -> Iterator[str]:
    """Lines as `path:number:text`, or `path-number-text` around a match; of a single file without its path."""
    allowed, names = desk.may_read, dict[bytes, str]()
    for row in output.splitlines():
        if row == b"--":
            yield "--"
            continue
        path, *rest = row.split(b"\0")
        if not rest:  # a remark about a binary file
            continue
        if path not in names:
            full = os.fsdecode(path)
            names[path] = shown_path(full, desk) if allowed(full) else ""
        text = _text(b"".join(rest))
        if names[path]:
            yield f"{_text(os.fsencode(names[path]))}{text}" if named else text[1:]


def _read_files(output: bytes, desk: Desk, *, named: bool) -> Iterator[str]:
    allowed = desk.may_read
    for path in filter(None, output.split(b"\0")):
        if allowed(os.fsdecode(path)):
            yield _text(os.fsencode(shown_path(os.fsdecode(path), desk)))


def _read_counts(output: bytes, desk: Desk, *, named: bool) -> Iterator[str]:
    allowed = desk.may_read
    for row in output.splitlines():
        path, _, count = row.partition(b"\0")
        if count and allowed(os.fsdecode(path)):
            yield f"{_text(os.fsencode(shown_path(os.fsdecode(path), desk)))}:{_text(count)}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _told(page: JsonObject) -> str:
    words = [
        f"{word}: {page[key]}" for word, key in (("limit", "appliedLimit"), ("offset", "appliedOffset")) if key in page
    ]
    told = f"[Showing results with pagination = {', '.join(words)}]" if words else ""
    return f"{told} [The search was stopped before its end]".lstrip() if "timedOut" in page else told


def _shape_lines(chosen: list[str], rows: list[str], told: str) -> tuple[str, JsonObject]:
    content = "\n".join(chosen)
    detail: JsonObject = {"mode": "content", "numFiles": 0, "filenames": [], "content": content}
    detail |= {"numLines": len(chosen), "totalLines": len(rows)}
    return "\n\n".join(filter(None, (content or _nothing(rows, "No matches found"), told))), detail


def _shape_files(chosen: list[str], rows: list[str], told: str) -> tuple[str, JsonObject]:
    detail: JsonObject = {"mode": "files_with_matches", "filenames": chosen}
    detail |= {"numFiles": len(chosen), "totalFiles": len(rows)}
    if not chosen:
        return " ".join(filter(None, (_nothing(rows, "No files found"), told))), detail
    head = f"Found {len(chosen)} file{'s' if len(chosen) != 1 else ''}{f' {told}' if told else ''}"
    return "\n".join((head, *chosen)), detail


def _shape_counts(chosen: list[str], rows: list[str], told: str) -> tuple[str, JsonObject]:
    content = "\n".join(chosen)
    total = sum(int(row.rpartition(":")[2]) for row in chosen)
    detail: JsonObject = {"mode": "count", "numFiles": len(chosen), "filenames": [], "content": content}
    detail["numMatches"] = total
    said = (
        f"{content or _nothing(rows, 'No matches found')}\n\nFound {total} total "
        f"occurrence{'s' if total != 1 else ''} across {len(chosen)} file{'s' if len(chosen) != 1 else ''}."
    )
    return " ".join(filter(None, (said, told))), detail


def _nothing(rows: list[str], words: str) -> str:
    return "No entries at this offset." if rows else words


_READERS = {"content": _read_lines, "files_with_matches": _read_files, "count": _read_counts}
_SHAPES = {"content": _shape_lines, "files_with_matches": _shape_files, "count": _shape_counts}
