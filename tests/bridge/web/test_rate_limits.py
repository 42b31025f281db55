"""Rate limits per client."""

from __future__ import annotations

import pytest

from handrail.bridge.web.rate_limits import MOST_KNOWN, Rate, network_of


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_two_a_minute_and_twelve_an_hour():
    clock = Clock()
    rate = Rate((2, 60.0), (12, 3600.0), clock=clock)
    assert [rate.take("a") for _ in range(3)] == [0, 0, 30]
    assert rate.take("b") == 0
    taken = 2
    for _ in range(59):
        clock.now += 30
        taken += rate.take("a") == 0
    assert taken <= 18
    assert rate.take("a") > 0


def test_attempt_can_be_given_back():
    rate = Rate((1, 60.0), clock=Clock())
    for _ in range(5):
        assert rate.take("a") == 0
        rate.give_back("a")
    rate.give_back("a")
    assert [rate.take("a") == 0 for _ in range(2)] == [True, False]


def test_oldest_clients_are_forgotten_first():
    clock = Clock()
    rate = Rate((1, 60.0), clock=clock)
    for number in range(MOST_KNOWN):
        clock.now += 0.001
        rate.take(str(number))
    rate.take("newest")
    assert rate.take("newest") > 0
    assert rate.take(str(MOST_KNOWN - 1)) > 0
    assert rate.take("0") == 0


@pytest.mark.parametrize(
    ("address", "counts_as"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("", ""),
    ],
)
def test_a_network_of_addresses_counts_as_one(address: str, counts_as: str):
    assert network_of(address) == counts_as
