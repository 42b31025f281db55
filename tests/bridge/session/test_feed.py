"""The feed: each follower gets every item once and in order, and the streamed answer so far; slow ones are cut off."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.session.feed import MOST_CHARACTERS, CutOff, Feed, Follower, Partial

Json = dict[str, Any]
KINDS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


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


# The answer so far


def line(parent: str | None = None, **event: Any) -> bytes:
    return json.dumps({"type": "stream_event", "event": event, "parent_tool_use_id": parent, "uuid": "u"}).encode()


def start(parent: str | None = None) -> bytes:
    return line(parent, type="message_start", message={"id": "m"})


def block(index: int = 0, parent: str | None = None) -> bytes:
    return line(parent, type="content_block_start", index=index, content_block={"type": "text", "text": ""})


def delta(text: str, kind: str = "text_delta", parent: str | None = None) -> bytes:
    return line(parent, type="content_block_delta", index=0, delta={"type": kind, KINDS[kind]: text})


def told(lines: list[bytes]) -> list[tuple[str, str]]:
    """The text of deltas, by kind, in order."""
    found: list[tuple[str, str]] = []
    for raw in lines:
        event: Json = json.loads(raw)["event"]
        if event["type"] == "content_block_delta":
            kind, text = event["delta"]["type"], event["delta"][KINDS[event["delta"]["type"]]]
            if text and found and found[-1][0] == kind:
                found[-1] = (kind, found[-1][1] + text)
            elif text:
                found.append((kind, text))
    return found


@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.text(max_size=5)), max_size=30), st.integers(0, 30))
def test_a_client_that_joins_anywhere_gets_the_same_text(deltas: list[tuple[str, str]], joined: int):
    partial = Partial()
    lines = [start(), block(), *(delta(text, kind) for kind, text in deltas)]
    for raw in lines[: joined + 2]:
        partial.take(raw)
    so_far = partial.so_far()
    assert told([*so_far, *lines[joined + 2 :]]) == told(lines)


def test_a_thousand_deltas_become_one_line():
    partial = Partial()
    for raw in (start(), block(), *(delta(f"{n} ") for n in range(1000))):
        partial.take(raw)
    before = partial.so_far()
    assert len(before) == 3
    partial.take(delta("more"))
    assert told(partial.so_far()) == [("text_delta", "".join(f"{n} " for n in range(1000)) + "more")]


def test_a_long_block_is_split_to_fit_into_frames():
    partial = Partial()
    for raw in (start(), block(), delta("é" * (2 * MOST_CHARACTERS + 5))):
        partial.take(raw)
    so_far = partial.so_far()
    assert max(map(len, so_far)) < 7 * MOST_CHARACTERS
    assert told(so_far) == [("text_delta", "é" * (2 * MOST_CHARACTERS + 5))]


def test_a_persisted_block_is_not_repeated():
    partial = Partial()
    for raw in (start(), block(), delta("whole")):
        partial.take(raw)
    partial.finish_block(None)
    assert told(partial.so_far()) == []
    assert len(partial.so_far()) == 1
    partial.take(line(type="content_block_stop", index=0))
    partial.take(block(1))
    partial.take(delta("next"))
    assert told(partial.so_far()) == [("text_delta", "next")]


def test_subagents_stream_separately():
    partial = Partial()
    for raw in (start(), block(), delta("main"), start("t1"), block(0, "t1"), delta("sub", parent="t1")):
        partial.take(raw)
    partial.finish_block("t1")
    assert told(partial.so_far()) == [("text_delta", "main")]
    partial.take(line(type="message_stop"))
    assert len(partial.so_far()) == 1
    partial.end()
    assert partial.so_far() == []


def test_unknown_shapes_are_ignored():
    partial = Partial()
    for raw in (
        b"{}",
        b"[]",
        b'{"event":3}',
        b"nonsense",
        delta("no start"),
        b'{"event":{"type":"message_start"}}',
    ):
        partial.take(raw)
    partial.take(line(type="content_block_delta", index=0, delta="text"))
    partial.take(line(type="content_block_delta", index=0, delta={"type": "later_delta", "x": 1}))
    assert len(partial.so_far()) == 2
