"""Messages on their way: in order, none twice, and known to be doubtful where nobody knows."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.delivery import Delivery, Held, begun
from handrail.protocol import Message


class Giver:
    """Gives messages to a list; refuses while `refuses` is set, waits while `free` is not."""

    def __init__(self) -> None:
        self.given: list[Any] = []
        self.refuses = False
        self.free = asyncio.Event()
        self.free.set()
        self.delivery = Delivery(self.give, asyncio.ensure_future)

    async def give(self, uuid: str, held: Held) -> None:
        await self.free.wait()
        if self.refuses:
            raise CommandRefused("not_started", "no")
        if self.delivery.hand(uuid):
            self.given.append(held.content)

    async def rest(self) -> None:
        async with asyncio.timeout(5):
            assert self.delivery._giving is not None
            await self.delivery._giving


def message(**line: Any) -> Message:
    return Message(json.dumps(line).encode(), line["type"], "")


async def test_messages_go_in_order_and_are_looked_after_until_they_are_begun():
    giver = Giver()
    for n in range(5):
        giver.delivery.put(f"m{n}", Held(str(n)))
    await giver.rest()
    assert giver.given == ["0", "1", "2", "3", "4"]
    assert giver.delivery.waiting == []
    assert giver.delivery.open
    for n in range(5):
        giver.delivery.see(message(type="command_lifecycle", command_uuid=f"m{n}", state="started"), ())
    assert not giver.delivery.open
    assert giver.delivery.lose() == []


async def test_what_cannot_be_given_waits_and_goes_first_the_next_time():
    giver = Giver()
    giver.refuses = True
    giver.delivery.put("m1", Held("one"))
    await giver.rest()
    assert giver.delivery.waiting == ["m1"]
    giver.refuses = False
    giver.delivery.put("m2", Held("two"))
    await giver.rest()
    assert giver.given == ["one", "two"]


async def test_what_is_taken_back_while_its_turn_comes_is_not_given():
    giver = Giver()
    giver.free.clear()
    giver.delivery.put("m1", Held("one"))
    giver.delivery.put("m2", Held("two"))
    await asyncio.sleep(0)
    assert giver.delivery.take_back("m1")
    assert not giver.delivery.take_back("m1")
    giver.free.set()
    await giver.rest()
    assert giver.given == ["two"]
    assert not giver.delivery.take_back("m2")


async def test_the_end_of_the_process_makes_doubtful_what_it_had_not_begun_with():
    giver = Giver()
    for uuid in ("m1", "m2", "m3"):
        giver.delivery.put(uuid, Held(uuid))
    await giver.rest()
    giver.delivery.see(message(type="result"), pending=("m3",))
    assert giver.delivery.lose() == ["m3"]
    assert not giver.delivery.open


@pytest.mark.parametrize(
    ("line", "uuid"),
    [
        ({"type": "user", "uuid": "m1", "isReplay": True}, "m1"),
        ({"type": "user", "uuid": "m1"}, ""),
        ({"type": "command_lifecycle", "command_uuid": "m1", "state": "queued"}, ""),
        ({"type": "command_lifecycle", "command_uuid": "m1", "state": "started"}, "m1"),
        ({"type": "command_lifecycle", "command_uuid": "m1", "state": "cancelled"}, "m1"),
        ({"type": "command_lifecycle", "command_uuid": 7, "state": "started"}, ""),
        ({"type": "assistant", "uuid": "m1", "isReplay": True}, ""),
    ],
)
def test_a_line_says_that_a_message_has_begun(line: dict[str, Any], uuid: str):
    assert begun(line["type"], json.dumps(line).encode()) == uuid


async def test_what_is_urgent_goes_first_and_what_has_time_last():
    giver = Giver()
    giver.refuses = True
    for uuid, priority in (("a", "later"), ("b", None), ("c", "now"), ("d", "next"), ("e", "now")):
        giver.delivery.put(uuid, Held(uuid, priority))
    assert giver.delivery.waiting == ["c", "e", "b", "d", "a"]
