"""Where other SDKs hang, lose or leak: each case as a test. The CLI is scripted; nothing else is pretended."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

import handrail
from handrail.client.inbox import Policy
from handrail.protocol import BadLine
from handrail.schema import content
from tests.client.scripted_cli import write_cli

PATIENCE = 60
"""Only a hang takes so long: no test waits for time to pass."""
MANY = 10_000


@pytest.fixture
def session_with(tmp_path: Path) -> Callable[..., Any]:
    """A session with a scripted CLI. In: the script, options. Out: a context manager."""

    @asynccontextmanager
    async def opened(script: str, **options: Any) -> AsyncIterator[handrail.Session]:
        async with asyncio.timeout(PATIENCE):
            async with handrail.Session(handrail.Options(cli_path=write_cli(tmp_path, script), **options)) as session:
                yield session

    return opened


def has_ended(handles: list[int]) -> bool:
    """Wait until every process behind these pidfds has ended. Out: whether they did."""
    try:
        return all(select.select([handle], [], [], PATIENCE)[0] for handle in handles)
    finally:
        for handle in handles:
            os.close(handle)


# Control never queues behind data


async def test_interrupt_is_answered_while_ten_thousand_messages_are_unread(session_with: Callable[..., Any]):
    script = f"""
        prompt()
        say(*[partial() for _ in range({MANY})])
        answer(requested("interrupt"), {{"still_queued": []}})
        say(failure("error_during_execution", terminal_reason="aborted_streaming"))
    """
    async with session_with(script, include_partial_messages=True) as session:
        turn = await session.send("go")
        receipt = await session.interrupt()
        assert receipt.still_queued == []
        assert len([message async for message in turn if message.type == "stream_event"]) == MANY
        assert turn.result.reason == "aborted_streaming"


async def test_hooks_and_permissions_are_answered_while_ten_thousand_messages_are_unread(
    session_with: Callable[..., Any],
):
    script = f"""
        prompt()
        say(*[partial() for _ in range({MANY})])
        allowed = ask("can_use_tool", **permission(command="ls"))
        event = {{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {{}}}}
        hooked = ask("hook_callback", callback_id=handshake["hooks"]["PreToolUse"][0]["hookCallbackIds"][0], input=event)
        say(result([allowed["response"]["behavior"], hooked["response"]]))
    """
    options = {
        "can_use_tool": lambda request: handrail.Allow(),
        "hooks": {"PreToolUse": [lambda event: {"decision": "approve"}]},
    }
    async with session_with(script, **options) as session:
        turn = await session.send("go")
        assert json.loads((await turn).text) == ["allow", {"decision": "approve"}]


async def test_many_tasks_ask_at_once_and_each_gets_its_own_answer(session_with: Callable[..., Any]):
    script = """
        asked = [requested("echo") for _ in range(50)]
        for request in reversed(asked):
            answer(request, {"heard": request["request"]["number"]})
    """
    async with session_with(script) as session:
        answers = await asyncio.gather(*(session.control("echo", number=number) for number in range(50)))
        assert [answer["heard"] for answer in answers] == list(range(50))


async def test_control_works_with_no_turn_and_no_reader(session_with: Callable[..., Any]):
    async with session_with("") as session:
        await session.set_permission_mode("plan")


# What is on the wire arrives


async def test_a_line_of_twenty_megabytes_is_read(session_with: Callable[..., Any]):
    script = """
        prompt()
        say(assistant("x" * 20_000_000))
        say(result())
    """
    async with session_with(script) as session:
        sizes = [len(message.text) async for message in await session.send("go") if message.type == "assistant"]
        assert sizes == [20_000_000]


async def test_a_line_over_the_limit_is_reported_and_the_session_goes_on(
    session_with: Callable[..., Any], caplog: pytest.LogCaptureFixture
):
    script = """
        prompt()
        say(assistant("x" * 100_000))
        say(assistant("short"))
        say(result())
        prompt()
        say(result("and again"))
    """
    with caplog.at_level(logging.WARNING, "handrail"):
        async with session_with(script, max_buffer_size=10_000) as session:
            frames = session.frames()
            turn = await session.send("go")
            texts = [message.text async for message in turn if message.type == "assistant"]
            assert (texts, turn.result.text) == (["short"], "done")
            assert (await session.ask("more")).text == "and again"
    bad = [frame async for direction, frame in frames if isinstance(frame, BadLine)]
    assert [(len(frame.raw), frame.size > 100_000) for frame in bad] == [(10_000, True)]
    assert "more than the limit of 10000" in caplog.text


BLOCKS: dict[str, tuple[type[content.Block], str]] = {
    "redacted_thinking": (content.RedactedThinkingBlock, '{"type":"redacted_thinking","data":"c2VjcmV0"}'),
    "image": (
        content.ImageBlock,
        '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0="},"new":1}',
    ),
    "document": (
        content.DocumentBlock,
        '{"type":"document","source":{"type":"url","url":"https://example.com/a.pdf"}}',
    ),
    "server_tool_use": (
        content.ServerToolUseBlock,
        '{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}',
    ),
    "web_search_tool_result": (
        content.WebSearchToolResultBlock,
        '{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result"}]}',
    ),
    "mcp_tool_use": (
        content.McpToolUseBlock,
        '{"type":"mcp_tool_use","id":"mcptoolu_1","name":"t","server_name":"s","input":{}}',
    ),
    "thinking without signature": (content.ThinkingBlock, '{"type":"thinking","thinking":"hm"}'),
    "a block of tomorrow": (content.UnknownBlock, '{"type":"hologram", "light" : [1, 2.50, null]}'),
    "a text block without text": (content.UnknownBlock, '{"type":"text"}'),
}


async def test_every_content_block_is_kept_with_its_bytes(session_with: Callable[..., Any]):
    line = (
        '{"type":"assistant","message":{"id":"msg_1","role":"assistant","model":"m","content":['
        + ",".join(raw for _, raw in BLOCKS.values())
        + ']},"parent_tool_use_id":null,"session_id":"s","uuid":"a"}'
    )
    script = f"""
        prompt()
        say_raw({line!r})
        say(result())
    """
    async with session_with(script) as session:
        (message,) = [message async for message in await session.send("go") if message.type == "assistant"]
    assert [(type(block), block.raw.decode()) for block in message.content] == list(BLOCKS.values())
    assert message.raw.decode() == line


async def test_messages_that_nobody_knows_reach_the_reader_as_they_are(session_with: Callable[..., Any]):
    lines = [
        '{"type":"hologram","light":[1,2.50],"uuid":"h"}',
        '{"type":"system","subtype":"of_tomorrow","x":{"y":null}}',
        '{"type":"tool_progress","tool_use_id":"t","tool_name":"Bash","elapsed_time_seconds":3}',
        '{"type":"auth_status","isAuthenticating":true,"output":[]}',
        '{"type":"prompt_suggestion","suggestion":"go on"}',
        '{"type":"active_goal","value":null}',
        '{"no_type":"at all"}',
        '{"type":"assistant","message":"of an impossible shape"}',
    ]
    script = f"""
        prompt()
        say_raw(*{lines!r})
        say(result())
    """
    async with session_with(script) as session:
        seen = [message.raw.decode() async for message in await session.send("go")]
    assert [raw for raw in seen if raw in lines] == lines


async def test_a_system_prompt_of_a_megabyte_travels_in_the_handshake(session_with: Callable[..., Any]):
    script = """
        prompt()
        say(result([len(handshake["systemPrompt"][0]), max(map(len, sys.argv)) < 1000]))
    """
    async with session_with(script, system_prompt="x" * 1_000_000) as session:
        assert json.loads((await session.ask("go")).text) == [1_000_000, True]


HOSTILE = "--dangerously-skip-permissions"


@pytest.mark.parametrize("option", ["resume", "model", "agent", "fallback_model", "from_pr", "resume_session_at"])
async def test_no_value_of_an_option_can_become_a_flag(session_with: Callable[..., Any], option: str):
    script = """
        prompt()
        say(result(sys.argv[2:]))
    """
    async with session_with(script, **{option: HOSTILE}) as session:
        argv = json.loads((await session.ask("go")).text)
    assert [argument for argument in argv if argument.startswith(HOSTILE)] == []
    assert [argument for argument in argv if argument.endswith(f"={HOSTILE}")] == [
        f"--{option.replace('_', '-')}={HOSTILE}"
    ]


# Readers


async def test_two_readers_of_different_speed_see_the_same(session_with: Callable[..., Any]):
    script = """
        prompt()
        say(*[partial(str(number)) for number in range(1000)])
        say(result())
    """
    async with session_with(script) as session:
        fast, slow = session.messages(), session.messages()
        turn = await session.send("go")
        seen: list[bytes] = []
        async for message in fast:
            seen.append(message.raw)
            if message.type == "result":
                break
        assert turn.done
        assert [(await anext(slow)).raw for _ in seen] == seen
        assert [message.raw async for message in turn] == seen


@pytest.mark.parametrize("policy", ["spill", "drop_partials", "fail"])
async def test_a_reader_that_lags_gets_what_its_policy_says(session_with: Callable[..., Any], policy: Policy):
    script = """
        prompt()
        for number in range(2000):
            say(partial(str(number)))
        say(assistant("whole"))
        say(result())
    """
    async with session_with(script) as session:
        reader = session.messages(limit=50_000, policy=policy)
        await session.ask("go")
    read: list[handrail.MessageView] = []
    error: BaseException | None = None
    try:
        async for message in reader:
            read.append(message)
    except handrail.InboxFull as full:
        error = full
    partials = [message.text for message in read if isinstance(message, handrail.StreamEvent)]
    assert partials == [str(number) for number in range(len(partials))]
    match policy:
        case "spill":
            assert (len(partials), reader.dropped, read[-1].type, error) == (2000, 0, "result", None)
        case "drop_partials":
            assert 0 < len(partials) < 2000
            assert len(partials) + reader.dropped == 2000
            assert ([message.type for message in read[-2:]], error) == (["assistant", "result"], None)
        case "fail":
            assert 0 < len(partials) < 2000
            assert isinstance(error, handrail.InboxFull)


# Errors say what happened

AFTERTHOUGHTS = {
    "nothing": "",
    "keep_alive": '{"type":"keep_alive"}',
    "plugin_install": '{"type":"system","subtype":"plugin_install","status":"completed","uuid":"u","session_id":"s"}',
    "session_writes_lost": '{"type":"system","subtype":"session_writes_lost","error_code":"ENOSPC","lost":3}',
}


@pytest.mark.parametrize("afterthought", AFTERTHOUGHTS)
async def test_a_failed_turn_keeps_its_error_whatever_follows_it(session_with: Callable[..., Any], afterthought: str):
    script = f"""
        prompt()
        say(failure("error_max_turns", "Reached maximum number of turns"))
        say_raw({AFTERTHOUGHTS[afterthought]!r})
        raise SystemExit(1)
    """
    async with session_with(script) as session:
        with pytest.raises(handrail.TurnFailed, match="Reached maximum number of turns") as failed:
            await session.ask("go")
        assert (await session.wait_closed()).code == 1
    assert failed.value.reason == "error_max_turns"


@pytest.mark.parametrize("afterthought", AFTERTHOUGHTS)
async def test_a_start_that_fails_says_what_the_cli_said(session_with: Callable[..., Any], afterthought: str):
    script = f"""
        say(failure("error_during_execution", "No conversation found"))
        say_raw({AFTERTHOUGHTS[afterthought]!r})
        raise SystemExit(1)
    """
    with pytest.raises(handrail.StartFailed, match="exit code 1.*No conversation found"):
        async with session_with(script, resume="00000000-0000-4000-8000-000000000009"):
            pass


ENDS = {"exit": ("raise SystemExit(3)", 3, None), "signal": ("os.kill(os.getpid(), 11)", None, "SIGSEGV")}


@pytest.mark.parametrize("end", ENDS)
async def test_a_cli_that_dies_leaves_its_exit_and_its_last_words_in_the_error(
    session_with: Callable[..., Any], end: str
):
    deed, code, name = ENDS[end]
    script = f"""
        prompt()
        print("out of coffee", file=sys.stderr, flush=True)
        {deed}
    """
    async with session_with(script) as session:
        turn = await session.send("go")
        with pytest.raises(handrail.Disconnected, match="out of coffee") as lost:
            await turn
        ending = lost.value.ending
        assert (ending.code, ending.signal, lost.value.stderr) == (code, name, "out of coffee")
        with pytest.raises(handrail.Disconnected, match="out of coffee"):
            await session.interrupt()


async def test_a_refused_control_request_has_its_code(session_with: Callable[..., Any]):
    script = """
        refuse(requested("set_permission_mode"), "Cannot set permission mode", error_code="bypass_not_launched")
    """
    async with session_with(script) as session:
        with pytest.raises(handrail.ControlRefused, match="Cannot set permission mode") as refused:
            await session.set_permission_mode("bypassPermissions")
    assert (refused.value.code, refused.value.subtype) == ("bypass_not_launched", "set_permission_mode")


async def test_a_rewind_that_the_cli_refuses_is_an_error(session_with: Callable[..., Any]):
    script = """
        answer(requested("rewind_files"), {"canRewind": False, "error": "No file checkpoint found for this message."})
    """
    async with session_with(script) as session:
        with pytest.raises(handrail.RewindRefused, match="No file checkpoint found"):
            await session.rewind_files("00000000-0000-4000-8000-000000000002")


async def test_the_callers_exception_comes_out_as_it_went_in(session_with: Callable[..., Any]):
    class Own(Exception):
        pass

    thrown = Own("mine")
    with pytest.raises(Own) as caught:
        async with session_with("prompt(); say(partial())") as session:
            async for _ in await session.send("go"):
                raise thrown
    assert caught.value is thrown
    assert (caught.value.__cause__, session.ending.code) == (None, 0)


# Callbacks


async def test_an_elicitation_is_answered(session_with: Callable[..., Any]):
    script = """
        prompt()
        told = ask("elicitation", mcp_server_name="s", message="Which?", mode="form", requested_schema={})
        say(result(told["response"]))
    """
    asked: list[tuple[str, str]] = []

    async def on_elicitation(request: handrail.ElicitationRequest) -> handrail.ElicitationAnswer:
        asked.append((request.mcp_server_name, request.message))
        return handrail.ElicitationAnswer("accept", {"colour": "blue"})

    async with session_with(script, on_elicitation=on_elicitation) as session:
        told = json.loads((await session.ask("go")).text)
    assert (asked, told) == ([("s", "Which?")], {"action": "accept", "content": {"colour": "blue"}})


async def test_a_callback_is_cancelled_when_its_question_is_withdrawn(session_with: Callable[..., Any]):
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

    async with session_with(script, can_use_tool=can_use_tool) as session:
        turn = await session.send("go")
        await began.wait()
        await session.control("withdraw")
        await ended.wait()
        await turn
        await session.control("anything_else")
    assert [question.cancelled.is_set() for question in questions] == [True]


# Turns


async def test_an_interrupted_turn_leaves_nothing_in_the_next(session_with: Callable[..., Any]):
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
    async with session_with(script) as session:
        first = await session.send("go")
        await session.interrupt()
        second = await session.send("next")
        texts = [message.text async for message in second if message.type in ("stream_event", "assistant", "result")]
        assert (texts, second.result.text) == (["new", "new", "new"], "new")
        old = [message.text async for message in first if message.type in ("stream_event", "assistant", "result")]
        assert old == ["old"] * 502 + ["stopped"]


async def test_a_turn_costs_what_it_cost_and_not_what_the_session_did(session_with: Callable[..., Any]):
    script = """
        for total in (0.25, 0.75, 0.0625):
            if prompt() == "/clear":
                say({"type": "conversation_reset", "new_conversation_id": "n", "session_id": SESSION, "uuid": "r"})
            usage = {"m": {"inputTokens": int(total * 1000), "outputTokens": 1, "costUSD": total}}
            say(result(total_cost_usd=total, modelUsage=usage))
    """
    async with session_with(script) as session:
        results = [await session.ask(prompt) for prompt in ("one", "two", "/clear")]
    assert [result.cost_usd for result in results] == [0.25, 0.5, 0.0625]
    assert [result.used.input_tokens for result in results] == [250, 500, 62]


# Nothing is left behind


async def test_a_session_is_opened_used_and_closed_by_different_tasks(session_with: Callable[..., Any]):
    script = """
        for _ in range(2):
            say(result(prompt()))
    """
    context = session_with(script)
    session = await asyncio.create_task(context.__aenter__())
    texts = [(await asyncio.create_task(session.ask(prompt))).text for prompt in ("one", "two")]
    await asyncio.create_task(context.__aexit__(None, None, None))
    assert (texts, session.ending.code) == (["one", "two"], 0)


STUBBORN = """
    import signal, subprocess
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    grandchild = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    prompt()
    say({"type": "pids", "pids": [os.getpid(), grandchild.pid]})
    answer(requested("interrupt"))
    try:
        hear()
    except SystemExit:
        say({"type": "end_of_input"})
    while True:
        signal.pause()
