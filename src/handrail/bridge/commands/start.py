"""Opening a session: the commands start, resume, continue and fork, and the import of transcripts of a CLI."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Annotated, Any, Final
from uuid import NAMESPACE_OID, uuid5

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from handrail.bridge.commands.defaults import ASKING, NAMES, Chosen, Defaults
from handrail.bridge.commands.table import (
    Agent,
    AuditCall,
    Call,
    Effort,
    Fields,
    Id,
    Mode,
    Model,
    OfSession,
    Path,
    Style,
    Text,
    Tokens,
    command,
)
from handrail.bridge.commands.workspace import Trust, Workspace
from handrail.bridge.errors import BridgeError, CommandRefused
from handrail.bridge.session.acp_agents import AcpAgents
from handrail.bridge.session.delivery import Prompt
from handrail.bridge.session.forked_past import forked_past
from handrail.bridge.session.grants import BYPASS
from handrail.bridge.session.host import SessionHost, title_of
from handrail.bridge.session.launcher import CHOICES
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.session.terminal_sessions import TerminalSessions
from handrail.bridge.store.base import Event, NewEvent, SessionRecord
from handrail.bridge.store.clock import latest_now

__all__ = ["SessionImport", "StartCommands"]

log = logging.getLogger("handrail.bridge")
JsonObject = dict[str, Any]
FOLDERS: Final = ("add_dirs", "plugin_dirs")
MOST_AT_ONCE: Final = 1000
"""Transcripts imported when a store was lost; older ones are imported when a client asks for them."""


class SessionImport:
    """Adds sessions to the store."""

    def __init__(self, sessions: Sessions, terminal: TerminalSessions, workspace: Workspace, trust: Trust) -> None:
        self._sessions, self._terminal, self._workspace, self._trust = sessions, terminal, workspace, trust
        self._lock = asyncio.Lock()

    async def get(self, id: str) -> SessionHost:
        """The host of a session. A session of a CLI on this machine is imported first. Raises CommandRefused."""
        async with self._lock:  # two clients that ask at once get the same session
            if await self._sessions.index.get(id) is None:
                record, past = await self._terminal.import_session(id)
                self._workspace.checked_folder(record.cwd)
                trusted = self._trust.standing(record.cwd).trusted
                await self.begin(replace(record, trusted=trusted), past, new=False)
        return await self._sessions.get(id)

    async def begin(self, record: SessionRecord, past: Sequence[NewEvent] = (), *, new: bool = True) -> None:
        """Add a session; its past is persisted before the session appears. `new`: the id was created just now."""
        events = self._sessions.events
        if not await self._sessions.ownership.claim(record.id, new=new):
            raise CommandRefused("elsewhere", f"session {record.id} is being started on another machine")
        bounds = await events.bounds(record.id)
        if past and bounds.first > bounds.last:  # otherwise a server that was killed has already appended it
            await events.append(record.id, past)
            bounds = await events.bounds(record.id)
        await self._sessions.add(replace(record, settled=bounds.last))

    async def newest(self, cwd: str) -> str:
        """The id of the session most recently used in a folder, or ""."""
        ours = [one for one in await self._sessions.index.lines(words=cwd, limit=100_000) if one.cwd == cwd]
        theirs = await self._terminal.list(cwd, limit=1)
        newest = max((record.changed, record.id) for record in ours) if ours else (0, "")
        if theirs and round(theirs[0].modified.timestamp() * 1000) > newest[0] and theirs[0].id != newest[1]:
            return theirs[0].id
        return newest[1]

    async def rebuild(self) -> int:
        """Import the newest transcripts into a store that was lost. Returns how many sessions were imported."""
        count = 0
        for info in await self._terminal.list(limit=MOST_AT_ONCE):
            try:
                await self.get(info.id)
                count += 1
            except BridgeError as error:  # outside the roots, or unreadable
                log.info("session %s was not imported: %s", info.id, error)
        log.error("imported %d sessions from the CLI's transcripts", count)
        return count


class Start(Fields, frozen=True, kw_only=True):
    """A new session in a folder. With `prompt` its first turn starts at once.

    Omitted choices take the server's defaults; null is the CLI's own default. In a cluster `runner` chooses a machine
    by name, and `labels` restricts the machines. `agent` names an ACP agent; the defaults of the server, except the
    mode, are choices for its CLI and do not apply to it.
    """

    cwd: Path
    model: Model | UnsetType | None = UNSET
    mode: Mode | UnsetType = UNSET
    effort: Effort | UnsetType | None = UNSET
    thinking_tokens: Tokens | UnsetType | None = UNSET
    output_style: Style | UnsetType | None = UNSET
    add_dirs: list[Path] = []
    plugin_dirs: list[Path] = []
    max_turns: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    max_budget_usd: Annotated[float, Meta(gt=0, le=100_000)] | None = None
    runner: Annotated[str, Meta(max_length=64)] = ""
    labels: Annotated[list[Annotated[str, Meta(max_length=64)]], Meta(max_length=20)] = []
    title: Annotated[str, Meta(max_length=200)] = ""
    agent: Agent = ""
    prompt: Text = ""


class Continue(Fields, frozen=True, kw_only=True):
    """The session most recently used in a folder."""

    cwd: Path


class Fork(Fields, frozen=True, kw_only=True):
    """A new session with the history of another, whole or up to the message `at`."""

    session: Id
    at: Id | None = None
    prompt: Text = ""


class StartCommands:
    """Handlers that open sessions. `name` is the name of this machine in the cluster."""

    def __init__(
        self,
        sessions: Sessions,
        imports: SessionImport,
        terminal: TerminalSessions,
        workspace: Workspace,
        trust: Trust,
        defaults: Defaults,
        agents: AcpAgents,
        audit: AuditCall,
        *,
        name: str = "",
    ) -> None:
        self._sessions, self._imports, self._terminal = sessions, imports, terminal
        self._workspace, self._trust, self._defaults, self._audit = workspace, trust, defaults, audit
        self._agents, self._name = agents, name

    @command("start", "prompt")
    async def start(self, call: Call, fields: Start) -> JsonObject:
        """Start a session."""
        choices = await self._choices(call, fields)
        mode: Mode = choices.pop("mode")
        _check_scopes(call, mode, fields)
        self._workspace.check_mode(mode)
        options = {name: value for name, value in choices.items() if value is not None}
        options |= {name: [self._workspace.checked_folder(path) for path in getattr(fields, name)] for name in FOLDERS}
        options |= dict.fromkeys(("bypass", "may_bypass"), mode == BYPASS)
        options |= {"labels": fields.labels} if fields.labels else {}
        self._agents.check(fields.agent)
        cwd = self._workspace.checked_folder(fields.cwd)
        record = self._record(call, cwd, mode=mode, agent=fields.agent, options=options)
        return await self._begin(call, replace(record, title=fields.title), fields.prompt)

    @command("resume", "prompt")
    async def resume(self, call: Call, fields: OfSession) -> JsonObject:
        """Start the process of a session. A session of a CLI on this machine is imported first."""
        host = await self._imports.get(fields.session)
        await host.start()
        return self._opened(host)

    @command("continue", "prompt")
    async def continue_(self, call: Call, fields: Continue) -> JsonObject:
        """Resume the newest session of a folder."""
        id = await self._imports.newest(self._workspace.checked_folder(fields.cwd))
        if not id:
            raise CommandRefused("not_found", f"no session was found in {fields.cwd}")
        host = await self._imports.get(id)
        await host.start()
        return self._opened(host)

    @command("fork", "prompt")
    async def fork(self, call: Call, fields: Fork) -> JsonObject:
        """Fork a session. Its choices are copied, without the permissions granted to it."""
        origin = (await self._imports.get(fields.session)).record
        if not origin.conversation:
            raise CommandRefused("empty", "an empty session cannot be forked")
        choices = {
            name: origin.options[name] for name in (*CHOICES, "output_style", *FOLDERS) if name in origin.options
        }
        record = self._record(
            call,
            origin.cwd,
            title=f"{origin.title} (fork)" if origin.title else "",
            mode=origin.mode if origin.mode in ASKING else "default",
            model=origin.model,
            agent=origin.agent,
            options={**choices, "origin": origin.conversation, "origin_message": fields.at},
            forked_from=origin.id,
            forked_at=fields.at or "",
        )
        return await self._begin(call, record, fields.prompt, await self._past(origin, fields.at))

    async def _past(self, origin: SessionRecord, at: str | None) -> Sequence[NewEvent]:
        """The history of a session for a fork. If its oldest events were deleted, the transcript has more of it."""
        events = self._sessions.events
        bounds, after, found = await events.bounds(origin.id), 0, list[Event]()
        while bounds.first == 1 and after < bounds.last and (page := await events.read(origin.id, after)):
            found += page
            after = page[-1].seq
        past = await asyncio.to_thread(forked_past, found, at) if found else None
        return await self._terminal.past(origin.conversation, through=at) if past is None else past

    async def _choices(self, call: Call, fields: Start) -> JsonObject:
        """The choices of the client, with the defaults for the rest. A default never exceeds the device's scopes."""
        defaults = await self._defaults.get()
        if fields.agent:
            defaults = Chosen(mode=defaults.mode)
        given: JsonObject = {name: getattr(fields, name) for name in (*NAMES, "max_turns", "max_budget_usd")}
        choices = {name: getattr(defaults, name) if value is UNSET else value for name, value in given.items()}
        allowed = choices["mode"] in ASKING or "approve" in call.scopes or fields.mode is not UNSET
        choices["mode"] = (choices["mode"] if allowed else None) or "default"
        choices["max_thinking_tokens"] = choices.pop("thinking_tokens")
        return choices

    def _record(self, call: Call, cwd: str, **fields: Any) -> SessionRecord:
        """A new record. Its id is derived from the command's, so a retried command finds the same session."""
        now, trusted = round(latest_now() * 1000), self._trust.standing(cwd).trusted
        given: JsonObject = {"runner": self._name, "trusted": trusted, "state": "hibernated", **fields}
        return SessionRecord(id=call.session, cwd=cwd, created=now, changed=now, **given)

    async def _begin(self, call: Call, record: SessionRecord, prompt: str, past: Sequence[NewEvent] = ()) -> JsonObject:
        """Add the session unless an earlier attempt has; then send the prompt, or start the process without one."""
        if await self._sessions.index.get(record.id) is None:
            await self._imports.begin(replace(record, title=record.title or title_of(prompt)), past)
            if record.mode not in ASKING or record.options.get("plugin_dirs"):
                noted = {"mode": record.mode, "plugin_dirs": record.options.get("plugin_dirs", [])}
                await self._audit(call, "start", session=record.id, cwd=record.cwd, **noted)
        host = await self._sessions.get(record.id)
        if not prompt:
            await host.start()
            return self._opened(host)
        answer = self._opened(host)
        uuid = str(uuid5(NAMESPACE_OID, f"handrail prompt {call.key}"))
        await host.say(uuid, Prompt(prompt), call.by, call.receipt(answer))
        return answer

    def _opened(self, host: SessionHost) -> JsonObject:
        return {"session": host.record.line(), "trust": self._trust.question(host.record.cwd)}


def _check_scopes(call: Call, mode: Mode, fields: Start) -> None:
    """A mode that skips questions needs the scope to answer them; plugins, which run code, need the owner's."""
    if mode not in ASKING and "approve" not in call.scopes:
        raise CommandRefused("forbidden", f"the mode {mode} needs the scope 'approve', which this device lacks")
    if fields.plugin_dirs and "admin" not in call.scopes:
        raise CommandRefused("forbidden", "plugins run code and need the scope 'admin', which this device lacks")
