"""The suites of `Ownership`, on every implementation and on faulty ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from handrail.bridge.store.base import Ownership
from handrail.bridge.store.ownership import Alone
from handrail.testing import (
    OWNERSHIP_CHECKS,
    SHARED_OWNERSHIP_CHECKS,
    OwnershipCheck,
    PortFault,
    SharedOwnershipCheck,
    SharingMachine,
    run_port_check,
)
from handrail.testing import ownership_suite as suite
from tests.bridge.cluster.leases.ownership_machines import one_ownership, two_ownership_machines
from tests.bridge.store.fake_ownership import FakeOwnership, Registry, two_fakes

Opens = Callable[[Path], AbstractAsyncContextManager[Ownership]]


@asynccontextmanager
async def alone(_: Path) -> AsyncGenerator[Ownership]:
    yield Alone()


@pytest.mark.parametrize("check", OWNERSHIP_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("opens", [alone, one_ownership], ids=lambda opens: opens.__name__)
async def test_ownership_conforms(opens: Opens, check: OwnershipCheck, tmp_path: Path):
    await run_port_check(check, lambda: opens(tmp_path))


@pytest.mark.parametrize("check", SHARED_OWNERSHIP_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("opens", [two_fakes, two_ownership_machines], ids=lambda opens: opens.__name__)
async def test_shared_ownership_conforms(
    opens: Callable[[Path], AbstractAsyncContextManager[tuple[SharingMachine, SharingMachine]]],
    check: SharedOwnershipCheck,
    tmp_path: Path,
):
    await run_port_check(check, lambda: opens(tmp_path))


async def test_suite_detects_a_refused_second_claim(tmp_path: Path):
    class Forgetful(Alone):
        async def claim(self, session: str, *, new: bool = False) -> bool:
            return await super().owner(session) == "" and await super().claim(session)

    @asynccontextmanager
    async def forgetful() -> AsyncGenerator[Ownership]:
        yield Forgetful()

    with pytest.raises(PortFault, match="an own session was refused"):
        await run_port_check(suite.repeated_claim_is_harmless, forgetful)


class AlwaysFree(FakeOwnership):
    def is_free(self, session: str) -> bool:
        return True


class CheckingThenTaking(FakeOwnership):
    async def claim(self, session: str, *, new: bool = False) -> bool:
        free = self.is_free(session)
        await asyncio.sleep(0)
        return free and self.take(session)


class IgnoringFences(FakeOwnership):
    def fenced(self) -> None:
        pass

    def holds(self, session: str) -> bool:
        return session in self.mine


class ReleasingForOthers(FakeOwnership):
    async def release(self, session: str, *, gone: bool = False) -> None:
        self.mine.pop(session, None)
        self.registry.owners.pop(session, None)


class NeverFree(FakeOwnership):
    def is_free(self, session: str) -> bool:
        return session not in self.registry.owners or self.holds(session)


class NeverReleasing(FakeOwnership):
    async def release(self, session: str, *, gone: bool = False) -> None:
        self.mine.pop(session, None)


class WithoutEpochs(FakeOwnership):
    def take(self, session: str) -> bool:
        self.registry.owners[session], self.mine[session] = (self.name, 1), 1
        return True


@pytest.mark.parametrize(
    ("kind", "check", "text"),
    [
        (AlwaysFree, suite.only_one_of_two_wins, "2 machines own the session"),
        (CheckingThenTaking, suite.only_one_of_two_wins, "2 machines own the session"),
        (CheckingThenTaking, suite.each_of_many_sessions_has_one_owner, "40 claims succeeded for 20 sessions"),
        (AlwaysFree, suite.session_of_another_machine_is_refused, "two machines own the session"),
        (
            ReleasingForOthers,
            suite.session_of_another_machine_is_refused,
            "a release by another machine removed the owner",
        ),
        (NeverReleasing, suite.released_session_can_change_machines, "claim of a free session was refused"),
        (WithoutEpochs, suite.every_owner_has_a_higher_epoch, r"epochs \[1, 1"),
        (NeverFree, suite.sessions_of_a_machine_that_left_are_free, "claim of a free session was refused"),
        (IgnoringFences, suite.machine_that_is_cut_off_holds_nothing, "still holds the session"),
        (IgnoringFences, suite.reconnected_machine_does_not_hold_taken_sessions, "two machines hold the session"),
        (
            ReleasingForOthers,
            suite.reconnected_machine_does_not_hold_taken_sessions,
            "the new owner does not hold the session",
        ),
        (WithoutEpochs, suite.reconnected_machine_can_claim_free_sessions, "under an expired epoch"),
    ],
)
async def test_suite_detects_a_faulty_shared_ownership(
    kind: type[FakeOwnership], check: SharedOwnershipCheck, text: str
):
    @asynccontextmanager
    async def opens() -> AsyncGenerator[tuple[SharingMachine, SharingMachine]]:
        registry = Registry()
        yield registry.machine("first", kind), registry.machine("second", kind)

    with pytest.raises(PortFault, match=text):
        await run_port_check(check, opens)


async def test_hanging_check_is_a_fault(tmp_path: Path):
    async def hangs(_: Ownership) -> None:
        await asyncio.Event().wait()

    with pytest.raises(PortFault, match="hangs: not finished after 0.05 s"):
        await run_port_check(hangs, lambda: alone(tmp_path), patience=0.05)
