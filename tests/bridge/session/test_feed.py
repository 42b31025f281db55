"""What followers are told: everything once, in order; who is too slow is cut off; nothing is kept for nobody."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.session.feed import CutOff, Feed, Follower


def taken(follower: Follower, most_bytes: int = 1000) -> list[bytes]:
    found: list[bytes] = []
    while follower.pending:
        found += follower.take(most_bytes).split(b",")
    return found


def test_each_follower_has_everything_since_it_came_once():
    feed = Feed()
    one = feed.follow()
    feed.publish([b"1", b"2"])
    two = feed.follow()
    feed.publish([b"3"])
    assert taken(one) == [b"1", b"2", b"3"]
    assert taken(two) == [b"3"]
    assert not one.pending


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 12), st.integers(1, 40))))
def test_whatever_the_order_of_publishing_and_taking_nothing_is_lost_or_doubled(steps: list[tuple[int, int, int]]):
    feed, n = Feed(), 0
    followers = [feed.follow() for _ in range(3)]
    had: list[list[bytes]] = [[], [], []]
    for who, count, most_bytes in steps:
        if who == 3:
            feed.publish([b"%d" % (n := n + 1) for _ in range(count)])
        elif followers[who].pending:
            had[who] += followers[who].take(most_bytes).split(b",")
    for who, follower in enumerate(followers):
        had[who] += taken(follower)
    assert had == [[b"%d" % number for number in range(1, n + 1)]] * 3


def test_a_slow_follower_is_cut_off_and_the_others_are_not():
    feed = Feed(most_bytes=10)
    slow, quick = feed.follow(), feed.follow()
    for n in range(30):
        feed.publish([b"%02d" % n])
        assert taken(quick) == [b"%02d" % n]
    with pytest.raises(CutOff):
        slow.take()
    assert sum(map(len, feed._items)) <= 10


def test_one_item_that_is_larger_than_all_room_is_told_all_the_same():
    feed = Feed(most_bytes=10)
    follower = feed.follow()
    feed.publish([b"x" * 50])
    assert taken(follower) == [b"x" * 50]


def test_nothing_is_kept_when_nobody_follows():
    feed = Feed()
    feed.publish([b"x" * 1000])
    assert not feed._items
    follower = feed.follow()
    feed.publish([b"x" * 1000])
    follower.take()
    follower.close()
    assert not feed._items
    assert feed._joined == (0, 0, b"")
    later = feed.follow()
    feed.publish([b"y"])
    assert taken(later) == [b"y"]


async def test_a_follower_wakes_for_each_item_and_no_wake_is_lost():
    feed, had = Feed(), list[bytes]()
    follower = feed.follow()

    async def read() -> None:
        while len(had) < 100:
            await follower.wait()
            had.extend(taken(follower))

    reading = asyncio.create_task(read())
    for n in range(100):
        feed.publish([b"%d" % n])
        if n % 3:
            await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await reading
    assert had == [b"%d" % n for n in range(100)]


async def test_whoever_is_cut_off_on_purpose_wakes_and_is_told_why():
    feed = Feed()
    follower = feed.follow()
    waiting = asyncio.create_task(follower.wait())
    await asyncio.sleep(0)
    feed.cut("the session was deleted")
    async with asyncio.timeout(10):
        await waiting
    with pytest.raises(CutOff, match="the session was deleted"):
        follower.take()


def test_what_everybody_has_had_is_not_kept():
    feed = Feed()
    one, other = feed.follow(), feed.follow()
    for _ in range(40):
        feed.publish([b"x" * 10_000])
        one.take()
    assert feed._size == 400_000, "the other has had nothing of it"
    while other.pending:
        other.take()
    feed.publish([b"x"])
    assert feed._size == 1
    assert (one.take(), other.take()) == (b"x", b"x")
