"""Commands that read from a session and change nothing."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any, Final, cast

import msgspec
from msgspec import Meta

from handrail.bridge.commands.fields import Fields, Id, OfSession
from handrail.bridge.commands.file_suggestions import files_like, ranked
from handrail.bridge.commands.table import Call, command
from handrail.bridge.session.about import About
from handrail.bridge.session.host import SessionHost
from handrail.bridge.session.sessions import Sessions
from handrail.client.errors import HandrailError

__all__ = ["QueryCommands"]

JsonObject = dict[str, Any]
CLI_SECONDS: Final = 2.0
"""How long the CLI may take to suggest files or list resources; then the server lists files itself."""
RESOURCE_SECONDS: Final = 5.0
MOST_RESOURCES: Final = 500
LONGEST_DESCRIPTION: Final = 500


class FileSuggestions(Fields, frozen=True, kw_only=True):
    """`query`: a part of a file name."""

    session: Id
    query: Annotated[str, Meta(max_length=200)] = ""


class QueryCommands:
    """Handlers that only read."""

    def __init__(self, sessions: Sessions, about: About) -> None:
        self._sessions, self._about = sessions, about
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
            found = await asyncio.to_thread(files_like, host.record.cwd, fields.query)
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
