"""Three crashes in a minute are too many."""

from __future__ import annotations

from handrail.bridge.session.crashes import Crashes
from tests.bridge.stage import Clock


def test_three_in_a_minute_are_too_many_until_the_minute_is_over():
    clock = Clock()
    crashes = Crashes(clock)
    for _ in range(3):
        assert not crashes.too_many
        crashes.note()
        clock.now += 10
    assert crashes.too_many
    clock.now += 29
    assert crashes.too_many
    clock.now += 1
    assert not crashes.too_many


def test_crashes_that_are_far_apart_are_never_too_many():
    clock = Clock()
    crashes = Crashes(clock)
    for _ in range(20):
        crashes.note()
        clock.now += 30
        assert not crashes.too_many
