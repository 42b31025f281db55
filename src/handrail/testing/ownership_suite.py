"""The conformance suite of the ownership port. A failed check raises PortFault.

@pytest.mark.parametrize("check", OWNERSHIP_CHECKS, ids=lambda check: check.__name__)
async def test_ownership_passes_the_suite(check):
    await run_port_check(check, open_new)

`SHARED_OWNERSHIP_CHECKS` are for implementations that several machines share. They get two machines, which can
leave, be cut off, and reconnect.
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
    """An ownership shared with other machines."""

    def holds(self, session: str) -> bool:
        """Whether this machine certainly owns the session."""
        ...

    def epoch(self, session: str) -> int:
        """The epoch of this machine as owner, which increases with every owner; 0 for a session of another machine."""
        ...


class SharingMachine(Protocol):
    """One of two machines. The other one may claim its sessions when it is cut off."""

    @property
    def name(self) -> str:
        """The name that `owner` returns."""
        ...

    @property
    def ownership(self) -> SharedOwnership:
        """The ownership of this machine."""
        ...

    async def leave(self) -> None:
        """Leave the cluster without releasing sessions."""
        ...

    async def cut_off(self) -> None:
        """Disconnect; return when this machine and the other one have noticed."""
        ...

    async def come_back(self) -> None:
        """Reconnect; return when this machine and the other one have noticed."""
        ...


SharedOwnershipCheck = Callable[[tuple[SharingMachine, SharingMachine]], Awaitable[None]]


async def unclaimed_session_has_no_owner(ownership: Ownership) -> None:
    expect(await ownership.owner("a") == "", f"unclaimed session is owned by {await ownership.owner('a')!r}")


async def claimed_session_is_owned(ownership: Ownership) -> None:
    expect(await ownership.claim("a"), "claim of a free session was refused")
    expect(await ownership.owner("a") != "", "claimed session is not owned")
    expect(await ownership.owner("b") == "", "another session was claimed too")


async def repeated_claim_is_harmless(ownership: Ownership) -> None:
    first, second = await ownership.claim("a"), await ownership.claim("a")
    expect(first and second, "claim of an own session was refused")
    await ownership.release("a")
    expect(await ownership.owner("a") == "", "one release must undo two claims")


async def concurrent_claims_all_succeed(ownership: Ownership) -> None:
    expect(
        all(await asyncio.gather(*(ownership.claim("a") for _ in range(20)))),
        "a concurrent claim of the same machine was refused",
    )


async def released_session_is_free(ownership: Ownership) -> None:
    await ownership.claim("a")
    await ownership.release("a")
    expect(await ownership.owner("a") == "", "released session still has an owner")
    expect(await ownership.claim("a"), "released session cannot be claimed")


async def releasing_an_unowned_session_is_harmless(ownership: Ownership) -> None:
    await ownership.release("a")
    expect(await ownership.owner("a") == "", "released session still has an owner")


OWNERSHIP_CHECKS: tuple[OwnershipCheck, ...] = (
    unclaimed_session_has_no_owner,
    claimed_session_is_owned,
    repeated_claim_is_harmless,
    concurrent_claims_all_succeed,
    released_session_is_free,
    releasing_an_unowned_session_is_harmless,
)
"""All checks for any ownership."""


Two = tuple[SharingMachine, SharingMachine]


async def _both_claim(two: Two, session: str) -> list[bool]:
    return await asyncio.gather(*(one.ownership.claim(session) for one in two))


async def only_one_of_two_wins(two: Two) -> None:
    won = await _both_claim(two, "a")
    expect(sum(won) == 1, f"{sum(won)} machines own the session")
    winner, loser = two if won[0] else two[::-1]
    expect(winner.ownership.holds("a"), "the winner does not hold the session")
    expect(not loser.ownership.holds("a"), "the loser holds the session too")
    named = {await one.ownership.owner("a") for one in two}
    expect(named == {winner.name}, f"{winner.name} won, but the owner is {named}")


async def each_of_many_sessions_has_one_owner(two: Two) -> None:
    sessions = [f"s{n}" for n in range(20)]
    won = await asyncio.gather(*(_both_claim(two, session) for session in sessions))
    expect(all(sum(one) == 1 for one in won), f"{sum(map(sum, won))} claims succeeded for {len(won)} sessions")


async def session_of_another_machine_is_refused(two: Two) -> None:
    first, second = two
    await first.ownership.claim("a")
    expect(not await second.ownership.claim("a"), "two machines own the session")
    await second.ownership.release("a")
    expect(first.ownership.holds("a"), "a release by another machine removed the owner")
    expect(await second.ownership.owner("a") == first.name, "a release by another machine freed the session")


async def released_session_can_change_machines(two: Two) -> None:
    first, second = two
    await first.ownership.claim("a")
    await first.ownership.release("a")
    expect(not first.ownership.holds("a"), "the previous owner still holds the session")
    expect(await second.ownership.claim("a"), "claim of a free session was refused")
    expect(not await first.ownership.claim("a"), "the previous owner could claim it too")


async def every_owner_has_a_higher_epoch(two: Two) -> None:
    epochs: list[int] = []
    for one in (*two, two[1], *two):
        expect(await one.ownership.claim("a"), "claim of a free session was refused")
        epochs.append(one.ownership.epoch("a"))
        await one.ownership.release("a")
        expect(one.ownership.epoch("a") == 0, "a released session still has an epoch")
    expect(all(older < newer for older, newer in zip([0, *epochs], epochs, strict=False)), f"epochs {epochs}")


async def sessions_of_a_machine_that_left_are_free(two: Two) -> None:
    first, second = two
    await first.ownership.claim("a")
    await first.leave()
    expect(await second.ownership.owner("a") == "", "a machine that left is still the owner")
    expect(await second.ownership.claim("a"), "claim of a free session was refused")


async def machine_that_is_cut_off_holds_nothing(two: Two) -> None:
    first, second = two
    await first.ownership.claim("a")
    await first.cut_off()
    expect(not first.ownership.holds("a"), "a machine that is cut off still holds the session")
    expect(first.ownership.epoch("a") == 0, "a machine that is cut off still has an epoch")
    expect(await second.ownership.claim("a"), "claim of a free session was refused")


async def reconnected_machine_does_not_hold_taken_sessions(two: Two) -> None:
    first, second = two
    await first.ownership.claim("a")
    before = first.ownership.epoch("a")
    await first.cut_off()
    await second.ownership.claim("a")
    await first.come_back()
    expect(not first.ownership.holds("a"), "two machines hold the session")
    await first.ownership.release("a")
    expect(second.ownership.holds("a"), "the new owner does not hold the session")
    expect(await first.ownership.owner("a") == second.name, "a release by the previous owner freed the session")
    expect(not await first.ownership.claim("a"), "two machines own the session")
    expect(second.ownership.epoch("a") > before, "the epoch did not increase with the new owner")


async def reconnected_machine_can_claim_free_sessions(two: Two) -> None:
    first, second = two
    await first.ownership.claim("a")
    before = first.ownership.epoch("a")
    await first.cut_off()
    await first.come_back()
    expect(await first.ownership.claim("a"), "claim of a free session was refused")
    expect(first.ownership.epoch("a") > before, "the session continues under an expired epoch")
    expect(not await second.ownership.claim("a"), "two machines own the session")


SHARED_OWNERSHIP_CHECKS: tuple[SharedOwnershipCheck, ...] = (
    only_one_of_two_wins,
    each_of_many_sessions_has_one_owner,
    session_of_another_machine_is_refused,
    released_session_can_change_machines,
    every_owner_has_a_higher_epoch,
    sessions_of_a_machine_that_left_are_free,
    machine_that_is_cut_off_holds_nothing,
    reconnected_machine_does_not_hold_taken_sessions,
    reconnected_machine_can_claim_free_sessions,
)
"""All checks for an ownership shared by several machines."""
