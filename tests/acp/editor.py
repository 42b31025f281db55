"""An editor for tests: drives `handrail acp` as a child process, with handrail-agent and a scripted API behind it.

The sessions run in that process or on a server, and the connection may pass through the client side of an official SDK.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.acp.rpc import METHOD_NOT_FOUND, RpcError, RpcPeer
from handrail.bridge.commands.table import SCOPES
from handrail.schema.acp import messages as acp
from handrail.testing import Script, ScriptedMessagesApi
from handrail.transport.process import ProcessTransport
from tests.bridge.serving import Running, running

BIN = Path(sys.executable).parent
Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
MESSAGES = "acp-messages.jsonl"
"""What `checked_agent.py` found in the messages to an official SDK, beside the folder of the editor."""


class TestEditor:
    """What the editor received, and requests to the agent."""

    __test__ = False

    def __init__(self, transport: ProcessTransport, folder: Path) -> None:
        self.folder, self.transport = folder, transport
        self.server: Running | None = None
        self.api: ScriptedMessagesApi | None = None
        self.updates: list[dict[str, Any]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, Answer] = {}
        self.cancelled: list[str] = []
        """Requests of the agent that it took back."""
        self._arrived = asyncio.Condition()
        self.peer = RpcPeer(transport, self._answer, self._noticed)

    async def open(self, **capabilities: Any) -> str:
        """Initialize and start a session in the folder. Returns its id."""
        await self.initialize(**capabilities)
        opened = await self.peer.request("session/new", {"cwd": str(self.folder), "mcpServers": []})
        return opened["sessionId"]

    async def resume(self, session: str) -> None:
        """Initialize and open a session without its history."""
        await self.initialize()
        await self.peer.request("session/resume", {"sessionId": session, "cwd": str(self.folder), "mcpServers": []})

    async def initialize(self, **capabilities: Any) -> dict[str, Any]:
        return await self.peer.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})

    async def prompt(self, session: str, *blocks: str | dict[str, Any]) -> str:
        """Send a prompt. Returns the stop reason."""
        given = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        answer = await self.peer.request("session/prompt", {"sessionId": session, "prompt": given})
        if os.environ.get("HANDRAIL_TEST_EDITOR") and answer["stopReason"] != "cancelled":
            # The SDKs may report the answer before the last updates; these arrive before the answer to a later request.
            await self.peer.request("session/list", {})
        return answer["stopReason"]

    def kinds(self) -> list[str]:
        """The kinds of the updates, without repetitions."""
        found = [update["update"]["sessionUpdate"] for update in self.updates]
        return [kind for at, kind in enumerate(found) if at == 0 or found[at - 1] != kind]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [update["update"] for update in self.updates if update["update"]["sessionUpdate"] == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update["content"]["text"] for update in self.of_kind(kind))

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something that arrived makes a condition true."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: bool(condition()))

    async def _answer(self, method: str, params: Any) -> Any:
        msgspec.convert(params, acp.REQUESTS[method][0])
        self.asked.append((method, params))
        await self._notify()
        if method not in self.answers:
            raise RpcError(METHOD_NOT_FOUND, method)
        try:
            return await self.answers[method](params)
        except asyncio.CancelledError:
            self.cancelled.append(method)
            await self._notify()
            raise

    def _noticed(self, method: str, params: Any) -> None:
        assert method == "session/update"
        msgspec.convert(params, acp.SessionNotification)
        self.updates.append(params)
        asyncio.get_running_loop().create_task(self._notify())

    async def _notify(self) -> None:
        async with self._arrived:
            self._arrived.notify_all()


def choosing(option: str) -> Answer:
    """Answer every permission request with the option of this id."""

    async def answer(params: dict[str, Any]) -> dict[str, Any]:
        assert option in [offered["optionId"] for offered in params["options"]]
        return {"outcome": {"outcome": "selected", "optionId": option}}

    return answer


@asynccontextmanager
async def an_editor(folder: Path, script: Script, *arguments: str) -> AsyncIterator[TestEditor]:
    """An editor connected to a new `handrail acp`, in a new or existing folder.

    With HANDRAIL_TEST_EDITOR=COMMAND the connection passes through that program: the client side of an official SDK.
    With HANDRAIL_TEST_BEHIND=server the sessions run on a server; with "socket" the editor uses the server's socket.
    """
    os.makedirs(folder, exist_ok=True)
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(ScriptedMessagesApi(script))
        await stack.enter_async_context(asyncio.timeout(60))
        behind = os.environ.get("HANDRAIL_TEST_BEHIND")
        if behind in ("server", "socket"):
            server = await stack.enter_async_context(a_server(folder, api.url))
            if behind == "socket" and arguments:
                pytest.skip("the socket takes no arguments")
            made = editor_on_socket(server, folder) if behind == "socket" else editor_of(server, folder, *arguments)
            editor = await stack.enter_async_context(made)
        else:
            agent = ("--cli", str(BIN / "handrail-agent"))
            editor = await stack.enter_async_context(connected(folder, *agent, *arguments, **access(api.url)))
        editor.api = api
        yield editor


def access(api: str) -> dict[str, str]:
    """The variables with which a CLI uses the scripted API."""
    return {"ANTHROPIC_BASE_URL": api, "ANTHROPIC_API_KEY": "sk-test"}


@asynccontextmanager
async def a_server(folder: Path, api: str, **fields: Any) -> AsyncIterator[Running]:
    """A server whose sessions work in the folder. Their CLIs inherit the variables of this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in access(api).items():
            patch.setenv(name, value)
        data = folder.parent / "server"
        data.mkdir(exist_ok=True)
        async with running(data, roots=(folder,), **fields) as server:
            yield server


@asynccontextmanager
async def connected(
    folder: Path, *arguments: str, command: Sequence[str] = (str(BIN / "handrail"), "acp"), **env: str
) -> AsyncIterator[TestEditor]:
    """An editor connected to a new `handrail acp`, or another command, with these arguments and variables."""
    through = shlex.split(os.environ.get("HANDRAIL_TEST_EDITOR", ""))
    transport = ProcessTransport([*through, *command, *arguments], env={**os.environ, **env}, cwd=folder)
    await transport.start()
    editor = TestEditor(transport, folder)
    reading = asyncio.create_task(editor.peer.run())
    try:
        yield editor
    finally:
        await transport.close()
        await asyncio.wait([reading])
    if through:
        # A killed editor may leave half a line.
        lines = (folder.parent / MESSAGES).read_text().rpartition("\n")[0].splitlines()
        messages = [msgspec.json.decode(line) for line in lines]
        assert [message for message in messages if message["violations"]] == []


@asynccontextmanager
async def editor_of(server: Running, folder: Path, *arguments: str) -> AsyncIterator[TestEditor]:
    """An editor whose sessions are those of a server."""
    token = await server.token()
    async with connected(folder, "--server", server.address, *arguments, HANDRAIL_TOKEN=token) as editor:
        editor.server = server
        yield editor


@asynccontextmanager
async def editor_on_socket(server: Running, folder: Path, scopes: Sequence[str] = SCOPES) -> AsyncIterator[TestEditor]:
    """An editor on the ACP socket of a server."""
    relay, url = str(Path(__file__).with_name("relay.py")), f"ws://{server.host}/acp"
    token = await server.token(scopes)
    async with connected(folder, url, command=(sys.executable, relay), HANDRAIL_TOKEN=token) as editor:
        editor.server = server
        yield editor
