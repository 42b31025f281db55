"""Text, deltas, thinking, images, long prompts."""

from __future__ import annotations

import asyncio
import base64

import handrail
from handrail import AssistantMessage, InitMessage, ResultMessage, StreamEvent
from handrail.schema.content import RedactedThinkingBlock, ThinkingBlock
from handrail.testing import Lab, hang, redacted_thinking, reply, text, thinking
from tests.interop.scenario import (
    LIMIT,
    PNG,
    Model,
    SessionOptions,
    Talk,
    bash,
    blocks_sent,
    of,
    system_prompt,
    texts_sent,
)


async def test_a_prompt_is_answered_and_its_turn_ends_with_the_result(model: Model, talk: Talk):
    api = model(text("Hello there."))
    async with talk(api) as session:
        turn = await session.send("hi")
        messages = [message async for message in turn]
        result = turn.result
    assert [message.text for message in of(AssistantMessage, messages)] == ["Hello there."]
    assert isinstance(messages[-1], ResultMessage)
    assert (result.text, result.is_error, result.reason) == ("Hello there.", False, "completed")
    assert result.cost_usd > 0
    assert (result.used.input_tokens, result.used.output_tokens) == (100, 20)
    assert 100 <= result.context_tokens <= 120 < result.context_window
    assert texts_sent(api.main_requests[0]) == ["hi"]
    assert session.ending is not None
    assert session.ending.code == 0


async def test_handshake_returns_commands_models_and_version(model: Model, talk: Talk):
    async with talk(model()) as session:
        info = session.server_info
    assert info is not None
    assert "compact" in {command.name for command in info.commands}
    assert info.models
    assert info.agents
    assert info.claude_code_version.startswith("2.")
    assert info.account is not None


async def test_every_turn_begins_with_init(model: Model, talk: Talk, lab: Lab):
    async with talk(model(text("one"), text("two"))) as session:
        turns = [await session.send("first")]
        first = [message async for message in turns[0]]
        second = [message async for message in await session.send("second")]
    (info,), (again,) = of(InitMessage, first), of(InitMessage, second)
    assert (info.cwd, info.session_id) == (str(lab.project), session.id)
    assert again.session_id == info.session_id
    assert "Bash" in info.tools
    assert session.info == again


async def test_text_is_streamed_in_deltas(model: Model, talk: Talk):
    api = model([text("Once upon"), hang(), text(" a time.")])
    async with talk(api, include_partial_messages=True) as session:
        turn = await session.send("tell me")
        pieces: list[str] = []
        async for piece in turn.text():
            pieces.append(piece)
            if "".join(pieces) == "Once upon":
                await api.hanging()
                assert not turn.done
                api.release()
        assert "".join(pieces) == "Once upon a time."
        assert len(pieces) > 2
        assert turn.result.text == " a time."


async def test_partial_messages_are_typed_stream_events(model: Model, talk: Talk):
    async with talk(model(text("Two words")), include_partial_messages=True) as session:
        messages = [message async for message in await session.send("go")]
    events = of(StreamEvent, messages)
    kinds = [event.event.type for event in events]
    assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")
    assert "".join(event.text for event in events) == "Two words"


async def test_text_arrives_in_complete_blocks_without_partial_messages(model: Model, talk: Talk):
    async with talk(model([text("First."), bash("ls")], text("Second."))) as session:
        turn = await session.send("go")
        assert [piece async for piece in turn.text()] == ["First.", "Second."]


async def test_thinking_arrives_before_the_answer(model: Model, talk: Talk):
    async with talk(model([thinking("Let me see."), redacted_thinking("AAAA"), text("Yes.")])) as session:
        messages = [message async for message in await session.send("is it so?")]
    blocks = [block for message in of(AssistantMessage, messages) for block in message.content]
    assert [type(block) for block in blocks[:2]] == [ThinkingBlock, RedactedThinkingBlock]
    assert isinstance(blocks[0], ThinkingBlock)
    assert blocks[0].thinking == "Let me see."
    assert messages[-1].text == "Yes."  # type: ignore[attr-defined]


async def test_the_model_remembers_earlier_turns(model: Model, talk: Talk):
    api = model(text("one"), text("two"), text("three"))
    async with talk(api) as session:
        results = [await session.ask(word) for word in ("first", "second", "third")]
    assert [result.text for result in results] == ["one", "two", "three"]
    assert texts_sent(api.main_requests[2]) == ["first", "second", "third"]
    assert texts_sent(api.main_requests[2], "assistant") == ["one", "two"]


