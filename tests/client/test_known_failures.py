"""Cases in which other SDKs hang, mislead or mix things up, with a scripted CLI and everything else real."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import handrail
from tests.client.scripted_session import scripted_session

MANY = 10_000


# Control never queues behind data


async def test_interrupt_is_answered_while_ten_thousand_messages_are_unread(tmp_path: Path):
    script = f"""
        prompt()
        say(*[partial() for _ in range({MANY})])
        answer(requested("interrupt"), {{"still_queued": []}})
        say(failure("error_during_execution", terminal_reason="aborted_streaming"))
    """
    async with scripted_session(tmp_path, script, include_partial_messages=True) as session:
        turn = await session.send("go")
        receipt = await session.interrupt()
        assert receipt.still_queued == []
        assert len([message async for message in turn if message.type == "stream_event"]) == MANY
        assert turn.result.reason == "aborted_streaming"


async def test_hooks_and_permissions_are_answered_while_ten_thousand_messages_are_unread(
    tmp_path: Path,
):
    script = f"""
        prompt()
        say(*[partial() for _ in range({MANY})])
        allowed = ask("can_use_tool", **permission(command="ls"))
        event = {{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {{}}}}
        (hook,) = handshake["hooks"]["PreToolUse"][0]["hookCallbackIds"]
        hooked = ask("hook_callback", callback_id=hook, input=event)
        say(result([allowed["response"]["behavior"], hooked["response"]]))
    """
    options = {
        "can_use_tool": lambda request: handrail.Allow(),
        "hooks": {"PreToolUse": [lambda event: {"decision": "approve"}]},
    }
    async with scripted_session(tmp_path, script, **options) as session:
        turn = await session.send("go")
        assert json.loads((await turn).text) == ["allow", {"decision": "approve"}]


async def test_concurrent_requests_get_their_own_answers(tmp_path: Path):
    script = """
        asked = [requested("echo") for _ in range(50)]
        for request in reversed(asked):
            answer(request, {"heard": request["request"]["number"]})
    """
    async with scripted_session(tmp_path, script) as session:
        answers = await asyncio.gather(*(session.control("echo", number=number) for number in range(50)))
        assert [answer["heard"] for answer in answers] == list(range(50))


async def test_control_works_without_turn_and_reader(tmp_path: Path):
    async with scripted_session(tmp_path, "") as session:
        await session.set_permission_mode("plan")


# Errors say what happened

AFTERTHOUGHTS = {
    "nothing": "",
    "keep_alive": '{"type":"keep_alive"}',
    "plugin_install": '{"type":"system","subtype":"plugin_install","status":"completed","uuid":"u","session_id":"s"}',
    "session_writes_lost": '{"type":"system","subtype":"session_writes_lost","error_code":"ENOSPC","lost":3}',
}


@pytest.mark.parametrize("afterthought", AFTERTHOUGHTS)
async def test_failed_turn_keeps_its_error(tmp_path: Path, afterthought: str):
    script = f"""
        prompt()
        say(failure("error_max_turns", "Reached maximum number of turns"))
        say_raw({AFTERTHOUGHTS[afterthought]!r})
        raise SystemExit(1)
    """
    async with scripted_session(tmp_path, script) as session:
        with pytest.raises(handrail.TurnFailed, match="Reached maximum number of turns") as failed:
            await session.ask("go")
        assert (await session.wait_closed()).code == 1
    assert failed.value.reason == "error_max_turns"


@pytest.mark.parametrize("afterthought", AFTERTHOUGHTS)
async def test_failed_start_includes_stderr(tmp_path: Path, afterthought: str):
    script = f"""
        say(failure("error_during_execution", "No conversation found"))
        say_raw({AFTERTHOUGHTS[afterthought]!r})
        raise SystemExit(1)
    """
    with pytest.raises(handrail.StartFailed, match="exit code 1.*No conversation found"):
        async with scripted_session(tmp_path, script, resume="00000000-0000-4000-8000-000000000009"):
            pass


ENDS = {"exit": ("raise SystemExit(3)", 3, None), "signal": ("os.kill(os.getpid(), 11)", None, "SIGSEGV")}


@pytest.mark.parametrize("end", ENDS)
async def test_exit_of_the_cli_is_reported_with_code_and_stderr(tmp_path: Path, end: str):
    deed, code, name = ENDS[end]
    script = f"""
        prompt()
        print("out of coffee", file=sys.stderr, flush=True)
        {deed}
    """
    async with scripted_session(tmp_path, script) as session:
        turn = await session.send("go")
        with pytest.raises(handrail.Disconnected, match="out of coffee") as lost:
            await turn
        ending = lost.value.ending
        assert (ending.code, ending.signal, lost.value.stderr) == (code, name, "out of coffee")
        with pytest.raises(handrail.Disconnected, match="out of coffee"):
            await session.interrupt()


async def test_a_refused_control_request_has_its_code(tmp_path: Path):
    script = """
        refuse(requested("set_permission_mode"), "Cannot set permission mode", error_code="bypass_not_launched")
    """
    async with scripted_session(tmp_path, script) as session:
        with pytest.raises(handrail.ControlRefused, match="Cannot set permission mode") as refused:
            await session.set_permission_mode("bypassPermissions")
    assert (refused.value.code, refused.value.subtype) == ("bypass_not_launched", "set_permission_mode")


async def test_a_rewind_that_the_cli_refuses_is_an_error(tmp_path: Path):
    script = """
        answer(requested("rewind_files"), {"canRewind": False, "error": "No file checkpoint found for this message."})
    """
    async with scripted_session(tmp_path, script) as session:
        with pytest.raises(handrail.RewindRefused, match="No file checkpoint found"):
            await session.rewind_files("00000000-0000-4000-8000-000000000002")


async def test_exception_of_the_caller_is_unchanged(tmp_path: Path):
    class Own(Exception):
        pass

    thrown = Own("mine")
    session = handrail.Session()

    async def work() -> None:
        nonlocal session
        async with scripted_session(tmp_path, "prompt(); say(partial())") as session:
            async for _ in await session.send("go"):
                raise thrown

    with pytest.raises(Own) as caught:
        await work()
    assert caught.value is thrown
    assert (caught.value.__cause__, session.ending) == (None, handrail.Ending(code=0))


# Callbacks


async def test_an_elicitation_is_answered(tmp_path: Path):
    script = """
        prompt()
        told = ask("elicitation", mcp_server_name="s", message="Which?", mode="form", requested_schema={})
        say(result(told["response"]))
    """
    asked: list[tuple[str, str]] = []

    async def on_elicitation(request: handrail.ElicitationRequest) -> handrail.ElicitationAnswer:
        asked.append((request.mcp_server_name, request.message))
        return handrail.ElicitationAnswer("accept", {"colour": "blue"})

    async with scripted_session(tmp_path, script, on_elicitation=on_elicitation) as session:
        told = json.loads((await session.ask("go")).text)
    assert (asked, told) == ([("s", "Which?")], {"action": "accept", "content": {"colour": "blue"}})


async def test_callback_is_cancelled_when_its_request_is_withdrawn(tmp_path: Path):
    script = """
        prompt()
        say({"type": "control_request", "request_id": "q1", "request": {"subtype": "can_use_tool", **permission()}})
        withdraw = requested("withdraw")
        say({"type": "control_cancel_request", "request_id": "q1"})
        answer(withdraw)
        say(result())
        answer(requested("anything_else"))
    """
    began, ended = asyncio.Event(), asyncio.Event()
    questions: list[handrail.PermissionRequest] = []

    async def can_use_tool(request: handrail.PermissionRequest) -> handrail.Allow:
        questions.append(request)
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return handrail.Allow()

    async with scripted_session(tmp_path, script, can_use_tool=can_use_tool) as session:
        turn = await session.send("go")
        await began.wait()
        await session.control("withdraw")
        await ended.wait()
        await turn
        await session.control("anything_else")
    assert [question.cancelled.is_set() for question in questions] == [True]


# Turns


async def test_interrupted_turn_does_not_affect_the_next(tmp_path: Path):
    script = """
        prompt()
        say(*[partial("old") for _ in range(500)])
        answer(requested("interrupt"), {"still_queued": []})
        say(partial("old"), assistant("old"))
        say(failure("error_during_execution", "stopped"))
        prompt()
        say(partial("new"), assistant("new"))
        say(result("new"))
    """
    async with scripted_session(tmp_path, script) as session:
        first = await session.send("go")
        await session.interrupt()
        second = await session.send("next")
        texts = [message.text async for message in second if message.type in ("stream_event", "assistant", "result")]
        assert (texts, second.result.text) == (["new", "new", "new"], "new")
        old = [message.text async for message in first if message.type in ("stream_event", "assistant", "result")]
        assert old == ["old"] * 502 + ["stopped"]


async def test_cost_is_per_turn(tmp_path: Path):
    script = """
        for total in (0.25, 0.75, 1.0, 0.5):
            if prompt() == "/clear":
                say({"type": "conversation_reset", "new_conversation_id": "n", "session_id": SESSION, "uuid": "r"})
            usage = {"m": {"inputTokens": int(total * 1000), "outputTokens": 1, "costUSD": total}}
            say(result(total_cost_usd=total, modelUsage=usage))
    """
    async with scripted_session(tmp_path, script) as session:
        results = [await session.ask(prompt) for prompt in ("one", "two", "/clear", "/clear")]
    assert [result.cost_usd for result in results] == [0.25, 0.5, 1.0, 0.5]
    assert [result.used.input_tokens for result in results] == [250, 500, 1000, 500]


# Arguments

HOSTILE = "--dangerously-skip-permissions"


@pytest.mark.parametrize("option", ["resume", "model", "agent", "fallback_model", "from_pr", "resume_session_at"])
async def test_option_values_cannot_become_flags(tmp_path: Path, option: str):
    script = """
        prompt()
        say(result(sys.argv[2:]))
    """
    async with scripted_session(tmp_path, script, **{option: HOSTILE}) as session:
        argv = json.loads((await session.ask("go")).text)
    assert [argument for argument in argv if argument.startswith(HOSTILE)] == []
    assert [argument for argument in argv if argument.endswith(f"={HOSTILE}")] == [
        f"--{option.replace('_', '-')}={HOSTILE}"
    ]
