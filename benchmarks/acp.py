"""Delays of `handrail acp`: its first answer against that of the CLI, and a delta in an editor against the page.

The editor and a client of the native protocol, as the page is one, follow the same session. The child writes the time
into each line; the updates of the editor are in the same order.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.agent_process import agent
from benchmarks.bridge_delays import LIVE, Delays, shown, summary, through_bridge
from benchmarks.bridge_server import BridgeServer, bridge_server
from benchmarks.figures import Section, at_most
from benchmarks.workbench import Workbench
from handrail.acp.rpc import RpcPeer
from handrail.testing import Lab, ScriptedMessagesApi
from handrail.transport.process import ProcessTransport

__all__ = ["measure"]

ROUNDS = 8
MORE_SECONDS = 0.3
MORE_MILLISECONDS = 1.0
BIN = Path(sys.executable).parent


def measure(bench: Workbench) -> Section:
    """The first answers of both, alternating; then the deltas of some turns."""
    cli, ours = asyncio.run(_first_answers(bench))
    page, editor = map(summary, asyncio.run(_deltas(bench)))
    return Section(
        "Sessions in an editor",
        f"Seconds from the start to the answer to `initialize`, median of {len(ours)} starts of each; milliseconds "
        f"from the child's line to the client, median over rounds of `{LIVE}`, both clients on one session.",
        ("", "p50", "p99"),
        (
            ("initialize, handrail-agent", f"{median(cli):.2f} s", f"{max(cli):.2f} s"),
            ("initialize, handrail acp", f"{median(ours):.2f} s", f"{max(ours):.2f} s"),
            ("delta, page", *shown(page)),
            ("delta, editor", *shown(editor)),
        ),
        (
            at_most("initialize after that of the CLI", MORE_SECONDS, median(ours) - median(cli), " s"),
            at_most("a delta in the editor after the page, p50", MORE_MILLISECONDS, editor[0] - page[0], " ms"),
        ),
    )


async def _first_answers(bench: Workbench) -> tuple[list[float], list[float]]:
    cli: list[float] = []
    ours: list[float] = []
    async with ScriptedMessagesApi() as api:
        for number in bench.rounds(ROUNDS + 1, "starting editors"):
            lab = Lab(bench.folder / f"acp-{number}")
            env = lab.environment(api)
            async with agent(BIN / "handrail-agent", env, lab.project) as process:
                cli.append(await process.initialize())
            begun = time.perf_counter()
            async with _editor(("--cli", str(BIN / "handrail-agent")), env):
                ours.append(time.perf_counter() - begun)
    return cli[1:], ours[1:]


class _Peer(RpcPeer):
    """The editor's end. `arrived`: when each chunk of text came."""

    def __init__(self, transport: ProcessTransport) -> None:
        super().__init__(transport, _refuse, self._update)
        self.arrived: list[int] = []

    def _update(self, method: str, params: Any) -> None:
        if params["update"]["sessionUpdate"] == "agent_message_chunk":
            self.arrived.append(time.monotonic_ns())


async def _refuse(method: str, params: Any) -> Any:
    raise RuntimeError(method)


@asynccontextmanager
async def _editor(arguments: tuple[str, ...], env: dict[str, str]) -> AsyncGenerator[_Peer]:
    """An editor whose agent has answered `initialize`."""
    transport = ProcessTransport([str(BIN / "handrail"), "acp", *arguments], env=env)
    await transport.start()
    peer = _Peer(transport)
    running = asyncio.create_task(peer.run())
    try:
        await peer.request("initialize", {"protocolVersion": 1})
        yield peer
    finally:
        await transport.close()
        await asyncio.wait([running])


async def _deltas(bench: Workbench) -> tuple[tuple[Delays, ...], tuple[Delays, ...]]:
    page: list[Delays] = []
    editor: list[Delays] = []
    async with bridge_server(bench, "acp") as server, server.talk() as talk:
        session = await talk.start(server.folder)
        await talk.say(type="subscribe", session=session, after=0)
        async with _editor(("--server", server.address), _environment(server)) as peer:
            given = {"sessionId": session, "cwd": str(server.folder), "mcpServers": []}
            await peer.request("session/resume", given)
            await through_bridge(talk, session, LIVE)
            for _ in bench.rounds(ROUNDS, "an editor and a page listen"):
                await _settled(peer)
                peer.arrived.clear()
                written: list[int] = []
                page.append((await through_bridge(talk, session, LIVE, written=written)).delays)
                await _settled(peer, len(written))
                pairs = zip(peer.arrived, written, strict=True)
                editor.append([(now - at) / 1e6 for now, at in pairs])
    return tuple(page), tuple(editor)


async def _settled(peer: _Peer, count: int = 0) -> None:
    """Wait until the editor has all chunks: an answer of its agent follows the updates of the session."""
    async with asyncio.timeout(30):
        while True:
            await peer.request("session/list", {})
            if len(peer.arrived) >= count:
                return


def _environment(server: BridgeServer) -> dict[str, str]:
    return {"HOME": str(server.folder), "PATH": "/usr/bin:/bin", "HANDRAIL_TOKEN": server.token}
