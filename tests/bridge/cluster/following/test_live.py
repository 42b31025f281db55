"""Live messages may be lost, repeated or reordered; every numbered event is published once and in order."""

from __future__ import annotations

import json
import random
from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.cluster.following import live as module
from handrail.bridge.cluster.following.live import Answer, Live, LiveSequence

Json = dict[str, Any]
WINDOW = 64


class Owner:
    """Creates live messages with numbered events and unnumbered pieces."""

    def __init__(self) -> None:
        self.seq = self.count = self.pieces = 0
        self.life = "a"
        self._lives = count()

    def publish(self, rng: random.Random) -> Live:
        items: list[Json] = []
        for _ in range(rng.randint(1, 4)):
            if rng.random() < 0.5:
                self.seq += 1
                items.append({"seq": self.seq, "time": 1, "kind": "frame", "data": {}})
            else:
                self.pieces += 1
                items.append({"kind": "live", "data": {"piece": self.pieces}})
        return self.message(*items)

    def message(self, *items: Json) -> Live:
        self.count += 1
        return Live(self.life, self.count, json.dumps(items).encode()[1:-1])

    def event(self) -> Live:
        self.seq += 1
        return self.message({"seq": self.seq, "time": 1, "kind": "frame", "data": {}})

    def start_life(self) -> Live:
        self.life, self.count = f"life {next(self._lives)}", 0
        return Live(self.life, 0)

    def answer(self) -> Answer:
        return Answer(self.life, self.count, self.seq)


class Follower:
    """Receives, asks and reads as `remote_session` does."""

    def __init__(self, owner: Owner) -> None:
        self.owner, self.sequence = owner, LiveSequence()
        self.published: list[int] = []
        self.pieces: list[int] = []
        self.asked = self.moved = 0

    def receive(self, live: Live) -> None:
        self.sequence.add(live)
        self.publish()
        if self.sequence.lost or self.sequence.missing:
            self.ask()

    def ask(self) -> None:
        self.sequence.expect_answer()
        self.asked += 1
        self.moved += self.sequence.apply_answer(self.owner.answer())
        self.read()
        self.publish()

    def read(self) -> None:
        while until := self.sequence.missing:
            page = range(self.sequence.seq + 1, min(until, self.sequence.seq + 3) + 1)
            self.published += page
            self.sequence.mark_read(page[-1])

    def publish(self) -> None:
        while (published := self.sequence.next()) is not None:
            assert json.loads(b"[%s]" % published.joined) == [_as_json(one) for one in published.items]
            self.published += [one.seq for one in published.items if one.seq]
            self.pieces += [json.loads(bytes(one.data))["piece"] for one in published.items if one.kind == "live"]


def _as_json(one: module.Item) -> Json:
    number = {"seq": one.seq, "time": 1} if one.seq else {}
    return {**number, "kind": one.kind, "data": json.loads(bytes(one.data))}


def following() -> tuple[Owner, Follower]:
    owner = Owner()
    follower = Follower(owner)
    follower.ask()
    return owner, follower


@given(st.integers(0, 2**32))
def test_messages_in_order_are_published_without_asking(seed: int):
    rng, (owner, follower) = random.Random(seed), following()
    for _ in range(40):
        follower.receive(owner.publish(rng))
    assert follower.published == list(range(1, owner.seq + 1))
    assert follower.pieces == list(range(1, owner.pieces + 1))
    assert follower.asked == 1


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.5]), st.sampled_from([0.0, 0.02]))
def test_lost_repeated_and_reordered_messages_publish_each_event_once_f28(
    seed: int, loss_rate: float, restart_rate: float
):
    rng, (owner, follower) = random.Random(seed), following()
    in_transit: list[Live] = []
    for _ in range(120):
        published = [owner.start_life()] if rng.random() < restart_rate else []
        for live in [*published, owner.publish(rng)]:
            if rng.random() >= loss_rate:
                in_transit += [live] * rng.randint(2, 5)
        while len(in_transit) > WINDOW:
            follower.receive(in_transit.pop(rng.randrange(WINDOW)))
    while in_transit:
        follower.receive(in_transit.pop(rng.randrange(min(WINDOW, len(in_transit)))))
    follower.ask()  # requests are renewed every few seconds
    assert follower.published == list(range(1, owner.seq + 1))
    assert follower.pieces == sorted(set(follower.pieces))
    assert (follower.sequence.life, follower.sequence.count) == (owner.life, owner.count)
    assert not follower.sequence.lost
    assert not follower.sequence._held


def test_repeated_message_needs_no_request():
    owner, follower = following()
    first, second = owner.event(), owner.event()
    for live in (first, first, second, second, first):
        follower.receive(live)
    assert follower.published == [1, 2]
    assert follower.asked == 1


