from __future__ import annotations

import asyncio

from handrail.agent.queue import Prompt, PromptQueue


def texts(prompts: list[Prompt]) -> list[str]:
    return [prompt.text for prompt in prompts]


async def taken(queue: PromptQueue) -> list[str]:
    async with asyncio.timeout(5):
        return texts(await queue.next(lambda: False))


async def test_what_waits_is_one_turn() -> None:
    queue = PromptQueue()
    for text in "abc":
        queue.put(Prompt(text))
    assert await taken(queue) == ["a", "b", "c"]


async def test_what_is_urgent_comes_first_and_what_can_wait_last() -> None:
    queue = PromptQueue()
    for text, priority in (("a", "later"), ("b", "next"), ("c", "now"), ("d", "no such word")):
        queue.put(Prompt(text, priority=priority))
    assert await taken(queue) == ["c", "b", "d", "a"]


async def test_a_command_has_a_turn_of_its_own() -> None:
    queue = PromptQueue()
    for text in ("a", " /cost", "b"):
        queue.put(Prompt(text))
    assert [await taken(queue), await taken(queue), await taken(queue)] == [["a"], [" /cost"], ["b"]]


async def test_what_only_is_to_be_known_has_a_turn_of_its_own() -> None:
    queue = PromptQueue()
    queue.put(Prompt("a", asks=False))
    queue.put(Prompt("b"))
    assert len(queue) == 1
    assert [await taken(queue), await taken(queue)] == [["a"], ["b"]]


async def test_a_prompt_of_the_agent_itself_is_not_merged() -> None:
    queue = PromptQueue()
    queue.put(Prompt("a"))
    queue.put(Prompt("done", origin={"kind": "task-notification"}, priority="later"))
    assert [await taken(queue), await taken(queue)] == [["a"], ["done"]]


def test_an_id_that_came_before_is_dropped_also_after_it_was_taken() -> None:
    queue = PromptQueue()
    assert queue.put(Prompt("a", uuid="1"))
    assert not queue.put(Prompt("b", uuid="1"))
    assert texts(queue.fold()) == ["a"]
    assert not queue.put(Prompt("c", uuid="1"))
    assert queue.put(Prompt("d"))
    assert queue.put(Prompt("d"))


def test_what_comes_during_a_turn_is_folded_in_but_for_commands_and_what_can_wait() -> None:
    queue = PromptQueue()
    for text, priority in (("a", "next"), ("/cost", "next"), ("b", "later"), ("a", "next")):
        queue.put(Prompt(text, priority=priority))
    assert texts(queue.fold()) == ["a", "a"]
    assert queue.fold() == []
    assert len(queue) == 2


def test_one_that_waits_can_be_taken_back() -> None:
    queue = PromptQueue()
    queue.put(Prompt("a", uuid="1"))
    queue.put(Prompt("b", uuid="2"))
    assert queue.cancel("1")
    assert not queue.cancel("1")
    assert queue.uuids() == ["2"]
    assert queue.clear() == ["2"]
    assert len(queue) == 0


async def test_nothing_comes_after_the_end() -> None:
    queue = PromptQueue()
    queue.end()
    assert await taken(queue) == []


async def test_after_the_end_background_work_is_still_waited_for() -> None:
    queue, running = PromptQueue(), [True]
    queue.end()
    waiting = asyncio.create_task(queue.next(lambda: bool(running)))
    await asyncio.sleep(0)
    assert not waiting.done()
    running.clear()
    queue.wake()
    async with asyncio.timeout(5):
        assert await waiting == []


def test_a_block_without_text_says_nothing() -> None:
    prompt = Prompt([{"type": "text", "text": None}, {"type": "image"}, {"type": "text", "text": "/cost"}])
    assert prompt.text == "\n/cost"
    assert prompt.is_command
