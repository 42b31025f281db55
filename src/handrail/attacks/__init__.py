"""Attacks a running server as a client of HTTP and WebSocket, and reports which attacks it withstood.

The rows are W01 to W48 of the threat model. Nothing is changed permanently: devices created for an attack are revoked.
Logins from this address are rate limited for a minute afterwards, because guessing links is one of the rows.
"""

from __future__ import annotations

import ssl

from msgspec import Struct

from handrail.attacks import browser, logins, requests
from handrail.attacks.probe import AttackSucceeded, Probe
from handrail.attacks.table import TABLE, Attack

__all__ = ["TABLE", "Outcome", "attacks", "run", "run_attack"]

_MODULES = (browser, logins, requests)
"""Imported because importing them fills the table."""


class Outcome(Struct, frozen=True):
    """The result of one row. `detail` says how the attack succeeded, or which part of it was not tried."""

    id: str
    title: str
    held: bool
    detail: str = ""


def attacks() -> list[Attack]:
    """All rows, ordered by number."""
    return sorted(TABLE, key=lambda row: row.id)


async def run(address: str, token: str, *, slow: bool = False, tls: ssl.SSLContext | None = None) -> list[Outcome]:
    """Run every attack in order, with a token that has every scope.

    `slow` adds the parts that take up to half a minute. `tls` verifies the server; the default is the system's trust
    store.
    """
    probe = Probe(address, token, slow=slow, tls=tls)
    try:
        return [await run_attack(row, probe) for row in attacks()]
    finally:
        await probe.revoke_devices()


async def run_attack(row: Attack, probe: Probe) -> Outcome:
    """Run one attack. A server whose answers cannot be understood has not withstood it."""
    try:
        detail = await row.attempt(probe)
    except AttackSucceeded as error:
        return Outcome(row.id, row.title, held=False, detail=str(error))
    except Exception as error:
        return Outcome(row.id, row.title, held=False, detail=f"attack failed to run: {type(error).__name__}: {error}")
    return Outcome(row.id, row.title, held=True, detail=detail or row.note)
