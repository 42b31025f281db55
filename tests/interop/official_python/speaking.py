"""Turns: asked, streamed, stopped, limited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from claude_agent_sdk import AssistantMessage, ResultMessage, StreamEvent, ThinkingBlock, query
from stage import Said, Stage, allow, answer, equal, lines, scenario, turn, user_line

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@scenario
async def query_(stage: Stage) -> None:
    said = Said([message async for message in query(prompt="hi", options=stage.options())])
    equal(said.text, "Hello.")
    result = said.result
    equal((result.subtype, result.is_error, result.result, result.num_turns), ("success", False, "Hello.", 1))
    equal(result.session_id, said.init["session_id"])
    equal(said.init["cwd"], str(stage.project))
    assert result.total_cost_usd > 0
    assert result.usage["output_tokens"] > 0
    assert result.model_usage
    assert result.uuid


@scenario
async def multi_turn(stage: Stage) -> None:
    async with stage.client() as client:
        first = await turn(client, "the first")
        second = await turn(client, "the next")
    equal((first.result.result, second.result.result), ("one", "two"))
    equal(first.result.session_id, second.result.session_id)
    assert second.result.total_cost_usd > first.result.total_cost_usd


@scenario
async def streaming_input(stage: Stage) -> None:
    answered = asyncio.Event()

    async def prompts() -> AsyncIterator[dict[str, Any]]:
        yield user_line("the first")
        await answered.wait()
        yield user_line([{"type": "text", "text": "the second"}])

    results: list[str | None] = []
    async for message in query(prompt=prompts(), options=stage.options()):
        if isinstance(message, ResultMessage):
            results.append(message.result)
            answered.set()
    equal(results, ["one", "two"])


@scenario
async def image_input(stage: Stage) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    async with stage.client() as client:
        await client.query(lines(user_line([{"type": "text", "text": "what is this"}, picture])))
        equal((await answer(client)).text, "a pixel")


@scenario
async def partial_messages(stage: Stage) -> None:
    said = await stage.ask("go", include_partial_messages=True)
    events = [event.event for event in said.of(StreamEvent)]
    kinds = [event["type"] for event in events]
    equal((kinds[0], kinds[-1]), ("message_start", "message_stop"))
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    equal("".join(delta.get("text", "") for delta in deltas), "red green blue")
    equal("".join(delta.get("thinking", "") for delta in deltas), "Let me see.")
    blocks = [block for message in said.of(AssistantMessage) for block in message.content]
    equal([block.thinking for block in blocks if isinstance(block, ThinkingBlock)], ["Let me see."])


@scenario
async def interrupt(stage: Stage) -> None:
    async with stage.client(include_partial_messages=True) as client:
        await client.query("go")
        said = Said()
        async for message in client.receive_response():
            said.append(message)
            if isinstance(message, StreamEvent) and message.event["type"] == "content_block_stop":
                await client.interrupt()
        equal(said.result.subtype, "error_during_execution")
        equal((await turn(client, "and now?")).text, "still here")


@scenario
async def max_turns(stage: Stage) -> None:
    said = await stage.ask("go", max_turns=2, can_use_tool=allow)
    equal((said.result.subtype, said.result.is_error), ("error_max_turns", True))
    assert "never said" not in said.text


@scenario
async def budget(stage: Stage) -> None:
    said = await stage.ask("go", max_budget_usd=0.0001, can_use_tool=allow)
    equal((said.result.subtype, said.result.is_error), ("error_max_budget_usd", True))
    assert "never said" not in said.text


@scenario
async def error_result(stage: Stage) -> None:
    said = await stage.ask("go")
    equal((said.result.subtype, said.result.is_error, said.result.api_error_status), ("success", True, 400))
    assert "the request is odd" in said.result.result
    equal(said.of(AssistantMessage)[-1].error, "unknown")


@scenario
async def structured_output(stage: Stage) -> None:
    person = {"name": {"type": "string"}, "age": {"type": "integer"}}
    schema = {"type": "object", "properties": person, "required": ["name", "age"]}
    said = await stage.ask("who?", output_format={"type": "json_schema", "schema": schema})
    equal(said.result.structured_output, {"name": "Ada", "age": 36})
    equal(said.result.subtype, "success")


@scenario
async def parallel_tools(stage: Stage) -> None:
    said = await stage.ask("go", allowed_tools=["Bash"])
    equal(sorted(result.content for result in said.tool_results), ["left", "right"])
    equal({call.id for call in said.calls}, {result.tool_use_id for result in said.tool_results})
    equal(said.result.result, "both")
