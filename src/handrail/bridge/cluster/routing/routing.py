"""Which machine does a command. In: a command that was let in here. Out: the receipt of another machine, or None: ours.

A command about a session goes to whoever runs it. Where nobody does, it goes to a machine that has the folder and room,
which takes the session up. Where no answer comes, nobody knows whether it was done; the same command under the same id
may be sent again, and is done once.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter, deque
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from handrail.bridge.cluster.leases.records import Node
from handrail.bridge.cluster.nats.names import do_subject, node_subject
from handrail.bridge.cluster.routing.asking import NobodyThere
from handrail.bridge.cluster.routing.asks import Do
from handrail.bridge.cluster.routing.placement import place, why_none
from handrail.bridge.commands.table import Call, Command
from handrail.bridge.errors import ClusterAway, CommandRefused
from handrail.bridge.store.base import SessionRecord

if TYPE_CHECKING:
    from handrail.bridge.cluster.cluster import Cluster

__all__ = ["Routing"]

PATIENCE: Final = 90.0
"""A CLI that starts may take its time."""
ASK_AGAIN: Final = 5.0
"""Whoever does it already waits for the same receipt."""
TRIES: Final = 3
LATELY: Final = 5.0
"""Seconds after which a machine has told how full it is."""
PASSED_BY: Final = frozenset({"elsewhere", "closing", "bad_folder"})
"""Refusals of a machine that say nothing about others."""


class _Receipt(Struct):
    ok: bool
    error: dict[str, str] = {}


class Routing:
    """Finds the machine for each command."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._lately: deque[tuple[float, str]] = deque(maxlen=1000)
        """Which machines were given something to run, and when: what they tell of themselves is some seconds old."""

    async def elsewhere(self, call: Call, row: Command, given: Struct) -> bytes | None:
        """Have it done by the machine it belongs to; None where that is this one. CommandRefused."""
        session, cwd = getattr(given, "session", ""), getattr(given, "cwd", "")
        if not session and not cwd:
            return None
        ask = Do(call.key, call.by, sorted(call.scopes), row.name, msgspec.json.encode(given))
        try:
            if session:
                return await self._to_session(session, ask, reads=row.reads)
            labels, runner = getattr(given, "labels", ()), getattr(given, "runner", "")
            return await self._to_folder(cwd, ask, labels, runner or await self._begun_on(call, row, cwd))
        except ClusterAway as away:
            raise CommandRefused("cluster_away", str(away)) from None

    async def _to_session(self, session: str, ask: Do, *, reads: bool) -> bytes | None:
        cluster = self._cluster
        record = await cluster.index.get(session)
        if cluster.ownership.holds(session) or (record is not None and cluster.is_ours(record)):
            return None
        receipt: bytes | None = None
        for _ in range(TRIES):  # it may change hands while we ask
            try:
                receipt = await self._ask(do_subject(session), ask, f"the machine that runs session {session}")
            except NobodyThere:
                if record is None:
                    return await self._to_terminal(session, ask)
                if reads and record.state == "interrupted":  # who looks does not take it up
                    raise CommandRefused("not_running", "its machine has gone: nobody runs it now") from None
                receipt = await self._take_up(record, ask)
            if receipt is None or _code(receipt) not in PASSED_BY:
                break
        return receipt

    async def _take_up(self, record: SessionRecord, ask: Do) -> bytes | None:
        """Nobody runs it: a machine that has its folder takes it up."""
        owner = await self._cluster.ownership.last(record.id)
        if owner is not None and owner.held and not owner.moves:
            return await self._to_where_it_stays(record, owner.node, ask)
        return await self._to_folder(record.cwd, ask, record.options.get("labels") or (), last=record.runner)

    async def _to_where_it_stays(self, record: SessionRecord, node: str, ask: Do) -> bytes:
        """Only its machine knows whether it goes on there: where that one has gone, nobody else may have it."""
        try:
            return await self._ask(node_subject(node), ask, node)
        except NobodyThere:
            raise CommandRefused(
                "unreachable",
                f"session {record.id} stays on {node}, which has not been heard of. If that machine will not come back:"
                f" handrail cluster forget {node}",
            ) from None

    async def _to_folder(
        self, cwd: str, ask: Do, labels: Collection[str], chosen: str = "", *, last: str = ""
    ) -> bytes | None:
        """The best machine for a folder that takes it. None where that is ours."""
        cluster = self._cluster
        if not cluster.link.is_up and (not chosen or chosen == cluster.name):
            return None  # without NATS there is nobody but us
        nodes = [node for node in cluster.nodes() if not chosen or node.name == chosen]
        wanted: dict[str, Any] = {"cwd": cwd, "labels": labels, "last": last}
        receipt: bytes | None = None
        since, lately = time.monotonic() - LATELY, Counter[str]()
        lately.update(name for when, name in self._lately if when > since)
        for node in sorted(place(nodes, **wanted), key=lambda node: node.name != last and lately[node.name]):
            self._lately.append((time.monotonic(), node.name))
            if node.name == cluster.name:
                return None
            receipt = await self._try(node, ask)
            if receipt is not None and _code(receipt) not in PASSED_BY:
                return receipt
        if receipt is not None:
            return receipt
        raise CommandRefused("no_machine", why_none(nodes, cwd=cwd, labels=labels))

    async def _try(self, node: Node, ask: Do) -> bytes | None:
        try:
            return await self._ask(node_subject(node.name), ask, node.name)
        except NobodyThere:
            return None

    async def _ask(self, subject: str, ask: Do, who: str) -> bytes:
        """Ask until somebody answers: an answer may be lost with a machine, and whoever has its sessions then does
        what was not done. NobodyThere."""
        end = time.monotonic() + PATIENCE
        while (left := end - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                return await self._cluster.asking.one(subject, ask, seconds=min(ASK_AGAIN, left))
        raise CommandRefused(
            "unreachable",
            f"{who} did not answer: it is not known whether it was done. The same command may be sent again",
        )

    # What nobody has as a session yet

    async def _begun_on(self, call: Call, row: Command, cwd: str) -> str:
        """The machine on which this very command was begun before, or where the newest session of a folder is."""
        if row.name == "continue":
            ours = [one for one in await self._cluster.index.lines(words=cwd, limit=100_000) if one.cwd == cwd]
            return max(((one.changed, one.runner) for one in ours), default=(0, ""))[1]
        record = await self._cluster.index.get(call.session)
        return record.runner if record is not None else ""

    async def _to_terminal(self, session: str, ask: Do) -> bytes | None:
        """A session of a terminal is on the machine that has its transcript."""
        for known in await self._cluster.know("terminal", limit=100_000):
            if any(one.get("id") == session for one in known.answer or ()):
                if known.node == self._cluster.name:
                    return None
                return await self._ask(node_subject(known.node), ask, known.node)
        return None


def _code(receipt: bytes) -> str:
    """Why a command was refused; "" where it was done."""
    told = msgspec.json.decode(receipt, type=_Receipt)
    return "" if told.ok else told.error.get("code", "")
