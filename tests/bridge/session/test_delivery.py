"""Prompts are delivered in order, once, and reported as lost if the process dies before it confirms them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.delivery import Delivery, Prompt, begun_prompt
from handrail.schema.message_view import MessageView
from handrail.schema.messages import read_message


class Giver:
    """Delivers prompts to a list; refuses while `refuses` is set, waits until `free` is set."""

    def __init__(self) -> None:
        self.given: list[Any] = []
        self.refuses = False
        self.free = asyncio.Event()
        self.free.set()
        self.delivery = Delivery(self.give, asyncio.ensure_future)

    async def give(self, uuid: str, prompt: Prompt) -> None:
        await self.free.wait()
        if self.refuses:
            raise CommandRefused("not_started", "no")
        if self.delivery.hand_over(uuid):
            self.given.append(prompt.content)

    async def rest(self) -> None:
        async with asyncio.timeout(5):
            assert self.delivery._delivering is not None
            await self.delivery._delivering


def message(**line: Any) -> MessageView:
    return read_message(line["type"], "", json.dumps(line).encode())


async def test_prompts_are_delivered_in_order_and_tracked_until_they_begin():
    giver = Giver()
    for n in range(5):
        giver.delivery.put(f"m{n}", Prompt(str(n)))
    await giver.rest()
    assert giver.given == ["0", "1", "2", "3", "4"]
    assert giver.delivery.queued == []
    assert giver.delivery.open
    for n in range(5):
        giver.delivery.observe(message(type="command_lifecycle", command_uuid=f"m{n}", state="started"), ())
    assert not giver.delivery.open
    assert giver.delivery.take_unconfirmed() == []


async def test_an_undelivered_prompt_stays_queued_and_goes_first():
    giver = Giver()
    giver.refuses = True
    giver.delivery.put("m1", Prompt("one"))
    await giver.rest()
    assert giver.delivery.queued == ["m1"]
    giver.refuses = False
    giver.delivery.put("m2", Prompt("two"))
    await giver.rest()
    assert giver.given == ["one", "two"]


async def test_a_prompt_taken_back_is_not_delivered():
    giver = Giver()
    giver.free.clear()
    giver.delivery.put("m1", Prompt("one"))
    giver.delivery.put("m2", Prompt("two"))
    await asyncio.sleep(0)
    assert giver.delivery.remove("m1")
    assert not giver.delivery.remove("m1")
    giver.free.set()
    await giver.rest()
    assert giver.given == ["two"]
    assert not giver.delivery.remove("m2")


async def test_prompts_that_did_not_begin_are_lost_with_the_process():
    giver = Giver()
    for uuid in ("m1", "m2", "m3"):
        giver.delivery.put(uuid, Prompt(uuid))
    await giver.rest()
    giver.delivery.observe(message(type="result"), pending=("m3",))
    assert giver.delivery.take_unconfirmed() == ["m3"]
    assert not giver.delivery.open


@pytest.mark.parametrize(
    ("line", "uuid"),
    [
        ({"type": "user", "uuid": "m1", "isReplay": True, "message": {}}, "m1"),
        ({"type": "user", "uuid": "m1", "message": {}}, ""),
        ({"type": "command_lifecycle", "command_uuid": "m1", "state": "queued"}, ""),
        ({"type": "command_lifecycle", "command_uuid": "m1", "state": "started"}, "m1"),
        ({"type": "command_lifecycle", "command_uuid": "m1", "state": "cancelled"}, "m1"),
        ({"type": "command_lifecycle", "command_uuid": 7, "state": "started"}, ""),
        ({"type": "assistant", "uuid": "m1", "isReplay": True}, ""),
    ],
)
def test_a_message_confirms_that_a_prompt_began(line: dict[str, Any], uuid: str):
    assert begun_prompt(message(**line)) == uuid


async def test_urgent_prompts_go_first_and_later_ones_last():
    giver = Giver()
    giver.refuses = True
    for uuid, priority in (("a", "later"), ("b", None), ("c", "now"), ("d", "next"), ("e", "now")):
        giver.delivery.put(uuid, Prompt(uuid, priority))
    assert giver.delivery.queued == ["c", "e", "b", "d", "a"]
