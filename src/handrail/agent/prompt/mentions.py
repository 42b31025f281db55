"""Files and MCP resources that a prompt mentions with `@`.

They are read under the rules of the Read tool. A file that may not be read without asking is replaced by a note to the
model.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final

from handrail.agent.blocks import reminder, text_block
from handrail.agent.tools.base import Tool, ToolFailed
from handrail.agent.tools.desk import Desk
from handrail.agent.tools.text_file import changed_since
from handrail.files.errors import FileError
from handrail.files.open import Root

__all__ = ["Mentions"]

JsonObject = dict[str, Any]
_MENTION: Final = re.compile(r"(?:^|(?<=[\s(]))@(?:\"([^\"\n]+)\"|([^\s,;!?()\"]+))")
_LINES: Final = re.compile(r"#L?(\d{1,7})(?:-L?(\d{1,7}))?\Z")
MOST: Final = 20
MOST_NAMES: Final = 1000
"""Names of a mentioned folder that are listed."""


class Mentions:
    """Expands mentions.

    `reader` is the Read tool. `servers` returns the names of the MCP servers, `read_resource` reads one of their
    resources by server and address. `instructions_about` returns the memory files about files that were read.
    """

    def __init__(
        self,
        desk: Desk,
        reader: Tool[Any],
        *,
        servers: Callable[[], Collection[str]],
        read_resource: Callable[[str, str], Awaitable[list[JsonObject]]],
        instructions_about: Callable[[list[str]], Awaitable[list[str]]],
    ) -> None:
        self._desk, self._reader, self._servers, self._read_resource = desk, reader, servers, read_resource
        self._instructions_about = instructions_about

    async def expand(self, text: str) -> list[JsonObject]:
        """The mentioned files and resources as blocks for the model."""
        blocks: list[JsonObject] = []
        names = dict.fromkeys((quoted or plain).rstrip(".:") for quoted, plain in _MENTION.findall(text))
        for name in list(names)[:MOST]:
            if not name:
                continue
            server, colon, uri = name.partition(":")
            if colon and server in self._servers():
                blocks += await self._resource(server, uri)
            else:
                blocks += await self._file(name)
        return blocks

    async def _resource(self, server: str, uri: str) -> list[JsonObject]:
        try:
            contents = await self._read_resource(server, uri)
        except Exception as error:  # a failing server must not stop the prompt
            return [_note(f"The resource {uri} of {server} could not be read: {error}")]
        texts = [str(part["text"]) for part in contents if isinstance(part.get("text"), str)]
        return [_note("\n".join([f"The resource {uri} of {server}:", *texts]))]

    async def _file(self, name: str) -> list[JsonObject]:
        desk = self._desk.for_call("")
        try:
            resolved, lines = desk.resolve(name), {}
            if resolved.kind == "missing" and (part := _LINES.search(name)):
                first, last = int(part[1]), int(part[2] or part[1])
                resolved, lines = desk.resolve(name[: part.start()]), {"offset": first, "limit": last - first + 1}
            if resolved.kind in ("missing", "other") or lines.get("limit", 1) < 1:
                return []
            path = resolved.lexical
            resolved = desk.resolve(path)
            if not desk.may_read(resolved):
                return [_note(f"{name} was mentioned, but may not be read without asking.")]
            if resolved.kind == "directory":
                return [_note(_listing(resolved.real or path))]
            seen = desk.seen.get(resolved.real or path)
            if seen is not None and seen.whole and not changed_since(seen, resolved):
                return []  # the conversation has it already
            outcome = await self._reader.run(self._reader.read({"file_path": path, **lines}), desk)
        except (ToolFailed, FileError) as error:
            return [_note(f"{name} could not be read: {error}")]
        which = f"{'Lines of the file' if lines else 'The file'} {path}, which was mentioned:"
        content = outcome.content
        shown = [_note(f"{which}\n{content}")] if isinstance(content, str) else [_note(which), *content]
        notes = await self._instructions_about([resolved.real or path])
        return [*shown, *map(text_block, notes)]


def _note(text: str) -> JsonObject:
    """A block about a file: its content is not the user's words."""
    return text_block(reminder(text))


def _listing(path: str) -> str:
    """The names in a folder, folders with a slash. Raises FileError if it cannot be listed."""
    with Root(path) as root:
        found = root.entries(".", limit=MOST_NAMES)
    names = [f"{entry.name}/" if entry.kind == "directory" else entry.name for entry in found.entries]
    rest = "" if found.complete else f"\n[more than {MOST_NAMES:,}; list the folder with Bash to see all]"
    return f"The folder {path}, which was mentioned, holds:\n" + "\n".join(names or ["(nothing)"]) + rest
