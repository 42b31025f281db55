"""Errors: the CLI is missing, exits, breaks the protocol; calls in the wrong order; a transport of the caller."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from typing import Any

from tests.interop.shim_scenarios.stage import Sdk, Stage, scenario

INITIALIZED = """
import json, sys
for line in sys.stdin:
    frame = json.loads(line)
    if frame.get("type") == "control_request":
        answer = {"subtype": "success", "request_id": frame["request_id"], "response": {"commands": []}}
        print(json.dumps({"type": "control_response", "response": answer}), flush=True)
    else:
        break
"""
RESULT = {
    "type": "result",
    "subtype": "success",
    "duration_ms": 1,
    "duration_api_ms": 1,
    "is_error": False,
    "num_turns": 1,
    "session_id": "s",
    "result": "done",
    "total_cost_usd": 0.5,
    "usage": {"input_tokens": 1},
}
ASSISTANT = {
    "type": "assistant",
    "message": {"role": "assistant", "model": "m", "content": [{"type": "text", "text": "Hello."}]},
    "parent_tool_use_id": None,
    "session_id": "s",
}


def fake_cli(stage: Stage, *lines: Any, code: int = 0, handshake: bool = True) -> str:
    """A CLI that answers the handshake, waits for a prompt, prints these lines and exits."""
    printed = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    body = f"{INITIALIZED if handshake else ''}\nfor line in {printed!r}: print(line, flush=True)\n"
    script = stage.put(
        stage.outside / "fake-claude", f"#!{os.environ['STAGE_PYTHON']}\nimport sys\n{body}sys.exit({code})\n"
    )
    script.chmod(0o755)
    return str(script)


@scenario()
async def cli_not_found(sdk: Sdk, stage: Stage) -> None:
    with stage.failing():
        await stage.ask("hi", cli_path="/nonexistent/claude")


@scenario()
async def folder_not_found(sdk: Sdk, stage: Stage) -> None:
    with stage.failing():
        await stage.ask("hi", cwd=stage.project / "nothing")


@scenario(trio=True)
async def cli_that_exits_at_once(sdk: Sdk, stage: Stage) -> None:
    with stage.failing():
        await stage.query("hi", cli_path=fake_cli(stage, code=3, handshake=False))


@scenario()
async def cli_that_exits_after_the_prompt(sdk: Sdk, stage: Stage) -> None:
    with stage.failing():
        await stage.query("hi", cli_path=fake_cli(stage, ASSISTANT, code=3))


@scenario()
async def cli_that_exits_after_a_failed_result(sdk: Sdk, stage: Stage) -> None:
    failed = {**RESULT, "subtype": "error_during_execution", "is_error": True, "errors": ["it broke"]}
    with stage.failing():
        await stage.query("hi", cli_path=fake_cli(stage, ASSISTANT, failed, code=1))


@scenario()
async def invalid_option_of_the_cli(sdk: Sdk, stage: Stage) -> None:
    with stage.failing():
        await stage.query("hi", extra_args={"no-such-flag": None})


@scenario()
async def unknown_frames_are_skipped(sdk: Sdk, stage: Stage) -> None:
    unknown = {"type": "from_tomorrow", "value": 1}
    await stage.query("hi", cli_path=fake_cli(stage, unknown, ASSISTANT, {"type": "keep_alive"}, RESULT))


@scenario()
async def lines_that_are_not_json_are_skipped(sdk: Sdk, stage: Stage) -> None:
    await stage.query("hi", cli_path=fake_cli(stage, "a debug line", "", ASSISTANT, RESULT))


@scenario()
async def unknown_system_message(sdk: Sdk, stage: Stage) -> None:
    unknown = {"type": "system", "subtype": "from_tomorrow", "value": {"a": 1}, "session_id": "s", "uuid": "u"}
    await stage.query("hi", cli_path=fake_cli(stage, unknown, RESULT))


@scenario()
async def every_task_message(sdk: Sdk, stage: Stage) -> None:
    task = {"type": "system", "task_id": "t1", "session_id": "s", "uuid": "u1", "tool_use_id": "toolu_1"}
    usage = {"total_tokens": 1, "tool_uses": 2, "duration_ms": 3}
    frames = [
        {**task, "subtype": "task_started", "description": "digs", "task_type": "local_agent"},
        {**task, "subtype": "task_progress", "description": "digs", "usage": usage, "last_tool_name": "Bash"},
        {**task, "subtype": "task_updated", "patch": {"status": "running"}},
        {**task, "subtype": "task_notification", "status": "completed", "output_file": "f", "summary": "dug"},
    ]
    await stage.query("hi", cli_path=fake_cli(stage, *frames, RESULT))


@scenario()
async def rate_limits_and_resets(sdk: Sdk, stage: Stage) -> None:
    info = {"status": "allowed_warning", "resetsAt": 1, "rateLimitType": "five_hour", "utilization": 0.9}
    frames = [
        {"type": "rate_limit_event", "rate_limit_info": info, "uuid": "u1", "session_id": "s"},
        {"type": "conversation_reset", "new_conversation_id": "n", "uuid": "u2", "session_id": "s"},
        {"type": "stream_event", "event": {"type": "ping"}, "uuid": "u3", "session_id": "s"},
    ]
    await stage.query("hi", cli_path=fake_cli(stage, *frames, RESULT))


@scenario()
async def server_tool_blocks(sdk: Sdk, stage: Stage) -> None:
    content = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {
            "type": "advisor_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": {"type": "advisor_result", "text": "a"},
        },
        {"type": "hologram", "light": 1},
        {"type": "text", "text": "found"},
    ]
    message = {**ASSISTANT, "message": {**ASSISTANT["message"], "content": content}}
    await stage.query("hi", cli_path=fake_cli(stage, message, RESULT))


@scenario()
async def user_messages(sdk: Sdk, stage: Stage) -> None:
    result = {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [{"type": "text", "text": "x"}],
        "is_error": True,
    }
    frames = [
        {"type": "user", "message": {"role": "user", "content": "hi"}, "uuid": "u1", "parent_tool_use_id": "p"},
        {"type": "user", "message": {"role": "user", "content": [result]}, "tool_use_result": {"a": 1}},
        {
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": "t"}]},
            "origin": {"kind": "human"},
        },
    ]
    await stage.query("hi", cli_path=fake_cli(stage, *frames, RESULT))


@scenario()
async def client_used_before_it_is_connected(sdk: Sdk, stage: Stage) -> None:
    client = stage.client()
    for call in (
        lambda: client.query("hi"),
        client.interrupt,
        lambda: client.set_model("m"),
        lambda: client.set_permission_mode("plan"),
        client.get_mcp_status,
        client.get_context_usage,
        client.get_server_info,
        lambda: client.rewind_files("u"),
        lambda: client.stop_task("t"),
    ):
        with stage.failing():
            await call()
    with stage.failing():
        await stage.collect(client.receive_messages())
    await client.disconnect()


@scenario("Hello.")
async def client_used_after_it_is_disconnected(sdk: Sdk, stage: Stage) -> None:
    client = stage.client()
    await client.connect()
    await client.disconnect()
    await client.disconnect()
    with stage.failing():
        await client.query("hi")


@scenario(trio=True)
async def transport_of_the_caller(sdk: Sdk, stage: Stage) -> None:
    class Canned(sdk.Transport):
        """Answers the handshake, and every prompt with two messages."""

        def __init__(self) -> None:
            self.written: list[dict[str, Any]] = []
            self.closed = False

        async def connect(self) -> None:
            stage.note("connect")

        async def write(self, data: str) -> None:
            self.written.append(json.loads(data))

        async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
            import anyio

            answered = 0
            while not self.closed:
                await anyio.sleep(0.001)  # polls: the scenario is not about waiting
                while answered < len(self.written):
                    frame = self.written[answered]
                    answered += 1
                    if frame["type"] == "control_request":
                        stage.note("request", frame["request"]["subtype"])
                        body = {"subtype": "success", "request_id": frame["request_id"], "response": {"commands": []}}
                        yield {"type": "control_response", "response": body}
                    elif frame["type"] == "user":
                        stage.note("prompt", frame["message"])
                        yield ASSISTANT
                        yield RESULT
                        return

        async def close(self) -> None:
            self.closed = True

        def is_ready(self) -> bool:
            return not self.closed

        async def end_input(self) -> None:
            pass

    await stage.collect(sdk.query(prompt="hi", options=sdk.ClaudeAgentOptions(), transport=Canned()))
