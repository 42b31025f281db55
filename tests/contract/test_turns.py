"""From a prompt to its result: text, thinking, pieces, several turns, forms, faults, the end."""

from __future__ import annotations

import pytest

from handrail import AssistantMessage, Disconnected, StreamEvent, TurnFailed, UserMessage
from handrail.schema.activity_messages import ConversationResetMessage
from handrail.schema.system_messages import ApiRetryMessage, CompactBoundaryMessage, InitMessage
from handrail.testing import Lab, When, cut, hang, http_error, reply, text, thinking, tool_use
from tests.contract.conftest import Talk
from tests.interop.scenario import bash, of, results_seen

ONE_RETRY = {"CLAUDE_CODE_MAX_RETRIES": "1"}


async def test_a_question_has_an_answer_and_figures(talk: Talk, lab: Lab):
    async with talk(text("Hello.")) as session:
        turn = await session.send("hi")
        messages = [message async for message in turn]
    assert [type(message).__name__ for message in messages if isinstance(message, InitMessage | AssistantMessage)] == [
        "InitMessage",
        "AssistantMessage",
    ]
    assert of(InitMessage, messages)[0].cwd == str(lab.project)
    assert (turn.result.text, turn.result.is_error, turn.result.reason) == ("Hello.", False, "completed")
    assert (turn.result.used.input_tokens, turn.result.used.output_tokens) == (100, 20)
    assert turn.result.cost_usd > 0


async def test_conversation_continues_in_the_next_turn(talk: Talk):
    async with talk(text("one"), text("two"), text("three")) as session:
        answers = [(await session.ask(prompt)).text for prompt in "abc"]
        assert session.meter.total_cost_usd > 0
    assert answers == ["one", "two", "three"]


async def test_words_come_in_pieces_where_that_is_wanted(talk: Talk):
    blocks = [thinking("let me see"), text("Once upon a time")]
    async with talk(blocks, include_partial_messages=True) as session:
        messages = [message async for message in await session.send("a story")]
    assert "".join(event.text for event in of(StreamEvent, messages)) == "Once upon a time"
    assert [message.text for message in of(AssistantMessage, messages)] == ["", "Once upon a time"]


async def test_tools_run_and_their_results_come_as_lines(talk: Talk, lab: Lab):
    (lab.project / "a.txt").write_text("alpha")
    calls = [tool_use("Read", file_path=str(lab.project / "a.txt")), bash("echo beta")]
    seen = reply(text("both"), when=When(tool_result="beta"))
    async with talk(calls, seen) as session:
        turn = await session.send("look")
        messages = [message async for message in turn]
    assert ["alpha" in results_seen(messages)[0].text, results_seen(messages)[1].text] == [True, "beta"]
    assert (turn.result.text, turn.result.message.num_turns) == ("both", 3)


async def test_an_answer_fits_its_form(talk: Talk):
    schema = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
    wrong, right = tool_use("StructuredOutput", colour=3), tool_use("StructuredOutput", colour="blue")
    form = {"type": "json_schema", "schema": schema}
    async with talk(wrong, right, text("never"), output_format=form) as session:
        result = await session.ask("which?")
    assert result.structured_output == {"colour": "blue"}


async def test_a_limit_of_rounds_ends_a_turn(talk: Talk):
    async with talk(bash("echo 1"), bash("echo 2"), text("never"), max_turns=1) as session:
        result = await (await session.send("go"))
    assert (result.is_error, result.reason) == (True, "max_turns")


async def test_a_fault_that_passes_is_waited_out(talk: Talk):
    async with talk(http_error(529, times=1), text("finally"), variables=ONE_RETRY) as session:
        turn = await session.send("go")
        messages = [message async for message in turn]
    assert turn.result.text == "finally"
    assert [(retry.attempt, retry.error_status) for retry in of(ApiRetryMessage, messages)] == [(1, 529)]


async def test_a_fault_that_stays_fails_the_turn_and_not_the_session(talk: Talk):
    async with talk(*[http_error(400, message="bad thing")] * 6, text("fine again")) as session:
        result = await (await session.send("go"))
        with pytest.raises(TurnFailed, match="bad thing"):
            result.raise_for_error()
        assert (await session.ask("once more")).text == "fine again"


async def test_an_answer_that_is_cut_off_is_continued(talk: Talk):
    async with talk([text("first half "), cut()], text("second half")) as session:
        result = await session.ask("go")
    assert result.text == "second half"


async def test_a_call_that_cannot_be_is_an_error_for_the_model(talk: Talk):
    calls = [tool_use("NoSuchTool"), tool_use("Read", file_path=3)]
    async with talk(calls, reply(text("sorry"), when=When(failed=True))) as session:
        turn = await session.send("go")
        messages = [message async for message in turn]
    assert [result.is_error for result in results_seen(messages)] == [True, True]
    assert turn.result.text == "sorry"


async def test_the_end_of_the_input_lets_the_turn_finish(talk: Talk):
    async with talk([bash("sleep 0.2; echo slept")], text("done")) as session:
        turn = await session.send("go")
        await session._live().transport.end_input()  # what a program does that has nothing more to say
        assert (await turn).text == "done"
        ending = await session.wait_closed()
    assert ending.code in (0, None)


async def test_request_after_the_end_raises_an_error(talk: Talk):
    async with talk(text("one")) as session:
        await session.ask("go")
        await session._live().transport.end_input()
        await session.wait_closed()
        with pytest.raises(Disconnected):
            await session.set_model("haiku")


async def test_a_session_that_is_closed_in_a_turn_leaves_nothing_running(talk: Talk):
    async with talk([text("Once upon"), hang()]) as session:
        turn = await session.send("go")
        async for message in turn:
            if isinstance(message, AssistantMessage):
                break
    assert turn.done


async def test_a_local_command_asks_no_model(talk: Talk):
    async with talk(text("hi"), text("second")) as session:
        await session.ask("hello")
        turn = await session.send("/cost")
        messages = [message async for message in turn]
        assert (await session.ask("again")).text == "second"
    assert [message.model for message in of(AssistantMessage, messages)] == ["<synthetic>"]
    assert "$" in turn.result.text


async def test_a_command_of_the_project_becomes_a_prompt(talk: Talk, lab: Lab):
    commands = lab.project / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "greet.md").write_text("---\ndescription: greets\n---\nSay hello to $ARGUMENTS")
    hello = reply(text("Hello, Ada"), when=When(prompt="Say hello to Ada"))
    async with talk(hello, setting_sources=["project"]) as session:
        assert (await session.ask("/greet Ada")).text == "Hello, Ada"


async def test_clear_begins_another_conversation(talk: Talk):
    async with talk(text("one"), text("two")) as session:
        await session.ask("remember this")
        old = session.id
        messages = [message async for message in await session.send("/clear")]
        await session.ask("what did I say?")
        assert session.id != old
    assert [reset.session_id for reset in of(ConversationResetMessage, messages)] == [old]


async def test_compact_replaces_what_was_said_by_a_summary(talk: Talk):
    short = reply(text("<summary>In short.</summary>"), when=When(prompt="<summary>"))
    after = reply(text("I know."), when=When(prompt="In short."))
    async with talk(text("a long story"), short, after) as session:
        await session.ask("tell me")
        messages = [message async for message in await session.send("/compact")]
        assert (await session.ask("and then?")).text == "I know."
    assert len(of(CompactBoundaryMessage, messages)) == 1
    assert any("In short." in message.text for message in of(UserMessage, messages))
