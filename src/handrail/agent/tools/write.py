"""Write: a whole file. In: path and content. Out: what became of it, and what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from handrail.agent.tools.base import JsonObject, Outcome, Tool
from handrail.agent.tools.patch import structured_patch
from handrail.agent.tools.refusal import refused
from handrail.agent.tools.text_file import CHANGED, CURRENT, UNREAD, TextFile, as_shown, changed_since, put, read_text
from handrail.permissions.paths import is_refused

if TYPE_CHECKING:
    from handrail.agent.desk import Desk
    from handrail.permissions.paths import Resolved

__all__ = ["Write", "WriteInput"]


class WriteInput(Struct, frozen=True):
    """A file, and all it shall contain."""

    file_path: Annotated[str, Meta(description="Absolute path of the file.")]
    content: Annotated[str, Meta(description="All that the file shall contain.")]


class Write(Tool[WriteInput]):
    """Makes a file, or puts another content in its place."""

    name = "Write"
    description = (
        "Makes a file with the given content, or replaces all of an existing one. An existing file must have been read "
        "in this conversation first. For a change of a part, Edit is the better tool."
    )
    Input = WriteInput

    def describe(self, given: WriteInput) -> str:
        return given.file_path.rpartition("/")[2]

    async def run(self, given: WriteInput, desk: Desk) -> Outcome:
        resolved = desk.resolve(given.file_path)
        if problem := _problem(given, resolved, desk):
            return refused(problem)
        if resolved.kind == "missing":
            put(resolved, TextFile().bytes_of(given.content), desk)
            return _made(given)
        old = read_text(resolved)
        put(resolved, old.bytes_of(given.content), desk)
        return _replaced(given, as_shown(old.text))


def _problem(given: WriteInput, resolved: Resolved, desk: Desk) -> str:
    if resolved.kind == "directory":
        return f"{given.file_path} is a directory, not a file. To create a file inside it, name the file in file_path."
    if why := is_refused(resolved):
        return f"{given.file_path} cannot be written: {why}."
    if resolved.kind == "missing":
        return ""
    seen = desk.seen.get(resolved.real or "")
    if seen is None:
        return UNREAD
    return CHANGED if changed_since(seen, resolved) else ""


def _made(given: WriteInput) -> Outcome:
    detail: JsonObject = {
        "type": "create",
        "filePath": given.file_path,
        "content": given.content,
        "structuredPatch": [],
        "originalFile": None,
        "userModified": False,
    }
    return Outcome(f"File created successfully at: {given.file_path} {CURRENT}", detail)


def _replaced(given: WriteInput, old: str) -> Outcome:
    detail = {
        "type": "update",
        "filePath": given.file_path,
        "content": given.content,
        "structuredPatch": structured_patch(old, given.content),
        "originalFile": old,
        "userModified": False,
    }
    return Outcome(f"The file {given.file_path} has been updated successfully. {CURRENT}", detail)
