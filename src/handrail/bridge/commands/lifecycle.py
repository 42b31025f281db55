"""Commands about existing sessions: rename, archive, delete, stop, restore grants, trust a folder."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from handrail.bridge.commands.table import AuditCall, Call, Fields, Id, Name, OfSession, command
from handrail.bridge.commands.workspace import Trust
from handrail.bridge.session.events import event
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.session.terminal_sessions import TerminalSessions

__all__ = ["LifecycleCommands"]

JsonObject = dict[str, Any]


class Rename(Fields, frozen=True, kw_only=True):
    """A new title."""

    session: Id
    title: Name


class Archive(Fields, frozen=True, kw_only=True):
    """Hide a session from the list, or show it again."""

    session: Id
    archived: bool = True


class Delete(Fields, frozen=True, kw_only=True):
    """`transcript`: also delete the transcript of the real CLI, so the session disappears from the terminal too."""

    session: Id
    transcript: bool = False


class AcceptTrust(Fields, frozen=True, kw_only=True):
    """The digest of the folder's files, as they were shown."""

    session: Id
    digest: Annotated[str, Meta(min_length=16, max_length=128)]


class LifecycleCommands:
    """Handlers for existing sessions."""

    def __init__(self, sessions: Sessions, trust: Trust, terminal: TerminalSessions, audit: AuditCall) -> None:
        self._sessions, self._trust, self._terminal, self._audit = sessions, trust, terminal, audit

    @command("rename", "prompt", keeps=True)
    async def rename(self, call: Call, fields: Rename) -> None:
        """Give the session a title."""
        host = await self._sessions.get(fields.session)
        title = " ".join(fields.title.split())
        await host.update(title=title)
        await self._terminal.rename(host.record, title)
        await host.record_events([event("changed", title=title)], call.receipt())

    @command("archive", "prompt", keeps=True)
    async def archive(self, call: Call, fields: Archive) -> None:
        """Archive the session, which ends its process, or restore it."""
        host = await self._sessions.get(fields.session)
        if fields.archived:
            await host.stop()
        await host.update(archived=fields.archived)
        await host.record_events([event("changed", archived=fields.archived)], call.receipt())

    @command("delete", "admin")
    async def delete(self, call: Call, fields: Delete) -> JsonObject:
        """Delete the session with its events. The result says whether its transcript was deleted or kept."""
        host = await self._sessions.get(fields.session)
        await host.stop()  # a running process would write its transcript again
        # The transcript first: if the server is killed in between, a retry finds the session and finishes.
        transcript = await self._terminal.delete(host.record, asked=fields.transcript)
        await self._sessions.delete(fields.session)
        await self._audit(call, "delete", session=fields.session, transcript=transcript)
        return {"transcript": transcript}

    @command("stop", "prompt")
    async def stop(self, call: Call, fields: OfSession) -> None:
        """End the process; the next message resumes the session."""
        await (await self._sessions.get(fields.session)).stop()

    @command("grant_again", "approve")
    async def grant_again(self, call: Call, fields: OfSession) -> JsonObject:
        """Restore the permissions that expired with the last process."""
        host = await self._sessions.get(fields.session)
        granted = await host.renew_grants()
        await self._audit(call, "grant_again", session=fields.session, rules=granted)
        return {"rules": granted}

    @command("accept_trust", "admin")
    async def accept_trust(self, call: Call, fields: AcceptTrust) -> JsonObject:
        """Trust the folder's own files. An idle session restarts with them."""
        host = await self._sessions.get(fields.session)
        await self._trust.accept(host, fields.digest)
        await self._audit(call, "accept_trust", session=fields.session, cwd=host.record.cwd, digest=fields.digest)
        return {"session": host.record.line()}
