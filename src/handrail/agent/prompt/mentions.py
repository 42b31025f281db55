"""Files and MCP resources that a prompt mentions with `@`.

They are read under the rules of the Read tool. A file that may not be read without asking is replaced by a note to the
model.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final

from handrail.agent.blocks import text_block
from handrail.agent.tools.base import Tool, ToolFailed
from handrail.agent.tools.desk import Desk
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
            return [text_block(f"The resource {uri} of {server} could not be read: {error}")]
        texts = [text_block(str(part["text"])) for part in contents if isinstance(part.get("text"), str)]
        return [text_block(f"The resource {uri} of {server}:"), *texts]

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
                return [text_block(f"{name} was mentioned, but may not be read without asking.")]
            if resolved.kind == "directory":
                return [text_block(_listing(resolved.real or path))]
            outcome = await self._reader.run(self._reader.read({"file_path": path, **lines}), desk)
        except (ToolFailed, FileError) as error:
            return [text_block(f"{name} could not be read: {error}")]
        content = [text_block(outcome.content)] if isinstance(outcome.content, str) else outcome.content
        which = f"Lines of the file {path}" if lines else f"The file {path}"
        notes = await self._instructions_about([resolved.real or path])
        return [text_block(f"{which}, which was mentioned:"), *content, *map(text_block, notes)]


def _listing(path: str) -> str:
    """The names in a folder, folders with a slash. Raises FileError if it cannot be listed."""
    with Root(path) as root:
        found = root.entries(".", limit=MOST_NAMES)
    names = [f"{entry.name}/" if entry.kind == "directory" else entry.name for entry in found.entries]
    rest = "" if found.complete else f"\n[more than {MOST_NAMES:,}; list the folder with Bash to see all]"
    return f"The folder {path}, which was mentioned, holds:\n" + "\n".join(names or ["(nothing)"]) + rest
