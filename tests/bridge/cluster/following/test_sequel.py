"""What comes next: whatever becomes of live messages, every event with a number is told once and in order."""

from __future__ import annotations

import json
import random
from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.bridge.cluster.following import sequel as rules
from handrail.bridge.cluster.following.live import Answer, Live
from handrail.bridge.cluster.following.sequel import Sequel

Json = dict[str, Any]
WINDOW = 64


class Owner:
    """Tells what happens: events with a number and pieces without one."""

    def __init__(self) -> None:
        self.seq = self.count = self.pieces = 0
        self.life = "a"
        self._lives = count()

    def tell(self, chance: random.Random) -> Live:
        items: list[Json] = []
        for _ in range(chance.randint(1, 4)):
            if chance.random() < 0.5:
                self.seq += 1
                items.append({"seq": self.seq, "time": 1, "kind": "frame", "data": {}})
            else:
                self.pieces += 1
                items.append({"kind": "live", "data": {"piece": self.pieces}})
        return self.say(*items)

    def say(self, *items: Json) -> Live:
        self.count += 1
        return Live(self.life, self.count, json.dumps(items).encode()[1:-1])

    def event(self) -> Live:
        self.seq += 1
        return self.say({"seq": self.seq, "time": 1, "kind": "frame", "data": {}})

    def begin_anew(self) -> Live:
        self.life, self.count = f"life {next(self._lives)}", 0
        return Live(self.life, 0)

    def answer(self) -> Answer:
        return Answer(self.life, self.count, self.seq)


class Follower:
    """Hears, asks and reads as `remote_session` does."""

    def __init__(self, owner: Owner) -> None:
        self.owner, self.sequel = owner, Sequel()
        self.told: list[int] = []
        self.pieces: list[int] = []
        self.asked = self.moved = 0

    def hear(self, live: Live) -> None:
        self.sequel.hear(live)
        self.tell()
        if self.sequel.lost or self.sequel.missing:
            self.ask()

    def ask(self) -> None:
        self.sequel.asking()
        self.asked += 1
        self.moved += self.sequel.answered(self.owner.answer())
        self.read()
        self.tell()

    def read(self) -> None:
        while until := self.sequel.missing:
            page = range(self.sequel.seq + 1, min(until, self.sequel.seq + 3) + 1)
            self.told += page
            self.sequel.read(page[-1])

    def tell(self) -> None:
        while (told := self.sequel.next()) is not None:
            assert json.loads(b"[%s]" % told.joined) == [_as_json(one) for one in told.items]
            self.told += [one.seq for one in told.items if one.seq]
            self.pieces += [json.loads(bytes(one.data))["piece"] for one in told.items if one.kind == "live"]


def _as_json(one: rules.Item) -> Json:
    number = {"seq": one.seq, "time": 1} if one.seq else {}
    return {**number, "kind": one.kind, "data": json.loads(bytes(one.data))}


def following() -> tuple[Owner, Follower]:
    owner = Owner()
    follower = Follower(owner)
    follower.ask()
    return owner, follower


@given(st.integers(0, 2**32))
def test_what_comes_as_it_was_told_is_told_without_asking(seed: int):
    chance, (owner, follower) = random.Random(seed), following()
    for _ in range(40):
        follower.hear(owner.tell(chance))
    assert follower.told == list(range(1, owner.seq + 1))
    assert follower.pieces == list(range(1, owner.pieces + 1))
    assert follower.asked == 1


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.5]), st.sampled_from([0.0, 0.02]))
def test_doubled_and_reordered_and_lost_messages_give_each_event_once_and_in_order_f28(
    seed: int, losing: float, breaking: float
):
    chance, (owner, follower) = random.Random(seed), following()
    on_the_way: list[Live] = []
    for _ in range(120):
        told = [owner.begin_anew()] if chance.random() < breaking else []
        for live in [*told, owner.tell(chance)]:
            if chance.random() >= losing:
                on_the_way += [live] * chance.randint(2, 5)
        while len(on_the_way) > WINDOW:
            follower.hear(on_the_way.pop(chance.randrange(WINDOW)))
    while on_the_way:
        follower.hear(on_the_way.pop(chance.randrange(min(WINDOW, len(on_the_way)))))
    follower.ask()  # as it does every few seconds
    assert follower.told == list(range(1, owner.seq + 1))
    assert follower.pieces == sorted(set(follower.pieces))
    assert (follower.sequel.life, follower.sequel.count) == (owner.life, owner.count)
    assert not follower.sequel.lost
    assert not follower.sequel._held


def test_what_was_heard_before_is_no_reason_to_ask():
    owner, follower = following()
    first, second = owner.event(), owner.event()
    for live in (first, first, second, second, first):
        follower.hear(live)
    assert follower.told == [1, 2]
    assert follower.asked == 1


