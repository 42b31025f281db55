"""How our events of a session stand to those on NATS. In: what we know, what is there. Out: one word. Pure."""

from __future__ import annotations

from enum import Enum

from handrail.bridge.cluster.store.cursors import Cursor
from handrail.bridge.cluster.store.session_stream import Newest

__all__ = ["Standing", "standing"]


class Standing(Enum):
    """What may be done with the events that only we have.

    OURS         nobody has written since we did: they follow what is there
    ROLLED_BACK  the same, but NATS has lost some that it had: they are to be published again
    FENCED       somebody else has gone on without them: they do not count
    """

    OURS = "ours"
    ROLLED_BACK = "rolled back"
    FENCED = "fenced"


def standing(cursor: Cursor, newest: Newest | None) -> Standing:
    """An epoch is one owner's alone: what was written under ours was written by us.

    A message of an owner before us that is the newest one says that NATS has lost how we began; if it brings events
    that we do not know, that owner went on, and we cannot.
    """
    if newest is None:
        return Standing.ROLLED_BACK if cursor.place else Standing.OURS
    epoch, last = newest.batch.epoch, newest.batch.last
    ours = epoch in (cursor.epoch, cursor.claiming)
    if epoch > max(cursor.epoch, cursor.claiming) or (not ours and last > cursor.seq):
        return Standing.FENCED
    return Standing.ROLLED_BACK if last < cursor.seq or not ours else Standing.OURS
