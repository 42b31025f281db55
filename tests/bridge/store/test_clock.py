"""A clock that is set makes nothing look old."""

from __future__ import annotations

import time

import pytest

from handrail.bridge.store.clock import earliest_now, latest_now

HOUR, DECADE = 3600, 315_360_000


def test_both_are_the_time_of_day():
    assert abs(earliest_now() - time.time()) < 60
    assert earliest_now() <= latest_now()


@pytest.mark.parametrize("jump", [HOUR, -HOUR, DECADE, -DECADE])
def test_what_was_noted_before_or_after_the_clock_was_set_is_not_old_f23(monkeypatch: pytest.MonkeyPatch, jump: int):
    real, noted = time.time, [latest_now()]
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    noted.append(latest_now())
    assert max(earliest_now() - when for when in noted) < 60
    monkeypatch.undo()
    assert max(earliest_now() - when for when in noted) < 60
