"""The composition root: reads the configuration, builds the parts of the bridge, connects them, and serves them.

No other module knows all parts. `Bridge` is a server without its sockets, as a runner of a cluster uses it; `serve`
puts the web server in front of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from handrail.bridge.addresses import own_address
from handrail.bridge.commands import defaults
from handrail.bridge.commands.controls import ControlCommands
from handrail.bridge.commands.executor import Commands
from handrail.bridge.commands.lifecycle import LifecycleCommands
from handrail.bridge.commands.mcp import McpCommands
from handrail.bridge.commands.prompts import PromptCommands
from handrail.bridge.commands.push import PushCommands
from handrail.bridge.commands.queries import QueryCommands
from handrail.bridge.commands.router import Alone, Fetch, Fetched, Gauge, Router
from handrail.bridge.commands.start import SessionImport, StartCommands
from handrail.bridge.commands.table import Call
from handrail.bridge.commands.workspace import Trust, Workspace
from handrail.bridge.configuration import Configuration
from handrail.bridge.errors import BridgeError, ServerUnreachable
from handrail.bridge.process_memory import release_large_blocks
from handrail.bridge.session.about import About
from handrail.bridge.session.acp_agents import AcpAgents
from handrail.bridge.session.host import SessionHost
from handrail.bridge.session.launcher import launcher
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.session.terminal_sessions import TerminalSessions
from handrail.bridge.store import audit, search_index, shared_values, uploads, usage
from handrail.bridge.store import event_log as events
from handrail.bridge.store import ownership as ownerships
from handrail.bridge.store import session_index as index
from handrail.bridge.store.base import EventLog, Ownership, SessionIndex, SessionWriter
from handrail.bridge.store.database import Database
from handrail.bridge.store.integrity import check_at_start, mark_closed, mark_open
from handrail.bridge.store.retention import Retention
from handrail.bridge.store.shared_values import SharedValues
from handrail.bridge.web import access_upgrade
from handrail.bridge.web.devices import Access
from handrail.bridge.web.notifications import Notifications, Watcher, Webhook
from handrail.bridge.web.push import Push

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from handrail.bridge.cluster.cluster import Cluster
    from handrail.bridge.web.app import Dialect, LocalRoutes
    from handrail.bridge.web.http_server import HttpServer

__all__ = ["PAGE", "Bridge", "Served", "serve"]

log = logging.getLogger("handrail.bridge")
PAGE = Path(__file__).parent / "page"
"""The built web page."""


# One machine, or one of several


class _Node(Protocol):
    """The stores and the router of a server, alone or in a cluster."""

    @property
    def log(self) -> EventLog: ...
    @property
    def index(self) -> SessionIndex: ...
    @property
    def ownership(self) -> Ownership: ...
    @property
    def local_log(self) -> events.SqliteEventLog: ...
    @property
    def writer(self) -> SessionWriter: ...
    @property
    def shared_values(self) -> SharedValues: ...

    def router(self, sessions: Sessions, here: Alone) -> Router:
        """Called once, before `open`."""
        ...

    async def open(
        self,
        *,
        do: Callable[[Call, str, bytes], Coroutine[Any, Any, bytes]],
        answer_fetch: Callable[[Fetch], Coroutine[Any, Any, Fetched]],
        uploads: uploads.Uploads,
        defaults: defaults.Defaults,
        terminal_homes: Callable[[], list[Path | None]],
    ) -> None:
        """Join the other machines."""
        ...

    def leave(self) -> None:
        """Announce that the server is about to stop."""
        ...

    async def close(self) -> None:
        """Leave the other machines."""
        ...


class _SingleNode:
    """A server alone: SQLite and nothing to join."""

    def __init__(self, database: Database) -> None:
        self.log = self.local_log = events.SqliteEventLog(database)
        self.index, self.ownership = index.SqliteSessionIndex(database), ownerships.Alone()
        self.writer = index.SqliteSessionWriter(database)
        self.shared_values = shared_values.SqliteValues(database)

    def router(self, sessions: Sessions, here: Alone) -> Router:
        return here

    async def open(self, **parts: object) -> None:
        await self.shared_values.open()

    def leave(self) -> None:
        return

    async def close(self) -> None:
        return


def _tables(configuration: Configuration) -> list[str]:
    own = [part.TABLES for part in (events, index, audit, uploads, shared_values, defaults, usage)]
    if configuration.cluster is None:
        return own
    from handrail.bridge.cluster.cluster import TABLES  # nats-py is optional: a server alone does not need it

    return [*own, *TABLES]


def _cluster(configuration: Configuration, database: Database) -> Cluster | None:
    if configuration.cluster is None:
        return None
    from handrail.bridge.cluster.cluster import Cluster

    return Cluster(
        configuration.cluster,
        database,
        data=configuration.data,
        roots=configuration.roots,
        address=configuration.address,
        cli=configuration.cli,
    )


# The server without its sockets


class Bridge:
    """One server on one data folder. `clock` counts seconds; hibernation and crash limits use it."""

    def __init__(self, configuration: Configuration, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.configuration = configuration
        self._folder = ownerships.DataFolder(configuration.data)
        store = configuration.data / "handrail.db"
        self.damage = check_at_start(store)
        """A description of the damage to the store, for people; "" if it was intact."""
        try:
            search_index.prepare(store)
            access_upgrade.upgrade(store)
            self.database = Database(store, *_tables(configuration))
            self.cluster = _cluster(configuration, self.database)
        except BaseException:
            self._folder.close()
            raise
        self._node: _Node = self.cluster or _SingleNode(self.database)
        self._tasks: list[asyncio.Task[Any]] = []
        self._writes: set[asyncio.Task[None]] = set()
        self._local_routes: LocalRoutes | None = None
        self._build_store(clock)
        self._build_notifications()
        self._build_commands()

    def _build_store(self, clock: Callable[[], float]) -> None:
        given, database = self.configuration, self.database
        self.sessions = Sessions(
            self._node.log,
            self._node.index,
            self._node.ownership,
            launcher(given.cli, given.pass_env, roots=given.roots),
            writer=self._node.writer,
            own=index.SqliteSessionIndex(database),
            hibernate_after=given.hibernate_after,
            prewarm=given.prewarm if given.runs else 0,
            clock=clock,
        )
        self.shared_values = self._node.shared_values
        self.access = Access(self.shared_values)
        self.uploads = uploads.Uploads(database)
        self.defaults = defaults.Defaults(database)
        self.usage = usage.Usage(database)
        self.audit = audit.Audit(database)
        self.sessions.on_result.append(self._count_usage)
        self._retention = Retention(self.sessions, database, (given.keep_days, given.keep_bytes))

    def _build_notifications(self) -> None:
        given = self.configuration
        self.watchers: set[Watcher] = set()
        """Clients, each of which knows whether someone is looking at it."""
        self.push = Push(self.shared_values, given.data / "push-key.pem", is_valid=self.access.is_valid)
        senders = {"push": self.push.send} if given.cluster is None or given.cluster.page else {}
        if given.webhook:
            senders[given.webhook] = Webhook(given.webhook).send
        self.notifications = Notifications(
            self.watchers, senders, self.shared_values, lambda session: self.router.is_shown(session)
        )
        self.sessions.on_change.append(self.notifications.changed)
        self.access.on_revoked.append(lambda device: self._write(self.push.unsubscribe(device)))

    def _build_commands(self) -> None:
        given, sessions = self.configuration, self.sessions
        self.workspace = Workspace(given.roots, allow_bypass=given.allow_bypass, lists_roots=given.runs)
        self.terminal, self.trust = TerminalSessions(), Trust()
        self.imports = SessionImport(sessions, self.terminal, self.workspace, self.trust)
        shows = self.notifications.shows
        self.agents = AcpAgents(given.cli, runs=given.runs)
        here = Alone(sessions, self._node.local_log, self.terminal, self.usage, self.workspace, self.agents, shows)
        self.router = self._node.router(sessions, here)
        note = self._note
        handlers = (
            StartCommands(
                sessions,
                self.imports,
                self.terminal,
                self.workspace,
                self.trust,
                self.defaults,
                self.agents,
                note,
                name=self.router.name,
            ),
            PromptCommands(sessions, self.uploads, note),
            ControlCommands(sessions, self.workspace, note),
            McpCommands(sessions, note),
            QueryCommands(sessions, About(given.cli), given.roots),
            LifecycleCommands(sessions, self.trust, self.terminal, note),
            PushCommands(self.push),
        )
        self.commands = Commands(sessions.events, self.router, handlers)

    @property
    def name(self) -> str:
        """The name of this machine in the cluster; "" for a server alone."""
        return self.router.name

    async def __aenter__(self) -> Self:
        await self._node.open(
            do=self.commands.do_here,
            answer_fetch=self._answer_fetch,
            uploads=self.uploads,
            defaults=self.defaults,
            terminal_homes=self.terminal.homes,
        )
        await self.sessions.open()
        mark_open(self.database.path)
        self._tasks = [
            asyncio.create_task(self._retention.run(), name="handrail retention"),
            asyncio.create_task(self._node.local_log.keep_indexing(), name="handrail search index"),
        ]
        if self.damage:
            self._tasks.append(asyncio.create_task(self.imports.rebuild(), name="handrail rebuild"))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.notifications.close()
        await self.agents.close()
        self._node.leave()
        await self.sessions.close()
        await self._node.close()
        await self.access.close()
        if self._writes:
            await asyncio.wait(self._writes)
        await self.database.close()
        mark_closed(self.database.path)
        self._folder.close()

    # Connections between parts

    async def _answer_fetch(self, fetch: Fetch) -> Fetched:
        """Answer a request of another machine with this machine's own routes, which a runner loads on first use."""
        if self._local_routes is None:
            from handrail.bridge.web.app import LocalRoutes
            from handrail.bridge.web.http.files import FileRoutes
            from handrail.bridge.web.http.outputs import OutputRoutes
            from handrail.bridge.web.http.sessions import FrameRoutes

            files = FileRoutes(self.sessions.index, self.configuration.data, self.configuration.roots)
            outputs = OutputRoutes(self.sessions.index)
            self._local_routes = LocalRoutes(files, outputs, FrameRoutes(self.sessions))
        return await self._local_routes.answer(fetch)

    async def _note(self, call: Call, what: str, **fields: Any) -> None:
        """Append to the audit log. A full disk does not undo the command."""
        try:
            await self.audit.note(call.by, call.device, what, fields)
        except BridgeError as error:
            log.error("cannot write the audit log (%s by %s): %s", what, call.by, error)

    def _count_usage(self, host: SessionHost, raw: bytes) -> None:
        record = host.record
        self._write(self.usage.note(record.id, record.cwd, raw, fresh=not host.resumed))

    def _write(self, work: Coroutine[Any, Any, None]) -> None:
        """Write in the background; closing the bridge waits for it."""
        task = asyncio.ensure_future(work)
        self._writes.add(task)
        task.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[None]) -> None:
        self._writes.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a write in the background failed: %s", error)


