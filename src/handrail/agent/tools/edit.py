"""The Edit tool: replaces a string in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from handrail.agent.patch import structured_patch
from handrail.agent.tools.base import Outcome, Tool, ToolFailed, refused
from handrail.agent.tools.text_file import (
    CHANGED,
    CURRENT,
    UNREAD,
    TextFile,
    as_shown,
    changed_since,
    missing,
    put,
    read_text,
)
from handrail.permissions.paths.matching import inside, is_refused

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk
    from handrail.permissions.paths.matching import Resolved

__all__ = ["Edit", "EditInput"]


class EditInput(Struct, frozen=True):
    """A replacement in a file."""

    file_path: Annotated[str, Meta(description="Absolute path of the file.")]
    old_string: Annotated[str, Meta(description="The text to replace, exactly as in the file.")]
    new_string: Annotated[str, Meta(description="The replacement; it must differ from old_string.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence, not just one.")] = False


class Edit(Tool[EditInput]):
    """Replaces a string in a file."""

    name = "Edit"
    description = """\
Replaces a string in a file.

- Read the file before. `old_string` must match exactly, with its white space and indentation, without the line \
numbers \
that Read adds.
- It must occur once: add lines around it until it does, or set `replace_all` to change every occurrence, as for a \
renamed variable.
- If it fails because the text was not found or the file has changed, read the file again instead of guessing.
- An empty `old_string` creates a new file."""
    Input = EditInput

    def describe(self, given: EditInput) -> str:
        return given.file_path.rpartition("/")[2]

    async def check(self, given: EditInput, desk: Desk) -> None:
        """Fail early if nothing matches. Skipped for unreadable files, whose content the error would reveal."""
        resolved = desk.resolve(given.file_path)
        if not desk.may_read(resolved):
            return
        problem = _problem(given, resolved, desk)
        if not problem and resolved.kind == "file":
            old = read_text(resolved)
            problem = _match_problem(given, _with_line_ends_of(old.text, given.old_string), old.text)
        if problem:
            raise ToolFailed(problem)

    async def run(self, given: EditInput, desk: Desk) -> Outcome:
        resolved = desk.resolve(given.file_path)
        if problem := _problem(given, resolved, desk):
            return refused(problem)
        old = read_text(resolved) if resolved.kind == "file" else TextFile()
        wanted = _with_line_ends_of(old.text, given.old_string)
        replacement = _with_line_ends_of(old.text, given.new_string)
        if problem := _match_problem(given, wanted, old.text):
            return refused(problem)
        new = _replaced(old.text, wanted, replacement, every=given.replace_all)
        seen = desk.seen.get(resolved.real or "")
        known = resolved.kind == "missing" or (seen is not None and seen.whole)
        put(resolved, old.encode(new), desk, known=known)
        return _outcome(given, as_shown(old.text), as_shown(new), known=known)


def _problem(given: EditInput, resolved: Resolved, desk: Desk) -> str:
    if given.old_string == given.new_string:
        return "No changes to make: old_string and new_string are exactly the same."
    if resolved.kind == "missing":
        return missing(desk, resolved) if given.old_string else ""
    if resolved.kind == "directory":
        return f"{given.file_path} is a directory, not a file."
    if why := is_refused(resolved):
        return f"{given.file_path} cannot be edited: {why}."
    if given.file_path.endswith(".ipynb"):
        return "File is a Jupyter Notebook. Use the NotebookEdit to edit this file."
    seen = desk.seen.get(resolved.real or "")
    if seen is None:
        return "" if inside(resolved, desk.anchors()) else UNREAD
    return CHANGED if changed_since(seen, resolved) else ""


def _with_line_ends_of(old: str, text: str) -> str:
    """Convert CRLF to LF unless the file itself contains CRLF."""
    return text.replace("\r\n", "\n") if "\r\n" not in old else text


def _match_problem(given: EditInput, wanted: str, text: str) -> str:
    if not wanted:
        return "Cannot create new file - file already exists." if text.strip() else ""
    found = text.count(wanted)
    if not found:
        return f"String to replace not found in file.\nString: {given.old_string}"
    if found > 1 and not given.replace_all:
        return (
            f"Found {found} matches of the string to replace, but replace_all is false. To replace all occurrences, "
            "set replace_all to true. To replace only one occurrence, please provide more context to uniquely identify "
            f"the instance.\nString: {given.old_string}"
        )
    return ""


def _replaced(text: str, wanted: str, new: str, *, every: bool) -> str:
    if not wanted:
        return new
    return text.replace(wanted, new) if every else text.replace(wanted, new, 1)


def _outcome(given: EditInput, old: str, new: str, *, known: bool) -> Outcome:
    detail = {
        "filePath": given.file_path,
        "oldString": given.old_string,
        "newString": given.new_string,
        "originalFile": old,
        "structuredPatch": structured_patch(old, new),
        "userModified": False,
        "replaceAll": given.replace_all,
    }
    if not known:
        detail["contentNotInModelContext"] = True
    done = "updated. All occurrences were successfully replaced." if given.replace_all else "updated successfully."
    said = f"The file {given.file_path} has been {done}"
    return Outcome(f"{said} {CURRENT}" if known else said, detail)
