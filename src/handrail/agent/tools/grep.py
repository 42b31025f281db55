"""The Grep tool: searches file contents."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec import Meta, Struct, field

from handrail.agent.tools.base import JsonObject, Outcome, Tool, explain_file_errors
from handrail.agent.tools.large_output import fitted
from handrail.agent.tools.ripgrep import Found, place_of, readable, ripgrep, shown_path
from handrail.files.open import READ_LIMIT, open_resolved

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk
    from handrail.permissions.paths.matching import Resolved

__all__ = ["Grep", "GrepInput"]

_DEFAULT_LIMIT: Final = 250
_MAX_CHARACTERS: Final = 20_000
_MAX_LINE: Final = 500
_COMPARED: Final = 400
"""Bytes of a line that are compared with the file; ripgrep cuts longer lines and appends a note to them."""
_NUMBER: Final = re.compile(rb"[:-]\d+[:-]")
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_MODES: Final = {
    "files_with_matches": ("--files-with-matches", "--sortr=modified", "--null"),
    "count": ("--count-matches", "--with-filename", "--null"),
    # File names and lines of text contain no NUL, so it separates the fields safely.
    "content": (
        "--with-filename",
        f"--max-columns={_MAX_LINE}",
        "--max-columns-preview",
        r"--field-match-separator=\x00:",
        r"--field-context-separator=\x00-",
    ),
}
Lines = Annotated[int, Meta(ge=0)] | None


class GrepInput(Struct, frozen=True):
    """The pattern, where to search and what to show."""

    pattern: Annotated[str, Meta(description="A regular expression in ripgrep syntax.")]
    path: Annotated[str | None, Meta(description="File or folder to search; default: the working directory.")] = None
    glob: Annotated[str | None, Meta(description="Only files that match, such as `*.{ts,tsx}`.")] = None
    type: Annotated[str | None, Meta(description="Only files of this type, such as py, js, rust.")] = None
    output_mode: Literal["content", "files_with_matches", "count"] = "files_with_matches"
    before: Annotated[Lines, Meta(description="Lines to show before each match.")] = field(default=None, name="-B")
    after: Annotated[Lines, Meta(description="Lines to show after each match.")] = field(default=None, name="-A")
    around: Annotated[Lines, Meta(description="Lines to show around each match.")] = field(default=None, name="-C")
    context: Annotated[Lines, Meta(description="The same as -C.")] = None
    numbers: Annotated[bool, Meta(description="Show line numbers.")] = field(default=True, name="-n")
    any_case: Annotated[bool, Meta(description="Ignore case.")] = field(default=False, name="-i")
    multiline: Annotated[bool, Meta(description="Matches may span lines, and `.` matches newlines.")] = False
    head_limit: Annotated[Lines, Meta(description="Limit of lines or files; 0 for all. Default: 250.")] = None
    offset: Annotated[int, Meta(ge=0, description="Number of lines or files to skip first.")] = 0


class Grep(Tool[GrepInput]):
    """Searches file contents."""

    name = "Grep"
    description = """\
Searches the contents of files with ripgrep.

