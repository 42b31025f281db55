"""An editor for tests: drives `handrail acp` as a child process, with handrail-agent and a scripted API behind it."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from handrail.acp.rpc import METHOD_NOT_FOUND, RpcError, RpcPeer
from handrail.testing import Script, ScriptedMessagesApi
from handrail.transport.process import ProcessTransport

BIN = Path(sys.executable).parent
Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class TestEditor:
    """What the editor received, and requests to the agent."""

    __test__ = False

    def __init__(self, transport: ProcessTransport, folder: Path) -> None:
        self.folder = folder
        self.updates: list[dict[str, Any]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, Answer] = {}
        self._arrived = asyncio.Condition()
        self.peer = RpcPeer(transport, self._answer, self._noticed)

    async def open(self, **capabilities: Any) -> str:
        """Initialize and start a session in the folder. Returns its id."""
        await self.initialize(**capabilities)
        opened = await self.peer.request("session/new", {"cwd": str(self.folder), "mcpServers": []})
        return opened["sessionId"]

    async def initialize(self, **capabilities: Any) -> dict[str, Any]:
        return await self.peer.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})

    async def prompt(self, session: str, *blocks: str | dict[str, Any]) -> str:
        """Send a prompt. Returns the stop reason."""
        given = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        answer = await self.peer.request("session/prompt", {"sessionId": session, "prompt": given})
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
        self.asked.append((method, params))
        await self._notify()
        if method not in self.answers:
            raise RpcError(METHOD_NOT_FOUND, method)
        return await self.answers[method](params)

    def _noticed(self, method: str, params: Any) -> None:
        assert method == "session/update"
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
    """
    os.makedirs(folder, exist_ok=True)
    through = shlex.split(os.environ.get("HANDRAIL_TEST_EDITOR", ""))
    argv = [*through, str(BIN / "handrail"), "acp", "--cli", str(BIN / "handrail-agent"), *arguments]
    async with ScriptedMessagesApi(script) as api, asyncio.timeout(60):
        env = {**os.environ, "ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-test"}
        transport = ProcessTransport(argv, env=env, cwd=folder)
        await transport.start()
        editor = TestEditor(transport, folder)
        running = asyncio.create_task(editor.peer.run())
        try:
            yield editor
        finally:
            await transport.close()
            await asyncio.wait([running])
