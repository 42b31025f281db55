"""Where the events of sessions stand in the stream that all share, as far as it was seen. Pure.

The server finds a message by its number in the stream, not by that of the session: whoever reads on from an event must
know where to begin. What is remembered is a few places of each session that was read lately.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from typing import Final

from handrail.bridge.cluster.store.batch import Batch

__all__ = ["Places", "holds"]

MOST_SESSIONS: Final = 500
MOST_PLACES: Final = 64


def holds(batch: Batch) -> int:
    """The highest number that a batch answers for; an empty one, that of the event that comes next."""
    return max(batch.last, batch.start)


class Places:
    """What was seen: of a session, the number through which a message goes, and its place."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, list[tuple[int, int]]] = OrderedDict()

    def note(self, session: str, batch: Batch, place: int) -> None:
        """Remember one; of many, every other is given up."""
        seen = self._seen.setdefault(session, [])
        self._seen.move_to_end(session)
        if (pair := (holds(batch), place)) not in seen:
            insort(seen, pair)
        if len(seen) > MOST_PLACES:
            del seen[1::2]
        if len(self._seen) > MOST_SESSIONS:
            self._seen.popitem(last=False)

    def before(self, session: str, number: int) -> tuple[int, int] | None:
        """The last message known that ends below a number: through which number it goes, and its place."""
        seen = self._seen.get(session, [])
        at = bisect_left(seen, (number, 0))
        return seen[at - 1] if at else None

    def forget(self, session: str) -> None:
        """What was remembered is not so."""
        self._seen.pop(session, None)
