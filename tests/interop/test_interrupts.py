"""Interrupts while the model streams, while a tool runs, while idle."""

from __future__ import annotations

import os

from handrail import AssistantMessage, MessageView, PermissionRequest, StreamEvent, Turn, UserMessage
from handrail.testing import Lab, hang, text
from tests.interop.scenario import Model, Talk, bash, ended, first_line, of, results_seen, texts_sent


async def until_it_says(turn: Turn, words: str) -> list[MessageView]:
    """The messages of a turn up to the delta that completes this text."""
    messages: list[MessageView] = []
    said = ""
    async for message in turn:
        messages.append(message)
        said += message.text if isinstance(message, StreamEvent) else ""
        if words in said:
            break
    return messages


async def test_an_interrupt_stops_the_model_while_it_writes(model: Model, talk: Talk):
    api = model([text("Once upon a time"), hang()], text("as you wish"))
    async with talk(api, include_partial_messages=True) as session:
        turn = await session.send("tell me a story")
        messages = await until_it_says(turn, "Once upon a time")
        assert (await session.interrupt()).still_queued == []
        await api.dropped()
        messages += [message async for message in turn]
        assert (turn.result.is_error, turn.result.reason) == (True, "aborted_streaming")
        assert (await session.ask("something else")).text == "as you wish"
    assert "".join(event.text for event in of(StreamEvent, messages)) == "Once upon a time"
    assert "[Request interrupted by user]" in {message.text for message in of(UserMessage, messages)}
    assert "something else" in texts_sent(api.main_requests[1])


async def test_text_before_the_interrupt_is_kept(model: Model, talk: Talk):
    api = model([text("Once upon a time", unfinished=True), hang()], text("go on"))
    async with talk(api, include_partial_messages=True) as session:
        turn = await session.send("tell me a story")
        await until_it_says(turn, "Once upon a time")
        await session.interrupt()
        messages = [message async for message in turn]
        await session.ask("and then?")
    (cut,) = of(AssistantMessage, messages)
    assert (cut.text, cut.aborted) == ("Once upon a time", True)
    assert texts_sent(api.main_requests[1], "assistant") == ["Once upon a time"]


async def test_an_interrupt_kills_the_command_that_runs(model: Model, talk: Talk, lab: Lab):
    fifo = lab.project / "pipe"
    os.mkfifo(fifo)
    api = model(bash("echo $$ > pipe; while true; do sleep 1; done; touch never"), text("stopped"))
    async with talk(api, can_use_tool=lambda request: True) as session:
        turn = await session.send("run it")
        pid = int(await first_line(fifo))
        await session.interrupt()
        messages = [message async for message in turn]
        assert (turn.result.is_error, turn.result.reason) == (True, "aborted_tools")
        await ended(pid)
        assert (await session.ask("well?")).text == "stopped"
    assert [result.is_error for result in results_seen(messages)] == [True]
    assert "[Request interrupted by user for tool use]" in {message.text for message in of(UserMessage, messages)}
    assert not (lab.project / "never").exists()


async def test_interrupt_while_idle_is_harmless(model: Model, talk: Talk):
    async with talk(model(text("one"), text("two"))) as session:
        await session.interrupt()
        assert (await session.ask("a")).text == "one"
        await session.interrupt()
        assert (await session.ask("b")).text == "two"


async def test_closing_a_session_interrupts_its_turn(model: Model, talk: Talk):
    api = model([text("Once upon"), hang()])
    async with talk(api) as session:
        turn = await session.send("go")
        await api.hanging()
    await api.dropped()
    assert turn.result.reason == "aborted_streaming"


async def test_session_without_readers_can_be_queried_and_interrupted(model: Model, talk: Talk):
    asked: list[str] = []
    words = "word " * 3000
    api = model([text(words), bash("touch made.txt")], [text(words), hang()])

    async def decide(request: PermissionRequest) -> bool:
        asked.append(request.tool_name)
        return True

    async with talk(api, can_use_tool=decide, include_partial_messages=True) as session:
        unread = session.messages()
        turn = await session.send("talk")
        await api.hanging()
        await session.interrupt()
        assert (await turn).reason == "aborted_streaming"
    assert asked == ["Bash"]
    assert unread.dropped == 0
    assert sum(isinstance(message, StreamEvent) for message in [each async for each in unread]) > 3000
