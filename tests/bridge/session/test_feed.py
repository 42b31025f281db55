"""The feed: each follower gets every item once and in order; slow followers are cut off."""

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


def test_follower_gets_every_item_since_it_joined():
    feed = Feed()
    one = feed.follow()
    feed.publish([b"1", b"2"])
    two = feed.follow()
    feed.publish([b"3"])
    assert taken(one) == [b"1", b"2", b"3"]
    assert taken(two) == [b"3"]
    assert not one.pending


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 12), st.integers(1, 40))))
def test_no_item_is_lost_or_duplicated_in_any_order(steps: list[tuple[int, int, int]]):
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


def test_slow_follower_is_cut_off_alone():
    feed = Feed(most_bytes=10)
    slow, quick = feed.follow(), feed.follow()
    for n in range(30):
        feed.publish([b"%02d" % n])
        assert taken(quick) == [b"%02d" % n]
    with pytest.raises(CutOff):
        slow.take()
    assert sum(map(len, feed._items)) <= 10


def test_item_larger_than_the_limit_is_delivered():
    feed = Feed(most_bytes=10)
    follower = feed.follow()
    feed.publish([b"x" * 50])
    assert taken(follower) == [b"x" * 50]


def test_nothing_is_kept_without_followers():
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


async def test_no_wakeup_is_lost():
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


async def test_cut_wakes_followers_with_the_reason():
    feed = Feed()
    follower = feed.follow()
    waiting = asyncio.create_task(follower.wait())
    await asyncio.sleep(0)
    feed.cut("the session was deleted")
    async with asyncio.timeout(10):
        await waiting
    with pytest.raises(CutOff, match="the session was deleted"):
        follower.take()


def test_items_read_by_all_are_released():
    feed = Feed()
    one, other = feed.follow(), feed.follow()
    for _ in range(40):
        feed.publish([b"x" * 10_000])
        one.take()
    assert feed._size == 400_000, "the other has read nothing yet"
    while other.pending:
        other.take()
    feed.publish([b"x"])
    assert feed._size == 1
    assert (one.take(), other.take()) == (b"x", b"x")
