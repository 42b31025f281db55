"""Work beside the conversation, and hooks around it."""

from __future__ import annotations

import os
from typing import Any

import pytest

from handrail import AssistantMessage, HookMatcher, HookOutput, MessageView, Turn
from handrail.schema.activity_messages import TaskNotificationMessage, TaskStartedMessage
from handrail.schema.hooks import PostToolUseInput, PreToolUseInput, StopInput, UserPromptSubmitInput
from handrail.schema.stream_events import StreamEvent
from handrail.testing import Lab, When, reply, text, thinking, tool_use, wait
from tests.contract.conftest import Talk
from tests.interop.scenario import bash, ended, first_line, of, results_seen


def delegate(**extra: Any) -> Any:
    """A call that starts a subagent with the prompt `look it up`."""
    return tool_use("Task", description="looks it up", prompt="look it up", subagent_type="general-purpose", **extra)


def subagent(*blocks: Any) -> Any:
    """What the subagent says."""
    return reply(*blocks, when=When(prompt="look it up"))


async def until(messages: Any, kind: type[MessageView], **fields: Any) -> Any:
    """The next message of a class in which these fields have these values."""
    async for message in messages:
        if isinstance(message, kind) and all(getattr(message, name) == value for name, value in fields.items()):
            return message
    raise AssertionError(f"no {kind.__name__} with {fields} came")


async def test_a_subagent_in_the_foreground_works_within_the_turn(talk: Talk):
    told = reply(text("blue, they say"), when=When(tool_result="It is blue."))
    replies = [delegate(run_in_background=False), subagent(text("It is blue.")), told]
    async with talk(*replies, forward_subagent_text=True) as session:
        turn = await session.send("which colour?")
        messages = [message async for message in turn]
    said = [(message.text, message.parent_tool_use_id is None) for message in of(AssistantMessage, messages)]
    assert said == [("", True), ("It is blue.", False), ("blue, they say", True)]
    assert of(TaskStartedMessage, messages)[0].prompt == "look it up"


@pytest.mark.parametrize("forwarded", [True, False])
async def test_text_and_thinking_of_a_subagent_are_forwarded_on_request(talk: Talk, forwarded: bool):
    looks = tool_use("Bash", command="echo sky")
    told = reply(text("blue, they say"), when=When(tool_result="It is blue."))
    replies = [
        delegate(run_in_background=False),
        subagent(thinking("Which colour?"), text("I look."), looks),
        reply(text("It is blue."), when=When(tool_result="sky")),
        told,
    ]
    options = {"forward_subagent_text": forwarded, "include_partial_messages": True}
    async with talk(*replies, **options, allowed_tools=["Bash(echo:*)"]) as session:
        messages = [message async for message in await session.send("which colour?")]
    inner = [message for message in of(AssistantMessage, messages) if message.parent_tool_use_id is not None]
    kinds = [type(block).__name__ for message in inner for block in message.content]
    whole = ["ThinkingBlock", "TextBlock", "ToolUseBlock", "TextBlock"]
    assert kinds == (whole if forwarded else ["ToolUseBlock"])
    assert [event for event in of(StreamEvent, messages) if event.parent_tool_use_id is not None] == []


async def test_a_subagent_in_the_background_ends_in_a_turn_of_its_own(talk: Talk):
    told = reply(text("Blue!"), when=When(prompt="It is blue."))
    replies = [delegate(), told, subagent(wait(0.3), text("It is blue.")), text("I have sent someone.")]
    async with talk(*replies) as session:
        turns = session.turns()
        asked = await session.send("which colour?")
        assert (await asked).text == "I have sent someone."
        assert await anext(turns) is asked
        later: Turn = await anext(turns)
        assert (await later).text == "Blue!"
    assert (later.from_cli, asked.from_cli) == (True, False)
    assert later.result.message.origin is not None
    assert later.result.message.origin.kind == "task-notification"


