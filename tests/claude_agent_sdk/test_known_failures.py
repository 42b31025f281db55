"""Failures that the official package is known for, driven through its interface; see tests/client/test_known_*.py."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from handrail.claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    ResultError,
    ResultMessage,
    StreamEvent,
    query,
)
from tests.claude_agent_sdk.scripted import PATIENCE, scripted, scripted_client
from tests.client.scripted_cli import write_cli
from tests.client.test_known_failures import AFTERTHOUGHTS, HOSTILE
from tests.client.test_known_leaks import STUBBORN, has_ended
from tests.client.test_known_losses import BLOCKS

MANY = 10_000


async def allow(*_: Any) -> PermissionResultAllow:
    return PermissionResultAllow()


async def response(client: ClaudeSDKClient) -> list[Any]:
    return [message async for message in client.receive_response()]


# Control never queues behind data


async def test_interrupt_is_answered_while_ten_thousand_messages_are_unread(tmp_path: Path):
    script = f"""
        prompt()
        say(*[partial() for _ in range({MANY})])
        answer(requested("interrupt"), {{"still_queued": []}})
        say(failure("error_during_execution", terminal_reason="aborted_streaming"))
    """
    async with scripted_client(tmp_path, script, include_partial_messages=True) as client:
        await client.query("go")
        await client.interrupt()
        messages = await response(client)
    assert len([message for message in messages if isinstance(message, StreamEvent)]) == MANY
    assert messages[-1].terminal_reason == "aborted_streaming"


async def test_callbacks_are_answered_while_ten_thousand_messages_are_unread(tmp_path: Path):
    script = f"""
        prompt()
        say(*[partial() for _ in range({MANY})])
        allowed = ask("can_use_tool", **permission(command="ls"))
        (hook,) = handshake["hooks"]["PreToolUse"][0]["hookCallbackIds"]
        hooked = ask("hook_callback", callback_id=hook, input={{"hook_event_name": "PreToolUse", "tool_input": {{}}}})
        say(result([allowed["response"]["behavior"], hooked["response"]]))
    """
    called = asyncio.Event()

    async def approve(*_: Any) -> Any:
        called.set()
        return {"decision": "approve"}

    options: dict[str, Any] = {"can_use_tool": allow, "hooks": {"PreToolUse": [HookMatcher(hooks=[approve])]}}
    async with scripted_client(tmp_path, script, **options) as client:
        await client.query("go")
        await called.wait()  # nothing has been read
        assert json.loads((await response(client))[-1].result) == ["allow", {"decision": "approve"}]


async def test_concurrent_requests_get_their_own_answers(tmp_path: Path):
    script = """
        asked = [requested("get_context_usage") for _ in range(50)]
        for number, request in reversed(list(enumerate(asked))):
            answer(request, {"totalTokens": number})
    """
    async with scripted_client(tmp_path, script) as client:
        answers = await asyncio.gather(*(client.get_context_usage() for _ in range(50)))
    assert sorted(answer["totalTokens"] for answer in answers) == list(range(50))


async def test_prompt_of_connect_is_answered(tmp_path: Path):
    client = ClaudeSDKClient(scripted(tmp_path, "say(result(prompt()))"))
    await client.connect("hello")
    assert (await response(client))[-1].result == "hello"
    await client.disconnect()


# Nothing is lost


async def test_line_of_20_megabytes_is_read(tmp_path: Path):
    script = """
        prompt()
        say(assistant("x" * 20_000_000))
        say(result())
    """
    messages = [message async for message in query(prompt="go", options=scripted(tmp_path, script))]
    assert [len(message.content[0].text) for message in messages if isinstance(message, AssistantMessage)] == [  # type: ignore[union-attr]
        20_000_000
    ]


async def test_line_over_the_limit_is_reported_and_the_session_continues(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    script = """
        prompt()
        say(assistant("x" * 100_000))
        say(assistant("short"))
        say(result())
    """
    with caplog.at_level(logging.WARNING, "handrail"):
        async with scripted_client(tmp_path, script, max_buffer_size=10_000) as client:
            await client.query("go")
            messages = await response(client)
    assert [type(message).__name__ for message in messages] == ["SystemMessage", "AssistantMessage", "ResultMessage"]
    assert "more than the limit of 10000" in caplog.text


async def test_every_content_block_is_kept(tmp_path: Path):
    blocks = [json.loads(raw) for _, raw in BLOCKS.values()]
    script = f"""
        prompt()
        say(assistant(*{blocks!r}), result())
    """
    async with scripted_client(tmp_path, script) as client:
        await client.query("go")
        _, message, _ = await response(client)
    assert message.raw["message"]["content"] == blocks
    assert [type(block).__name__ for block in message.content] == ["ServerToolUseBlock", "ThinkingBlock"]
    known = ("server_tool_use", "thinking")
    assert message.unknown_blocks == [block for block in blocks if block["type"] not in known]


async def test_unknown_messages_do_not_end_the_conversation(tmp_path: Path):
    lines = [
        '{"type":"hologram","light":[1,2.50],"uuid":"h"}',
        '{"type":"tool_progress","tool_use_id":"t","tool_name":"Bash","elapsed_time_seconds":3}',
        '{"no_type":"at all"}',
        '{"type":"assistant","message":"of an impossible shape"}',
        '{"type":"rate_limit_event","rate_limit_info":[]}',
        '{"type":"user"}',
    ]
    script = f"""
        prompt()
        say_raw(*{lines!r})
        say_raw("this is not JSON", '{{"type":"result"}}')
    """
    async with scripted_client(tmp_path, script) as client:
        await client.query("go")
        *_, last = await response(client)
        assert [frame for frame in client.other_messages if frame.get("type") != "command_lifecycle"] == [
            json.loads(line) for line in lines
        ]
    assert last == ResultMessage("", 0, 0, False, 0, "")


async def test_large_system_prompt_is_sent_in_the_handshake(tmp_path: Path):
    script = """
        prompt()
        say(result([len(handshake["systemPrompt"][0]), max(map(len, sys.argv)) < 1000]))
    """
    async with scripted_client(tmp_path, script, system_prompt="x" * 1_000_000) as client:
        await client.query("go")
        assert json.loads((await response(client))[-1].result) == [1_000_000, True]


# Errors say what happened


@pytest.mark.parametrize("afterthought", AFTERTHOUGHTS)
async def test_failed_turn_keeps_its_error(tmp_path: Path, afterthought: str):
    script = f"""
        prompt()
        say(failure("error_max_turns", "Reached maximum number of turns"))
        say_raw({AFTERTHOUGHTS[afterthought]!r})
        raise SystemExit(1)
    """
    with pytest.raises(ResultError, match="Reached maximum number of turns") as error:
        _ = [message async for message in query(prompt="go", options=scripted(tmp_path, script))]
    assert (error.value.subtype, error.value.exit_code) == ("error_max_turns", 1)


async def test_exception_of_the_caller_is_unchanged(tmp_path: Path):
    class Own(Exception):
        pass

    thrown = Own("mine")

    async def work() -> None:
        async with aclosing(query(prompt="go", options=scripted(tmp_path, "prompt(); say(partial())"))) as messages:  # type: ignore[type-var]
            async for _ in messages:
                raise thrown

    with pytest.raises(Own) as caught:
        await work()
    assert (caught.value, caught.value.__cause__) == (thrown, None)


# Arguments


@pytest.mark.parametrize("option", ["resume", "model", "fallback_model", "resume_session_at"])
async def test_option_values_cannot_become_flags(tmp_path: Path, option: str):
    script = """
        prompt()
        say(result(sys.argv[2:]))
    """
    async with scripted_client(tmp_path, script, **{option: HOSTILE}) as client:
        await client.query("go")
        argv = json.loads((await response(client))[-1].result)
    assert [argument for argument in argv if argument.startswith(HOSTILE)] == []
    assert f"--{option.replace('_', '-')}={HOSTILE}" in argv


# Nothing is left behind


async def test_client_is_opened_used_and_closed_by_different_tasks(tmp_path: Path):
    script = """
        for _ in range(2):
            say(result(prompt()))
    """
    client = ClaudeSDKClient(scripted(tmp_path, script))
    async with asyncio.timeout(PATIENCE):
        await asyncio.create_task(client.connect())
        for prompt in ("one", "two"):
            await asyncio.create_task(client.query(prompt))
            assert (await asyncio.create_task(response(client)))[-1].result == prompt
        await asyncio.create_task(client.disconnect())


async def test_cancelled_caller_leaves_no_process(tmp_path: Path):
    """The caller is cancelled, and again while the session closes."""
    script = STUBBORN.replace('{"type": "pids", "pids": [os.getpid(), grandchild.pid]}', "assistant(PIDS)").replace(
        'say({"type": "end_of_input"})', 'print("end of input", file=sys.stderr, flush=True)'
    )
    script = script.replace("PIDS", "json.dumps([os.getpid(), grandchild.pid])")
    pids: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
    closing = asyncio.Event()
    options = scripted(tmp_path, script, can_use_tool=allow, stderr=lambda _: closing.set())

    async def work() -> None:
        async for message in query(prompt="go", options=options):
            if isinstance(message, AssistantMessage):
                pids.set_result(json.loads(message.content[0].text))  # type: ignore[union-attr]

    async with asyncio.timeout(PATIENCE):
        task = asyncio.create_task(work())
        handles = [os.pidfd_open(pid) for pid in await pids]
        task.cancel()
        await closing.wait()
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()
    assert has_ended(handles)


TIDY = """
import asyncio, sys
from handrail.claude_agent_sdk import *
async def allow(*_):
    return PermissionResultAllow()
async def main():
    asyncio.get_running_loop().slow_callback_duration = 1000
    options = ClaudeAgentOptions(cli_path=sys.argv[1], can_use_tool=allow)
    async for message in query(prompt="go", options=options):
        if isinstance(message, ResultMessage):
            print(message.result)
    async with ClaudeSDKClient(options) as client:
        await client.query("go")
        async for message in client.receive_response():
            pass
    async for message in query(prompt="go", options=options):
        break  # its session is closed while asyncio.run cancels every task
asyncio.run(main())
"""


def test_program_exits_without_warnings(tmp_path: Path):
    cli = write_cli(
        tmp_path,
        """
        prompt()
        ask("can_use_tool", **permission())
        say(result("done"))
        """,
    )
    run = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", TIDY, cli], capture_output=True, text=True, timeout=PATIENCE
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "done\n", "")