def test_what_was_heard_of_nobody_who_answers_is_forgotten():
    _, follower = following()
    follower.sequel.hear(Live("a machine that has gone", 7, b""))
    assert follower.sequel.lost
    follower.ask()
    assert not follower.sequel.lost


def test_what_comes_too_early_waits_for_what_was_told_before():
    owner, follower = following()
    first, second, third = (owner.event() for _ in range(3))
    sequel = follower.sequel
    sequel.hear(third)
    sequel.hear(second)
    assert sequel.next() is None
    assert sequel.lost
    sequel.hear(first)
    assert not sequel.lost
    follower.tell()
    assert follower.told == [1, 2, 3]
    assert not sequel.lost


def test_an_answer_from_further_on_leaves_the_rest_to_the_record():
    owner, follower = following()
    owner.event()
    late = owner.event()
    assert follower.sequel.answered(owner.answer())
    assert follower.sequel.missing == 2
    follower.sequel.hear(late)
    follower.sequel.hear(owner.event())
    assert follower.sequel.next() is None, "it comes after what is missing"
    follower.read()
    follower.tell()
    assert follower.told == [1, 2, 3]


def test_an_answer_from_where_one_is_or_was_changes_nothing():
    owner, follower = following()
    before = owner.answer()
    follower.hear(owner.event())
    assert not follower.sequel.answered(owner.answer())
    assert not follower.sequel.answered(before)
    follower.hear(owner.event())
    assert follower.told == [1, 2]


def test_a_message_of_another_life_is_a_reason_to_ask_and_one_of_a_past_life_is_not():
    owner, follower = following()
    follower.hear(owner.event())
    old = owner.event()
    follower.sequel.hear(owner.begin_anew())
    assert follower.sequel.lost
    follower.ask()
    assert follower.told == [1, 2]
    follower.sequel.hear(old)
    assert not follower.sequel.lost
    follower.hear(owner.event())
    assert follower.told == [1, 2, 3]


def test_an_owner_that_was_thought_to_be_gone_may_go_on():
    owner, follower = following()
    follower.hear(owner.event())
    other = Answer("other", 0, 1)
    assert follower.sequel.answered(other)
    follower.ask()
    follower.hear(owner.event())
    assert follower.told == [1, 2]
    assert follower.sequel.life == owner.life


def test_what_was_heard_of_a_new_life_after_asking_is_not_forgotten():
    owner, follower = following()
    sequel = follower.sequel
    sequel.asking()
    answer = owner.answer()
    owner.life, owner.count = "b", 0
    sequel.hear(owner.event())
    assert not sequel.answered(answer)
    assert sequel.lost
    follower.ask()
    assert follower.told == [1]


def test_when_nobody_tells_anything_the_record_goes_on_and_a_new_owner_from_there():
    owner, follower = following()
    follower.hear(owner.event())
    follower.sequel.gone()
    owner.event()
    follower.sequel.reach(2)
    follower.read()
    owner.begin_anew()
    follower.sequel.hear(owner.event())
    assert follower.sequel.lost
    follower.ask()
    assert follower.told == [1, 2, 3]


def test_events_that_were_told_before_are_left_out_of_a_message():
    owner, follower = following()
    follower.hear(owner.event())
    follower.sequel.reach(2)
    follower.read()
    items = [{"seq": n, "time": 1, "kind": "frame", "data": {}} for n in (1, 2, 3)]
    follower.hear(owner.say(*items, {"kind": "live", "data": {"piece": 1}}))
    assert follower.told == [1, 2, 3]
    assert follower.pieces == [1]


def test_a_hole_inside_a_message_is_filled_before_the_rest_is_told():
    owner, follower = following()
    owner.seq = 5
    follower.hear(owner.say(*({"seq": n, "time": 1, "kind": "frame", "data": {}} for n in (1, 4, 5))))
    assert follower.told == [1, 2, 3, 4, 5]


def test_a_message_that_cannot_be_read_is_skipped_and_its_events_come_from_the_record():
    owner, follower = following()
    owner.seq += 1
    owner.count += 1
    follower.sequel.hear(Live(owner.life, owner.count, b'{"seq":1,'))
    with pytest.raises(msgspec.MsgspecError):
        follower.sequel.next()
    follower.hear(owner.event())
    assert follower.told == [1, 2]


def test_what_waits_has_an_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rules, "MOST_HELD", 10)
    owner, follower = following()
    owner.event()
    for _ in range(35):
        follower.sequel.hear(owner.event())
    assert len(follower.sequel._held) <= 10
    assert follower.sequel.lost
    follower.ask()
    assert follower.told == list(range(1, 37))


def test_after_going_back_the_numbers_are_told_again():
    owner, follower = following()
    for _ in range(3):
        follower.hear(owner.event())
    owner.begin_anew()
    owner.seq = 1
    follower.sequel.go_back(1)
    follower.ask()
    follower.hear(owner.event())
    assert follower.told == [1, 2, 3, 2]
