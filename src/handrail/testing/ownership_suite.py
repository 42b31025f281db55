"""What every ownership must do. In: how to open one. Out: nothing, or a PortFault.

@pytest.mark.parametrize("check", OWNERSHIP_CHECKS, ids=lambda check: check.__name__)
async def test_an_ownership_keeps_its_word(check):
    await run_port_check(check, open_new)

Where several machines share the sessions, `SHARED_OWNERSHIP_CHECKS` are given two of them, which can leave, be cut off
from the others, and come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from handrail.bridge.store.base import Ownership
from handrail.testing.port_check import expect

__all__ = [
    "OWNERSHIP_CHECKS",
    "SHARED_OWNERSHIP_CHECKS",
    "OwnershipCheck",
    "SharedOwnership",
    "SharedOwnershipCheck",
    "SharingMachine",
]

OwnershipCheck = Callable[[Ownership], Awaitable[None]]


class SharedOwnership(Ownership, Protocol):
    """One that others have too."""

    def holds(self, session: str) -> bool:
        """Whether it is ours, for certain."""
        ...

    def epoch(self, session: str) -> int:
        """Which owner of it we are, counted from the first; 0 where we are none."""
        ...


class SharingMachine(Protocol):
    """One of two. What it has others may take up when it is not there."""

    @property
    def name(self) -> str:
        """As `owner` tells it."""
        ...

    @property
    def ownership(self) -> SharedOwnership:
        """What it has of the sessions."""
        ...

    async def leave(self) -> None:
        """Say goodbye, and release nothing."""
        ...

    async def cut_off(self) -> None:
        """Hear and say nothing any more. Out: once this machine knows it, and the others count it out."""
        ...

    async def come_back(self) -> None:
        """Hear and speak again. Out: once this machine and the others know it."""
        ...


SharedOwnershipCheck = Callable[[tuple[SharingMachine, SharingMachine]], Awaitable[None]]


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


Two = tuple[SharingMachine, SharingMachine]


async def _both_claim(two: Two, session: str) -> list[bool]:
    return await asyncio.gather(*(one.ownership.claim(session) for one in two))


async def only_one_of_two_wins(two: Two) -> None:
    won = await _both_claim(two, "a")
    expect(sum(won) == 1, f"{sum(won)} have it")
    winner, loser = two if won[0] else two[::-1]
    expect(winner.ownership.holds("a"), "the winner does not know it")
    expect(not loser.ownership.holds("a"), "the loser believes that it has it too")
    named = {await one.ownership.owner("a") for one in two}
    expect(named == {winner.name}, f"{winner.name} won, and the owner is {named}")


async def each_of_many_sessions_has_one_owner(two: Two) -> None:
    sessions = [f"s{n}" for n in range(20)]
    won = await asyncio.gather(*(_both_claim(two, session) for session in sessions))
    expect(all(sum(one) == 1 for one in won), f"of {len(won)} sessions {sum(map(sum, won))} were given away")


async def what_another_has_is_refused(two: Two) -> None:
    first, second = two
    await first.ownership.claim("a")
    expect(not await second.ownership.claim("a"), "it was given away twice")
    await second.ownership.release("a")
    expect(first.ownership.holds("a"), "a release by another took it from its owner")
    expect(await second.ownership.owner("a") == first.name, "a release by another freed it")


async def what_one_released_the_other_can_have(two: Two) -> None:
    first, second = two
    await first.ownership.claim("a")
    await first.ownership.release("a")
    expect(not first.ownership.holds("a"), "who released it believes that it has it")
    expect(await second.ownership.claim("a"), "it is not free")
    expect(not await first.ownership.claim("a"), "who had it before got it too")


async def every_owner_has_a_higher_epoch(two: Two) -> None:
    epochs: list[int] = []
    for one in (*two, two[1], *two):
        expect(await one.ownership.claim("a"), "it is not free")
        epochs.append(one.ownership.epoch("a"))
        await one.ownership.release("a")
        expect(one.ownership.epoch("a") == 0, "one that has let it go has an epoch")
    expect(all(older < newer for older, newer in zip([0, *epochs], epochs, strict=False)), f"epochs {epochs}")


async def what_a_machine_had_that_left_is_free(two: Two) -> None:
    first, second = two
    await first.ownership.claim("a")
    await first.leave()
    expect(await second.ownership.owner("a") == "", "one that is not there is called its owner")
    expect(await second.ownership.claim("a"), "it is not free")


async def who_is_cut_off_holds_nothing(two: Two) -> None:
    first, second = two
    await first.ownership.claim("a")
    await first.cut_off()
    expect(not first.ownership.holds("a"), "who is cut off believes that it has it")
    expect(first.ownership.epoch("a") == 0, "who is cut off would write under its epoch")
    expect(await second.ownership.claim("a"), "it is not free")


async def who_comes_back_has_nothing_that_another_took(two: Two) -> None:
    first, second = two
    await first.ownership.claim("a")
    before = first.ownership.epoch("a")
    await first.cut_off()
    await second.ownership.claim("a")
    await first.come_back()
    expect(not first.ownership.holds("a"), "two have it")
    await first.ownership.release("a")
    expect(second.ownership.holds("a"), "the new owner does not know it")
    expect(await first.ownership.owner("a") == second.name, "the release of one that had it before freed it")
    expect(not await first.ownership.claim("a"), "it was given away twice")
    expect(second.ownership.epoch("a") > before, "the new owner has no higher epoch")


async def who_comes_back_can_have_what_nobody_took(two: Two) -> None:
    first, second = two
    await first.ownership.claim("a")
    before = first.ownership.epoch("a")
    await first.cut_off()
    await first.come_back()
    expect(await first.ownership.claim("a"), "what nobody has was refused")
    expect(first.ownership.epoch("a") > before, "it goes on under an epoch that was over")
    expect(not await second.ownership.claim("a"), "it was given away twice")


SHARED_OWNERSHIP_CHECKS: tuple[SharedOwnershipCheck, ...] = (
    only_one_of_two_wins,
    each_of_many_sessions_has_one_owner,
    what_another_has_is_refused,
    what_one_released_the_other_can_have,
    every_owner_has_a_higher_epoch,
    what_a_machine_had_that_left_is_free,
    who_is_cut_off_holds_nothing,
    who_comes_back_has_nothing_that_another_took,
    who_comes_back_can_have_what_nobody_took,
)
"""Every check of what several machines share."""
