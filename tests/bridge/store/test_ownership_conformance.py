"""Every ownership does what every ownership must, and the suite notices one that does not."""

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
from tests.bridge.cluster.leases.on_nats import one_on_nats, two_on_nats
from tests.bridge.store.on_paper import OnPaper, Paper, two_on_paper

Opens = Callable[[Path], AbstractAsyncContextManager[Ownership]]


@asynccontextmanager
async def alone(_: Path) -> AsyncGenerator[Ownership]:
    yield Alone()


@pytest.mark.parametrize("check", OWNERSHIP_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("opens", [alone, one_on_nats], ids=lambda opens: opens.__name__)
async def test_an_ownership_keeps_its_word(opens: Opens, check: OwnershipCheck, tmp_path: Path):
    await run_port_check(check, lambda: opens(tmp_path))


@pytest.mark.parametrize("check", SHARED_OWNERSHIP_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("opens", [two_on_paper, two_on_nats], ids=lambda opens: opens.__name__)
async def test_a_shared_ownership_keeps_its_word(
    opens: Callable[[Path], AbstractAsyncContextManager[tuple[SharingMachine, SharingMachine]]],
    check: SharedOwnershipCheck,
    tmp_path: Path,
):
    await run_port_check(check, lambda: opens(tmp_path))


async def test_the_suite_notices_one_that_refuses_what_is_ours(tmp_path: Path):
    class Forgetful(Alone):
        async def claim(self, session: str, *, new: bool = False) -> bool:
            return await super().owner(session) == "" and await super().claim(session)

    @asynccontextmanager
    async def forgetful() -> AsyncGenerator[Ownership]:
        yield Forgetful()

    with pytest.raises(PortFault, match="was refused to us"):
        await run_port_check(suite.claiming_what_is_ours_is_harmless, forgetful)


class GivingAwayTwice(OnPaper):
    def is_free(self, session: str) -> bool:
        return True


class LookingBeforeItLeaps(OnPaper):
    async def claim(self, session: str, *, new: bool = False) -> bool:
        free = self.is_free(session)
        await asyncio.sleep(0)
        return free and self.take(session)


class SureOfItself(OnPaper):
    def fenced(self) -> None:
        pass

    def holds(self, session: str) -> bool:
        return session in self.mine


class Untidy(OnPaper):
    async def release(self, session: str, *, gone: bool = False) -> None:
        self.mine.pop(session, None)
        self.paper.owners.pop(session, None)


class NeverFree(OnPaper):
    def is_free(self, session: str) -> bool:
        return session not in self.paper.owners or self.holds(session)


class Clinging(OnPaper):
    async def release(self, session: str, *, gone: bool = False) -> None:
        self.mine.pop(session, None)


class WithoutEpochs(OnPaper):
    def take(self, session: str) -> bool:
        self.paper.owners[session], self.mine[session] = (self.name, 1), 1
        return True


@pytest.mark.parametrize(
    ("kind", "check", "text"),
    [
        (GivingAwayTwice, suite.only_one_of_two_wins, "2 have it"),
        (LookingBeforeItLeaps, suite.only_one_of_two_wins, "2 have it"),
        (LookingBeforeItLeaps, suite.each_of_many_sessions_has_one_owner, "of 20 sessions 40 were given away"),
        (GivingAwayTwice, suite.what_another_has_is_refused, "given away twice"),
        (Untidy, suite.what_another_has_is_refused, "a release by another took it from its owner"),
        (Clinging, suite.what_one_released_the_other_can_have, "it is not free"),
        (WithoutEpochs, suite.every_owner_has_a_higher_epoch, r"epochs \[1, 1"),
        (NeverFree, suite.what_a_machine_had_that_left_is_free, "it is not free"),
        (SureOfItself, suite.who_is_cut_off_holds_nothing, "believes that it has it"),
        (SureOfItself, suite.who_comes_back_has_nothing_that_another_took, "two have it"),
        (Untidy, suite.who_comes_back_has_nothing_that_another_took, "the new owner does not know it"),
        (WithoutEpochs, suite.who_comes_back_can_have_what_nobody_took, "under an epoch that was over"),
    ],
)
async def test_the_suite_notices_a_shared_one_with_a_fault(kind: type[OnPaper], check: SharedOwnershipCheck, text: str):
    @asynccontextmanager
    async def opens() -> AsyncGenerator[tuple[SharingMachine, SharingMachine]]:
        paper = Paper()
        yield paper.machine("first", kind), paper.machine("second", kind)

    with pytest.raises(PortFault, match=text):
        await run_port_check(check, opens)


async def test_a_check_that_hangs_is_a_fault_too(tmp_path: Path):
    async def hangs(_: Ownership) -> None:
        await asyncio.Event().wait()

    with pytest.raises(PortFault, match="hangs: nothing happened for 0.05 s"):
        await run_port_check(hangs, lambda: alone(tmp_path), patience=0.05)
