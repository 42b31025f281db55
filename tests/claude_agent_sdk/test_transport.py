"""Transports that the program writes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from handrail.claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    CLIConnectionError,
    ProcessError,
    ResultMessage,
    Transport,
    query,
)


class Remote(Transport):
    """A CLI elsewhere. It answers every prompt with a result, or with an exception."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.said: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self._failure = failure
        self._frames: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    async def connect(self) -> None:
        self.calls.append("connect")

    async def write(self, data: str) -> None:
        line = json.loads(data)
        assert data.endswith("\n")
        self.said.append(line)
        if line["type"] == "control_request":
            response = {"subtype": "success", "request_id": line["request_id"], "response": {"models": []}}
            self._frames.put_nowait({"type": "control_response", "response": response})
        elif self._failure is None:
            self._frames.put_nowait({"type": "result", "result": line["message"]["content"]})
        else:
            self._frames.put_nowait(None)

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:  # type: ignore[override]
        while (frame := await self._frames.get()) is not None:
            yield frame
        if self._failure is not None:
            raise self._failure

    async def close(self) -> None:
        self.calls.append("close")

    def is_ready(self) -> bool:
        return "close" not in self.calls

    async def end_input(self) -> None:
        self.calls.append("end_input")
        self._frames.put_nowait(None)


async def results(messages: AsyncIterator[Any]) -> list[Any]:
    return [message.result async for message in messages if isinstance(message, ResultMessage)]


async def test_query_over_a_transport():
    remote = Remote()
    assert await results(query(prompt="héllo \N{SNOWMAN}", transport=remote)) == ["héllo \N{SNOWMAN}"]
    assert remote.calls == ["connect", "end_input", "close"]


async def test_client_over_a_transport():
    remote = Remote()
    async with ClaudeSDKClient(transport=remote) as client:
        await client.query("one")
        assert await results(client.receive_response()) == ["one"]
        await client.set_model("m")
        assert await client.get_server_info() == {"models": []}
    assert remote.calls == ["connect", "close"]
    assert [line["request"]["subtype"] for line in remote.said if "request" in line] == ["initialize", "set_model"]


async def test_handshake_leaves_the_system_prompt_of_the_remote_cli():
    remote = Remote()
    await results(query(prompt="one", transport=remote))
    assert remote.said[0]["request"] == {"subtype": "initialize"}
    remote = Remote()
    await results(query(prompt="one", options=ClaudeAgentOptions(system_prompt="own"), transport=remote))
    assert remote.said[0]["request"] == {"subtype": "initialize", "systemPrompt": ["own"]}


async def test_exception_of_the_transport_reaches_the_reader():
    failure = ProcessError("the remote CLI failed", exit_code=7)
    with pytest.raises(ProcessError, match="the remote CLI failed") as error:
        await results(query(prompt="one", transport=Remote(failure)))
    assert error.value is failure


async def test_transport_that_is_not_ready():
    remote = Remote()
    async with ClaudeSDKClient(transport=remote) as client:
        remote.calls.append("close")
        with pytest.raises(CLIConnectionError):
            await client.query("one")


async def test_failing_connect_reaches_the_caller():
    class Unreachable(Remote):
        async def connect(self) -> None:
            raise CLIConnectionError("no route to the machine")

    with pytest.raises(CLIConnectionError, match="no route to the machine"):
        await results(query(prompt="one", transport=Unreachable()))


async def test_many_frames_arrive_in_order():
    class Busy(Remote):
        async def read_messages(self) -> AsyncIterator[dict[str, Any]]:  # type: ignore[override]
            yield await self._frames.get() or {}
            for number in range(1000):
                yield {"type": "system", "subtype": "status", "number": number}

    numbers = [message.data["number"] async for message in query(prompt="one", transport=Busy())]  # type: ignore[union-attr]
    assert numbers == list(range(1000))


def test_transport_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Transport()  # type: ignore[abstract]
