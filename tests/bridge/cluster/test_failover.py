"""Leases, ownership, outbox and log together: a session changes its owner, another continues without NATS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.bridge.cluster.leases.lease import Node
from handrail.bridge.cluster.leases.membership import Membership
from handrail.bridge.cluster.leases.ownership import JetStreamOwnership
from handrail.bridge.cluster.store.adoption import adopt
from handrail.bridge.cluster.store.event_log import ClusterLog
from handrail.bridge.errors import CommandRefused
from handrail.bridge.store.base import Receipt
from tests.bridge.cluster.leased_machine import SHORT_LEASE, Cable, connect, disconnect, event_on, server_with_streams
from tests.bridge.cluster.machine_store import MachineStore, new, open_store, said


class FullMachine:
    """A machine with a lease, ownership and an event log."""

    def __init__(self, machine: MachineStore, name: str, *, moves: bool) -> None:
        self.machine, self._moves = machine, moves
        outbox = machine.outbox
        node = Node(name=name, boot="", moves=moves)
        self.membership = Membership(machine.js, lambda: node, timing=SHORT_LEASE)
        self.ownership = JetStreamOwnership(
            machine.js,
            self.membership,
            moves=moves,
            on_claimed=self._claimed,
            on_release=outbox.release,
            epoch_before=outbox.epoch_before,
        )
        self.log = ClusterLog(machine.local, machine.remote, outbox, self.ownership, moves=moves)
        outbox.on_fenced.append(self.ownership.lost)
        self.membership.on_fenced.append(self._fenced)
        self.membership.on_regained.append(self._regained)

    async def _claimed(self, session: str, epoch: int) -> None:
        one = self.machine
        parts = {"database": one.database, "local": one.local, "remote": one.stream, "outbox": one.outbox}
        await adopt(session, epoch, **parts, wait=self._moves)

    async def _fenced(self) -> None:
        if self._moves:
            self.machine.outbox.give_up_all()

    async def _regained(self) -> None:
        self.machine.outbox.resume()

    async def until(self, condition: Callable[[dict[str, Node]], bool]) -> None:
        """Wait until a condition on the list of machines holds."""
        changed = asyncio.Event()
        self.membership.on_change.append(lambda *_: changed.set())
        while not condition(self.membership.nodes):
            changed.clear()
            await changed.wait()


@asynccontextmanager
async def full_machine(folder: Path, port: int, *, moves: bool) -> AsyncGenerator[FullMachine]:
    """A machine named after its folder."""
    connection = await connect(f"nats://127.0.0.1:{port}")
    try:
        async with asyncio.timeout(40), open_store(folder, connection.jetstream(timeout=1), moves=moves) as machine:
            one = FullMachine(machine, folder.name, moves=moves)
            await one.membership.open()
            yield one
            await one.ownership.close()
            await one.membership.close()
    finally:
        await disconnect(connection)


async def test_session_of_a_disconnected_machine_continues_on_another(tmp_path: Path):
    async with (
        server_with_streams(tmp_path / "nats") as server,
        Cable(server.port) as cable,
        full_machine(tmp_path / "a", cable.port, moves=True) as a,
        full_machine(tmp_path / "b", server.port, moves=True) as b,
    ):
        assert await a.ownership.claim("s")
        await a.log.append("s", new("1"), Receipt("c1", b"1"))
        assert not await b.ownership.claim("s")
        cable.pull()
        regained = event_on(a.membership.on_regained)
        with pytest.raises(CommandRefused, match="it is unknown whether"):
            await a.log.append("s", new("unpublished"), Receipt("c2", b"1"))
        await b.until(lambda nodes: "a" not in nodes)
        assert await b.ownership.claim("s")
        assert not a.ownership.holds("s")
        await b.log.append("s", new("2"))
        assert said(await b.log.read("s", 0)) == ["1", "2"]
        await cable.plug()
        await regained.wait()
        assert said(await a.log.read("s", 0)) == ["1", "2"]
        assert not await a.ownership.claim("s")
        await b.ownership.release("s")
        assert await a.ownership.claim("s")
        assert said(await a.log.read("s", 0)) == ["1", "2"]
        assert [await a.log.receipt(command) for command in ("c1", "c2")] == [b"1", None]
        await a.log.append("s", new("3"))
        assert said(await b.log.read("s", 0)) == ["1", "2", "3"]


async def test_sessions_that_stay_continue_without_nats_under_the_same_owner(tmp_path: Path):
    async with (
        server_with_streams(tmp_path / "nats") as server,
        full_machine(tmp_path / "a", server.port, moves=False) as a,
        full_machine(tmp_path / "b", server.port, moves=False) as b,
    ):
        assert await a.ownership.claim("s")
        await a.log.append("s", new("1"))
        fenced = event_on(a.membership.on_fenced)
        await server.kill()
        await a.log.append("s", new("2"))
        assert await a.ownership.claim("t", new=True)
        await a.log.append("t", new("x"))
        await fenced.wait()
        await a.log.append("s", new("3"))
        await server.start()
        assert await a.machine.wait_until_published("s")
        assert await a.machine.wait_until_published("t")
        await a.ownership.settle()
        assert said(await b.log.read("s", 0)) == ["1", "2", "3"]
        assert said(await b.log.read("t", 0)) == ["x"]
        assert a.ownership.held == {"s", "t"}
        assert not await b.ownership.claim("s")
        await a.log.append("t", new("y"))
        assert await a.machine.wait_until_published("t")
