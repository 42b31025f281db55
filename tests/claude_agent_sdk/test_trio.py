"""The shim in a trio loop: the session runs in another thread, everything of the program in its own loop."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio

from handrail.claude_agent_sdk import (
    ClaudeSDKClient,
    CLIConnectionError,
    HookMatcher,
    PermissionResultAllow,
    ProcessError,
    ResultMessage,
    Transport,
    create_sdk_mcp_server,
    query,
    tool,
)
from tests.claude_agent_sdk.scripted import PATIENCE, scripted


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    async def limited() -> Any:
        with trio.fail_after(PATIENCE):
            return await main()

    threads = threading.active_count()
    try:
        return trio.run(limited)
    finally:
        assert not [thread for thread in threading.enumerate() if thread.name == "handrail"]
        assert threading.active_count() <= threads + 2  # trio keeps idle worker threads


async def results(messages: AsyncIterator[Any]) -> list[Any]:
    return [message.result async for message in messages if isinstance(message, ResultMessage)]


async def here() -> None:
    """Fails outside of a trio task of the main thread."""
    assert threading.current_thread() is threading.main_thread()
    await trio.lowlevel.checkpoint()


def test_query(tmp_path: Path):
    options = scripted(tmp_path, "say(result(prompt()))")
    assert run(lambda: results(query(prompt="hello", options=options))) == ["hello"]


def test_query_in_anyio_on_trio(tmp_path: Path):
    options = scripted(tmp_path, "say(result(prompt()))")
    assert anyio.run(results, query(prompt="hello", options=options), backend="trio") == ["hello"]


def test_query_in_anyio_on_asyncio(tmp_path: Path):
    options = scripted(tmp_path, "say(result(prompt()))")
    assert anyio.run(results, query(prompt="hello", options=options), backend="asyncio") == ["hello"]


def test_prompts_of_an_iterable_are_made_in_one_task(tmp_path: Path):
    tasks: list[Any] = []

    async def prompts() -> AsyncIterator[dict[str, Any]]:
        with trio.fail_after(PATIENCE):  # a scope across a `yield` needs one task
            for text in ("one", "two"):
                await here()
                tasks.append(trio.lowlevel.current_task())
                yield {"type": "user", "message": {"role": "user", "content": text}}

    options = scripted(tmp_path, 'say(result([hear()["message"]["content"], hear()["message"]["content"]]))')
    assert run(lambda: results(query(prompt=prompts(), options=options))) == ['["one", "two"]']
    assert tasks[0] is tasks[1]


CALLBACKS = """
    def mcp(method, **params):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return ask("mcp_message", server_name="calc", message=message)["response"]["mcp_response"]["result"]
    prompt()
    print("a line", file=sys.stderr, flush=True)
    allowed = ask("can_use_tool", **permission(command="ls"))["response"]["behavior"]
    (id,) = handshake["hooks"]["Stop"][0]["hookCallbackIds"]
    hooked = ask("hook_callback", callback_id=id, input={"hook_event_name": "Stop"})["response"]
    mcp("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "c", "version": "1"})
    said = mcp("tools/call", name="say", arguments={"text": "hi"})["content"][0]["text"]
    say(result([allowed, hooked, said]))
"""


def test_callbacks_run_in_the_loop_of_the_caller(tmp_path: Path):
    heard: list[str] = []

    async def can_use_tool(*_: Any) -> PermissionResultAllow:
        await here()
        return PermissionResultAllow()

    async def hook(*_: Any) -> Any:
        await here()
        return {"reason": "hooked"}

    @tool("say", "Say it", {"text": str})
    async def say(arguments: dict[str, Any]) -> dict[str, Any]:
        await here()
        return {"content": [{"type": "text", "text": arguments["text"]}]}

    def stderr(line: str) -> None:
        assert threading.current_thread() is threading.main_thread()
        heard.append(line)

    options = scripted(
        tmp_path,
        CALLBACKS,
        can_use_tool=can_use_tool,
        hooks={"Stop": [HookMatcher(hooks=[hook])]},
        mcp_servers={"calc": create_sdk_mcp_server("calc", tools=[say])},
        stderr=stderr,
    )
    [result] = run(lambda: results(query(prompt="go", options=options)))
    assert json.loads(result) == ["allow", {"reason": "hooked"}, "hi"]
    assert heard == ["a line"]


def test_failing_callback_is_reported_to_the_cli(tmp_path: Path):
    async def can_use_tool(*_: Any) -> Any:
        raise ValueError("no idea")

    def stderr(line: str) -> None:
        raise ValueError("not heard")

    script = """
        prompt()
        print("a line", file=sys.stderr, flush=True)
        say(result(ask("can_use_tool", **permission())["error"]))
    """
    options = scripted(tmp_path, script, can_use_tool=can_use_tool, stderr=stderr)
    assert run(lambda: results(query(prompt="go", options=options))) == ["no idea"]


def test_withdrawn_request_cancels_its_callback(tmp_path: Path):
    script = """
        prompt()
        say({"type": "control_request", "request_id": "q1", "request": {"subtype": "can_use_tool", **permission()}})
        answer(requested("interrupt"))
        say({"type": "control_cancel_request", "request_id": "q1"})
        answer(requested("stop_task"))
    """

    async def main() -> None:
        began, ended = trio.Event(), trio.Event()

        async def can_use_tool(*_: Any) -> Any:
            began.set()
            try:
                await trio.sleep_forever()
            finally:
                ended.set()

        async with ClaudeSDKClient(scripted(tmp_path, script, can_use_tool=can_use_tool)) as client:
            await client.query("go")
            await began.wait()
            await client.interrupt()
            await ended.wait()
            await client.stop_task("t")

    run(main)


def test_client(tmp_path: Path):
    script = """
        while True:
            say(result(prompt()))
    """

    async def main() -> list[Any]:
        async with ClaudeSDKClient(scripted(tmp_path, script)) as client:
            found: list[Any] = []
            for text in ("one", "two"):
                await client.query(text)
                found += await results(client.receive_response())
            return found

    assert run(main) == ["one", "two"]


def test_cancelled_receive_loses_no_message(tmp_path: Path):
    script = """
        prompt()
        answer(requested("interrupt"))
        say(result("late"))
    """

    async def main() -> list[Any]:
        async with ClaudeSDKClient(scripted(tmp_path, script)) as client:
            await client.query("go")
            async with aclosing(client.receive_messages()) as messages:  # type: ignore[type-var]
                await anext(messages)
                with trio.CancelScope() as scope:
                    scope.cancel()
                    await anext(messages)
            await client.interrupt()
            return await results(client.receive_response())

    assert run(main) == ["late"]


def test_cancelled_query_ends_the_cli(tmp_path: Path):
    gone = tmp_path / "gone"
    script = f"""
        prompt()
        try:
            hear()
        finally:
            open({str(gone)!r}, "w").close()
    """

    async def allow(*_: Any) -> Any: ...

    async def main() -> None:
        with trio.CancelScope() as scope:
            async for _ in query(prompt="go", options=scripted(tmp_path, script, can_use_tool=allow)):
                scope.cancel()

    run(main)
    assert gone.exists()


def test_errors(tmp_path: Path):
    async def connect() -> None:
        await ClaudeSDKClient(scripted(tmp_path, "raise SystemExit(1)")).connect()

    with pytest.raises(CLIConnectionError):
        run(connect)
    with pytest.raises(ProcessError):
        run(lambda: results(query(prompt="go", options=scripted(tmp_path, "prompt(); raise SystemExit(1)"))))


class Echo(Transport):
    """Answers every prompt with a result; works only in the trio loop of the program."""

    async def connect(self) -> None:
        await here()
        self.send, self.receive = trio.open_memory_channel[dict[str, Any]](10)

    async def write(self, data: str) -> None:
        await here()
        line = json.loads(data)
        if line["type"] == "control_request":
            response = {"subtype": "success", "request_id": line["request_id"], "response": {}}
            await self.send.send({"type": "control_response", "response": response})
        else:
            await self.send.send({"type": "result", "result": line["message"]["content"]})

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:  # type: ignore[override]
        async with self.receive:
            async for frame in self.receive:
                yield frame

    async def close(self) -> None:
        await here()

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        await here()
        self.send.close()


def test_transport_of_the_program():
    assert run(lambda: results(query(prompt="hello", transport=Echo()))) == ["hello"]
