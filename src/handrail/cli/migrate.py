"""`handrail migrate`: shows or makes the change of imports from `claude_agent_sdk` to `handrail.claude_agent_sdk`."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from handrail.cli.import_rewriter import OLD, SourceError, rewrite
from handrail.cli.printable import printable
from handrail.cli.terminal import closed_pipe_ends_quietly
from handrail.files.errors import FileError
from handrail.files.open import Root

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

SKIPPED: Final = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", "site-packages", ".tox", ".nox"}
)
SUFFIXES: Final = (".py", ".pyi")


class Report(NamedTuple):
    """A file that needs a person, and why. `line` is 0 if the problem is not about a line."""

    path: str
    line: int
    problem: str


@app.command()
def migrate(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A folder, or one file.")],
    write: Annotated[bool, typer.Option("--write", help="Change the files.")] = False,  # noqa: FBT002
) -> None:
    """Change imports of claude_agent_sdk to handrail.claude_agent_sdk. Without --write, show the change as a diff.

    Only the names in import statements change; comments and layout stay. Imports of private modules and files that
    cannot be parsed are reported and left unchanged. Links are not followed; .git, virtual environments and
    node_modules are skipped.

    \b
    Exit codes: 0 all done or nothing to do, 1 something was left for you to change, 2 usage error.

    \b
    Example:
      handrail migrate src
      handrail migrate src --write
    """
    try:
        found = path.resolve(strict=True)
        is_folder = found.is_dir()
        root = Root(str(found if is_folder else found.parent))
    except (OSError, RuntimeError, FileError) as error:  # RuntimeError: a loop of links
        _say(f"{path}: {getattr(error, 'strerror', None) or error}")
        raise typer.Exit(2) from None
    with closed_pipe_ends_quietly(), root:
        if is_folder:
            code = _migrate(root, path, _sources(root), write=write)
        else:
            code = _migrate(root, path.parent, iter([found.name]), write=write)
    raise typer.Exit(code)


def _migrate(root: Root, shown: Path, names: Iterator[str | Report], *, write: bool) -> int:
    """Change or show each file. Returns the exit code."""
    changed, reports = 0, list[Report]()
    for name in names:
        if isinstance(name, Report):
            reports.append(name)
            continue
        label = os.path.normpath(os.path.join(shown, name))
        try:
            source = root.read(name, follow_links=False)
            if OLD.encode() not in source:
                continue
            result = rewrite(source)
            if result.source != source:
                changed += 1
                if write:
                    root.write(name, result.source, follow_links=False)
                    print(printable(label))
                else:
                    _show_diff(label, source, result.source)
            reports += [Report(label, note.line, note.text) for note in result.notes]
        except SourceError as error:
            reports.append(Report(label, error.line, f"{error}; it was left as it is"))
        except FileError as error:
            reports.append(Report(label, 0, str(error)))
    for report in reports:
        _say(f"{report.path}{f':{report.line}' if report.line else ''}: {report.problem}")
    files = "1 file" if changed == 1 else f"{changed} files"
    advice = "; run again with --write to change them" if changed and not write else ""
    _say(f"{files} {'changed' if write else 'would change'}{advice}")
    return 1 if reports else 0


def _sources(root: Root, folder: str = ".") -> Iterator[str | Report]:
    """The Python files below a folder, in order. Folders are entered without following a link."""
    try:
        listing = root.entries(folder, follow_links=False)
    except FileError as error:
        yield Report(folder, 0, str(error))
        return
    if any(entry.name == "pyvenv.cfg" for entry in listing.entries):
        return
    if not listing.complete:
        yield Report(folder, 0, f"it has more than {len(listing.entries)} entries; only those were looked at")
    for entry in listing.entries:
        name = os.path.normpath(os.path.join(folder, entry.name))
        if entry.kind == "directory" and entry.name not in SKIPPED:
            yield from _sources(root, name)
        elif entry.kind == "file" and entry.name.endswith(SUFFIXES):
            yield name


def _show_diff(label: str, before: bytes, after: bytes) -> None:
    name = os.fsencode(label)
    lines = difflib.diff_bytes(difflib.unified_diff, _lines(before), _lines(after), b"a/" + name, b"b/" + name)
    diff = b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines)
    if sys.stdout.isatty():
        print(printable(diff.decode(errors="replace")), end="")
    else:  # for a program: exactly the bytes of the file
        sys.stdout.buffer.write(diff)


def _lines(source: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", source)


def _say(text: str) -> None:
    print(f"handrail migrate: {printable(text)}", file=sys.stderr)
