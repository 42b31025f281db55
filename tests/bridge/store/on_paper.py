"""A shared ownership as short as it can be: all machines look at one paper. Faults are put into it to try the suite."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from handrail.testing import SharingMachine


@dataclass
class Paper:
    """Who has what, by session: a machine and its epoch; and which machines are there."""

    owners: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    epochs: dict[str, int] = field(default_factory=dict[str, int])
    there: set[str] = field(default_factory=set[str])

    def machine(self, name: str, kind: type[OnPaper]) -> MachineOnPaper:
        self.there.add(name)
        return MachineOnPaper(name, kind(self, name))


class OnPaper:
    def __init__(self, paper: Paper, name: str) -> None:
        self.paper, self.name = paper, name
        self.mine: dict[str, int] = {}

    def is_free(self, session: str) -> bool:
        name, _ = self.paper.owners.get(session, ("", 0))
        return name not in self.paper.there or name == self.name

    def take(self, session: str) -> bool:
        if not self.holds(session):
            epoch = self.paper.epochs[session] = self.paper.epochs.get(session, 0) + 1
            self.paper.owners[session], self.mine[session] = (self.name, epoch), epoch
        return True

    def holds(self, session: str) -> bool:
        mine = (self.name, self.mine.get(session, 0))
        return self.name in self.paper.there and self.paper.owners.get(session) == mine

    def fenced(self) -> None:
        self.mine.clear()

    def epoch(self, session: str) -> int:
        return self.mine.get(session, 0) if self.holds(session) else 0

    async def claim(self, session: str, *, new: bool = False) -> bool:
        return self.is_free(session) and self.take(session)

    async def release(self, session: str, *, gone: bool = False) -> None:
        if self.holds(session):
            del self.paper.owners[session]
        self.mine.pop(session, None)

    async def owner(self, session: str) -> str:
        name, _ = self.paper.owners.get(session, ("", 0))
        return name if name in self.paper.there else ""


@dataclass
class MachineOnPaper:
    name: str
    ownership: OnPaper

    async def leave(self) -> None:
        self.ownership.paper.there.discard(self.name)

    async def cut_off(self) -> None:
        self.ownership.paper.there.discard(self.name)
        self.ownership.fenced()

    async def come_back(self) -> None:
        self.ownership.paper.there.add(self.name)


@asynccontextmanager
async def two_on_paper(_: Path) -> AsyncGenerator[tuple[SharingMachine, SharingMachine]]:
    paper = Paper()
    yield paper.machine("first", OnPaper), paper.machine("second", OnPaper)
