"""The stream check finds no faults in a good stream, and reports each wrong message."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults.cluster_client import longest_silence
from tests.faults.cluster_record import Message, record_of, same_receipts


def message(epoch: int, start: int, *kinds: str, id: str = "", session: str = "s") -> Message:
    return Message(session, id, [epoch, 1, start, [[0, kind, b"{}", ""] for kind in kinds], []])


def good_stream() -> list[Message]:
    """The messages of two successive owners."""
    return [
        message(1, 1, id="a"),
        message(1, 1, "said", "frame", id="b"),
        message(2, 3, id="c"),
        message(2, 3, "frame", id="d"),
    ]


def test_good_stream_gives_events_in_order():
    record = record_of(good_stream())
    assert record.faults == []
    assert [(event.seq, event.kind) for event in record.events["s"]] == [(1, "said"), (2, "frame"), (3, "frame")]
    assert record.owners["s"] == 2


def test_receipts_without_a_session_are_skipped():
    assert record_of([message(0, 1, session="_")]).events == {}


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        (message(1, 4, "frame", id="e"), "fenced"),
        (message(3, 4, "frame", id="e"), "fenced"),
        (message(2, 3, "frame", id="e"), "in order"),
        (message(2, 5, "frame", id="e"), "in order"),
        (message(2, 4, "frame", id="d"), "in order"),
    ],
    ids=["old owner", "unannounced owner", "duplicate seq", "gap", "duplicate message"],
)
def test_wrong_message_is_reported(more: Message, rule: str):
    faults = record_of([*good_stream(), more]).faults
    assert {fault.partition(":")[0] for fault in faults} == {rule}


def test_differing_receipts_are_reported():
    def notes(*answers: Any) -> dict[str, list[dict[str, Any]]]:
        return {f"client-{n}": [{"receipt": "c", "answer": answer}] for n, answer in enumerate(answers)}

    assert same_receipts(notes({"ok": True}, {"ok": True})) == []
    assert len(same_receipts(notes({"ok": True}, {"ok": False}))) == 1


def test_longest_silence_is_measured_from_the_fault():
    assert longest_silence([1.0, 2.0, 9.0, 9.5], since=3.0, until=10.0) == 6.0
    assert longest_silence([1.0, 2.0], since=3.0, until=10.0) == 7.0
    assert longest_silence([1.0, 4.0, 5.0], since=4.5, until=5.5) == 0.5
