"""CPU cost of many clients, with and without coalesced frames.

A child writes stream events as fast as it can, and fifty clients follow. The baseline is the same server with one event
per frame.
"""

from __future__ import annotations

import asyncio
import contextlib

from benchmarks.bridge_server import BridgeServer, Talk, bridge_server
from benchmarks.figures import Promise, Section, at_least
from benchmarks.workbench import Workbench

__all__ = ["measure"]

DELTAS, QUICK_DELTAS = 20_000, 2_000
CLIENTS = 50
MARK = b'"kind":"live"'
EXTRA = 3
"""Stream events besides the deltas: start and end of the message, start of the block."""


def measure(bench: Workbench) -> Section:
    """Many clients, in both modes."""
    deltas = QUICK_DELTAS if bench.quick else DELTAS
    bench.say(f"{CLIENTS} clients, coalesced frames")
    shared = asyncio.run(_fan_out(bench, deltas, plain=False))
    bench.say(f"{CLIENTS} clients, one event per frame")
    single = asyncio.run(_fan_out(bench, deltas, plain=True))
    lost = sum(CLIENTS * (deltas + EXTRA) - way[0] for way in (shared, single))
    rates = [messages / cpu for messages, _, cpu in (shared, single)]
    rows = tuple(
        (name, f"{way[0]:,}", f"{way[1]:,}", f"{way[2]:.2f} s", f"{rate:,.0f}")
        for name, way, rate in zip(("coalesced frames", "one event per frame"), (shared, single), rates, strict=True)
    )
    return Section(
        "Many clients",
        f"{deltas:,} stream events to {CLIENTS} clients; CPU of the server alone.",
        ("", "messages", "frames", "CPU", "messages per CPU second"),
        rows,
        (
            at_least("messages per CPU second, against one frame for each", 4, rates[0] / rates[1]),
            Promise("messages lost", "none", f"{lost:,}", lost == 0),
        ),
    )


async def _fan_out(bench: Workbench, deltas: int, *, plain: bool) -> tuple[int, int, float]:
    """Returns the numbers of received messages and frames, and the CPU seconds."""
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(bridge_server(bench, f"fanout-{plain}", plain=plain, roomy=True))
        talks = [await stack.enter_async_context(server.talk()) for _ in range(CLIENTS)]
        session = await talks[0].start(server.folder)
        for talk in talks:
            await talk.say(type="subscribe", session=session, after=0)
            await talk.hear("subscribed")
        return await _one_turn(server, talks, session, deltas)


async def _one_turn(server: BridgeServer, talks: list[Talk], session: str, deltas: int) -> tuple[int, int, float]:
    before = server.cpu()
    fields = {"session": session, "text": f"live {deltas} 0"}
    await talks[0].say(type="command", id="fan", command="send", fields=fields)
    counted = await asyncio.gather(*(_count(talk, deltas + EXTRA) for talk in talks))
    cpu = server.cpu() - before
    return sum(messages for messages, _ in counted), sum(frames for _, frames in counted), cpu


async def _count(talk: Talk, wanted: int) -> tuple[int, int]:
    messages = frames = 0
    async with asyncio.timeout(280):
        while messages < wanted:
            text = await talk.link.recv(decode=False)
            found = text.count(MARK)
            messages += found
            frames += bool(found)
    return messages, frames
