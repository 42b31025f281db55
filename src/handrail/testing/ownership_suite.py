"""What every ownership must do. In: how to open one. Out: nothing, or a PortFault.

@pytest.mark.parametrize("check", OWNERSHIP_CHECKS, ids=lambda check: check.__name__)
async def test_an_ownership_keeps_its_word(check):
    await run_port_check(check, open_new)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from handrail.bridge.ownership.base import Ownership
from handrail.testing.port_check import expect

__all__ = ["OWNERSHIP_CHECKS", "OwnershipCheck"]

OwnershipCheck = Callable[[Ownership], Awaitable[None]]


async def nobody_has_what_nobody_claimed(ownership: Ownership) -> None:
    expect(await ownership.owner("a") == "", f"{await ownership.owner('a')!r} has it")


async def what_is_claimed_is_ours(ownership: Ownership) -> None:
    expect(await ownership.claim("a"), "it was refused, and nobody has it")
    expect(await ownership.owner("a") != "", "nobody has it")
    expect(await ownership.owner("b") == "", "another session is taken too")


async def claiming_what_is_ours_is_harmless(ownership: Ownership) -> None:
    first, second = await ownership.claim("a"), await ownership.claim("a")
    expect(first and second, "what is ours was refused to us")
    await ownership.release("a")
    expect(await ownership.owner("a") == "", "one release must do")


async def many_claims_at_once_all_tell_the_same(ownership: Ownership) -> None:
    expect(all(await asyncio.gather(*(ownership.claim("a") for _ in range(20)))), "one of our own was refused")


async def what_is_released_is_free(ownership: Ownership) -> None:
    await ownership.claim("a")
    await ownership.release("a")
    expect(await ownership.owner("a") == "", "somebody has it")
    expect(await ownership.claim("a"), "it cannot be claimed again")


async def releasing_what_is_not_ours_is_harmless(ownership: Ownership) -> None:
    await ownership.release("a")
    expect(await ownership.owner("a") == "", "somebody has it")


OWNERSHIP_CHECKS: tuple[OwnershipCheck, ...] = (
    nobody_has_what_nobody_claimed,
    what_is_claimed_is_ours,
    claiming_what_is_ours_is_harmless,
    many_claims_at_once_all_tell_the_same,
    what_is_released_is_free,
    releasing_what_is_not_ours_is_harmless,
)
"""Every check."""
