"""Hooks for prompts, turns and sessions: their inputs and the effects of their answers."""

from __future__ import annotations

from collections import Counter

import pytest

from handrail import HookInput, HookMatcher, HookOutput, UserMessage
from handrail.schema.hooks import (
    PostCompactInput,
    PostToolBatchInput,
    PreCompactInput,
    SessionEndInput,
    SessionStartInput,
    StopInput,
    SubagentStopInput,
    UserPromptSubmitInput,
)
from handrail.schema.system_messages import CompactBoundaryMessage, InformationalMessage
from handrail.testing import Lab, When, reply, text, tool_use
from tests.interop.scenario import Model, Talk, bash, everything_sent, of, texts_sent


async def test_prompt_hook_adds_context(model: Model, talk: Talk, lab: Lab):
    told: list[UserPromptSubmitInput] = []

    async def add(event: UserPromptSubmitInput) -> HookOutput:
        told.append(event)
        return HookOutput(additional_context="It is raining.")

    api = model(text("Take an umbrella."))
    async with talk(api, hooks={"UserPromptSubmit": [add]}) as session:
        await session.ask("What now?")
    (event,) = told
    assert isinstance(event, UserPromptSubmitInput)
    assert (event.prompt, event.cwd, event.session_id) == ("What now?", str(lab.project), session.id)
    assert event.transcript_path.endswith(f"{session.id}.jsonl")
    assert "It is raining." in everything_sent(api.main_requests[0])


async def test_prompt_hook_blocks_a_prompt(model: Model, talk: Talk):
    api = model(text("second"))

    def block(event: UserPromptSubmitInput) -> HookOutput | None:
        return HookOutput(decision="block", reason="not that word") if "secret" in event.prompt else None

    async with talk(api, hooks={"UserPromptSubmit": [block]}) as session:
        turn = await session.send("the secret is out")
        messages = [message async for message in turn]
        assert api.main_requests == []
        assert (turn.result.is_error, turn.result.message.num_turns) == (False, 0)
        assert (await session.ask("hello")).text == "second"
    assert "not that word" in of(InformationalMessage, messages)[0].content
    assert texts_sent(api.main_requests[0]) == ["hello"]


async def test_stop_hook_continues_the_turn_once(model: Model, talk: Talk):
    told: list[StopInput] = []

    async def more(event: StopInput) -> HookOutput | None:
        told.append(event)
        return None if event.stop_hook_active else HookOutput(decision="block", reason="you forgot the tests")

    api = model(text("finished"), text("now finished"))
    async with talk(api, hooks={"Stop": [more]}) as session:
        turn = await session.send("do it")
        messages = [message async for message in turn]
    assert turn.result.text == "now finished"
    assert [event.stop_hook_active for event in told] == [False, True]
    assert told[0].last_assistant_message == "finished"
    assert [message.is_synthetic for message in of(UserMessage, messages)] == [True]
    assert "you forgot the tests" in everything_sent(api.main_requests[1])


async def test_a_batch_hook_sees_all_tools_of_a_message(model: Model, talk: Talk):
    told: list[PostToolBatchInput] = []
    api = model([bash("echo one"), bash("echo two")], text("done"))
    async with talk(api, hooks={"PostToolBatch": [told.append]}) as session:
        await session.ask("go")
    (event,) = told
    assert sorted(call.tool_input["command"] for call in event.tool_calls) == ["echo one", "echo two"]


async def test_a_hook_sees_a_subagent_stop(model: Model, talk: Talk):
    told: list[SubagentStopInput] = []
    call = tool_use(
        "Task", description="looks", prompt="look it up", subagent_type="general-purpose", run_in_background=False
    )
    api = model(call, reply(text("It is blue."), when=When(prompt="look it up")), text("blue"))
    async with talk(api, hooks={"SubagentStop": [told.append]}) as session:
        await session.ask("go")
    (event,) = told
    assert (event.agent_type, event.last_assistant_message) == ("general-purpose", "It is blue.")


async def test_a_hook_may_finish_later(model: Model, talk: Talk, lab: Lab):
    async def later(event: HookInput) -> HookOutput:
        return HookOutput(async_=True, async_timeout=5000)

    api = model(bash("touch made.txt"), text("done"))
    async with talk(api, can_use_tool=lambda request: True, hooks={"PreToolUse": [later]}) as session:
        assert (await session.ask("go")).text == "done"
    assert (lab.project / "made.txt").exists()


async def test_compaction_hooks_run_before_and_after(model: Model, talk: Talk):
    told: list[HookInput] = []
    hooks = {name: [told.append] for name in ("PreCompact", "PostCompact", "SessionStart")}
    api = model(text("a long story"), reply(text("A summary."), when=When(prompt="TEXT ONLY")), text("goes on"))
    async with talk(api, hooks=hooks) as session:
        await session.ask("tell me")
        messages = [message async for message in await session.send("/compact keep the hero")]
        assert (await session.ask("and then?")).text == "goes on"
    before, after = (next(e for e in told if isinstance(e, kind)) for kind in (PreCompactInput, PostCompactInput))
    assert (before.trigger, before.custom_instructions) == ("manual", "keep the hero")
    assert (after.trigger, after.compact_summary) == ("manual", "A summary.")
    assert {event.source for event in of(SessionStartInput, told)} == {"compact"}
    assert len(of(CompactBoundaryMessage, messages)) == 1
    assert "A summary." in everything_sent(api.main_requests[-1])
    assert "a long story" not in everything_sent(api.main_requests[-1])


async def test_a_cleared_conversation_ends_a_session_and_starts_another(model: Model, talk: Talk):
    told: list[HookInput] = []
    async with talk(
        model(text("hi")), hooks={name: [told.append] for name in ("SessionStart", "SessionEnd")}
    ) as session:
        await session.ask("hello")
        assert told == []
        await session.ask("/clear")
    (end, *_), (start,) = of(SessionEndInput, told), of(SessionStartInput, told)
    assert (end.reason, start.source) == ("clear", "clear")
    assert start.session_id != end.session_id


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_hooks_may_be_async_or_sync_and_are_matched_by_tool(kind: str, model: Model, talk: Talk):
    called: Counter[str] = Counter()

    def hook(name: str):
        def plain(event: HookInput) -> None:
            called[name] += 1

        async def later(event: HookInput) -> dict[str, object]:
            called[name] += 1
            return {}

        return later if kind == "async" else plain

    matchers = [
        HookMatcher(matcher="Bash|Write", hooks=[hook("bash")]),
        HookMatcher(matcher="Write", hooks=[hook("write")]),
    ]
    hooks = {"PreToolUse": [*matchers, hook("every")], "Stop": [hook("stop")]}
    async with talk(model(bash("echo one"), text("done")), hooks=hooks) as session:
        await session.ask("go")
    assert called == {"bash": 1, "every": 1, "stop": 1}
