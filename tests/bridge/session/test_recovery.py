"""What a session was doing when its server died, read from its events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.bridge.session.recovery import Interrupted, find_interrupted
from handrail.bridge.store.base import Event


def past(*events: tuple[str, dict[str, Any]]) -> Interrupted:
    return find_interrupted(Event(n, 0, kind, json.dumps(data).encode()) for n, (kind, data) in enumerate(events, 1))


SAID = ("said", {"uuid": "m1", "content": "hello", "by": "me"})
HANDED = ("handed", {"uuid": "m1"})


def lifecycle(state: str) -> tuple[str, dict[str, Any]]:
    return "frame", {"type": "command_lifecycle", "command_uuid": "m1", "state": state}


def test_nothing_happened():
    assert past() == Interrupted()


def test_an_undelivered_prompt_is_queued_again():
    assert past(SAID).accepted == {"m1": SAID[1]}
    assert past(SAID).doubtful == []


@pytest.mark.parametrize(
    "begun", [lifecycle("started"), ("frame", {"type": "user", "uuid": "m1", "isReplay": True, "message": {}})]
)
def test_a_prompt_that_began_is_settled(begun: tuple[str, dict[str, Any]]):
    found = past(SAID, HANDED, begun)
    assert (found.accepted, found.doubtful) == ({}, [])


@pytest.mark.parametrize(
    "between",
    [
        (),
        (lifecycle("queued"),),
        (("frame", {"type": "user", "uuid": "m1", "message": {}}),),
        (("frame", {"type": "user", "uuid": "m2", "isReplay": True, "message": {}}),),
    ],
)
def test_a_delivered_prompt_without_confirmation_is_doubtful(between: tuple[tuple[str, dict[str, Any]], ...]):
    assert past(SAID, HANDED, *between).doubtful == ["m1"]


@pytest.mark.parametrize("kind", ["withdrawn", "doubted"])
def test_a_withdrawn_or_doubted_prompt_is_settled(kind: str):
    found = past(SAID, HANDED, (kind, {"uuid": "m1"}))
    assert (found.accepted, found.doubtful) == ({}, [])


@pytest.mark.parametrize("kind", ["answered", "closed"])
def test_a_question_is_open_until_it_is_answered_or_closed(kind: str):
    asked = ("asked", {"question": "q1"})
    assert past(asked).questions == ["q1"]
    assert past(asked, (kind, {"question": "q1"})).questions == []


def test_a_turn_is_open_until_its_result_or_its_crash():
    running = ("state", {"state": "running"})
    assert past(running).in_turn
    assert past(running, ("state", {"state": "waiting_approval"})).in_turn
    for end in (("frame", {"type": "result"}), ("crashed", {"type": "result"}), ("state", {"state": "idle"})):
        assert not past(running, end).in_turn


def test_a_turn_that_follows_at_once_is_open():
    before = (("state", {"state": "running"}), ("frame", {"type": "result"}))
    assert past(*before, ("frame", {"type": "system", "subtype": "init", "session_id": "c"})).in_turn
    assert past(*before, lifecycle("started")).in_turn
    assert not past(*before, lifecycle("completed")).in_turn


def test_messages_of_subagents_neither_begin_nor_end_a_turn():
    running = ("state", {"state": "running"})
    assert past(running, ("frame", {"type": "result", "parent_tool_use_id": "t"})).in_turn
    found = past(("frame", {"type": "system", "subtype": "init", "session_id": "x", "parent_tool_use_id": "t"}))
    assert (found.in_turn, found.conversation) == (False, "")


def test_closed_questions_are_marked_as_interrupted():
    [closed] = past(("asked", {"question": "q1"})).events()
    assert json.loads(closed.data) == {"question": "q1", "why": "the server was restarted", "interrupted": True}


def test_unknown_shapes_are_ignored():
    found = find_interrupted(
        [Event(1, 0, "frame", b"[1]"), Event(2, 0, "frame", b'{"type":7}'), Event(3, 0, "later", b"{}")]
    )
    assert found == Interrupted()
