"""The table of attacks. In: probes. Out: a row each: its number, what it tries, and whether the server held."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from handrail.bridge.web_attacks.probe import Probe

__all__ = ["TABLE", "Attack", "Trying", "attack"]

Trying = Callable[[Probe], Awaitable[object]]


class Attack(Struct, frozen=True):
    """One row. `note` says where only a part of it can be seen from here."""

    id: str
    what: str
    trying: Trying
    note: str = ""


TABLE: Final[list[Attack]] = []


def attack(id: str, what: str, note: str = "") -> Callable[[Trying], Trying]:
    """Put a function into the table. It raises `GotThrough` where the server did not hold."""

    def enter(trying: Trying) -> Trying:
        TABLE.append(Attack(id, what, trying, note))
        return trying

    return enter