"""
"""Stays after the end of its input and after SIGTERM, and has a child in a session of its own."""


async def cancelled(context: Any, *, again: bool) -> list[int]:
    """Cancel whoever uses a session; `again`: once more while it is closing. Out: handles of the processes it had."""
    told: asyncio.Queue[handrail.MessageView] = asyncio.Queue()

    async def follow(messages: handrail.MessageReader) -> None:
        async for message in messages:
            if message.type in ("pids", "end_of_input"):
                told.put_nowait(message)

    async def work() -> None:
        async with context as session, asyncio.TaskGroup() as group:
            group.create_task(follow(session.messages()))
            await session.send("go")

    task = asyncio.create_task(work())
    async with asyncio.timeout(PATIENCE):
        handles = [os.pidfd_open(pid) for pid in json.loads((await told.get()).raw)["pids"]]
        task.cancel()
        if again:
            assert (await told.get()).type == "end_of_input"
            task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()
    return handles


async def test_a_cancelled_caller_leaves_no_process_behind(session_with: Callable[..., Any]):
    assert has_ended(await cancelled(session_with(STUBBORN, eof_grace=0.01, term_grace=0.01), again=False))


async def test_a_caller_cancelled_while_closing_leaves_no_process_behind(session_with: Callable[..., Any]):
    assert has_ended(await cancelled(session_with(STUBBORN, eof_grace=1000, term_grace=1000), again=True))


PARENT = """
import asyncio, handrail, sys
async def main():
    async with handrail.Session(handrail.Options(cli_path=sys.argv[1])) as session:
        async for message in await session.send("go"):
            if message.type == "pids":
                print(message.raw.decode(), flush=True)
