"""The Write tool: creates or overwrites a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from handrail.agent.patch import structured_patch
from handrail.agent.tools.base import JsonObject, Outcome, Tool, ToolFailed, refused
from handrail.agent.tools.text_file import (
    CHANGED,
    CURRENT,
    TextFile,
    as_shown,
    changed_since,
    look,
    put,
    read_text,
    unread,
)
from handrail.permissions.paths.matching import is_refused

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk
    from handrail.permissions.paths.matching import Resolved

__all__ = ["Write", "WriteInput"]


class WriteInput(Struct, frozen=True):
    """A file, and its content."""

    file_path: Annotated[str, Meta(description="Absolute path of the file.")]
    content: Annotated[str, Meta(description="The whole content of the file.")]


class Write(Tool[WriteInput]):
    """Creates or overwrites a file."""

    name = "Write"
    description = """\
Writes a file, and replaces one that exists.

- Give an absolute path; missing folders are made. Read an existing file before you replace it; this fails if it has \
changed since.
- To change part of a file use Edit: it shows the user less and keeps the rest as it is.
- Create only files that the task needs; no documentation or summaries unless they are asked for."""
    Input = WriteInput
    path_field = "file_path"
    other_names = {"path": "file_path", "file_text": "content"}

    def describe(self, given: WriteInput) -> str:
        return given.file_path.rpartition("/")[2]

    async def check(self, given: WriteInput, desk: Desk) -> None:
        """Fail before the user is asked. Skipped for unreadable files, whose state the error would reveal."""
        resolved = desk.resolve(given.file_path)
        desk.offered[resolved.real or ""] = look(resolved)
        if desk.may_read(resolved) and (problem := _problem(given, resolved, desk)):
            raise ToolFailed(problem)

    async def run(self, given: WriteInput, desk: Desk) -> Outcome:
        resolved = desk.resolve(given.file_path)
        if problem := _problem(given, resolved, desk):
            return refused(problem)
        if resolved.kind == "missing":
            put(resolved, TextFile().encode(given.content), desk)
            return _created(given)
        old = read_text(resolved)
        put(resolved, old.encode(given.content), desk)
        return _updated(given, as_shown(old.text))


def _problem(given: WriteInput, resolved: Resolved, desk: Desk) -> str:
    if resolved.kind == "directory":
        return f"{given.file_path} is a directory, not a file. To create a file inside it, name the file in file_path."
    if why := is_refused(resolved):
        return f"{given.file_path} cannot be written: {why}."
    if resolved.kind == "missing":
        return ""
    if problem := unread(resolved, desk):
        return problem
    real = resolved.real or ""
    if (seen := desk.seen.get(real)) is not None:
        return CHANGED if changed_since(seen, resolved) else ""
    return CHANGED if real in desk.offered and desk.offered[real] != look(resolved) else ""


def _created(given: WriteInput) -> Outcome:
    detail: JsonObject = {
        "type": "create",
        "filePath": given.file_path,
        "content": given.content,
        "structuredPatch": [],
        "originalFile": None,
        "userModified": False,
    }
    return Outcome(f"File created successfully at: {given.file_path} {CURRENT}", detail)


def _updated(given: WriteInput, old: str) -> Outcome:
    detail = {
        "type": "update",
        "filePath": given.file_path,
        "content": given.content,
        "structuredPatch": structured_patch(old, given.content),
        "originalFile": old,
        "userModified": False,
    }
    return Outcome(f"The file {given.file_path} has been updated successfully. {CURRENT}", detail)
