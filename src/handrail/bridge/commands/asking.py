"""Commands that ask about a session and change nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from msgspec import Meta

from handrail.bridge.commands.fields import OfSession
from handrail.bridge.commands.file_suggestions import files_like, ranked
from handrail.bridge.commands.table import Call, command
from handrail.client.errors import HandrailError

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge
    from handrail.bridge.session.host import SessionHost

__all__: list[str] = []

JsonObject = dict[str, Any]
PATIENCE: Final = 2.0


@command("about", "prompt", reads=True)
async def about(bridge: Bridge, call: Call, fields: OfSession) -> JsonObject:
    """What its CLI says of itself: commands, agents, models, styles, hooks, who is signed in, which branch."""
    return await bridge.about.of(await bridge.sessions.get(fields.session))


class FileSuggestions(OfSession, frozen=True, kw_only=True):
    """The beginning of a name, or a part of one."""

    query: Annotated[str, Meta(max_length=200)] = ""


@command("file_suggestions", "prompt", reads=True)
async def file_suggestions(bridge: Bridge, call: Call, fields: FileSuggestions) -> JsonObject:
    """Files and folders to mention. No CLI lists the resources of MCP servers yet: of those there are none."""
    host = await bridge.sessions.get(fields.session)
    found = ranked(await _told_by_cli(host, fields.query), fields.query)
    if not found:
        found = await asyncio.to_thread(files_like, host.record.cwd, fields.query)
    return {"files": found, "resources": []}


async def _told_by_cli(host: SessionHost, query: str) -> list[str]:
    """What the CLI suggests, by paths from the session's folder. One that does not answer suggests nothing."""
    if not host.running:
        return []
    try:
        told = (await host.session.file_suggestions(query, timeout=PATIENCE)).suggestions
    except HandrailError:
        return []
    entries = [cast("JsonObject", one) for one in told if isinstance(one, dict)]
    paths = [path for one in entries if isinstance(path := one.get("path"), str)]
    return [path for path in paths if not path.startswith(("/", "~")) and ".." not in path.split("/")]
