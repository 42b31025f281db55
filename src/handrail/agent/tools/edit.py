"""Edit: one text for another in a file. In: path, old and new text. Out: what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from handrail.agent.tools.base import Outcome, Tool, ToolFailed
from handrail.agent.tools.patch import structured_patch
from handrail.agent.tools.refusal import refused
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
from handrail.permissions.paths import inside, is_refused

if TYPE_CHECKING:
    from handrail.agent.desk import Desk
    from handrail.permissions.paths import Resolved

__all__ = ["Edit", "EditInput"]


class EditInput(Struct, frozen=True):
    """Where to put which text in place of which."""

    file_path: Annotated[str, Meta(description="Absolute path of the file.")]
    old_string: Annotated[str, Meta(description="The text to replace, exactly as it stands in the file.")]
    new_string: Annotated[str, Meta(description="The text to put there; it must differ.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence, not just one.")] = False


class Edit(Tool[EditInput]):
    """Replaces a text in a file."""

    name = "Edit"
    description = (
        "Replaces a text in a file by another. The old text must stand there exactly once, with its white space and "
        "without the line numbers that Read shows, unless replace_all is set. An empty old_string makes a new file."
    )
    Input = EditInput

    def describe(self, given: EditInput) -> str:
        return given.file_path.rpartition("/")[2]

    async def check(self, given: EditInput, desk: Desk) -> None:
        """A text that is not there need not be asked about; of a file that may not be read nothing is told."""
        resolved = desk.resolve(given.file_path)
        if not desk.may_read(given.file_path):
            return
        problem = _problem(given, resolved, desk)
        if not problem and resolved.kind == "file":
            old = read_text(resolved)
            problem = _no_match(given, _fitting(given.old_string, old.text), old.text)
        if problem:
            raise ToolFailed(problem)

    async def run(self, given: EditInput, desk: Desk) -> Outcome:
        resolved = desk.resolve(given.file_path)
        if problem := _problem(given, resolved, desk):
            return refused(problem)
        old = read_text(resolved) if resolved.kind == "file" else TextFile()
        wanted, text = _fitting(given.old_string, old.text), _fitting(given.new_string, old.text)
        if problem := _no_match(given, wanted, old.text):
            return refused(problem)
        new = _replaced(old.text, wanted, text, every=given.replace_all)
        known = resolved.kind == "missing" or (resolved.real or "") in desk.seen
        put(resolved, old.bytes_of(new), desk, knows=known)
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


def _fitting(text: str, old: str) -> str:
    """A text with the line ends of the file, where the file has only plain ones."""
    return text.replace("\r\n", "\n") if "\r\n" not in old else text


def _no_match(given: EditInput, wanted: str, text: str) -> str:
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
