"""Attacks a running server as the web would. In: its address and a token that may do everything. Out: what held.

The rows are those of the threat model, W01 to W48. They change nothing for good: devices that they make are revoked.
For a minute afterwards nobody can log in from here, for guessing links is one of the rows.
"""

from __future__ import annotations

import ssl

from msgspec import Struct

from handrail.bridge.web_attacks import content, inputs, limits, logins, pages
from handrail.bridge.web_attacks.probe import GotThrough, Probe
from handrail.bridge.web_attacks.row import TABLE, Attack

__all__ = ["Outcome", "attacks", "run", "try_one"]

_ROWS = (content, inputs, limits, logins, pages)
"""Loaded, so that their rows are in the table."""


class Outcome(Struct, frozen=True):
    """How a row went. `told`: what got through, or what could not be seen from here."""

    id: str
    what: str
    held: bool
    told: str = ""


def attacks() -> list[Attack]:
    """All rows, in the order of their numbers."""
    return sorted(TABLE, key=lambda row: row.id)


async def run(address: str, token: str, *, patient: bool = False, tls: ssl.SSLContext | None = None) -> list[Outcome]:
    """All attacks, one after the other. `patient`: also what takes half a minute; `tls`: how the server is known."""
    probe = Probe(address, token, patient=patient, tls=tls)
    try:
        return [await try_one(row, probe) for row in attacks()]
    finally:
        await probe.tidy()


async def try_one(row: Attack, probe: Probe) -> Outcome:
    """One attack."""
    try:
        told = await row.trying(probe)
    except GotThrough as error:
        return Outcome(row.id, row.what, held=False, told=str(error))
    except Exception as error:  # a server that answers something else altogether did not hold either
        return Outcome(row.id, row.what, held=False, told=f"it could not be tried: {type(error).__name__}: {error}")
    return Outcome(row.id, row.what, held=True, told=str(told or "") or row.note)
