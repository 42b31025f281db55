"""The state of one end: pending requests, legal steps, and dropped frames."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from handrail.errors import LocalProtocolError
from handrail.protocol.codec import decode, encode_cancel, encode_failure, encode_request, encode_success
from handrail.protocol.frames import BadLine, Frame, KeepAlive, Message
from handrail.protocol.peer import Answered, Asked, Counts, Ignored, Peer, Withdrawn


def test_request_is_waiting_until_answered():
    asker, asked = Peer("a"), Peer("b")
    request = asker.ask("set_model", {"model": "opus"})
    assert request == encode_request("req_1_a", "set_model", {"model": "opus"})
    assert dict(asker.waiting) == {"req_1_a": request}
    assert asked.receive(request) == Asked(request)
    assert dict(asked.open) == {"req_1_a": request}
    answer = asked.answer("req_1_a", {"model": "opus"})
    assert answer == encode_success("req_1_a", {"model": "opus"})
    assert asker.receive(answer) == Answered("req_1_a", "set_model", answer)
    assert (dict(asker.waiting), dict(asked.open)) == ({}, {})
    assert asker.counts == asked.counts == Counts()


def test_request_can_be_refused_with_reason_and_code():
    asker, asked = Peer("a"), Peer("b")
    asked.receive(asker.ask("read_file", {"path": "x"}))
    refusal = asked.refuse("req_1_a", "no such file", "not_found")
    assert refusal == encode_failure("req_1_a", "no such file", "not_found")
    assert asker.receive(refusal) == Answered("req_1_a", "read_file", refusal)


def test_both_ends_can_send_requests_at_once():
    left, right = Peer("left"), Peer("right")
    to_right, to_left = left.ask("interrupt", {}), right.ask("can_use_tool", {})
    assert (left.receive(to_left), right.receive(to_right)) == (Asked(to_left), Asked(to_right))
    assert left.receive(right.answer(to_right.id, None)) == Answered(
        "req_1_left", "interrupt", decode_ack("req_1_left")
    )
    assert dict(right.waiting) == {"req_1_right": to_left}


def decode_ack(id: str) -> Frame:
    return decode(encode_success(id, None).raw)


def test_ids_count_up_and_are_unique_among_peers():
    one, two, plain = Peer("one"), Peer("two"), Peer()
    ids = [peer.ask("interrupt", {}).id for peer in (one, one, two, plain, plain)]
    assert ids == ["req_1_one", "req_2_one", "req_1_two", "req_1", "req_2"]


def test_second_answer_is_ignored_as_late():
    peer = Peer("a")
    peer.ask("interrupt", {})
    answer = encode_success("req_1_a", None)
    assert isinstance(peer.receive(answer), Answered)
    assert peer.receive(answer) == Ignored(answer, "it answers a request that is no longer waiting")
    assert peer.counts == Counts(late_answers=1)


@pytest.mark.parametrize(
    "id",
    [
        *"req_2_a req_0_a req_1 req_1_b 1_a req_01_a req_-1_a req_²_a req_1_aa req_ _a x".split(),
        *("", "req_1_a ", f"req_{'9' * 19}_a", f"req_{'9' * 5000}_a"),
    ],
)
def test_unknown_answer_is_counted_and_dropped(id: str):
    peer = Peer("a")
    asked = peer.ask("interrupt", {})
    answer = encode_failure(id, "who are you?")
    assert peer.receive(answer) == Ignored(answer, "it answers an unknown request", odd=True)
    assert peer.counts == Counts(unknown_answers=1)
    assert dict(peer.waiting) == {"req_1_a": asked}


def test_answer_to_a_withdrawn_request_is_late():
    asker, asked = Peer("a"), Peer("b")
    asked.receive(asker.ask("side_question", {}))
    withdrawal = asker.cancel("req_1_a")
    assert withdrawal == encode_cancel("req_1_a")
    answer = asked.answer("req_1_a", None)
    assert asker.receive(answer) == Ignored(answer, "it answers a request that is no longer waiting")
    assert asker.counts == Counts(late_answers=1)


def test_answered_request_cannot_be_withdrawn():
    peer = Peer("a")
    peer.ask("interrupt", {})
    peer.receive(encode_success("req_1_a", None))
    assert (peer.cancel("req_1_a"), peer.cancel("req_7_a")) == (None, None)


def test_request_withdrawn_by_the_other_side_cannot_be_answered():
    peer = Peer("a")
    peer.receive(encode_request("r1", "can_use_tool", {}))
    assert peer.receive(encode_cancel("r1")) == Withdrawn("r1")
    with pytest.raises(LocalProtocolError, match="cannot answer r1: it is not open"):
        peer.answer("r1", {"behavior": "allow"})


def test_unknown_withdrawal_is_counted_and_dropped():
    peer = Peer("a")
    cancel = encode_cancel("r1")
    assert peer.receive(cancel) == Ignored(cancel, "it withdraws a request that is not open")
    assert peer.counts == Counts(unknown_cancels=1)


def test_duplicate_request_id_is_ignored():
    peer = Peer("a")
    first = encode_request("r1", "can_use_tool", {"input": {"command": "ls"}})
    second = encode_request("r1", "can_use_tool", {"input": {"command": "rm -rf /"}})
    assert peer.receive(first) == Asked(first)
    assert peer.receive(second) == Ignored(second, "a request with this id is open already", odd=True)
    assert (dict(peer.open), peer.counts) == ({"r1": first}, Counts(duplicate_requests=1))


def test_id_can_be_reused_after_its_answer():
    peer = Peer("a")
    first, second = encode_request("r1", "can_use_tool", {"n": 1}), encode_request("r1", "can_use_tool", {"n": 2})
    peer.receive(first)
    peer.answer("r1", None)
    assert peer.receive(second) == Asked(second)
    assert peer.answer("r1", {"n": 2}) == encode_success("r1", {"n": 2})


@pytest.mark.parametrize(
    "settle", [lambda peer: peer.answer("r1", None), lambda peer: peer.refuse("r1", "no")], ids=["answer", "refuse"]
)
def test_request_cannot_be_answered_twice(settle: Callable[[Peer], Frame]):
    peer = Peer("a")
    peer.receive(encode_request("r1", "can_use_tool", {}))
    settle(peer)
    with pytest.raises(LocalProtocolError, match="cannot answer r1: it is not open"):
        settle(peer)


@pytest.mark.parametrize(
    "frame", [Message(b"{}", "user"), KeepAlive(b'{"type":"keep_alive"}'), BadLine(b"x", "not JSON", 1)]
)
def test_other_frames_are_ignored(frame: Frame):
    peer = Peer("a")
    assert peer.receive(frame) == Ignored(frame, "it is not a control frame")
    assert peer.counts == Counts()


def test_close_returns_unanswered_requests_of_both_sides():
    peer = Peer("a")
    peer.ask("interrupt", {})
    peer.ask("set_model", {})
    peer.receive(encode_request("r1", "can_use_tool", {}))
    assert peer.close() == (["req_1_a", "req_2_a"], ["r1"])
    assert (peer.closed, dict(peer.waiting), dict(peer.open)) == (True, {}, {})
    assert peer.close() == ([], [])


def test_closed_peer_rejects_requests_and_answers():
    peer = Peer("a")
    peer.receive(encode_request("r1", "can_use_tool", {}))
    peer.close()
    with pytest.raises(LocalProtocolError, match="cannot send interrupt: the conversation has ended"):
        peer.ask("interrupt", {})
    with pytest.raises(LocalProtocolError, match="cannot answer r1: the conversation has ended"):
        peer.answer("r1", None)


def test_unencodable_request_changes_no_state():
    peer = Peer("a")
    request = encode_request("r1", "can_use_tool", {})
    peer.receive(request)
    with pytest.raises(TypeError):
        peer.ask("set_model", {"model": object()})
    with pytest.raises(TypeError):
        peer.answer("r1", {"behavior": object()})
    with pytest.raises(UnicodeEncodeError):
        peer.refuse("r1", "half a pair: \ud83e")
    assert (dict(peer.waiting), dict(peer.open)) == ({}, {"r1": request})


def test_a_repeated_request_is_answered_with_its_own_id():
    peer = Peer(takes_repeated=True)
    events = [peer.receive(encode_request("r1", subtype, {})) for subtype in ("a", "b", "c")]
    asked = [event.request for event in events if isinstance(event, Asked)]
    assert [request.subtype for request in asked] == ["a", "b", "c"]
    answers = [peer.answer(request.id, {}) for request in reversed(asked)]
    assert [json.loads(answer.raw)["response"]["request_id"] for answer in answers] == ["r1"] * 3
    assert not peer.open
