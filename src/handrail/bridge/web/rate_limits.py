"""Rate limits: token buckets per client."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable
from typing import Final

__all__ = ["Rate", "network_of"]

MOST_KNOWN: Final = 10_000


class Rate:
    """Limits of a number per seconds, for each key. Several limits apply together."""

    def __init__(self, *limits: tuple[int, float], clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._left: dict[str, tuple[float, list[float]]] = {}

    def take(self, who: str) -> int:
        """Take a token. Returns 0, or the seconds until one is available."""
        now, left = self._clock(), self._refilled(who)
        waits = [(1 - have) * seconds / most for have, (most, seconds) in zip(left, self._limits, strict=True)]
        if max(waits) > 0:
            return math.ceil(max(waits))
        if len(self._left) >= MOST_KNOWN:
            self._forget()
        self._left[who] = (now, [have - 1 for have in left])
        return 0

    def give_back(self, who: str) -> None:
        """Return a token."""
        left = self._refilled(who)
        self._left[who] = (
            self._clock(),
            [min(have + 1, most) for have, (most, _) in zip(left, self._limits, strict=True)],
        )

    def _refilled(self, who: str) -> list[float]:
        since, left = self._left.get(who, (0.0, [float(most) for most, _ in self._limits]))
        passed = self._clock() - since if who in self._left else 0.0
        return [
            min(most, have + passed * most / seconds) for have, (most, seconds) in zip(left, self._limits, strict=True)
        ]

    def _forget(self) -> None:
        """Drop full buckets; if there are too few of them, the oldest."""
        full = [float(most) for most, _ in self._limits]
        kept = {who: entry for who, entry in self._left.items() if self._refilled(who) != full}
        newest = sorted(kept.items(), key=lambda pair: pair[1][0])[-(MOST_KNOWN // 2) :]
        self._left = dict(newest)


def network_of(address: str) -> str:
    """The key of an address. All addresses of an IPv6 /64 network count as one client."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 4:
        return address
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found) >> 64 << 64, 64)))
