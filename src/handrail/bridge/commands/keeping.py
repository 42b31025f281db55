"""Commands about keeping sessions: titles, archives, ends, what was granted, what is trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from handrail.bridge.commands.fields import Name, OfSession
from handrail.bridge.commands.table import Call, command
from handrail.bridge.events import event
from handrail.bridge.session_lines import session_line

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__: list[str] = []

JsonObject = dict[str, Any]


class Rename(OfSession, frozen=True, kw_only=True):
    """A title."""

    title: Name


@command("rename", "prompt", keeps=True)
async def rename(bridge: Bridge, call: Call, fields: Rename) -> None:
    """Give it a title."""
    host = await bridge.sessions.get(fields.session)
    title = " ".join(fields.title.split())
    await host.keep(title=title)
    await host.record_events([event("changed", title=title)], call.receipt())


class Archive(OfSession, frozen=True, kw_only=True):
    """Away from the list, or back."""

    archived: bool = True


@command("archive", "prompt", keeps=True)
async def archive(bridge: Bridge, call: Call, fields: Archive) -> None:
    """Put it away; its process ends."""
    host = await bridge.sessions.get(fields.session)
    if fields.archived:
        await host.stop()
    await host.keep(archived=fields.archived)
    await host.record_events([event("changed", archived=fields.archived)], call.receipt())


class Delete(OfSession, frozen=True, kw_only=True):
    """A session; with `transcript` also what the CLI kept."""

    transcript: bool = False


@command("delete", "admin")
async def delete(bridge: Bridge, call: Call, fields: Delete) -> None:
    """End it and forget all its events."""
    await bridge.sessions.delete(fields.session)
    await bridge.audit(call, "delete", session=fields.session)


@command("stop", "prompt")
async def stop(bridge: Bridge, call: Call, fields: OfSession) -> None:
    """End its process; what is said next resumes it."""
    await (await bridge.sessions.get(fields.session)).stop()


@command("grant_again", "approve")
async def grant_again(bridge: Bridge, call: Call, fields: OfSession) -> JsonObject:
    """Put in force again what lapsed with the last process."""
    host = await bridge.sessions.get(fields.session)
    granted = await host.grant_again()
    await bridge.audit(call, "grant_again", session=fields.session, rules=granted)
    return {"rules": granted}


class AcceptTrust(OfSession, frozen=True, kw_only=True):
    """What a folder's own files would run, by the digest that was shown."""

    digest: Annotated[str, Meta(min_length=16, max_length=128)]


@command("accept_trust", "admin")
async def accept_trust(bridge: Bridge, call: Call, fields: AcceptTrust) -> JsonObject:
    """Let the folder's own files count. A session there starts anew with them."""
    host = await bridge.sessions.get(fields.session)
    await bridge.accept_trust(host, fields.digest)
    await bridge.audit(call, "accept_trust", session=fields.session, cwd=host.record.cwd, digest=fields.digest)
    return {"session": session_line(host.record)}
