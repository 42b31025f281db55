"""The table of attacks. Each row has the number that the threat model gives it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from handrail.attacks.probe import Probe

__all__ = ["TABLE", "Attack", "Attempt", "attack"]

Attempt = Callable[[Probe], Awaitable[str | None]]
"""Raises `AttackSucceeded` if the server did not defend itself. A returned text says which part was not tried."""


class Attack(Struct, frozen=True):
    """One row. `note` says which part of the attack a client cannot observe."""

    id: str
    title: str
    attempt: Attempt
    note: str = ""


TABLE: Final[list[Attack]] = []


def attack(id: str, title: str, note: str = "") -> Callable[[Attempt], Attempt]:
    """Add a function to the table."""

    def add(attempt: Attempt) -> Attempt:
        TABLE.append(Attack(id, title, attempt, note))
        return attempt

    return add
