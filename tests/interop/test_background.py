"""Subagents, background commands, and turns that the CLI starts by itself."""

from __future__ import annotations

import os
from typing import Any

from handrail import AssistantMessage, MessageView, Turn
from handrail.schema.activity_messages import TaskNotificationMessage, TaskStartedMessage
from handrail.testing import Lab, When, hang, reply, text, tool_use
from tests.interop.scenario import Model, Talk, bash, ended, everything_sent, first_line, of, results_sent


def delegate(**extra: Any) -> Any:
    """A call that starts a subagent with the prompt `look it up`."""
    return tool_use("Task", description="looks it up", prompt="look it up", subagent_type="general-purpose", **extra)


def subagent(*blocks: Any) -> Any:
    """The reply of the subagent."""
    return reply(*blocks, when=When(prompt="look it up"))


async def until(messages: Any, kind: type[MessageView], **fields: Any) -> Any:
    """The next message of a class in which these fields have these values."""
    async for message in messages:
        if isinstance(message, kind) and all(getattr(message, name) == value for name, value in fields.items()):
            return message
    raise AssertionError(f"no {kind.__name__} with {fields} came")


async def test_a_subagent_in_the_foreground_works_within_the_turn(model: Model, talk: Talk):
    api = model(delegate(run_in_background=False), subagent(text("It is blue.")), text("blue, they say"))
    async with talk(api, forward_subagent_text=True) as session:
        turn = await session.send("which colour?")
        messages = [message async for message in turn]
    said = [(message.text, message.parent_tool_use_id is None) for message in of(AssistantMessage, messages)]
    assert said == [("", True), ("It is blue.", False), ("blue, they say", True)]
    assert "It is blue." in results_sent(api.main_requests[2])[0]
    assert of(TaskStartedMessage, messages)[0].prompt == "look it up"
    assert turn.result.used.output_tokens == 60


async def test_a_subagent_in_the_background_ends_in_a_turn_that_the_cli_starts(model: Model, talk: Talk):
    api = model(delegate(), subagent(hang(), text("It is blue.")), text("I have sent someone."), text("Blue!"))
    async with talk(api) as session:
        turns = session.turns()
        asked = await session.send("which colour?")
        assert (await asked).text == "I have sent someone."
        assert await anext(turns) is asked
        assert not session.running
        await api.hanging()
        api.release()
        told: Turn = await anext(turns)
        messages = [message async for message in told]
    assert (told.from_cli, asked.from_cli) == (True, False)
    assert told.result.text == "Blue!"
    assert told.result.message.origin is not None
    assert told.result.message.origin.kind == "task-notification"
    assert [message.text for message in of(AssistantMessage, messages)] == ["Blue!"]
    assert "It is blue." in everything_sent(api.main_requests[-1])


async def test_subagent_messages_between_turns_do_not_start_a_turn(model: Model, talk: Talk):
    busy = subagent(hang(), text("Halfway."), hang(), text("Finished."))
    api = model(delegate(), busy, text("I have sent someone."), text("hello"), text("They are back."))
    async with talk(api) as session:
        turns, messages = session.turns(), session.messages()
        first = await session.send("which colour?")
        await first
        await api.hanging()
        api.release()
        said = await until(messages, AssistantMessage, text="Halfway.")
        assert said.parent_tool_use_id
        assert not session.running
        second = await session.send("hi")
        assert (await second).text == "hello"
        api.release()
        assert [await anext(turns), await anext(turns)] == [first, second]
        third = await anext(turns)
        assert (third.from_cli, (await third).text) == (True, "They are back.")


async def test_a_command_in_the_background_is_stopped(model: Model, talk: Talk, lab: Lab):
    fifo = lab.project / "pipe"
    os.mkfifo(fifo)
    command = bash("echo $$ > pipe; while true; do sleep 1; done", run_in_background=True)
    api = model(command, text("it runs"))
    async with talk(api, can_use_tool=lambda request: True) as session:
        reader = session.messages()
        turn = await session.send("run it")
        pid = int(await first_line(fifo))
        assert (await turn).text == "it runs"
        task = await until(reader, TaskStartedMessage, is_backgrounded=True)
        assert (await session.get_task_output(task.task_id)).output == ""
        await session.stop_task(task.task_id)
        stopped = await until(reader, TaskNotificationMessage, task_id=task.task_id)
        await ended(pid)
    assert stopped.status == "stopped"
    assert task.task_id in results_sent(api.main_requests[1])[0]


async def test_background_command_ends_with_the_session(model: Model, talk: Talk, lab: Lab):
    fifo = lab.project / "pipe"
    os.mkfifo(fifo)
    command = bash("echo $$ > pipe; while true; do sleep 1; done", run_in_background=True)
    api = model(command, text("it runs"))
    async with talk(api, can_use_tool=lambda request: True, eof_grace=0.5) as session:
        turn = await session.send("run it")
        pid = int(await first_line(fifo))
        await turn
        assert pid in lab.leftovers()
    assert lab.leftovers() == []


async def test_custom_agent_has_its_own_prompt_and_model(model: Model, talk: Talk):
    agents = {"reviewer": {"description": "Reviews", "prompt": "You review code.", "model": "haiku"}}
    call = tool_use(
        "Task", description="reviews", prompt="look it up", subagent_type="reviewer", run_in_background=False
    )
    api = model(call, subagent(text("Looks good.")), text("approved"))
    async with talk(api, agents=agents) as session:
        assert session.server_info is not None
        assert "reviewer" in {agent.name for agent in session.server_info.agents}
        await session.ask("review it")
    (asked,) = [request for request in api.main_requests if "You review code." in str(request.body["system"])]
    assert asked.body["model"].startswith("claude-haiku")
