from __future__ import annotations

import asyncio

from handrail.agent.base import Prompt
from handrail.agent.conversation.queue import PromptQueue, is_command


def texts(prompts: list[Prompt]) -> list[str]:
    return [prompt.text for prompt in prompts]


async def taken(queue: PromptQueue) -> list[str]:
    async with asyncio.timeout(5):
        return texts(await queue.next(lambda: False))


async def test_pending_prompts_share_one_turn() -> None:
    queue = PromptQueue()
    for text in "abc":
        queue.put(Prompt(text))
    assert await taken(queue) == ["a", "b", "c"]


async def test_prompts_are_ordered_by_priority() -> None:
    queue = PromptQueue()
    for text, priority in (("a", "later"), ("b", "next"), ("c", "now"), ("d", "no such word")):
        queue.put(Prompt(text, priority=priority))
    assert await taken(queue) == ["c", "b", "d", "a"]


async def test_a_command_has_its_own_turn() -> None:
    queue = PromptQueue()
    for text in ("a", " /cost", "b"):
        queue.put(Prompt(text))
    assert [await taken(queue), await taken(queue), await taken(queue)] == [["a"], [" /cost"], ["b"]]


async def test_a_prompt_without_a_query_has_its_own_turn() -> None:
    queue = PromptQueue()
    queue.put(Prompt("a", asks=False))
    queue.put(Prompt("b"))
    assert len(queue) == 1
    assert [await taken(queue), await taken(queue)] == [["a"], ["b"]]


async def test_an_internal_prompt_is_not_merged() -> None:
    queue = PromptQueue()
    queue.put(Prompt("a"))
    queue.put(Prompt("done", origin={"kind": "task-notification"}, priority="later"))
    assert [await taken(queue), await taken(queue)] == [["a"], ["done"]]


async def test_the_model_is_asked_once_about_notices_that_wait_together() -> None:
    queue = PromptQueue()
    for text in "abc":
        queue.put(Prompt(text, origin={"kind": "task-notification"}, priority="later"))
    turns = [await queue.next(lambda: False) for _ in range(3)]
    assert [(prompt.text, prompt.asks) for turn in turns for prompt in turn] == [
        ("a", False),
        ("b", False),
        ("c", True),
    ]


async def test_the_model_is_asked_about_a_notice_and_a_message_of_a_subagent() -> None:
    queue = PromptQueue()
    for kind in ("task-notification", "peer"):
        queue.put(Prompt(kind, origin={"kind": kind}, priority="later"))
    turns = [await queue.next(lambda: False) for _ in range(2)]
    assert [prompt.asks for turn in turns for prompt in turn] == [True, True]


def test_a_notice_is_folded_into_a_turn() -> None:
    queue = PromptQueue()
    queue.put(Prompt("done", origin={"kind": "task-notification"}, priority="later"))
    queue.put(Prompt("hello", origin={"kind": "peer"}, priority="later"))
    assert texts(queue.fold()) == ["done"]


def test_a_duplicate_id_is_dropped() -> None:
    queue = PromptQueue()
    assert queue.put(Prompt("a", uuid="1"))
    assert not queue.put(Prompt("b", uuid="1"))
    assert texts(queue.fold()) == ["a"]
    assert not queue.put(Prompt("c", uuid="1"))
    assert queue.put(Prompt("d"))
    assert queue.put(Prompt("d"))


def test_prompts_are_folded_into_a_turn_except_commands_and_later_ones() -> None:
    queue = PromptQueue()
    for text, priority in (("a", "next"), ("/cost", "next"), ("b", "later"), ("a", "next")):
        queue.put(Prompt(text, priority=priority))
    assert texts(queue.fold()) == ["a", "a"]
    assert queue.fold() == []
    assert len(queue) == 2


def test_a_pending_prompt_can_be_cancelled() -> None:
    queue = PromptQueue()
    queue.put(Prompt("a", uuid="1"))
    queue.put(Prompt("b", uuid="2"))
    assert queue.cancel("1")
    assert not queue.cancel("1")
    assert queue.uuids() == ["2"]
    assert queue.clear() == ["2"]
    assert len(queue) == 0


async def test_the_queue_is_empty_after_its_end() -> None:
    queue = PromptQueue()
    queue.end()
    assert await taken(queue) == []


async def test_background_work_is_awaited_after_the_end() -> None:
    queue, running = PromptQueue(), [True]
    queue.end()
    waiting = asyncio.create_task(queue.next(lambda: bool(running)))
    await asyncio.sleep(0)
    assert not waiting.done()
    running.clear()
    queue.wake()
    async with asyncio.timeout(5):
        assert await waiting == []


def test_a_block_without_text_is_empty() -> None:
    prompt = Prompt([{"type": "text", "text": None}, {"type": "image"}, {"type": "text", "text": "/cost"}])
    assert prompt.text == "\n/cost"
    assert is_command(prompt)