async def test_an_agent_of_ones_own_has_its_own_prompt(talk: Talk):
    agents = {"reviewer": {"description": "Reviews", "prompt": "You review code.", "model": "haiku"}}
    call = tool_use("Task", description="r", prompt="look", subagent_type="reviewer", run_in_background=False)
    good = reply(text("Looks good."), when=When(system="You review code."))
    told = reply(text("approved"), when=When(tool_result="Looks good."))
    async with talk(call, good, told, agents=agents) as session:
        assert session.server_info is not None
        assert "reviewer" in {agent.name for agent in session.server_info.agents}
        assert (await session.ask("review it")).text == "approved"


async def test_a_command_in_the_background_ends_in_a_turn_of_its_own(talk: Talk):
    told = reply(text("it is over"), when=When(prompt="completed"))
    command = bash("sleep 0.3; echo over", run_in_background=True)
    async with talk(command, told, text("it runs"), can_use_tool=lambda request: True) as session:
        turns = session.turns()
        assert (await session.ask("run it")).text == "it runs"
        await anext(turns)
        later = await anext(turns)
        assert (await later).text == "it is over"
    assert later.from_cli


async def test_a_command_in_the_background_is_stopped(talk: Talk, lab: Lab):
    fifo = lab.project / "pipe"
    os.mkfifo(fifo)
    command = bash("echo $$ > pipe; while true; do sleep 1; done", run_in_background=True)
    async with talk(command, text("it runs"), can_use_tool=lambda request: True) as session:
        reader = session.messages()
        turn = await session.send("run it")
        pid = int(await first_line(fifo))
        assert (await turn).text == "it runs"
        task = await until(reader, TaskStartedMessage)
        await session.stop_task(task.task_id)
        stopped = await until(reader, TaskNotificationMessage, task_id=task.task_id)
        await ended(pid)
    assert stopped.status == "stopped"


async def test_a_command_in_the_background_does_not_outlive_the_session(talk: Talk, lab: Lab):
    fifo = lab.project / "pipe"
    os.mkfifo(fifo)
    command = bash("echo $$ > pipe; while true; do sleep 1; done", run_in_background=True)
    async with talk(command, text("it runs"), can_use_tool=lambda request: True, eof_grace=0.5) as session:
        turn = await session.send("run it")
        pid = int(await first_line(fifo))
        await turn
        assert pid in lab.leftovers()
    assert lab.leftovers() == []


async def test_a_hook_changes_the_input_of_a_tool_and_another_sees_the_result(talk: Talk):
    told: list[PostToolUseInput] = []

    async def change(event: PreToolUseInput) -> HookOutput:
        return HookOutput(permission_decision="allow", updated_input={"command": "echo changed"})

    hooks = {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[change])], "PostToolUse": [told.append]}
    async with talk(bash("echo plain"), text("done"), hooks=hooks) as session:
        messages = [message async for message in await session.send("go")]
    assert [result.text for result in results_seen(messages)] == ["changed"]
    assert told[0].tool_input["command"] == "echo changed"


async def test_a_hook_refuses_a_tool(talk: Talk, lab: Lab):
    def refuse(event: PreToolUseInput) -> HookOutput:
        return HookOutput(permission_decision="deny", permission_decision_reason="not here")

    answer = reply(text("understood"), when=When(tool_result="not here"))
    options: dict[str, Any] = {"hooks": {"PreToolUse": [refuse]}, "can_use_tool": lambda request: True}
    async with talk(bash("touch made"), answer, **options) as session:
        assert (await session.ask("go")).text == "understood"
    assert not (lab.project / "made").exists()


async def test_hooks_add_to_a_prompt_and_send_the_model_back_to_work(talk: Talk):
    async def add(event: UserPromptSubmitInput) -> HookOutput:
        return HookOutput(additional_context="It is raining.")

    async def more(event: StopInput) -> HookOutput | None:
        return None if event.stop_hook_active else HookOutput(decision="block", reason="you forgot the tests")

    again = reply(text("now finished"), when=When(prompt="you forgot the tests"))
    first = reply(text("finished"), when=When(prompt="It is raining."))
    async with talk(again, first, text("dry"), hooks={"UserPromptSubmit": [add], "Stop": [more]}) as session:
        assert (await session.ask("do it")).text == "now finished"