- `pattern` is a regular expression of ripgrep: write `interface\\{` for a brace. It matches within a line unless \
`multiline` is set.
- `output_mode`: files_with_matches gives paths, newest first; content gives the lines, with `-n`, `-A`, `-B`, `-C`; \
count gives numbers. Narrow it with `path`, `glob` or `type`, and shorten it with `head_limit`.
- Files that git ignores are left out."""
    Input = GrepInput
    kept_fields = frozenset(GrepInput.__struct_encode_fields__)
    concurrent = True

    def describe(self, given: GrepInput) -> str:
        return given.pattern

    async def run(self, given: GrepInput, desk: Desk) -> Outcome:
        place = place_of(given.path, desk, kinds=("file", "directory"))
        found = await ripgrep(_arguments(given), place)
        rows = list(_READERS[given.output_mode](found, desk, named=place.kind == "directory"))
        limit = _DEFAULT_LIMIT if given.head_limit is None else given.head_limit
        chosen = rows[given.offset : given.offset + limit] if limit else rows[given.offset :]
        more = given.offset + len(chosen) < len(rows)
        page: JsonObject = {}
        if more:
            page["appliedLimit"] = limit
        if given.offset:
            page["appliedOffset"] = given.offset
        if not found.complete:
            page["timedOut"] = True
        content, detail = _FORMATS[given.output_mode](chosen, rows, _page_note(page))
        return Outcome(fitted(content, desk, _MAX_CHARACTERS), detail | page)


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


def _read_lines(found: Found, desk: Desk, *, named: bool) -> Iterator[str]:
    """Lines as `path:number:text`, context lines as `path-number-text`. Paths are omitted unless `named`."""
    for path, group in groupby(_fields(found.output), key=itemgetter(0)):
        if not path:
            yield from ("--" for _ in group)
            continue
        resolved = readable(found.path(path), desk)
        rows = [b"".join(rest) for _, rest in group]
        if resolved is None:
            continue
        present = _present(resolved, {_line(row) for row in rows}) if named else None
        name = _text(os.fsencode(shown_path(found.path(path), desk)))
        for row in rows:
            if present is None or _line(row) in present:
                yield f"{name}{_text(row)}" if named else _text(row)[1:]


def _fields(output: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
    """The path and the other fields of each row; an empty path for the separator between groups of lines."""
    for row in output.splitlines():
        path, *rest = row.split(b"\0")
        if rest:
            yield path, rest
        elif row == b"--":
            yield b"", []
        # other rows are notes about binary files


def _line(row: bytes) -> bytes:
    """The beginning of the text of a row, which follows its number if it has one. Long lines are cut by ripgrep."""
    number = _NUMBER.match(row)
    return row[number.end() if number else 1 :][:_COMPARED]


def _present(resolved: Resolved, wanted: set[bytes]) -> set[bytes]:
    """Those of the lines that the file really contains: ripgrep may have been led to another file of this name."""
    present: set[bytes] = set()
    with explain_file_errors(), open_resolved(resolved) as file:
        start = file.read(2)
        file.seek(0)
        lines: Iterable[bytes] = file
        if start in _UTF16:
            lines = file.read(READ_LIMIT).decode("utf-16", "replace").encode().splitlines()
        for line in lines:
            for part in line.splitlines() or (b"",):
                if (beginning := part[:_COMPARED]) in wanted:
                    present.add(beginning)
    return present


def _read_files(found: Found, desk: Desk, *, named: bool) -> Iterator[str]:
    for path in filter(None, found.output.split(b"\0")):
        if readable(found.path(path), desk):
            yield _text(os.fsencode(shown_path(found.path(path), desk)))


def _read_counts(found: Found, desk: Desk, *, named: bool) -> Iterator[str]:
    for row in found.output.splitlines():
        path, _, count = row.partition(b"\0")
        if count and readable(found.path(path), desk):
            yield f"{_text(os.fsencode(shown_path(found.path(path), desk)))}:{_text(count)}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _page_note(page: JsonObject) -> str:
    words = [
        f"{word}: {page[key]}" for word, key in (("limit", "appliedLimit"), ("offset", "appliedOffset")) if key in page
    ]
    note = f"[Showing results with pagination = {', '.join(words)}]" if words else ""
    return f"{note} [The search was stopped early; results are incomplete]".lstrip() if "timedOut" in page else note


def _format_lines(chosen: list[str], rows: list[str], note: str) -> tuple[str, JsonObject]:
    content = "\n".join(chosen)
    detail: JsonObject = {"mode": "content", "numFiles": 0, "filenames": [], "content": content}
    detail |= {"numLines": len(chosen), "totalLines": len(rows)}
    return "\n\n".join(filter(None, (content or _no_results(rows, "No matches found"), note))), detail


def _format_files(chosen: list[str], rows: list[str], note: str) -> tuple[str, JsonObject]:
    detail: JsonObject = {"mode": "files_with_matches", "filenames": chosen}
    detail |= {"numFiles": len(chosen), "totalFiles": len(rows)}
    if not chosen:
        return " ".join(filter(None, (_no_results(rows, "No files found"), note))), detail
    head = f"Found {len(chosen)} file{'s' if len(chosen) != 1 else ''}{f' {note}' if note else ''}"
    return "\n".join((head, *chosen)), detail


def _format_counts(chosen: list[str], rows: list[str], note: str) -> tuple[str, JsonObject]:
    content = "\n".join(chosen)
    total = sum(int(row.rpartition(":")[2]) for row in chosen)
    detail: JsonObject = {"mode": "count", "numFiles": len(chosen), "filenames": [], "content": content}
    detail["numMatches"] = total
    summary = (
        f"{content or _no_results(rows, 'No matches found')}\n\nFound {total} total "
        f"occurrence{'s' if total != 1 else ''} across {len(chosen)} file{'s' if len(chosen) != 1 else ''}."
    )
    return " ".join(filter(None, (summary, note))), detail


def _no_results(rows: list[str], words: str) -> str:
    return "No entries at this offset." if rows else words


_READERS = {"content": _read_lines, "files_with_matches": _read_files, "count": _read_counts}
_FORMATS = {"content": _format_lines, "files_with_matches": _format_files, "count": _format_counts}
