"""CLIs that say nothing in the middle of a turn. In: the sessions that run. Out: those to tell of, once each.

Nothing is ended for it: a tool may take its time. Whoever looks on is told, and may interrupt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from handrail.bridge.session.host import SessionHost

__all__ = ["SILENT_AFTER", "Silence"]

SILENT_AFTER: Final = 120.0
_AT_WORK: Final = frozenset({"running", "compacting"})
"""Where something is expected of the CLI; one that waits for a human may be silent."""


class Silence:
    """Whom was told of, by when the session was last heard."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._told: dict[str, float] = {}

    def noticed(self, hosts: Iterable[SessionHost]) -> list[SessionHost]:
        """Those that have been silent for too long, and of which nobody knows yet."""
        now = self._clock()
        silent = [host for host in hosts if host.state() in _AT_WORK and now - host.used >= SILENT_AFTER]
        new = [host for host in silent if self._told.get(host.record.id) != host.used]
        self._told = {host.record.id: host.used for host in silent}
        return new
