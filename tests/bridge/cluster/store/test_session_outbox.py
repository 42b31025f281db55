"""Unpublished events of one session: the publication state, the next batch, and the callers that wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import product

import pytest

from handrail.bridge.cluster.store.cursors import Cursor
from handrail.bridge.cluster.store.session_outbox import (
    ACTIVE,
    MOST_QUEUED,
    TRANSITIONS,
    IllegalTransition,
    Publication,
    SessionOutbox,
)
from handrail.bridge.cluster.store.session_stream import Batch
from handrail.bridge.errors import Fenced
from handrail.bridge.store.base import Bounds, Event, NewEvent, Receipt

UNCLAIMED, UNVERIFIED, SUSPECT, PUBLISHING, GIVEN_UP, FENCED = Publication
CURSOR = Cursor(seq=4, place=9, epoch=2)


def fenced(box: SessionOutbox) -> None:
    box.end(fenced=True)


def given_up(box: SessionOutbox) -> None:
    box.end(fenced=False)


def suspected(box: SessionOutbox) -> None:
    box.suspect(Bounds(1, 4))


def verified(box: SessionOutbox) -> None:
    box.verified(CURSOR)


def adopted(box: SessionOutbox) -> None:
    box.adopt(CURSOR, Bounds(1, 4), 0)


def in_state(state: Publication) -> SessionOutbox:
    """A session that reached a state through its public operations."""
    box = SessionOutbox("s", None if state is UNCLAIMED else CURSOR)
    reach: dict[Publication, Callable[[SessionOutbox], None]] = {
        SUSPECT: suspected,
        PUBLISHING: verified,
        GIVEN_UP: given_up,
        FENCED: fenced,
    }
    if state in reach:
        reach[state](box)
    assert box.state is state
    return box


EVENTS: list[tuple[Callable[[SessionOutbox], object], dict[Publication, Publication]]] = [
    (
        SessionOutbox.halt,
        {
            UNCLAIMED: UNCLAIMED,
            UNVERIFIED: UNCLAIMED,
            SUSPECT: UNCLAIMED,
            PUBLISHING: UNCLAIMED,
            GIVEN_UP: UNCLAIMED,
            FENCED: FENCED,
        },
    ),
    (suspected, {UNVERIFIED: SUSPECT, SUSPECT: SUSPECT, PUBLISHING: SUSPECT}),
    (adopted, dict.fromkeys(Publication, PUBLISHING)),
    (verified, {UNVERIFIED: PUBLISHING, SUSPECT: PUBLISHING, PUBLISHING: PUBLISHING}),
    (
        SessionOutbox.resume,
        {
            UNCLAIMED: UNCLAIMED,
            UNVERIFIED: UNVERIFIED,
            SUSPECT: SUSPECT,
            PUBLISHING: PUBLISHING,
            GIVEN_UP: UNVERIFIED,
            FENCED: FENCED,
        },
    ),
    (given_up, {state: GIVEN_UP for state in Publication if state is not FENCED}),
    (fenced, dict.fromkeys(Publication, FENCED)),
]
"""Every operation with the state it leads to, by the state before; a missing state is an illegal transition."""


@pytest.mark.parametrize("before", Publication, ids=lambda state: state.name)
@pytest.mark.parametrize(("operation", "expected"), EVENTS, ids=lambda one: getattr(one, "__name__", ""))
def test_operation_leads_to_the_state_in_the_table(
    operation: Callable[[SessionOutbox], object], expected: dict[Publication, Publication], before: Publication
):
    box = in_state(before)
    if before in expected:
        operation(box)
        assert box.state is expected[before]
        assert before is box.state or TRANSITIONS[before, box.state]
    else:
        with pytest.raises(IllegalTransition) as raised:
            operation(box)
        assert f"from {before.value!r} to {raised.value.new.value!r}" in str(raised.value)
        assert box.state is before


def test_illegal_transitions_are_exactly_these():
    illegal = {(old, new) for old, new in product(Publication, repeat=2) if old is not new} - TRANSITIONS.keys()
    assert illegal == {
        (UNCLAIMED, UNVERIFIED),
        (UNCLAIMED, SUSPECT),
        (SUSPECT, UNVERIFIED),
        (PUBLISHING, UNVERIFIED),
        (GIVEN_UP, SUSPECT),
        (FENCED, UNCLAIMED),
        (FENCED, UNVERIFIED),
        (FENCED, SUSPECT),
        (FENCED, GIVEN_UP),
    }


@pytest.mark.parametrize("state", Publication, ids=lambda state: state.name)
def test_only_active_states_have_something_to_send(state: Publication):
    box = in_state(state)
    assert box.is_due == (state is SUSPECT)  # without pending events only a suspected loss needs NATS
    box.last += 1
    assert box.is_active == (state in ACTIVE)
    assert box.is_due == box.is_active
    assert box.behind == (0 if state in (GIVEN_UP, FENCED) else 1)


def test_resuming_needs_an_epoch():
    box = SessionOutbox("s")
    box.end(fenced=False)
    assert not box.resume()
    assert box.state is GIVEN_UP


def test_confirmed_number_outlives_publication_but_not_a_suspected_loss():
    box = in_state(UNVERIFIED)
    assert box.confirmed is None
    box.verified(CURSOR)
    assert box.confirmed == 4
    box.end(fenced=False)
    assert box.confirmed == 4
    box.resume()
    assert box.confirmed is None
    box.verified(CURSOR)
    box.suspect(Bounds(1, 4))
    assert box.confirmed is None


def test_adoption_ends_a_suspected_loss():
    box = in_state(SUSPECT)
    box.halt()
    box.adopt(CURSOR, Bounds(1, 4), 0)
    assert not box.is_due


def noted(box: SessionOutbox, start: int, *datas: bytes, receipt: Receipt | None = None) -> None:
    events = [NewEvent("said", data) for data in datas]
    added = [Event(seq, 1, "said", data) for seq, data in enumerate(datas, start)]
    box.note(added, events, receipt)


def next_batch(box: SessionOutbox) -> Batch:
    batch = box.next_from_memory()
    assert batch is not None
    return batch


def test_queued_events_form_one_batch_with_their_receipts():
    box = SessionOutbox("s", CURSOR)
    noted(box, 5, b"1", receipt=Receipt("a", b""))
    noted(box, 6, b"2", b"3", receipt=Receipt("b", b""))
    batch = next_batch(box)
    assert (batch.epoch, batch.start, batch.last) == (2, 5, 7)
    assert [one.command for one in batch.receipts] == ["a", "b"]
    box.sending = batch
    noted(box, 8, b"4")
    assert box.behind == 4
    box.acknowledge(batch, 10)
    assert box.cursor == Cursor(seq=7, place=10, epoch=2)
    following = next_batch(box)
    assert (following.start, following.last, following.receipts) == (8, 8, ())


def test_events_after_a_gap_are_left_to_the_store():
    box = SessionOutbox("s", Cursor(seq=4, epoch=2))
    noted(box, 7, b"5 and 6 are only in the store")
    assert box.next_from_memory() is None


def test_events_above_the_memory_limit_are_left_to_the_store():
    box = SessionOutbox("s", Cursor(epoch=1))
    noted(box, 1, b"1")
    noted(box, 2, b"x" * MOST_QUEUED)
    assert box.next_from_memory() is None
    assert box.size == MOST_QUEUED + 1
    assert box.is_due


def test_unclaimed_session_is_behind_but_not_due():
    box = SessionOutbox("s")
    noted(box, 1, b"1")
    assert not box.is_due
    assert box.behind == 1


async def test_callers_are_released_in_order_of_their_events():
    box = SessionOutbox("s", Cursor(epoch=1))
    noted(box, 1, b"1", b"2")
    waiting = [asyncio.create_task(box.until(through)) for through in (3, 1, 2)]
    await asyncio.sleep(0)
    box.acknowledge(next_batch(box), 1)
    assert await waiting[1]
    assert await waiting[2]
    assert not waiting[0].done()
    assert box.end(fenced=True) == 0
    with pytest.raises(Fenced):
        await waiting[0]
    assert await box.until(2)


async def test_cancelled_caller_does_no_harm():
    box = SessionOutbox("s", Cursor(epoch=1))
    waiting = asyncio.create_task(box.until(1))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    box.end(fenced=False)
    assert not await box.until(1)


async def test_suspected_loss_holds_back_confirmed_events_too():
    box = in_state(SUSPECT)
    waiting = asyncio.create_task(box.until(4))
    await asyncio.sleep(0)
    assert not waiting.done()
    box.verified(CURSOR)
    assert await waiting
