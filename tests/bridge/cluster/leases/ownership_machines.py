"""Machines on a NATS server for the ownership conformance tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from handrail.bridge.cluster.leases.ownership import JetStreamOwnership
from handrail.bridge.store.base import Ownership
from handrail.testing import NatsServer, SharingMachine
from tests.bridge.cluster.leased_machine import (
    SHORT_LEASE,
    LeasedMachine,
    event_on,
    leased_machine,
    server_with_streams,
)


class OwnershipMachine:
    """One machine with its ownership. `other` is the machine that observes it."""

    def __init__(self, machine: LeasedMachine, **options: Any) -> None:
        self.machine, self.name, self.other = machine, machine.name, machine
        chosen: dict[str, Any] = {"moves": True, "retry_for": 1.0, **options}
        self.ownership = JetStreamOwnership(machine.js, machine.membership, **chosen)

    async def leave(self) -> None:
        await self.machine.membership.close()

    async def cut_off(self) -> None:
        fenced = event_on(self.machine.membership.on_fenced)
        self.machine.cable.pull()
        await fenced.wait()
        await self.other.until(lambda: self.name not in self.other.nodes)

    async def come_back(self) -> None:
        regained = event_on(self.machine.membership.on_regained)
        await self.machine.cable.plug()
        await regained.wait()
        await self.other.until(lambda: self.name in self.other.nodes)


@asynccontextmanager
async def ownership_machine(
    server: NatsServer, name: str, *, timing: Any = SHORT_LEASE, **options: Any
) -> AsyncGenerator[OwnershipMachine]:
    previous = {"previous_boot": options.pop("previous_boot", "")}
    async with leased_machine(server, name, cabled=True, timing=timing, **previous) as made:
        one = OwnershipMachine(made, **options)
        await made.membership.open()
        try:
            yield one
        finally:
            await one.ownership.close()


@asynccontextmanager
async def one_ownership(folder: Path) -> AsyncGenerator[Ownership]:
    async with server_with_streams(folder / "nats") as server, ownership_machine(server, "only") as one:
        yield one.ownership


@asynccontextmanager
async def two_ownership_machines(folder: Path) -> AsyncGenerator[tuple[SharingMachine, SharingMachine]]:
    async with (
        server_with_streams(folder / "nats") as server,
        ownership_machine(server, "first") as first,
        ownership_machine(server, "second") as second,
    ):
        first.other, second.other = second.machine, first.machine
        yield first, second
