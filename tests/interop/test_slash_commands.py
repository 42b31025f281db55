"""Slash commands."""

from __future__ import annotations

from handrail import AssistantMessage
from handrail.schema.activity_messages import ConversationResetMessage
from handrail.schema.system_messages import CompactBoundaryMessage, InitMessage
from handrail.testing import Lab, When, reply, text
from tests.interop.scenario import Model, Talk, everything_sent, of, texts_sent


async def test_a_local_command_is_answered_without_the_model(model: Model, talk: Talk):
    api = model(text("hi"))
    async with talk(api) as session:
        await session.ask("hello")
        turn = await session.send("/cost")
        messages = [message async for message in turn]
    (said,) = of(AssistantMessage, messages)
    assert (said.model, said.text) == ("<synthetic>", turn.result.text)
    assert said.local_command_source
    assert "$" in turn.result.text
    assert (turn.result.cost_usd, turn.result.message.num_turns) == (0, 0)
    assert len(api.main_requests) == 1


async def test_clear_starts_a_new_conversation_with_zero_cost(model: Model, talk: Talk):
    api = model(text("one"), text("two"))
    async with talk(api) as session:
        first = await session.ask("remember this")
        old, before = session.id, session.meter.total_cost_usd
        turn = await session.send("/clear")
        messages = [message async for message in turn]
        second = await session.ask("what did I say?")
        new, after = session.id, session.meter.total_cost_usd
    (reset,) = of(ConversationResetMessage, messages)
    assert reset.session_id == first.session_id == old
    assert turn.result.session_id == second.session_id == new
    assert new != old
    assert before == first.cost_usd
    assert after == second.cost_usd == float(second.message.total_cost_usd)
    assert turn.result.cost_usd == 0
    assert texts_sent(api.main_requests[1])[-1] == "what did I say?"
    assert "remember this" not in everything_sent(api.main_requests[1])


async def test_compact_summarizes_the_conversation(model: Model, talk: Talk):
    api = model(text("a long story"), reply(text("In short."), when=When(prompt="TEXT ONLY")), text("go on"))
    async with talk(api) as session:
        await session.ask("tell me")
        old = session.id
        turn = await session.send("/compact")
        messages = [message async for message in turn]
        assert not turn.result.is_error
        await session.ask("and then?")
        assert session.id == old
    (boundary,) = of(CompactBoundaryMessage, messages)
    assert boundary.compact_metadata is not None
    assert boundary.compact_metadata.trigger == "manual"
    assert "In short." in everything_sent(api.main_requests[-1])
    assert "a long story" not in everything_sent(api.main_requests[-1])


async def test_a_command_of_the_project_becomes_a_prompt(model: Model, talk: Talk, lab: Lab):
    commands = lab.project / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "greet.md").write_text("---\ndescription: greets\n---\nSay hello to $ARGUMENTS")
    api = model(text("Hello, Ada"))
    async with talk(api, setting_sources=["project"]) as session:
        assert session.server_info is not None
        assert "greet" in {command.name for command in session.server_info.commands}
        messages = [message async for message in await session.send("/greet Ada")]
    assert "greet" in of(InitMessage, messages)[0].slash_commands
    assert "Say hello to Ada" in everything_sent(api.main_requests[0])


async def test_unknown_command_is_sent_to_the_model(model: Model, talk: Talk):
    api = model(text("no idea"))
    async with talk(api) as session:
        assert (await session.ask("/etc/hostname what is it?")).text == "no idea"
    assert "/etc/hostname what is it?" in everything_sent(api.main_requests[0])
