"""Ownership on one machine does what every ownership must, and the suite notices one that does not."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from handrail.bridge.ownership.alone import Alone
from handrail.bridge.ownership.base import Ownership
from handrail.testing import OWNERSHIP_CHECKS, OwnershipCheck, PortFault, run_port_check
from handrail.testing import ownership_suite as suite


@asynccontextmanager
async def alone() -> AsyncGenerator[Ownership]:
    yield Alone()


@pytest.mark.parametrize("check", OWNERSHIP_CHECKS, ids=lambda check: check.__name__)
async def test_an_ownership_keeps_its_word(check: OwnershipCheck):
    await run_port_check(check, alone)


async def test_the_suite_notices_one_that_refuses_what_is_ours():
    class Forgetful(Alone):
        async def claim(self, session: str) -> bool:
            return await super().owner(session) == "" and await super().claim(session)

    @asynccontextmanager
    async def forgetful() -> AsyncGenerator[Ownership]:
        yield Forgetful()

    with pytest.raises(PortFault, match="was refused to us"):
        await run_port_check(suite.claiming_what_is_ours_is_harmless, forgetful)


async def test_a_check_that_hangs_is_a_fault_too():
    async def hangs(_: Ownership) -> None:
        import asyncio

        await asyncio.Event().wait()

    with pytest.raises(PortFault, match="hangs: nothing happened for 0.05 s"):
        await run_port_check(hangs, alone, patience=0.05)
