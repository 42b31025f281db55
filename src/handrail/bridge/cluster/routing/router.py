"""The router of a cluster: finds the machine of each command, session and request.

A command about a session is sent to the machine that runs it. If none does, it is sent to a machine that has the folder
and capacity, which takes the session over. If no response arrives, the outcome is unknown; the same command can be sent
again under its id and runs once.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter, deque
from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from handrail.bridge.cluster.following.remote_sessions import Remotes
from handrail.bridge.cluster.leases.lease import Node
from handrail.bridge.cluster.leases.membership import Membership
from handrail.bridge.cluster.leases.ownership import JetStreamOwnership
from handrail.bridge.cluster.nats.connection import NatsConnection
from handrail.bridge.cluster.nats.names import do_subject, node_subject
from handrail.bridge.cluster.routing.placement import place, why_no_machine
from handrail.bridge.cluster.routing.requests import Do, Know, Knowledge, Known, NoResponder, Requester
from handrail.bridge.cluster.status import cluster_status
from handrail.bridge.cluster.store.cluster_index import ClusterIndex
from handrail.bridge.cluster.store.outbox import Outbox
from handrail.bridge.commands.router import Fetch, Fetched, Gauge
from handrail.bridge.commands.table import Call, Command
from handrail.bridge.commands.workspace import merged_folders
from handrail.bridge.errors import ClusterAway, CommandRefused
from handrail.bridge.session.acp_agents import AgentRow
from handrail.bridge.session.feed import FollowedSession
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.store.base import Hit, SessionRecord
from handrail.bridge.store.usage import together

__all__ = ["ClusterRouter"]

JsonObject = dict[str, Any]
ANSWER_SECONDS: Final = 90.0
"""Includes the start of a CLI."""
RESEND_SECONDS: Final = 5.0
"""A duplicate waits for the same receipt, so a request may be sent again."""
TRIES: Final = 3
REPORTED_AFTER: Final = 5.0
"""Seconds after which the load that a machine reports includes a session it was given."""
TRY_NEXT: Final = frozenset({"elsewhere", "closing", "bad_folder", "unknown_agent"})
"""Refusals of one machine that another may not share."""


class _Receipt(Struct):
    ok: bool
    error: dict[str, str] = {}


class ClusterRouter:
    """The router port of one machine of a cluster. `moves`: its sessions may be taken over by other machines."""

    def __init__(
        self,
        name: str,
        *,
        moves: bool,
        link: NatsConnection,
        membership: Membership,
        ownership: JetStreamOwnership,
        index: ClusterIndex,
        outbox: Outbox,
        remotes: Remotes,
        sessions: Sessions,
        knowledge: Knowledge,
    ) -> None:
        self.name, self._moves, self._link, self._membership = name, moves, link, membership
        self._ownership, self._index, self._outbox, self._remotes = ownership, index, outbox, remotes
        self._sessions, self._knowledge = sessions, knowledge
        self._requester = Requester(link.nats)
        self._recent: deque[tuple[float, str]] = deque(maxlen=1000)
        """Machines that were recently given a session, with the time. Their reported load is some seconds old."""

    def nodes(self) -> list[Node]:
        """The machines with a valid lease, including this one."""
        return list(self._membership.nodes.values())

    def _stays_here(self, record: SessionRecord) -> bool:
        """Whether the session ran here last and no other machine may take it, so it is here also without NATS."""
        return not self._moves and record.runner in ("", self.name)

    # Requests to all machines

    async def ask_all(self, what: str, **fields: Any) -> list[Known]:
        """The answers of all machines that respond, this one first."""
        know = Know(what, fields)
        own = Known(self.name, await self._knowledge.answer(know))
        others = {node.name for node in self.nodes()} - {self.name}
        if not self._link.is_up:
            return [own]
        return [own, *(known for known in await self._requester.broadcast(know, others) if known.node != self.name)]

    async def search(self, words: str, *, limit: int, session: str | None) -> list[Hit]:
        """Search the store of every machine. The events of a session that has moved may be in two of them."""
        known = await self.ask_all("search", words=words, limit=limit, session=session)
        hits = {(hit.session, hit.seq): hit for one in known for hit in msgspec.convert(one.answer or [], list[Hit])}
        there = [hit for hit in hits.values() if await self._index.get(hit.session) is not None]
        return sorted(there, key=lambda hit: (hit.time, hit.seq), reverse=True)[:limit]

    async def terminal_sessions(self, limit: int) -> list[JsonObject]:
        """The terminal sessions of all machines, each once: machines may share a home."""
        known = await self.ask_all("terminal", limit=limit)
        rows = {row["id"]: {**row, "runner": one.node} for one in known for row in one.answer or ()}
        return sorted(rows.values(), key=lambda row: row["changed"], reverse=True)[:limit]

    async def usage(self, days: int) -> list[JsonObject]:
        """The usage of all machines, added up."""
        return together(one.answer or [] for one in await self.ask_all("usage", days=days))

    async def folders(self, below: str) -> JsonObject:
        """The folders of all machines."""
        return merged_folders([one.answer for one in await self.ask_all("folders", below=below)])

    async def agents(self, ask: str) -> list[AgentRow]:
        """The agents of all machines, each once. A machine that asks its agent for too long names it only."""
        found = dict[str, AgentRow]()
        for one in await self.ask_all("agents", ask=ask):
            for row in msgspec.convert(one.answer or [], list[AgentRow]):
                known = found.get(row.name, row)
                told = row if row.asked and not known.asked else known
                found[row.name] = replace(told, machines=[*(known.machines if row is not known else ()), one.node])
        return [found[name] for name in sorted(found)]

    async def is_shown(self, session: str) -> bool:
        """Ask all machines; one that does not answer shows nothing."""
        return any(one.answer is True for one in await self.ask_all("shown", session=session))

    async def status(self) -> JsonObject:
        """Machines, leases and streams."""
        found = await cluster_status(self._link, self.nodes(), me=self.name, alarms=self._outbox.alarms)
        return msgspec.to_builtins(found)

    def gauges(self) -> Iterable[Gauge]:
        """The state of the cluster as this machine sees it."""
        behind = self._outbox.behind
        yield Gauge("handrail_cluster_up", "Whether NATS responds.", int(self._link.is_up))
        yield Gauge("handrail_cluster_lease", "Whether this machine's lease is valid.", int(self._membership.valid))
        yield Gauge("handrail_cluster_held", "Sessions owned by this machine.", len(self._ownership.held))
        yield Gauge("handrail_cluster_behind_events", "Events not yet published to NATS.", behind.events)
        yield Gauge("handrail_cluster_behind_bytes", "Bytes not yet published to NATS.", behind.size)
        yield Gauge("handrail_cluster_alarms", "Conditions that need an operator.", len(self._outbox.alarms))
        for node in self.nodes():
            yield Gauge("handrail_cluster_sessions", "Sessions with a process, by machine.", node.sessions, node.name)

    # Sessions of other machines

    async def follow(self, session: str, after: int = 0) -> FollowedSession:
        """The host of a session that is here; else a copy that follows its owner over NATS."""
        if not self._ownership.holds(session):
            record = await self._index.get(session)
            if record is not None and not self._stays_here(record):
                remote = await self._remotes.get(session)
                await remote.reach(after)
                return remote
        return await self._sessions.get(session)

    async def fetch(self, session: str, request: Fetch) -> Fetched | None:
        """The response of the machine that runs the session, or ran it last."""
        record = await self._index.get(session)
        if record is None or record.runner in ("", self.name) or self._ownership.holds(session):
            return None
        try:
            return await self._requester.fetch(node_subject(record.runner), request)
        except (NoResponder, TimeoutError):
            raise CommandRefused(
                "unreachable", f"{record.runner} does not respond, and no other machine has this data"
            ) from None

    # Commands

    async def forward(self, call: Call, row: Command, fields: Struct) -> bytes | None:
        """Send a command to the machine it belongs to."""
        session, cwd = getattr(fields, "session", ""), getattr(fields, "cwd", "")
        if not session and not cwd:
            return None
        do = Do(call.key, call.by, sorted(call.scopes), row.name, msgspec.json.encode(fields))
        try:
            if session:
                return await self._to_session(session, do, reads=row.reads)
            labels, runner = getattr(fields, "labels", ()), getattr(fields, "runner", "")
            return await self._to_folder(cwd, do, labels, runner or await self._previous_machine(call, row, cwd))
        except ClusterAway as away:
            raise CommandRefused("cluster_away", str(away)) from None

    async def earlier_receipt(self, call: Call, row: Command, fields: Struct) -> bytes | None:
        """The receipt of a repeated command. Takes over its session first, because receipts arrive with the events."""
        for id in (getattr(fields, "session", ""), call.session):
            if id and await self._index.get(id) is not None:
                await self._sessions.get(id)
        return await self._sessions.events.receipt(call.key)

    async def _to_session(self, session: str, do: Do, *, reads: bool) -> bytes | None:
        record = await self._index.get(session)
        if self._ownership.holds(session) or (record is not None and self._stays_here(record)):
            return None
        receipt: bytes | None = None
        for _ in range(TRIES):  # the session may change its owner meanwhile
            try:
                receipt = await self._send(do_subject(session), do, f"the machine that runs session {session}")
            except NoResponder:
                if record is None:
                    return await self._to_terminal(session, do)
                if reads and record.state == "interrupted":  # a query does not make a machine take it over
                    raise CommandRefused(
                        "not_running", "the machine of the session is offline, and no other runs it"
                    ) from None
                receipt = await self._take_over(record, do)
            if receipt is None or _code(receipt) not in TRY_NEXT:
                break
        return receipt

    async def _take_over(self, record: SessionRecord, do: Do) -> bytes | None:
        """No machine runs the session: one that has its folder takes it over."""
        owner = await self._ownership.last(record.id)
        if owner is not None and owner.held and not owner.moves:
            return await self._to_bound_machine(record, owner.node, do)
        return await self._to_folder(record.cwd, do, record.options.get("labels") or (), last=record.runner)

    async def _to_bound_machine(self, record: SessionRecord, node: str, do: Do) -> bytes:
        """A session that does not move: only its machine may run it, also after an outage."""
        try:
            return await self._send(node_subject(node), do, node)
        except NoResponder:
            raise CommandRefused(
                "unreachable",
                f"session {record.id} is bound to {node}, which is offline; if that machine was removed for good, run"
                f" `handrail cluster forget {node}`",
            ) from None

    async def _to_folder(
        self, cwd: str, do: Do, labels: Collection[str], chosen: str = "", *, last: str = ""
    ) -> bytes | None:
        """Send a command to the best machine that accepts it; None if that is this machine."""
        if not self._link.is_up and (not chosen or chosen == self.name):
            return None  # without NATS this machine is the only one
        nodes = [node for node in self.nodes() if not chosen or node.name == chosen]
        wanted: dict[str, Any] = {"cwd": cwd, "labels": labels, "last": last}
        receipt: bytes | None = None
        since, recent = time.monotonic() - REPORTED_AFTER, Counter[str]()
        recent.update(name for when, name in self._recent if when > since)
        for node in sorted(place(nodes, **wanted), key=lambda node: node.name != last and recent[node.name]):
            self._recent.append((time.monotonic(), node.name))
            if node.name == self.name:
                return None
            receipt = await self._try(node, do)
            if receipt is not None and _code(receipt) not in TRY_NEXT:
                return receipt
        if receipt is not None:
            return receipt
        raise CommandRefused("no_machine", why_no_machine(nodes, cwd=cwd, labels=labels))

    async def _try(self, node: Node, do: Do) -> bytes | None:
        try:
            return await self._send(node_subject(node.name), do, node.name)
        except NoResponder:
            return None

    async def _send(self, subject: str, do: Do, who: str) -> bytes:
        """Send until a machine responds. Raises NoResponder.

        A response may be lost with its machine. The machine that takes over then runs the command if needed.
        """
        end = time.monotonic() + ANSWER_SECONDS
        while (left := end - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                return await self._requester.request(subject, do, seconds=min(RESEND_SECONDS, left))
        raise CommandRefused(
            "unreachable",
            f"{who} did not respond, so the outcome is unknown; send the same command again under its id",
        )

    async def _previous_machine(self, call: Call, row: Command, cwd: str) -> str:
        """The machine that received the same command before, or the one with the newest session of the folder."""
        if row.name == "continue":
            ours = [one for one in await self._index.lines(words=cwd, limit=100_000) if one.cwd == cwd]
            return max(((one.changed, one.runner) for one in ours), default=(0, ""))[1]
        record = await self._index.get(call.session)
        return record.runner if record is not None else ""

    async def _to_terminal(self, session: str, do: Do) -> bytes | None:
        """A terminal session is on the machine that has its transcript."""
        for known in await self.ask_all("terminal", limit=100_000):
            if any(one.get("id") == session for one in known.answer or ()):
                if known.node == self.name:
                    return None
                return await self._send(node_subject(known.node), do, known.node)
        return None


def _code(receipt: bytes) -> str:
    """The code of a refusal; "" for success."""
    answer = msgspec.json.decode(receipt, type=_Receipt)
    return "" if answer.ok else answer.error.get("code", "")
