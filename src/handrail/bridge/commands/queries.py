"""Commands that read from a session and change nothing."""

from __future__ import annotations

import asyncio
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

__all__ = ["QueryCommands", "all_commands"]

JsonObject = dict[str, Any]
CLI_SECONDS: Final = 2.0
"""How long the CLI may take to suggest files; then the server looks itself."""


class FileSuggestions(Fields, frozen=True, kw_only=True):
    """`query`: a part of a file name."""

    session: Id
    query: Annotated[str, Meta(max_length=200)] = ""


class QueryCommands:
    """Handlers that only read."""

    def __init__(self, sessions: Sessions, about: About) -> None:
        self._sessions, self._about = sessions, about

    @command("about", "prompt", reads=True)
    async def about(self, call: Call, fields: OfSession) -> JsonObject:
        """What the CLI reports of itself: commands, agents, models, output styles, hooks, account, git branch."""
        host = await self._sessions.get(fields.session)
        found = await self._about.of(host)
        # The CLI announces commands of plugins and MCP servers only in the `init` message of a turn.
        announced: list[str] = getattr(host, "slash_commands", [])
        return {**found, "commands": all_commands(found["commands"], announced)}

    @command("file_suggestions", "prompt", reads=True)
    async def file_suggestions(self, call: Call, fields: FileSuggestions) -> JsonObject:
        """Files, folders and MCP resources to mention in a message."""
        host = await self._sessions.get(fields.session)
        found = ranked(await _suggested(host, fields.query), fields.query)
        if not found:
            found = await asyncio.to_thread(files_like, host.record.cwd, fields.query)
        return {"files": found, "resources": await _resources(host, fields.query)}

    @command("context_usage", "prompt", reads=True)
    async def context_usage(self, call: Call, fields: OfSession) -> JsonObject:
        """How full the context window is. It names files of this machine, so viewers may not ask for it."""
        answer = await (await self._sessions.get(fields.session)).session.get_context_usage()
        return msgspec.json.decode(answer.raw) if answer.raw else {}


def all_commands(described: list[Any], announced: list[str]) -> list[Any]:
    """The commands of the handshake with their descriptions, then those that only the `init` message names."""
    known = {str(cast("JsonObject", one).get("name", "")).lstrip("/") for one in described if isinstance(one, dict)}
    names = dict.fromkeys(name.lstrip("/") for name in announced)
    return [*described, *({"name": name, "description": "", "argumentHint": ""} for name in names if name not in known)]


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


async def _resources(host: SessionHost, query: str) -> list[JsonObject]:
    """The MCP resources whose name or URI contains the query."""
    list_resources = getattr(host, "mcp_resources", None)
    if list_resources is None:
        return []
    found: list[JsonObject] = await list_resources()
    wanted = query.casefold()
    return [one for one in found if wanted in f"{one.get('name', '')} {one.get('uri', '')}".casefold()]
