"""The Edit tool: replaces a string in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct, ValidationError

from handrail.agent.patch import structured_patch
from handrail.agent.tools.base import JsonObject, Outcome, Tool, ToolFailed, refused
from handrail.agent.tools.quotes import occurrences, replaced
from handrail.agent.tools.text_file import (
    CHANGED,
    CURRENT,
    TextFile,
    as_shown,
    changed_since,
    missing,
    put,
    read_text,
    unread,
)
from handrail.permissions.paths.matching import inside, is_refused

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk
    from handrail.permissions.paths.matching import Resolved

__all__ = ["Edit", "EditInput"]

_STALE: Final = (
    "(note: the file has changed on disk since you read it. The edit was applied, but there are other changes that you"
    " have not seen: read the file before edits that depend on them)"
)


_OLD_NAMES: Final = {"old_str": "old_string", "new_str": "new_string"}


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
numbers that Read adds. Curly and straight quotes match each other, and the file keeps its own.
- It must occur once: add lines around it until it does, or set `replace_all` to change every occurrence, as for a \
renamed variable.
- If it fails because the text was not found or the file has changed, read the file again instead of guessing.
- An empty `old_string` creates a new file."""
    Input = EditInput
    path_field = "file_path"
    other_names = {"path": "file_path", **_OLD_NAMES}

    def in_conversation(self, input: JsonObject) -> JsonObject:
        """A valid call has all fields, under the names of the schema. An older name beside the newer one is dropped."""
        repaired = super().in_conversation(input)
        older = {_OLD_NAMES[name]: value for name, value in repaired.items() if name in _OLD_NAMES}
        named = older | {name: value for name, value in repaired.items() if name not in _OLD_NAMES}
        try:
            self.check_fields(named)
            given = self.read(named)
        except ValidationError:
            return repaired
        return {**named, "replace_all": given.replace_all}

    def describe(self, given: EditInput) -> str:
        return given.file_path.rpartition("/")[2]

    async def check(self, given: EditInput, desk: Desk) -> None:
        """Fail early if nothing matches. Skipped for unreadable files, whose content the error would reveal."""
        resolved = desk.resolve(given.file_path)
        if desk.may_read(resolved):
            _Change(given, resolved, desk)

    async def run(self, given: EditInput, desk: Desk) -> Outcome:
        resolved = desk.resolve(given.file_path)
        try:
            change = _Change(given, resolved, desk)
        except ToolFailed as problem:
            return refused(str(problem))
        if change.stale:  # the model has to read it before it writes all of it
            desk.seen.pop(resolved.real or "", None)
        put(resolved, change.old.encode(change.new), desk, known=change.known)
        return change.outcome()


class _Change:
    """A replacement that is possible. Raises ToolFailed for one that is not."""

    def __init__(self, given: EditInput, resolved: Resolved, desk: Desk) -> None:
        if problem := _problem(given, resolved, desk):
            raise ToolFailed(problem)
        self._given = given
        seen = desk.seen.get(resolved.real or "")
        self.stale = seen is not None and changed_since(seen, resolved)
        """Whether the file has changed since the model read it."""
        if self.stale and not inside(resolved, desk.anchors()):
            raise ToolFailed(CHANGED)
        self.known = resolved.kind == "missing" or (seen is not None and seen.whole and not self.stale)
        """Whether the model knows the rest of the file."""
        self.old = read_text(resolved) if resolved.kind == "file" else TextFile()
        text = self.old.text
        wanted, new = (_with_line_ends_of(text, part) for part in (given.old_string, given.new_string))
        found = occurrences(text, wanted)
        if problem := _match_problem(given, len(found), text):
            # The text may have been there when the file was read.
            raise ToolFailed(CHANGED if self.stale else problem)
        if not new:
            wanted += _line_end_behind(text, found, wanted)  # a line that is deleted leaves no empty one behind
        self._replaced = text[found[0] : found[0] + len(wanted)] if found else ""
        self.new = replaced(text, found, wanted, new) if found else new

    def outcome(self) -> Outcome:
        given, old, new = self._given, as_shown(self.old.text), as_shown(self.new)
        detail = {
            "filePath": given.file_path,
            "oldString": as_shown(self._replaced),
            "newString": given.new_string,
            "originalFile": old,
            "structuredPatch": structured_patch(old, new),
            "userModified": False,
            "replaceAll": given.replace_all,
        }
        if self.stale:
            detail["staleRecovered"] = True
        if not self.known:
            detail["contentNotInModelContext"] = True
        done = "updated. All occurrences were successfully replaced." if given.replace_all else "updated successfully."
        note = CURRENT if self.known else _STALE if self.stale else ""
        return Outcome(f"The file {given.file_path} has been {done} {note}".rstrip(), detail)


def _line_end_behind(text: str, found: list[int], wanted: str) -> str:
    """The line end behind every occurrence, if all of them are whole lines; else nothing."""
    ends = {_line_end(text, at + len(wanted)) if at == 0 or text[at - 1] == "\n" else "" for at in found}
    return ends.pop() if len(ends) == 1 and not wanted.endswith("\n") else ""


def _line_end(text: str, at: int) -> str:
    return next((end for end in ("\r\n", "\n") if text.startswith(end, at)), "")


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
    return unread(resolved, desk)


def _with_line_ends_of(old: str, text: str) -> str:
    """Convert CRLF to LF unless the file itself contains CRLF."""
    return text.replace("\r\n", "\n") if "\r\n" not in old else text


def _match_problem(given: EditInput, found: int, text: str) -> str:
    if not given.old_string:
        return "Cannot create new file - file already exists." if text.strip() else ""
    if not found:
        return f"String to replace not found in file.\nString: {given.old_string}"
    if found > 1 and not given.replace_all:
        return (
            f"Found {found} matches of the string to replace, but replace_all is false. To replace all occurrences, "
            "set replace_all to true. To replace only one occurrence, please provide more context to uniquely identify "
            f"the instance.\nString: {given.old_string}"
        )
    return ""
