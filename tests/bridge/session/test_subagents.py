"""Which kind of subagent an id is of."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from handrail.bridge.session.subagents import MOST, Subagents
from handrail.protocol import Message


def line(type: str, **fields: Any) -> Message:
    return Message(json.dumps({"type": type, **fields}).encode(), type, fields.get("subtype"))


def test_a_task_that_begins_tells_its_kind_and_so_does_a_line_of_the_subagent():
    known = Subagents()
    known.see(line("system", subtype="task_started", task_id="a1", subagent_type="reviewer"))
    known.see(line("assistant", agent_id="a2", subagent_type="explorer", message={}))
    assert [known.kind(id) for id in ("a1", "a2", "a3", "", None)] == ["reviewer", "explorer", "", "", ""]


def test_lines_that_tell_nothing_or_cannot_be_read_change_nothing():
    known = Subagents()
    known.see(Message(b'{"subagent_type": 3, "agent_id": "a"}', "assistant", None))
    known.see(line("assistant", agent_id="", subagent_type="x"))
    known.see(line("stream_event", agent_id="a", subagent_type="x"))
    known.see(line("assistant", agent_id="a"))
    assert known.kind("a") == ""


def test_only_so_many_are_remembered_the_newest():
    known = Subagents()
    for n in range(MOST + 1):
        known.see(line("assistant", agent_id=str(n), subagent_type="x"))
    assert [known.kind(id) for id in ("0", "1", str(MOST))] == ["", "x", "x"]


async def test_a_question_that_overtakes_the_line_which_tells_who_asks_waits_for_it():
    known = Subagents()
    first, second = (asyncio.ensure_future(known.told("a1", patience=60)) for _ in range(2))
    await asyncio.sleep(0)
    known.see(line("system", subtype="task_started", task_id="a1", subagent_type="reviewer"))
    assert [await first, await second, await known.told("a1")] == ["reviewer"] * 3


async def test_what_nobody_tells_is_not_waited_for_for_ever_and_nobody_at_all_not_for_a_moment():
    known = Subagents()
    assert await known.told("a1", patience=0.001) == ""
    assert await known.told(None, patience=60) == ""
    known.see(line("assistant", agent_id="a1", subagent_type="x"))
    assert await known.told("a1") == "x"
