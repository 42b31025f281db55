"""This machine among others. In: a configuration, a store. Out: the ports of a bridge whose sessions may be anywhere.

It works before NATS is there, and while NATS is away: what this machine has goes on as its configuration says.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from handrail.bridge.cluster.following.remotes import Remotes
from handrail.bridge.cluster.leases.membership import Membership
from handrail.bridge.cluster.leases.ownership import JetStreamOwnership
from handrail.bridge.cluster.leases.records import Node
from handrail.bridge.cluster.machine import free_memory
from handrail.bridge.cluster.nats.connection import NatsConnection
from handrail.bridge.cluster.nats.names import node_subject
from handrail.bridge.cluster.routing.answering import Answering
from handrail.bridge.cluster.routing.asking import Asking, NobodyThere
from handrail.bridge.cluster.routing.asks import Fetch, Fetched, Know, Known
from handrail.bridge.cluster.routing.knowing import known_here
from handrail.bridge.cluster.routing.routing import Routing
from handrail.bridge.cluster.status import Status, cluster_status
from handrail.bridge.cluster.store import index, outbox
from handrail.bridge.cluster.store.adoption import adopt
from handrail.bridge.cluster.store.event_log import JetStreamEventLog
from handrail.bridge.cluster.store.index import ClusterIndex
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.cluster.store.log import ClusterLog
from handrail.bridge.cluster.store.outbox import Outbox
from handrail.bridge.cluster.store.session_index import JetStreamSessionIndex
from handrail.bridge.cluster.store.session_writer import ClusterSessionWriter
from handrail.bridge.cluster.transfer.shared_settings import SharedSettings
from handrail.bridge.cluster.transfer.shared_uploads import SharedUploads
from handrail.bridge.cluster.transfer.transcripts import TranscriptSync, cli_home
from handrail.bridge.errors import BridgeError, ClusterAway, CommandRefused
from handrail.bridge.session.host import SessionHost
from handrail.bridge.store.base import AT_REST, Hit, SessionRecord
from handrail.bridge.store.database import Database
from handrail.bridge.store.event_log import SqliteEventLog
from handrail.bridge.store.session_index import SqliteSessionIndex
from handrail.bridge.web.running import read_private, write_private

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge
    from handrail.bridge.configuration import Configuration

__all__ = ["TABLES", "Cluster"]

log = logging.getLogger("handrail.bridge")
TABLES: Final = (outbox.TABLES, index.TABLES)
JOIN_SECONDS: Final = 5.0
"""So long a start waits for NATS; then it goes on without."""
LAST_SECONDS: Final = 5.0
"""So long a node that leaves tries to get out what it has."""
TRY_AGAIN: Final = 1.0
LOOK_EVERY: Final = 5.0
FOREVER: Final = 1e9
LOST: Final = "it may run on another machine now"


class Cluster:
    """A node. `log`, `index` and `ownership` are the ports of its bridge; `routing` finds machines for commands.

    It is made before its bridge is, and knows it from `open` on.
    """

    def __init__(self, configuration: Configuration, database: Database) -> None:
        assert configuration.cluster is not None
        self._told, self._configuration, self._database = configuration.cluster, configuration, database
        self.name, self.moves = self._told.name, self._told.moves
        self._bridge: Bridge
        self._answering: Answering
        self._processes: Callable[[], int] = lambda: 0
        self._joined, self._since = False, round(time.time() * 1000)
        self.link = NatsConnection(self._told.address, self.name, role=self._told.role)
        js = self.link.js
        self.local_log, self._local_index = SqliteEventLog(database), SqliteSessionIndex(database)
        self._remote_log, self._shared = JetStreamEventLog(js), JetStreamSessionIndex(js)
        self.outbox = Outbox(database, self.local_log, self._remote_log.stream)
        boot = configuration.data / "boot"
        self.membership = Membership(
            js,
            self._node,
            timing=self._told.timing,
            previous_boot=read_private(boot),
            keep_boot=lambda word: write_private(boot, word),
        )
        self.ownership = JetStreamOwnership(
            js,
            self.membership,
            moves=self.moves,
            on_claimed=self._adopt,
            on_release=self.outbox.let_go,
            known_before=self.outbox.known_before,
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
        self.writer = ClusterSessionWriter(database, self.log, self.index)
        self.transcripts = TranscriptSync(js, self._homes, node=self.name)
        self.asking, self.routing = Asking(self.link.nats), Routing(self)
        self.remotes = Remotes(self.link.nats, self.log, self.index)
        self._tasks: set[asyncio.Task[Any]] = set()

    # Coming and going

    async def open(self, bridge: Bridge) -> None:
        """Join. Where NATS is not there in time it is joined later. ClusterRefused where it does not let us in."""
        self._bridge, self._answering = bridge, Answering(bridge, self.link.nats, self.name)
        self._processes = lambda: len(bridge.sessions.running)
        bridge.uploads.shared, bridge.defaults.shared = SharedUploads(self.link.js), SharedSettings(self.link.js)
        bridge.sessions.on_taken, bridge.sessions.on_left = self._taken, self._left
        bridge.sessions.on_deleted = self._deleted
        bridge.sessions.on_result.append(lambda host, _: self._keep_transcript(host))
        self._shared.on_change.append(self._changed)
        self.membership.on_change.append(self._node_changed)
        self.membership.on_fenced.append(self._fenced)
        self.membership.on_regained.append(self._regained)
        self.membership.on_late.append(self.link.try_another)
        self.ownership.on_lost.append(lambda session: bridge.sessions.abandon(session, LOST))
        self.outbox.on_fenced.append(self.ownership.lost)
        self.link.on_up.append(self._is_up)
        await self.outbox.open()
        await self.link.__aenter__()
        joining = self._later(self._join())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(JOIN_SECONDS):
                await asyncio.shield(joining)
        self._later(self._look_after())

    async def _join(self) -> None:
        """Once NATS is there: what must be there on it, our lease, what others have, and what they ask."""
        said = ""
        while True:
            try:
                await self.link.until_up(FOREVER)
                await lay_out(self.link.js, self._told.copies(self.link.servers))
                await self.membership.open()
                break
            except ClusterAway as away:
                if str(away) != said:
                    log.warning("%s", away)
                said = str(away)
                await asyncio.sleep(TRY_AGAIN)
        await self._answering.open()
        with contextlib.suppress(ClusterAway):  # it is watched for all the same
            await self._shared.open()
        await self.index.open()
        self._joined = True
        await self._publish_what_is_old()

    async def _publish_what_is_old(self) -> None:
        """What a machine that was alone until now has, others see too; and what NATS has lost, it gets again."""
        for session in list(self.outbox.unclaimed):
            with contextlib.suppress(BridgeError):
                await self.ownership.claim(session)
        await self.outbox.check()

    def _is_up(self) -> None:
        """NATS is there again: everything goes on."""
        self.outbox.go_on()
        self.index.go_on()
        self.remotes.look_again()
        self._later(self._answering.announce())
        if self._joined:  # else what it looks at may not be there yet, and it looks when it has joined
            self._later(self.outbox.check())

    def leave(self) -> None:
        """It goes soon: what cannot be given to NATS by then is not waited for."""
        asyncio.get_running_loop().call_later(LAST_SECONDS if self.link.is_up else 0.0, self._give_up)

    async def close(self) -> None:
        """Go: others hear of it at once."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.remotes.close()
        await self._answering.close()
        await self.transcripts.close()
        await self.outbox.close()
        await self.index.close()
        await self._shared.close()
        await self.ownership.close()
        await self.membership.close()
        await self.link.__aexit__()

    def _later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:  # NATS may be away: it is done when it is back
            log.log(logging.INFO if isinstance(error, ClusterAway) else logging.ERROR, "in the cluster: %s", error)

    # Who we are, who is there

    def _node(self) -> Node:
        told = self._told
        return Node(
            name=self.name,
            boot="",
            address=self._configuration.address if told.page else "",
            runs=told.runs,
            moves=told.moves,
            roots=[str(root) for root in self._configuration.roots],
            labels=list(told.labels),
            sessions=self._processes(),
            most_sessions=told.most_sessions,
            free_memory=free_memory(),
            least_memory=told.least_memory,
            behind=self.outbox.behind.events,
            cli=self._configuration.cli.kind,
            version=metadata.version("handrail"),
            since=self._since,
        )

    def nodes(self) -> list[Node]:
        """The machines that are there, this one too."""
        return list(self.membership.nodes.values())

    def _is_alive(self, name: str) -> bool:
        """As far as we know: while NATS is away nobody is taken for gone."""
        return not self.link.is_up or name in ("", self.name) or name in self.membership.nodes

    async def status(self) -> Status:
        """How everything stands."""
        return await cluster_status(self.link, self.nodes(), me=self.name, alarms=self.outbox.alarms)

    # Whose a session is

    def is_ours(self, record: SessionRecord) -> bool:
        """Ran here last, and nobody else may have it: it is ours also while NATS is away."""
        return not self.moves and record.runner in ("", self.name)

    async def is_here(self, id: str) -> bool:
        """Does it run here, or would it only run here?"""
        if self.ownership.holds(id):
            return True
        record = await self.index.get(id)
        return record is None or self.is_ours(record)

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
            await self.transcripts.fetch(before)  # what another machine's CLI wrote
        await self.index.take_up(session)

    def _homes(self) -> list[Path | None]:
        return [cli_home(self._configuration.cli), *self._bridge.terminal.homes()]

    def _keep_transcript(self, host: SessionHost) -> None:
        self._later(self.transcripts.upload(host.record))

    async def _deleted(self, session: str) -> None:
        with contextlib.suppress(BridgeError):  # what is left there takes room, and nothing else
            await self.transcripts.delete(session)

    async def _left(self, session: str) -> None:
        self.transcripts.release(session)
        await self._answering.left(session)

    async def _taken(self, host: SessionHost) -> None:
        """A session runs here now: whoever followed it from afar begins anew."""
        await self._answering.taken(host)
        await self.remotes.drop(host.record.id, "it runs here now")

    async def _fenced(self) -> None:
        """Our lease ends soon: what others may have then must have stopped here."""
        if not self.moves:
            return
        self._give_up()
        await self._bridge.sessions.abandon_all(LOST)

    def _give_up(self) -> None:
        """Nobody waits any longer for NATS to have what was written here."""
        if self.moves:
            self.outbox.give_up_all()

    async def _regained(self) -> None:
        """We are there again: what nobody has taken meanwhile is ours."""
        self.outbox.go_on()
        self.index.go_on()
        await self._bridge.sessions.take_up()

    # What others tell

    def _changed(self, record: SessionRecord | None, before: SessionRecord | None) -> None:
        """A record of another machine is another: whoever looks at the list is told."""
        sessions = self._bridge.sessions
        if record is None:
            if before is not None and sessions.here(before.id) is None:
                sessions.list_feed.publish([b'{"deleted":"%s"}' % before.id.encode()])
                self._later(self.remotes.drop(before.id, "the session was deleted"))
            return
        if sessions.here(record.id) is None:
            sessions.told(self.index.shown(record), before or record)
            self.remotes.changed(record)

    def _node_changed(self, node: Node | None, before: Node | None) -> None:
        """A machine has come or gone: its sessions are shown as they are now."""
        if (node is None) == (before is None):
            return
        name = node.name if node is not None else before.name if before is not None else ""
        self._later(self._show_again(name))

    async def _show_again(self, name: str) -> None:
        """The sessions of a machine, as they are seen now that it has come or gone."""
        for record in await self.index.list(limit=100_000):
            if record.runner == name and record.state not in AT_REST:
                self._bridge.sessions.told(record, record)

    # What all know together

    async def know(self, what: str, **fields: Any) -> list[Known]:
        """What every machine knows, this one first."""
        ask = Know(what, fields)
        own = Known(self.name, await known_here(self._bridge, ask))
        others = {node.name for node in self.nodes()} - {self.name}
        if not self.link.is_up:
            return [own]
        return [own, *(known for known in await self.asking.all(ask, others) if known.node != self.name)]

    async def _search(self, words: str, limit: int, session: str | None) -> list[Hit]:
        """Every machine looks in its own store. A session that has moved may be in two of them."""
        known = await self.know("search", words=words, limit=limit, session=session)
        hits = {(hit.session, hit.seq): hit for one in known for hit in msgspec.convert(one.answer or [], list[Hit])}
        there = [hit for hit in hits.values() if await self.index.get(hit.session) is not None]
        return sorted(there, key=lambda hit: (hit.time, hit.seq), reverse=True)[:limit]

    # Files and frames of a session, wherever it runs

    async def fetch(self, session: str, ask: Fetch) -> Fetched | None:
        """What the machine of a session answers; None where it is this one. CommandRefused."""
        record = await self.index.get(session)
        if record is None or record.runner in ("", self.name) or self.ownership.holds(session):
            return None
        try:
            return await self.asking.fetch(node_subject(record.runner), ask)
        except (NobodyThere, TimeoutError):
            raise CommandRefused(
                "unreachable", f"{record.runner} does not answer: what lies there cannot be read"
            ) from None

    async def _look_after(self) -> None:
        """From time to time: leave what nobody follows, send what CLIs have written."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            await self.remotes.sweep()
            for host in self._bridge.sessions.running:
                self._keep_transcript(host)
