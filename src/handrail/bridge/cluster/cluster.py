"""One machine of a cluster: connects the parts that share sessions over NATS.

It starts before NATS is reachable and keeps running during an outage; `moves` decides whether its sessions do too.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from handrail.bridge.cluster.configuration import ClusterConfiguration
from handrail.bridge.cluster.following.remote_sessions import Remotes
from handrail.bridge.cluster.leases.lease import Node
from handrail.bridge.cluster.leases.membership import Membership
from handrail.bridge.cluster.leases.ownership import JetStreamOwnership
from handrail.bridge.cluster.nats.connection import NatsConnection
from handrail.bridge.cluster.routing.requests import AnswerFetch, DoHere, Knowledge, Responder
from handrail.bridge.cluster.routing.router import ClusterRouter
from handrail.bridge.cluster.store import cluster_index, outbox
from handrail.bridge.cluster.store.adoption import adopt
from handrail.bridge.cluster.store.bucket_values import BucketValues
from handrail.bridge.cluster.store.cluster_index import ClusterIndex
from handrail.bridge.cluster.store.event_log import ClusterLog, JetStreamEventLog
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.cluster.store.outbox import Outbox
from handrail.bridge.cluster.store.session_index import JetStreamSessionIndex
from handrail.bridge.cluster.store.session_writer import ClusterSessionWriter
from handrail.bridge.cluster.transfer.shared_settings import SharedSettings
from handrail.bridge.cluster.transfer.shared_uploads import SharedUploads
from handrail.bridge.cluster.transfer.transcripts import TranscriptSync
from handrail.bridge.commands.defaults import Defaults
from handrail.bridge.commands.router import Alone
from handrail.bridge.errors import BridgeError, ClusterAway
from handrail.bridge.private_files import read_private, write_private
from handrail.bridge.process_memory import free_memory
from handrail.bridge.session.host import SessionHost
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.store.base import AT_REST, Hit, SessionRecord
from handrail.bridge.store.database import Database
from handrail.bridge.store.event_log import SqliteEventLog
from handrail.bridge.store.session_index import SqliteSessionIndex
from handrail.bridge.store.shared_values import SharedValues, SqliteValues
from handrail.bridge.store.uploads import Uploads
from handrail.model_access.choice import CliChoice
from handrail.transcripts import config_home

__all__ = ["TABLES", "Cluster"]

log = logging.getLogger("handrail.bridge")
TABLES: Final = (outbox.TABLES, cluster_index.TABLES)
JOIN_SECONDS: Final = 5.0
"""Seconds a start waits for NATS."""
LAST_SECONDS: Final = 5.0
"""Seconds a leaving machine tries to publish its last events."""
RETRY_SECONDS: Final = 1.0
MAINTENANCE_SECONDS: Final = 5.0
FOREVER: Final = 1e9
LOST: Final = "the session may run on another machine now"
Homes = Callable[[], list[Path | None]]


class Cluster:
    """One machine of a cluster. `log`, `index` and `ownership` are the store ports of its sessions.

    Call `router` once, after the sessions were created on these ports, and `open` after the executor was created.
    """

    def __init__(
        self,
        configuration: ClusterConfiguration,
        database: Database,
        *,
        data: Path,
        roots: Sequence[Path],
        address: str,
        cli: CliChoice,
    ) -> None:
        self._configuration, self._database = configuration, database
        self._roots, self._address, self._cli = roots, address, cli
        self.name, self.moves = configuration.name, configuration.moves
        self._sessions: Sessions
        self._router: ClusterRouter
        self._responder: Responder
        self._knowledge: Knowledge
        self._terminal_homes: Homes = list
        self._processes: Callable[[], int] = lambda: 0
        self._joined, self._since = False, round(time.time() * 1000)
        self.link = NatsConnection(configuration.address, self.name, role=configuration.role)
        js = self.link.js
        self.local_log, self._local_index = SqliteEventLog(database), SqliteSessionIndex(database)
        self._remote_log, self._shared = JetStreamEventLog(js), JetStreamSessionIndex(js)
        self._local_values = SqliteValues(database)
        self._bucket = BucketValues(js, self._local_values, lambda: self.link.is_up) if configuration.page else None
        self.shared_values: SharedValues = self._bucket or self._local_values
        """Devices, links and push subscriptions; runners may not read those of the gateways."""
        self.outbox = Outbox(database, self.local_log, self._remote_log.stream, moves=self.moves)
        boot = data / "boot"
        self.membership = Membership(
            js,
            self._node,
            timing=configuration.timing,
            previous_boot=read_private(boot),
            keep_boot=lambda word: write_private(boot, word),
        )
        self.ownership = JetStreamOwnership(
            js,
            self.membership,
            moves=self.moves,
            on_claimed=self._adopt,
            on_release=self.outbox.release,
            epoch_before=self.outbox.epoch_before,
        )
        self.log = ClusterLog(
            self.local_log, self._remote_log, self.outbox, self.ownership, moves=self.moves, search=self._search
        )
        self.index = ClusterIndex(
            self._local_index,
            self._shared,
            self.ownership,
            self.name,
            database=database,
            outbox=self.outbox,
            alive=self._is_alive,
        )
        self.writer = ClusterSessionWriter(self.log, self.index)
        self.transcripts = TranscriptSync(js, self._homes, node=self.name)
        self.remotes = Remotes(self.link.nats, self.log, self.index)
        self._tasks: set[asyncio.Task[Any]] = set()

    def router(self, sessions: Sessions, here: Alone) -> ClusterRouter:
        """Create the router of this machine. `here` answers requests for this machine only."""
        self._sessions, self._knowledge = sessions, Knowledge(here)
        self._router = ClusterRouter(
            self.name,
            moves=self.moves,
            link=self.link,
            membership=self.membership,
            ownership=self.ownership,
            index=self.index,
            outbox=self.outbox,
            remotes=self.remotes,
            sessions=sessions,
            knowledge=self._knowledge,
        )
        return self._router

    # Joining and leaving

    async def open(
        self, *, do: DoHere, answer_fetch: AnswerFetch, uploads: Uploads, defaults: Defaults, terminal_homes: Homes
    ) -> None:
        """Join. If NATS is unreachable, joining continues in the background. Raises ClusterRefused."""
        self._responder = Responder(
            self.link.nats, self.name, do=do, knowledge=self._knowledge, answer_fetch=answer_fetch
        )
        sessions, self._terminal_homes = self._sessions, terminal_homes
        self._processes = lambda: len(sessions.running)
        uploads.shared, defaults.shared = SharedUploads(self.link.js), SharedSettings(self.link.js)
        sessions.on_taken, sessions.on_left, sessions.on_deleted = self._taken, self._left, self._deleted
        sessions.on_result.append(lambda host, _: self._upload_transcript(host))
        self._shared.on_change.append(self._changed)
        self.membership.on_change.append(self._node_changed)
        self.membership.on_fenced.append(self._fenced)
        self.membership.on_regained.append(self._regained)
        self.membership.on_late.append(self.link.try_another)
        self.ownership.on_lost.append(lambda session: sessions.abandon(session, LOST))
        self.outbox.on_fenced.append(self.ownership.lost)
        self.link.on_up.append(self._on_up)
        await self._local_values.open()
        await self.outbox.open()
        await self.link.__aenter__()
        joining = self._spawn(self._join())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(JOIN_SECONDS):
                await asyncio.shield(joining)
        self._spawn(self._maintain())

    async def _join(self) -> None:
        """Once NATS responds: create the streams, take the lease, answer requests, watch the other machines."""
        logged = ""
        while True:
            try:
                await self.link.until_up(FOREVER)
                await lay_out(self.link.js, self._configuration.copies(self.link.servers))
                await self.membership.open()
                break
            except ClusterAway as away:
                if str(away) != logged:
                    log.warning("%s", away)
                logged = str(away)
                await asyncio.sleep(RETRY_SECONDS)
        await self._responder.open()
        with contextlib.suppress(ClusterAway):  # the watches retry by themselves
            await self._shared.open()
        if self._bucket is not None:
            with contextlib.suppress(ClusterAway):
                await self._bucket.open()
        await self.index.open()
        self._joined = True
        await self._publish_earlier_sessions()

    async def _publish_earlier_sessions(self) -> None:
        """Publish sessions from before this machine joined a cluster, and events that NATS lost."""
        for session in list(self.outbox.unclaimed):
            with contextlib.suppress(BridgeError):
                await self.ownership.claim(session)
        await self.outbox.check()

    def _on_up(self) -> None:
        """Resume after NATS became reachable."""
        self.outbox.resume()
        self.index.resume()
        self.remotes.ask_owners()
        self._spawn(self._responder.announce())
        if self._joined:  # before that the streams may be missing; joining checks the outbox itself
            self._spawn(self.outbox.check())

    def leave(self) -> None:
        """Called before shutdown: limits the wait for NATS."""
        asyncio.get_running_loop().call_later(LAST_SECONDS if self.link.is_up else 0.0, self._give_up)

    async def close(self) -> None:
        """Leave; other machines notice at once."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.remotes.close()
        await self._responder.close()
        await self.transcripts.close()
        await self.outbox.close()
        await self.index.close()
        await self._shared.close()
        if self._bucket is not None:
            await self._bucket.close()
        await self.ownership.close()
        await self.membership.close()
        await self.link.__aexit__()

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:  # if NATS is unreachable, the work is repeated after the reconnect
            log.log(logging.INFO if isinstance(error, ClusterAway) else logging.ERROR, "cluster task failed: %s", error)

    # This machine and the others

    def _node(self) -> Node:
        given, cli = self._configuration, self._cli.current()
        return Node(
            name=self.name,
            boot="",
            address=self._address if given.page else "",
            runs=given.runs,
            moves=given.moves,
            roots=[str(root) for root in self._roots],
            labels=list(given.labels),
            sessions=self._processes(),
            most_sessions=given.most_sessions,
            free_memory=free_memory(),
            least_memory=given.least_memory,
            behind=self.outbox.behind.events,
            cli=cli.agent or cli.kind,
            version=metadata.version("handrail"),
            since=self._since,
        )

    def nodes(self) -> list[Node]:
        """The machines with a valid lease, including this one."""
        return self._router.nodes()

    def _is_alive(self, name: str) -> bool:
        """Whether a machine has a lease. Every machine counts as alive while NATS is unreachable."""
        return not self.link.is_up or name in ("", self.name) or name in self.membership.nodes

    # Ownership of sessions

    async def _adopt(self, session: str, epoch: int) -> None:
        await adopt(
            session,
            epoch,
            database=self._database,
            local=self.local_log,
            remote=self._remote_log.stream,
            outbox=self.outbox,
            wait=self.moves,
        )
        before = await self._shared.get(session)
        if before is not None and before.runner not in ("", self.name):
            await self.transcripts.fetch(before)  # written by the CLI of another machine
        await self.index.adopt(session)

    def _homes(self) -> list[Path | None]:
        return [config_home(), *self._terminal_homes()]

    def _upload_transcript(self, host: SessionHost) -> None:
        self._spawn(self.transcripts.upload(host.record))

    async def _deleted(self, session: str) -> None:
        with contextlib.suppress(BridgeError):  # leftover files only take space
            await self.transcripts.delete(session)

    async def _left(self, session: str) -> None:
        self.transcripts.release(session)
        await self._responder.stop_serving(session)

    async def _taken(self, host: SessionHost) -> None:
        """A session runs here now; followers over NATS switch to it."""
        await self._responder.serve(host)
        await self.remotes.drop(host.record.id, "the session runs here now")

    async def _fenced(self) -> None:
        """The lease is about to expire: stop the sessions that other machines may take over."""
        if not self.moves:
            return
        self._give_up()
        await self._sessions.abandon_all(LOST)

    def _give_up(self) -> None:
        """Stop waiting for NATS to confirm events."""
        if self.moves:
            self.outbox.give_up_all()

    async def _regained(self) -> None:
        """The lease is valid again: recover the sessions that no other machine has taken over."""
        self.outbox.resume()
        self.index.resume()
        await self._sessions.recover_active()

    # Changes of other machines

    def _changed(self, record: SessionRecord | None, before: SessionRecord | None) -> None:
        """A record of another machine changed: publish it to the session list."""
        sessions = self._sessions
        if record is None:
            if before is not None and sessions.here(before.id) is None:
                sessions.deleted(before.id)
                self._spawn(self.remotes.drop(before.id, "the session was deleted"))
            return
        if sessions.here(record.id) is None:
            sessions.report_change(self.index.shown(record), before or record)
            self.remotes.changed(record)

    def _node_changed(self, node: Node | None, before: Node | None) -> None:
        """A machine joined or left: update how its sessions are shown."""
        if (node is None) == (before is None):
            return
        name = node.name if node is not None else before.name if before is not None else ""
        self._spawn(self._republish(name))

    async def _republish(self, name: str) -> None:
        """Publish the sessions of a machine again."""
        for record in await self.index.list(limit=100_000):
            if record.runner == name and record.state not in AT_REST:
                self._sessions.report_change(record, record)

    async def _search(self, words: str, limit: int, session: str | None) -> list[Hit]:
        return await self._router.search(words, limit=limit, session=session)

    async def _maintain(self) -> None:
        """Periodically close unused remote sessions and upload transcripts."""
        while True:
            await asyncio.sleep(MAINTENANCE_SECONDS)
            await self.remotes.sweep()
            for host in self._sessions.running:
                self._upload_transcript(host)
