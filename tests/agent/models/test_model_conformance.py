"""handrail.agent.models.base: what every Model does, asked of each that we have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from handrail.agent.models.anthropic import AnthropicModel
from handrail.agent.models.base import Model, ModelError, ModelRequest, StreamCut
from handrail.agent.models.scripted import ScriptedModel
from handrail.testing import (
    Reply,
    Script,
    ScriptedMessagesApi,
    When,
    cut,
    hang,
    http_error,
    raw_tool_use,
    redacted_thinking,
    reply,
    stream_error,
    text,
    thinking,
    tool_use,
    wait,
)

ModelOf = Callable[[Script], Awaitable[Model]]
TOOLS = [{"name": "Bash", "description": "Runs.", "input_schema": {"type": "object"}}]


@pytest.fixture(params=["scripted", "anthropic"])
async def model_of(request: pytest.FixtureRequest) -> AsyncIterator[ModelOf]:
    """Makes a model that says what a script says."""
    async with AsyncExitStack() as stack, asyncio.timeout(20):

        async def make(script: Script) -> Model:
            if request.param == "scripted":
                return ScriptedModel(script)
            api = await stack.enter_async_context(ScriptedMessagesApi(script))
            model = AnthropicModel({"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "a-key"})
            stack.push_async_callback(model.close)
            return model

        yield make


def asking(prompt: str = "Hello", **fields: Any) -> ModelRequest:
    return ModelRequest("claude-sonnet-4-5", [{"role": "user", "content": prompt}], tools=TOOLS, **fields)


async def events_of(model: Model, request: ModelRequest | None = None) -> list[dict[str, Any]]:
    async with model.stream(request or asking()) as answer:
        return [event async for event in answer]


async def gather_types(model: Model, seen: list[str]) -> None:
    """Writes down what comes, so that it is there also when the stream fails."""
    async with model.stream(asking()) as answer:
        async for event in answer:
            seen.append(event["type"])


async def test_an_answer_starts_with_the_message_and_ends_with_its_stop(model_of: ModelOf):
    model = await model_of(Script.of(text("Good day.")))
    events = await events_of(model)
    assert [event["type"] for event in events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert events[0]["message"]["model"] == "claude-sonnet-4-5"


async def test_the_deltas_of_a_text_add_up_to_it(model_of: ModelOf):
    said = "Umlaute äöü, ein € und 🙂,\nand a second line."
    model = await model_of(Script.of(reply(text(said), chunk=1)))
    deltas = [event["delta"] for event in await events_of(model) if event["type"] == "content_block_delta"]
    assert "".join(delta["text"] for delta in deltas) == said


async def test_every_kind_of_block_comes_through(model_of: ModelOf):
    model = await model_of(
        Script.of([thinking("Hm."), redacted_thinking("AAAA"), text("So."), tool_use("Bash", command="ls")])
    )
    events = await events_of(model)
    kinds = [event["content_block"]["type"] for event in events if event["type"] == "content_block_start"]
    assert kinds == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


async def test_invalid_json_in_tool_input_is_kept(model_of: ModelOf):
    model = await model_of(Script.of(raw_tool_use("Bash", '{"command": "l')))
    deltas = [event["delta"] for event in await events_of(model) if event["type"] == "content_block_delta"]
    assert "".join(delta["partial_json"] for delta in deltas) == '{"command": "l'


async def test_pings_are_left_out(model_of: ModelOf):
    model = await model_of(
        Script.from_dict({"replies": [{"blocks": [{"type": "ping"}, {"type": "text", "text": "x"}]}]})
    )
    assert "ping" not in {event["type"] for event in await events_of(model)}


async def test_each_answer_has_its_own_request_id(model_of: ModelOf):
    model = await model_of(Script.of(text("one"), text("two")))
    ids: list[str] = []
    for _ in range(2):
        async with model.stream(asking()) as answer:
            ids.append(answer.request_id)
            assert [event async for event in answer]
    assert all(ids)
    assert ids[0] != ids[1]


async def test_usage_is_taken_from_the_script(model_of: ModelOf):
    model = await model_of(Script.of(reply(text("x"), usage={"input_tokens": 7, "output_tokens": 3})))
    events = await events_of(model)
    assert events[0]["message"]["usage"]["input_tokens"] == 7
    assert events[-2]["usage"]["output_tokens"] == 3


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (429, "rate_limit_error"),
        (529, "overloaded_error"),
    ],
)
async def test_a_refusal_is_raised_where_the_question_is_asked(model_of: ModelOf, status: int, kind: str):
    model = await model_of(Script.of(http_error(status, message="not now", headers={"retry-after": "2"})))
    with pytest.raises(ModelError) as caught:
        async with model.stream(asking()):
            pytest.fail("an answer came")
    error = caught.value
    assert (error.status, error.kind, error.message, error.retry_after) == (status, kind, "not now", 2.0)
    assert error.request_id
    assert not isinstance(error, StreamCut)


async def test_retry_after_is_optional(model_of: ModelOf):
    model = await model_of(Script.of(http_error(500)))
    with pytest.raises(ModelError) as caught:
        await events_of(model)
    assert caught.value.retry_after is None


async def test_an_error_in_the_middle_of_a_stream_is_raised_after_what_came_before(model_of: ModelOf):
    model = await model_of(Script.of([text("part"), stream_error("overloaded_error", "Too many")]))
    seen: list[str] = []
    with pytest.raises(ModelError) as caught:
        await gather_types(model, seen)
    assert seen[-1] == "content_block_stop"
    assert (caught.value.status, caught.value.kind, caught.value.message) == (529, "overloaded_error", "Too many")


@pytest.mark.parametrize("broken", [False, True])
async def test_a_stream_that_ends_too_early_is_a_cut(model_of: ModelOf, broken: bool):
    model = await model_of(Script.of([text("part"), cut(broken=broken)]))
    seen: list[str] = []
    with pytest.raises(StreamCut) as caught:
        await gather_types(model, seen)
    assert seen[-1] == "content_block_stop"
    assert caught.value.request_id


async def test_empty_stream_counts_as_cut_off(model_of: ModelOf):
    model = await model_of(Script.of(cut()))
    with pytest.raises(StreamCut):
        await events_of(model)


async def test_after_a_cut_the_model_can_be_asked_again(model_of: ModelOf):
    model = await model_of(Script.of([text("part"), cut(broken=True)], text("whole")))
    with pytest.raises(StreamCut):
        await events_of(model)
    assert (await events_of(model))[-1]["type"] == "message_stop"


async def test_waiting_keeps_the_order(model_of: ModelOf):
    model = await model_of(Script.of(reply(wait(0.01), text("one two three"), delay=0.001)))
    deltas = [event["delta"]["text"] for event in await events_of(model) if event["type"] == "content_block_delta"]
    assert deltas == ["one ", "two ", "three"]


async def test_a_hanging_answer_can_be_cancelled_and_the_next_one_comes(model_of: ModelOf):
    model = await model_of(Script.of([text("part"), hang()], text("next")))
    stopped = asyncio.Event()

    async def listen() -> None:
        async with model.stream(asking()) as answer:
            async for event in answer:
                if event["type"] == "content_block_stop":
                    stopped.set()

    listening = asyncio.create_task(listen())
    await stopped.wait()
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening
    assert (await events_of(model))[-1]["type"] == "message_stop"


async def test_leaving_in_the_middle_ends_the_answer(model_of: ModelOf):
    model = await model_of(Script.of(reply(text("a long text of many words"), chunk=1), text("next")))
    async with model.stream(asking()) as answer:
        async for _ in answer:
            break
    assert (await events_of(model))[-1]["type"] == "message_stop"


async def test_several_answers_may_come_at_once(model_of: ModelOf):
    script = Script.of(
        Reply((text("for the first"),), when=When(prompt="first"), chunk=2),
        Reply((text("for the second"),), when=When(prompt="second"), chunk=2),
    )
    model = await model_of(script)
    answers = await asyncio.gather(*(events_of(model, asking(prompt)) for prompt in ("first", "second")))
    said = ["".join(event["delta"]["text"] for event in each if "text" in event.get("delta", {})) for each in answers]
    assert said == ["for the first", "for the second"]


async def test_a_whole_answer_is_one_message(model_of: ModelOf):
    model = await model_of(Script.of([text("Good day."), tool_use("Bash", command="ls")]))
    message = await model.whole(asking())
    assert [block["type"] for block in message["content"]] == ["text", "tool_use"]
    assert (message["type"], message["stop_reason"]) == ("message", "tool_use")


async def test_refusal_without_streaming_has_a_reason(model_of: ModelOf):
    model = await model_of(Script.of(http_error(529, message="Overloaded")))
    with pytest.raises(ModelError) as caught:
        await model.whole(asking())
    assert (caught.value.status, caught.value.kind) == (529, "overloaded_error")


async def test_a_whole_answer_with_an_error_in_it_is_that_error(model_of: ModelOf):
    model = await model_of(Script.of([text("part"), stream_error("rate_limit_error", "slow down")]))
    with pytest.raises(ModelError) as caught:
        await model.whole(asking())
    assert (caught.value.status, caught.value.kind, caught.value.message) == (429, "rate_limit_error", "slow down")


async def test_a_whole_answer_that_is_cut_has_no_status(model_of: ModelOf):
    model = await model_of(Script.of([text("part"), cut(broken=True)]))
    with pytest.raises(ModelError) as caught:
        await model.whole(asking())
    assert caught.value.status is None


async def test_the_history_is_neither_changed_nor_replaced(model_of: ModelOf):
    model = await model_of(Script.of(text("one"), text("two")))
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}]},
        {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
    ]
    system, tools = [{"type": "text", "text": "Be kind."}], [dict(TOOLS[0])]
    request = ModelRequest("claude-sonnet-4-5", history, system=system, tools=tools)
    await events_of(model, request)
    await events_of(model, request)
    assert history[0] == {"role": "user", "content": "Hello"}
    assert history[2] == {"role": "user", "content": [{"type": "text", "text": "Go on."}]}
    assert (system, tools) == ([{"type": "text", "text": "Be kind."}], TOOLS)


async def test_token_count_is_a_number_or_unknown(model_of: ModelOf):
    model = await model_of(Script())
    count = await model.count_tokens(asking())
    assert count is None or count > 0


async def test_closing_twice_does_no_harm(model_of: ModelOf):
    model = await model_of(Script.of(text("x")))
    await events_of(model)
    await model.close()
    await model.close()