asyncio.run(main())
"""


def test_a_parent_that_is_killed_leaves_no_process_behind(tmp_path: Path):
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, write_cli(tmp_path, STUBBORN)], stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout
        pids = json.loads(parent.stdout.readline())["pids"]
        helpers = [child.pid for child in psutil.Process(parent.pid).children() if child.pid not in pids]
        handles = [os.pidfd_open(pid) for pid in (*pids, *helpers)]
        parent.send_signal(signal.SIGKILL)
    assert has_ended(handles)


TIDY = """
import asyncio, handrail, sys
async def main():
    asyncio.get_running_loop().slow_callback_duration = 1000
    options = handrail.Options(cli_path=sys.argv[1], can_use_tool=lambda request: handrail.Allow())
    async with handrail.Session(options) as session:
        print((await session.ask("go")).text)
        reader, turn = session.messages(limit=1000), await session.send("more")
        async for message in turn:
            break
    async for message in handrail.query("go", options):
        if message.type == "result":
            print(message.text)
asyncio.run(main())
"""


def test_a_program_ends_without_a_warning(tmp_path: Path):
    cli = write_cli(
        tmp_path,
        """
        prompt()
        ask("can_use_tool", **permission())
        say(result("done"))
        prompt()
        say(*[partial() for _ in range(1000)])
        """,
    )
    run = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", TIDY, cli], capture_output=True, text=True, timeout=PATIENCE
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "done\ndone\n", "")
