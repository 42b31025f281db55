"""The simplest shared ownership: all machines read and write one registry. Tests of the suite put faults into it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from handrail.testing import SharingMachine


@dataclass
class Registry:
    """The owner of each session as a machine and its epoch, and the machines that are connected."""

    owners: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    epochs: dict[str, int] = field(default_factory=dict[str, int])
    connected: set[str] = field(default_factory=set[str])

    def machine(self, name: str, kind: type[FakeOwnership]) -> FakeMachine:
        self.connected.add(name)
        return FakeMachine(name, kind(self, name))


class FakeOwnership:
    def __init__(self, registry: Registry, name: str) -> None:
        self.registry, self.name = registry, name
        self.mine: dict[str, int] = {}

    def is_free(self, session: str) -> bool:
        name, _ = self.registry.owners.get(session, ("", 0))
        return name not in self.registry.connected or name == self.name

    def take(self, session: str) -> bool:
        if not self.holds(session):
            epoch = self.registry.epochs[session] = self.registry.epochs.get(session, 0) + 1
            self.registry.owners[session], self.mine[session] = (self.name, epoch), epoch
        return True

    def holds(self, session: str) -> bool:
        mine = (self.name, self.mine.get(session, 0))
        return self.name in self.registry.connected and self.registry.owners.get(session) == mine

    def fenced(self) -> None:
        self.mine.clear()

    def epoch(self, session: str) -> int:
        return self.mine.get(session, 0) if self.holds(session) else 0

    async def claim(self, session: str, *, new: bool = False) -> bool:
        return self.is_free(session) and self.take(session)

    async def release(self, session: str, *, gone: bool = False) -> None:
        if self.holds(session):
            del self.registry.owners[session]
        self.mine.pop(session, None)

    async def owner(self, session: str) -> str:
        name, _ = self.registry.owners.get(session, ("", 0))
        return name if name in self.registry.connected else ""


@dataclass
class FakeMachine:
    name: str
    ownership: FakeOwnership

    async def leave(self) -> None:
        self.ownership.registry.connected.discard(self.name)

    async def cut_off(self) -> None:
        self.ownership.registry.connected.discard(self.name)
        self.ownership.fenced()

    async def come_back(self) -> None:
        self.ownership.registry.connected.add(self.name)


@asynccontextmanager
async def two_fakes(_: Path) -> AsyncGenerator[tuple[SharingMachine, SharingMachine]]:
    registry = Registry()
    yield registry.machine("first", FakeOwnership), registry.machine("second", FakeOwnership)
