"""Setting the system clock makes nothing look old."""

from __future__ import annotations

import time

import pytest

from handrail.bridge.store.clock import earliest_now, latest_now

HOUR, DECADE = 3600, 315_360_000


def test_both_estimates_are_the_time_of_day():
    assert abs(earliest_now() - time.time()) < 60
    assert earliest_now() <= latest_now()


@pytest.mark.parametrize("jump", [HOUR, -HOUR, DECADE, -DECADE])
def test_timestamps_around_a_clock_change_are_not_old_f23(monkeypatch: pytest.MonkeyPatch, jump: int):
    real, stamps = time.time, [latest_now()]
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    stamps.append(latest_now())
    assert max(earliest_now() - stamp for stamp in stamps) < 60
    monkeypatch.undo()
    assert max(earliest_now() - stamp for stamp in stamps) < 60