async def test_cost_and_tokens_are_those_of_the_turn_not_of_the_session(model: Model, talk: Talk):
    usage = {"input_tokens": 1000, "output_tokens": 500}
    async with talk(model(text("one"), reply(text("two"), usage=usage))) as session:
        first, second = await session.ask("a"), await session.ask("b")
    assert (first.used.output_tokens, second.used.output_tokens) == (20, 500)
    assert second.cost_usd > first.cost_usd
    assert abs(float(second.message.total_cost_usd) - first.cost_usd - second.cost_usd) < 1e-9
    assert session.meter.total_cost_usd == float(second.message.total_cost_usd)


async def test_images_are_sent_to_the_model(model: Model, talk: Talk, lab: Lab):
    path = lab.project / "pixel.png"
    path.write_bytes(PNG)
    api = model(text("Small."))
    async with talk(api) as session:
        await (await session.send("what is it?", images=[path, PNG]))
    images = [block for block in blocks_sent(api.main_requests[0]) if block["type"] == "image"]
    assert [image["source"]["media_type"] for image in images] == ["image/png"] * 2
    assert [base64.b64decode(image["source"]["data"])[:8] for image in images] == [PNG[:8]] * 2
    assert "what is it?" in texts_sent(api.main_requests[0])


async def test_one_megabyte_system_prompt_arrives_complete(model: Model, talk: Talk):
    api = model(text("Long."))
    prompt = "Be brief. " + "x" * 1_000_000 + " THE END"
    async with talk(api, system_prompt=prompt) as session:
        assert (await session.ask("hi")).text == "Long."
    assert prompt in system_prompt(api.main_requests[0])


async def test_appended_system_prompt_follows_the_default(model: Model, talk: Talk):
    api = model(text("Aye."))
    async with talk(api, append_system_prompt="Speak like a sailor.") as session:
        await session.ask("hi")
    sent = system_prompt(api.main_requests[0])
    assert "Speak like a sailor." in sent
    assert len(sent) > 1000


async def test_requested_model_is_used(model: Model, talk: Talk):
    api = model(text("hi"))
    async with talk(api, model="claude-haiku-4-5") as session:
        messages = [message async for message in await session.send("hi")]
    assert api.main_requests[0].body["model"].startswith("claude-haiku-4-5")
    assert of(AssistantMessage, messages)[0].model == api.main_requests[0].body["model"]


async def test_query_yields_messages_and_result(model: Model, session_options: SessionOptions):
    options = session_options(model(text("Blue.")))
    query = handrail.query("which colour?", options)
    async with asyncio.timeout(LIMIT):
        messages = [message async for message in query]
    assert isinstance(messages[-1], ResultMessage)
    assert query.result is not None
    assert query.result.text == "Blue."


async def test_query_can_be_awaited_and_takes_several_prompts(model: Model, session_options: SessionOptions):
    api = model(text("one"), text("two"))

    async def prompts():
        yield "first"
        yield "second"

    async with asyncio.timeout(LIMIT):
        result = await handrail.query(prompts(), session_options(api))
    assert result.text == "two"
    assert texts_sent(api.main_requests[1]) == ["first", "second"]


async def test_unusual_characters_arrive_unchanged(model: Model, talk: Talk):
    odd = 'tab\t nul\0 separator\u2028 emoji 😀 quote" backslash\\ end'
    api = model(text(odd))
    async with talk(api) as session:
        assert (await session.ask(odd)).text == odd
    assert texts_sent(api.main_requests[0]) == [odd]


async def test_abandoned_query_leaves_no_processes(model: Model, session_options: SessionOptions, lab: Lab):
    options = session_options(model([text("Once upon"), hang()]), eof_grace=1.0)

    async def program() -> None:
        async for _ in handrail.query("tell me", options):
            break

    async with asyncio.timeout(LIMIT):
        await asyncio.to_thread(asyncio.run, program())
    assert lab.leftovers() == []


async def test_long_line_arrives_complete(model: Model, talk: Talk):
    said = "w" * 1_500_000
    async with talk(model(reply(text(said), chunk=100_000))) as session:
        assert (await session.ask("go")).text == said
