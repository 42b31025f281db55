"""The server without its sockets: sessions, commands, who may what. In: a configuration. Out: all that clients use."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from handrail.bridge.commands import asking, defaults, keeping, mcp, notifying, starting, steering, talking
from handrail.bridge.commands.executor import Commands
from handrail.bridge.commands.table import Call
from handrail.bridge.configuration import Configuration
from handrail.bridge.errors import BridgeError, CommandRefused
from handrail.bridge.rebuilding import rebuild
from handrail.bridge.session.about import About
from handrail.bridge.session.feed import FollowedSession
from handrail.bridge.session.host import SessionHost
from handrail.bridge.session.launch import launcher
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.session.terminal_sessions import TerminalSessions
from handrail.bridge.store import audit, uploads, usage
from handrail.bridge.store import event_log as events
from handrail.bridge.store import session_index as index
from handrail.bridge.store.audit import Audit
from handrail.bridge.store.base import NewEvent, SessionRecord
from handrail.bridge.store.database import Database
from handrail.bridge.store.integrity import check_at_start, mark_closed, mark_open
from handrail.bridge.store.ownership import Alone, DataFolder
from handrail.bridge.store.retention import Retention
from handrail.bridge.store.session_writer import SqliteSessionWriter
from handrail.bridge.store.uploads import Uploads
from handrail.bridge.web import devices as access
from handrail.bridge.web import push
from handrail.bridge.web.devices import Access
from handrail.bridge.web.notifications import Notifications, Watcher
from handrail.bridge.web.push import Push
from handrail.bridge.web.webhook import Webhook
from handrail.settings import Standing, TrustError, accept, config_home, look

if TYPE_CHECKING:
    from handrail.bridge.cluster.cluster import Cluster

__all__ = ["Bridge"]

log = logging.getLogger("handrail.bridge")

JsonObject = dict[str, Any]
_ROWS = (starting, talking, steering, mcp, asking, keeping, notifying)
"""Loaded, so that their rows are in the table."""


def _more_tables(configuration: Configuration) -> Sequence[str]:
    if configuration.cluster is None:
        return ()
    from handrail.bridge.cluster.cluster import TABLES  # a server alone needs no NATS

    return TABLES


def _cluster(configuration: Configuration, database: Database) -> Cluster | None:
    if configuration.cluster is None:
        return None
    from handrail.bridge.cluster.cluster import Cluster

    return Cluster(configuration, database)


def _sessions(
    configuration: Configuration, database: Database, cluster: Cluster | None, clock: Callable[[], float]
) -> Sessions:
    """Those of this machine alone, or of a cluster."""
    local = index.SqliteSessionIndex(database)
    ports = (events.SqliteEventLog(database), local, Alone())
    return Sessions(
        *(ports if cluster is None else (cluster.log, cluster.index, cluster.ownership)),
        launcher(configuration.cli, configuration.pass_env),
        own=local,
        writer=SqliteSessionWriter(database) if cluster is None else cluster.writer,
        hibernate_after=configuration.hibernate_after,
        clock=clock,
    )


class Bridge:
    """One server on one data folder. `clock` is in seconds from any moment; hibernation and crashes go by it."""

    def __init__(self, configuration: Configuration, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.configuration = configuration
        self._folder = DataFolder(configuration.data)
        store = configuration.data / "handrail.db"
        self.damage = check_at_start(store)
        """What was wrong with the store, for people; "" where nothing was."""
        tables = [part.TABLES for part in (events, index, audit, uploads, access, push, defaults, usage)]
        try:
            self.database = Database(store, *tables, *_more_tables(configuration))
            self.cluster = _cluster(configuration, self.database)
        except BaseException:
            self._folder.close()
            raise
        self.sessions = _sessions(configuration, self.database, self.cluster, clock)
        self.access = Access(self.database)
        self.commands = Commands(self)
        self.uploads = Uploads(self.database)
        self.terminal = TerminalSessions()
        self.about = About(configuration.cli)
        self.defaults = defaults.Defaults(self.database)
        self.watchers: set[Watcher] = set()
        """Clients, each of which knows whether somebody looks."""
        self.push = Push(self.database, configuration.data / "push-key.pem")
        hook = [Webhook(configuration.webhook).send] if configuration.webhook else []
        self.notifications = Notifications(self.watchers, [self.push.send, *hook])
        self.sessions.on_change.append(self.notifications.changed)
        self.usage = usage.Usage(self.database)
        self.sessions.on_result.append(self._count)
        self.access.on_revoked.append(lambda device: self._later(self.push.unsubscribe(device)))
        self._retention = Retention(self.sessions, self.database, (configuration.keep_days, configuration.keep_bytes))
        self._beside: list[asyncio.Task[Any]] = []
        """What goes on beside all else, as long as the server runs."""
        self._audit = Audit(self.database)
        self._writing: set[asyncio.Task[None]] = set()
        self._importing = asyncio.Lock()

    @property
    def name(self) -> str:
        """Of this machine among others; "" where there are none."""
        return "" if self.cluster is None else self.cluster.name

    async def __aenter__(self) -> Self:
        await self.access.open()
        if self.cluster is not None:
            await self.cluster.open(self)
        await self.sessions.open()
        mark_open(self.database.path)
        self._beside = [asyncio.create_task(self._retention.run(), name="handrail retention")]
        if self.damage:
            self._beside.append(asyncio.create_task(rebuild(self), name="handrail rebuilding"))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        await self.notifications.close()
        if self.cluster is not None:
            self.cluster.leave()
        await self.sessions.close()
        if self.cluster is not None:
            await self.cluster.close()
        await self.access.close()
        if self._writing:
            await asyncio.wait(self._writing)
        await self.database.close()
        mark_closed(self.database.path)
        self._folder.close()

    # What commands need

    def checked_folder(self, path: str) -> str:
        """A folder that exists and in which sessions may work, as the disk calls it. CommandRefused."""
        if not os.path.isabs(path) or "\0" in path:
            raise CommandRefused("bad_folder", "a folder is named by its whole path")
        real = os.path.realpath(path)
        roots = [os.path.realpath(root) for root in self.configuration.roots]
        if not any(os.path.commonpath([real, root]) == root for root in roots) or not os.path.isdir(real):
            raise CommandRefused("bad_folder", f"{path} is no folder in which sessions may work here")
        return real

    def check_mode(self, mode: str) -> None:
        """CommandRefused where clients may not choose this mode."""
        if mode == "bypassPermissions" and not self.configuration.allow_bypass:
            raise CommandRefused("forbidden", "bypassPermissions was not enabled when the server was started")

    # Trust

    def standing(self, folder: str) -> Standing:
        """How a folder stands."""
        return look(folder, config_home())

    def trust_question(self, record: SessionRecord) -> JsonObject | None:
        """What a folder's own files would run, where the user has not accepted that yet."""
        standing = self.standing(record.cwd)
        if standing.trusted:
            return None
        items = [
            {"kind": one.kind, "name": one.name, "text": one.text, "path": one.path, "line": one.line}
            for one in standing.contents.items
        ]
        return {"digest": standing.contents.digest, "items": items, "complete": standing.contents.complete}

    async def accept_trust(self, host: SessionHost, digest: str) -> None:
        """Accept exactly what was shown."""
        standing = self.standing(host.record.cwd)
        if standing.contents.digest != digest:
            raise CommandRefused("changed", "the folder's files are not those that were shown: look at them again")
        try:
            accept(standing.contents, config_home())
        except TrustError as error:
            raise CommandRefused("failed", str(error)) from None
        if host.state() == "idle":
            await host.stop()
        host.change(trusted=True)

    # Sessions, wherever they are

    async def follow(self, id: str) -> FollowedSession:
        """A session to look at, on whichever machine it runs. CommandRefused where there is none."""
        if self.cluster is None or await self.cluster.is_here(id):
            return await self.sessions.get(id)
        return await self.cluster.remotes.get(id)

    # Sessions that others made

    async def session_or_import(self, id: str) -> SessionHost:
        """A session of ours; one of a CLI on this machine becomes ours first."""
        async with self._importing:  # two clients that ask at once get one session
            if await self.sessions.index.get(id) is None:
                await self._import(id)
        return await self.sessions.get(id)

    async def _import(self, id: str) -> None:
        record, past = await self.terminal.import_session(id)
        self.checked_folder(record.cwd)
        await self.begin(replace(record, trusted=self.standing(record.cwd).trusted), past, new=False)

    async def begin(self, record: SessionRecord, past: Sequence[NewEvent] = (), *, new: bool = True) -> None:
        """A session more. Its past goes on record before anybody can see it. `new`: nobody else can know of it."""
        events = self.sessions.events
        if not await self.sessions.ownership.claim(record.id, new=new):
            raise CommandRefused("elsewhere", f"session {record.id} is begun on another machine")
        bounds = await events.bounds(record.id)
        if past and bounds.first > bounds.last:  # else a server that was killed has done this part
            await events.append(record.id, past)
            bounds = await events.bounds(record.id)
        await self.sessions.add(replace(record, settled=bounds.last))

    async def newest_session(self, cwd: str) -> str:
        """The id of the session of a folder that was used last; "" for none."""
        ours = [one for one in await self.sessions.index.lines(words=cwd, limit=100_000) if one.cwd == cwd]
        theirs = await self.terminal.list(cwd, limit=1)
        newest = max((record.changed, record.id) for record in ours) if ours else (0, "")
        if theirs and round(theirs[0].modified.timestamp() * 1000) > newest[0] and theirs[0].id != newest[1]:
            return theirs[0].id
        return newest[1]

    # On record for whoever looks after the server

    async def audit(self, call: Call, what: str, **fields: Any) -> None:
        """Who did what. It is on disk before anybody is told that it was done; a full disk undoes nothing."""
        try:
            await self._audit.note(call.by, call.device, what, fields)
        except BridgeError as error:
            log.error("the audit log could not be written (%s by %s): %s", what, call.by, error)

    def _count(self, host: SessionHost, raw: bytes) -> None:
        record = host.record
        self._later(self.usage.note(record.id, record.cwd, raw, fresh=not host.resumed))

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._writing.add(task)
        task.add_done_callback(self._noted)

    def _noted(self, task: asyncio.Task[None]) -> None:
        self._writing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("something could not be written down: %s", error)