def test_message_of_an_owner_that_does_not_answer_is_dropped():
    _, follower = following()
    follower.sequence.add(Live("a stopped machine", 7, b""))
    assert follower.sequence.lost
    follower.ask()
    assert not follower.sequence.lost


def test_early_message_is_held_back_for_the_missing_one():
    owner, follower = following()
    first, second, third = (owner.event() for _ in range(3))
    sequence = follower.sequence
    sequence.add(third)
    sequence.add(second)
    assert sequence.next() is None
    assert sequence.lost
    sequence.add(first)
    assert not sequence.lost
    follower.publish()
    assert follower.published == [1, 2, 3]
    assert not sequence.lost


def test_answer_ahead_of_us_leaves_the_gap_to_the_log():
    owner, follower = following()
    owner.event()
    late = owner.event()
    assert follower.sequence.apply_answer(owner.answer())
    assert follower.sequence.missing == 2
    follower.sequence.add(late)
    follower.sequence.add(owner.event())
    assert follower.sequence.next() is None, "the missing events come first"
    follower.read()
    follower.publish()
    assert follower.published == [1, 2, 3]


def test_answer_at_or_behind_our_position_changes_nothing():
    owner, follower = following()
    before = owner.answer()
    follower.receive(owner.event())
    assert not follower.sequence.apply_answer(owner.answer())
    assert not follower.sequence.apply_answer(before)
    follower.receive(owner.event())
    assert follower.published == [1, 2]


def test_message_of_a_new_life_needs_a_request_but_one_of_a_past_life_does_not():
    owner, follower = following()
    follower.receive(owner.event())
    old = owner.event()
    follower.sequence.add(owner.start_life())
    assert follower.sequence.lost
    follower.ask()
    assert follower.published == [1, 2]
    follower.sequence.add(old)
    assert not follower.sequence.lost
    follower.receive(owner.event())
    assert follower.published == [1, 2, 3]


def test_life_that_was_left_can_continue():
    owner, follower = following()
    follower.receive(owner.event())
    other = Answer("other", 0, 1)
    assert follower.sequence.apply_answer(other)
    follower.ask()
    follower.receive(owner.event())
    assert follower.published == [1, 2]
    assert follower.sequence.life == owner.life


def test_message_of_a_new_life_after_the_request_is_kept():
    owner, follower = following()
    sequence = follower.sequence
    sequence.expect_answer()
    answer = owner.answer()
    owner.life, owner.count = "b", 0
    sequence.add(owner.event())
    assert not sequence.apply_answer(answer)
    assert sequence.lost
    follower.ask()
    assert follower.published == [1]


def test_without_an_owner_the_log_continues_and_a_new_owner_follows():
    owner, follower = following()
    follower.receive(owner.event())
    follower.sequence.lose_owner()
    owner.event()
    follower.sequence.require(2)
    follower.read()
    owner.start_life()
    follower.sequence.add(owner.event())
    assert follower.sequence.lost
    follower.ask()
    assert follower.published == [1, 2, 3]


def test_published_events_are_left_out_of_a_message():
    owner, follower = following()
    follower.receive(owner.event())
    follower.sequence.require(2)
    follower.read()
    items = [{"seq": n, "time": 1, "kind": "frame", "data": {}} for n in (1, 2, 3)]
    follower.receive(owner.message(*items, {"kind": "live", "data": {"piece": 1}}))
    assert follower.published == [1, 2, 3]
    assert follower.pieces == [1]


def test_gap_inside_a_message_is_filled_first():
    owner, follower = following()
    owner.seq = 5
    follower.receive(owner.message(*({"seq": n, "time": 1, "kind": "frame", "data": {}} for n in (1, 4, 5))))
    assert follower.published == [1, 2, 3, 4, 5]


def test_malformed_message_is_skipped_and_its_events_are_read_from_the_log():
    owner, follower = following()
    owner.seq += 1
    owner.count += 1
    follower.sequence.add(Live(owner.life, owner.count, b'{"seq":1,'))
    with pytest.raises(msgspec.MsgspecError):
        follower.sequence.next()
    follower.receive(owner.event())
    assert follower.published == [1, 2]


def test_held_messages_are_limited(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_HELD", 10)
    owner, follower = following()
    owner.event()
    for _ in range(35):
        follower.sequence.add(owner.event())
    assert len(follower.sequence._held) <= 10
    assert follower.sequence.lost
    follower.ask()
    assert follower.published == list(range(1, 37))


def test_rewound_numbers_are_published_again():
    owner, follower = following()
    for _ in range(3):
        follower.receive(owner.event())
    owner.start_life()
    owner.seq = 1
    follower.sequence.rewind(1)
    follower.ask()
    follower.receive(owner.event())
    assert follower.published == [1, 2, 3, 2]