# The web server


class Served:
    """A running server. `address` is the one for clients on this machine."""

    def __init__(self, server: HttpServer, host: str, port: int, *, secure: bool) -> None:
        self._server, self.port, self.secure = server, port, secure
        self.address = own_address(host, port, secure=secure)
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Shut down gracefully; a second call does not wait for clients."""
        self._server.force_exit = self._server.should_exit
        self._server.should_exit = True
        self._stopping.set()

    async def wait(self) -> None:
        """Wait until `stop` is called."""
        await self._stopping.wait()


@contextlib.asynccontextmanager
async def serve(
    bridge: Bridge,
    *,
    insecure: bool = False,
    listener: socket.socket | None = None,
    dialects: Mapping[str, Dialect] | None = None,
    page: Path = PAGE,
) -> AsyncGenerator[Served]:
    """Open a bridge and serve it while the block runs. Signals are left to the caller.

    `insecure` allows other machines to connect without TLS; `listener` is a socket that is bound already; `page` is
    the folder of the built page. Raises AddressRefused or TlsRefused.
    """
    from handrail.bridge.web.http_server import check_address, http_server, listen
    from handrail.bridge.web.tls import tls_context, watch_certificate

    given = bridge.configuration
    certificate, key = given.certificate, given.key or given.certificate
    release_large_blocks()
    check_address(given.host, secure=certificate is not None, insecure=insecure)
    tls = None if certificate is None or key is None else tls_context(certificate, key)
    server = http_server(_application(bridge, dialects, page), tls)
    with contextlib.closing(listener or listen(given.host, given.port)) as listening:
        port: int = listening.getsockname()[1]
        running = asyncio.create_task(server.serve(sockets=[listening]), name="handrail server")
        ready = asyncio.create_task(server.ready.wait())
        renewing: asyncio.Task[None] | None = None
        try:
            await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                await running
                raise ServerUnreachable("the server could not start; see its log")
            if tls is not None and certificate is not None and key is not None:
                renewing = asyncio.create_task(watch_certificate(tls, certificate, key))
            yield Served(server, given.host, port, secure=certificate is not None)
        finally:
            for task in (ready, renewing):
                if task is not None:
                    task.cancel()
            server.should_exit = True
            await asyncio.wait([running])
    await running


def _application(bridge: Bridge, dialects: Mapping[str, Dialect] | None, page: Path) -> ASGIApp:
    from handrail.bridge.addresses import Addresses
    from handrail.bridge.web.admission import Admission
    from handrail.bridge.web.app import make_router
    from handrail.bridge.web.forwarded import Proxies
    from handrail.bridge.web.guard import Guard
    from handrail.bridge.web.http.operations import Metrics
    from handrail.bridge.web.http.route import Bound, bind
    from handrail.bridge.web.http.static import page_routes
    from handrail.bridge.web.sockets import Sockets

    given, sockets = bridge.configuration, Sockets()
    bridge.access.on_revoked.append(sockets.revoked)
    spoken = _dialects(bridge) if dialects is None else dialects
    metrics = Metrics(lambda: _gauges(bridge, len(sockets)))
    routes: list[Bound] = []  # the OpenAPI document lists them, and is one of them
    routes += bind(*_route_handlers(bridge, metrics, lambda: [row for row, _ in routes], list(spoken)))
    routes += page_routes(page)

    @contextlib.asynccontextmanager
    async def lifespan(_: Any) -> AsyncGenerator[None]:
        async with bridge:
            yield

    def addresses(reached: str, port: int, secure: bool) -> Addresses:  # noqa: FBT001
        return Addresses.of(given.host, port, given.names, secure=secure, reached=reached)

    router = make_router(
        routes,
        spoken,
        admission=Admission(bridge.access, ccpocket=given.ccpocket),
        machines=bridge.router,
        access=bridge.access,
        sockets=sockets,
        lifespan=lifespan,
    )
    token_paths = frozenset({"/"}) if given.ccpocket else frozenset[str]()
    cookie = "cluster" if given.cluster is not None else ""
    return Guard(
        router,
        addresses,
        token_paths=token_paths,
        cookie=cookie,
        base_path=given.base_path,
        proxies=Proxies(given.proxies),
        count=metrics.count,
    )


def _route_handlers(bridge: Bridge, metrics: Any, table: Callable[[], Sequence[Any]], paths: list[str]) -> list[object]:
    from handrail.bridge.web.http.api_documents import DocumentRoutes
    from handrail.bridge.web.http.commands import CommandRoutes
    from handrail.bridge.web.http.devices import DeviceRoutes
    from handrail.bridge.web.http.export import ExportRoutes
    from handrail.bridge.web.http.files import FileRoutes, UploadRoutes
    from handrail.bridge.web.http.login import LoginRoutes
    from handrail.bridge.web.http.model import ModelRoutes
    from handrail.bridge.web.http.new_session import NewSessionRoutes
    from handrail.bridge.web.http.operations import OperationRoutes
    from handrail.bridge.web.http.outputs import OutputRoutes
    from handrail.bridge.web.http.sessions import EventRoutes, FrameRoutes, SessionRoutes

    sessions, router = bridge.sessions, bridge.router
    return [
        CommandRoutes(bridge.commands),
        DeviceRoutes(bridge.access, bridge.audit),
        ExportRoutes(sessions),
        FileRoutes(sessions.index, bridge.configuration.data, bridge.configuration.roots),
        OutputRoutes(sessions.index),
        EventRoutes(sessions),
        LoginRoutes(
            bridge.access,
            bridge.audit,
            phone_address=bridge.configuration.phone_address,
            fingerprint=bridge.configuration.fingerprint,
        ),
        ModelRoutes(bridge.configuration.cli, bridge.audit),
        NewSessionRoutes(router, bridge.configuration.cli, bridge.defaults, bridge.audit),
        DocumentRoutes(table, paths),
        OperationRoutes(sessions.index, router, metrics, bridge.audit),
        SessionRoutes(sessions.index, router),
        UploadRoutes(bridge.uploads),
        FrameRoutes(sessions),
    ]


def _dialects(bridge: Bridge) -> dict[str, Dialect]:
    from handrail.bridge.web.dialects import ccpocket, native
    from handrail.bridge.web.dialects.acp import speak_acp

    version = metadata.version("handrail")
    return {
        "/ws": lambda device, wire: native.Client(bridge, device, wire, version=version).run(),
        "/acp": lambda device, wire: speak_acp(bridge, device, wire),
        "/": lambda device, wire: ccpocket.Client(bridge, device, wire).run(),
    }


def _gauges(bridge: Bridge, sockets: int) -> Iterable[Gauge]:
    yield Gauge("handrail_sockets", "Open sockets.", sockets)
    yield Gauge("handrail_devices", "Devices that are logged in.", len(bridge.access.devices()))
    yield Gauge("handrail_processes", "Sessions with a process.", len(bridge.sessions.running))
    yield Gauge("handrail_prewarmed", "Processes that wait for a session.", len(bridge.sessions.prewarmed.pids))
    yield from bridge.router.gauges()
