"""Commands that read from a session and change nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, cast

import msgspec
from msgspec import Meta

from handrail.bridge.commands.table import Call, Fields, Id, OfSession, command
from handrail.bridge.session.about import About
from handrail.bridge.session.host import SessionHost
from handrail.bridge.session.sessions import Sessions
from handrail.client.errors import HandrailError
from handrail.files.errors import FileError
from handrail.files.open import Root
from handrail.files.private_names import is_private
from handrail.files.project_files import project_files

__all__ = ["QueryCommands", "files_like", "ranked"]

JsonObject = dict[str, Any]
CLI_SECONDS: Final = 2.0
"""How long the CLI may take to suggest files or list resources; then the server lists files itself."""
RESOURCE_SECONDS: Final = 5.0
MOST_RESOURCES: Final = 500
LONGEST_DESCRIPTION: Final = 500
MOST_FILES: Final = 50


class FileSuggestions(Fields, frozen=True, kw_only=True):
    """`query`: a part of a file name."""

    session: Id
    query: Annotated[str, Meta(max_length=200)] = ""


class QueryCommands:
    """Handlers that only read."""

    def __init__(self, sessions: Sessions, about: About, roots: Sequence[Path]) -> None:
        self._sessions, self._about, self._roots = sessions, about, tuple(map(str, roots))
        self._resources: dict[str, tuple[float, list[JsonObject]]] = {}

    @command("about", "prompt", reads=True)
    async def about(self, call: Call, fields: OfSession) -> JsonObject:
        """What the CLI reports of itself: commands, agents, models, output styles, hooks, account, git branch."""
        return await self._about.of(await self._sessions.get(fields.session))

    @command("file_suggestions", "prompt", reads=True)
    async def file_suggestions(self, call: Call, fields: FileSuggestions) -> JsonObject:
        """Files, folders and MCP resources to mention in a message."""
        host = await self._sessions.get(fields.session)
        found = ranked(await _suggested(host, fields.query), fields.query)
        if not found:
            found = await asyncio.to_thread(files_like, host.record.cwd, fields.query, self._roots)
        return {"files": found, "resources": await self._matching_resources(host, fields.query)}

    async def _matching_resources(self, host: SessionHost, query: str) -> list[JsonObject]:
        """The MCP resources whose name or URI contains the query.

        A person types a letter at a time, and listing asks every MCP server: a list is used for a few seconds.
        """
        id, now = host.record.id, time.monotonic()
        listed, found = self._resources.get(id, (-RESOURCE_SECONDS, []))
        if now - listed >= RESOURCE_SECONDS:
            found = await _resources(host)
            self._resources = {key: old for key, old in self._resources.items() if now - old[0] < RESOURCE_SECONDS}
            self._resources[id] = (now, found)
        wanted = query.casefold()
        return [one for one in found if wanted in f"{one['name']} {one['server']}:{one['uri']}".casefold()]

    @command("context_usage", "prompt", reads=True)
    async def context_usage(self, call: Call, fields: OfSession) -> JsonObject:
        """How full the context window is. It names files of this machine, so viewers may not ask for it."""
        answer = await (await self._sessions.get(fields.session)).session.get_context_usage()
        return msgspec.json.decode(answer.raw) if answer.raw else {}


async def _suggested(host: SessionHost, query: str) -> list[str]:
    """The CLI's own suggestions, as paths below the session's folder; none if it does not answer in time."""
    if not host.running:
        return []
    try:
        found = (await host.session.file_suggestions(query, timeout=CLI_SECONDS)).suggestions
    except HandrailError:
        return []
    entries = [cast("JsonObject", one) for one in found if isinstance(one, dict)]
    paths = [path for one in entries if isinstance(path := one.get("path"), str)]
    return [path for path in paths if not path.startswith(("/", "~")) and ".." not in path.split("/")]


def files_like(cwd: str, query: str, roots: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Paths below a folder that contain the query, best match first; folders end with a slash. Reads the disk.

    Empty if the folder is not, or no longer, below one of `roots`.

    Ignored files, credentials and tool folders are left out, and links are not followed.
    """
    try:
        with Root(cwd, within=roots) as root:
            return ranked(project_files(root), query)
    except FileError:
        return []


def ranked(paths: Iterable[str], query: str) -> list[dict[str, Any]]:
    """The paths that contain the query: names that start with it first, then shorter paths."""
    wanted = query.casefold().removeprefix("./")
    fits = [path for path in dict.fromkeys(paths) if wanted in path.casefold() and _may_be_offered(path)]
    fits.sort(key=lambda path: (_distance(path.casefold(), wanted), len(path), path))
    return [{"path": path, "kind": "folder" if path.endswith("/") else "file"} for path in fits[:MOST_FILES]]


def _distance(path: str, wanted: str) -> int:
    name = path.rstrip("/").rpartition("/")[2]
    return 0 if name.startswith(wanted) else 1 if path.startswith(wanted) else 2 if wanted in name else 3


def _may_be_offered(path: str) -> bool:
    """Whether a path may be offered: no credentials, and only names that a client can send back."""
    return path.isprintable() and '"' not in path and not is_private(f"/{path}", "/")


async def _resources(host: SessionHost) -> list[JsonObject]:
    """The resources of the session's MCP servers; none without a process, or if its CLI does not list them."""
    if not host.running:
        return []
    try:
        found = (await host.session.mcp_list_resources(timeout=CLI_SECONDS)).resources
    except HandrailError:
        return []
    return [
        {"server": one.server, "uri": one.uri, "name": one.name, "description": one.description[:LONGEST_DESCRIPTION]}
        for one in found[:MOST_RESOURCES]
    ]
