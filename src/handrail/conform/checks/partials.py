"""Partial messages: stream events and their order relative to the assistant lines."""

from __future__ import annotations

from handrail.agent.models.script import hang, reply, text, thinking, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import Json, check, expect, expect_equal
from handrail.conform.lines import content_of, nested, of_type

FLAG = "--include-partial-messages"


async def _streamed(bench: Bench) -> list[Json]:
    said = reply(thinking("Hm."), text("Three words here."), chunk=4)
    bench.says(said)
    return await (await bench.start(FLAG)).turn("go")


def _events(lines: list[Json]) -> list[Json]:
    return [line["event"] for line in of_type(lines, "stream_event")]


@check("partial", "Without --include-partial-messages there are no stream events.")
async def off(bench: Bench) -> None:
    bench.says(text("Fine."))
    expect_equal("stream events", len(of_type(await (await bench.start()).turn("hello"), "stream_event")), 0)


@check("partial", "Stream events have the order of the API: message_start, the blocks, message_delta, message_stop.")
async def order(bench: Bench) -> None:
    found = [event["type"] for event in _events(await _streamed(bench)) if event["type"] != "ping"]
    names = [name for place, name in enumerate(found) if place == 0 or found[place - 1] != name]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    expect_equal("order", names, ["message_start", *block, *block, "message_delta", "message_stop"])


@check("partial", "The assistant line of a block is written before the block's content_block_stop.")
async def line_before_stop(bench: Bench) -> None:
    lines = await _streamed(bench)
    opened = -1
    for line in lines:
        event = nested(line, "event")
        if event.get("type") == "content_block_start":
            opened = event["index"]
        elif event.get("type") == "content_block_stop":
            expect_equal("index of the closed block", event["index"], opened)
            opened = -1
        elif line["type"] == "assistant":
            expect(opened >= 0, f"{content_of(line['message'])[0].get('type')} line outside an open block")


@check("partial", "The deltas of a text block, joined, are its text.")
async def deltas_add_up(bench: Bench) -> None:
    lines = await _streamed(bench)
    deltas = [event["delta"].get("text", "") for event in _events(lines) if event["type"] == "content_block_delta"]
    expect_equal("text", "".join(deltas), "Three words here.")
    expect(len([delta for delta in deltas if delta]) > 1, "the text has only one delta")


@check("partial", "Deltas are written while the model is still streaming.")
async def immediate(bench: Bench) -> None:
    bench.says([text("Early words", unfinished=True), hang()])
    agent = await bench.start(FLAG)
    await agent.prompt("go")
    await bench.model.hanging()
    await agent.wait_for("a delta", lambda line: nested(line, "event").get("type") == "content_block_delta")
    await agent.request("interrupt")
    await agent.result()


@check("partial", "The input of a tool call is streamed as partial JSON.")
async def tool_input(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="echo a rather long command line"), text("Done."))
    lines = await (await bench.start(FLAG)).turn("go")
    pieces = [
        event["delta"].get("partial_json", "") for event in _events(lines) if event["type"] == "content_block_delta"
    ]
    expect("a rather long command line" in "".join(pieces), f"first pieces: {pieces[:5]}")


@check("partial", "Stream events have uuid, session_id and parent_tool_use_id.")
async def fields(bench: Bench) -> None:
    for line in of_type(await _streamed(bench), "stream_event"):
        expect(
            {"uuid", "session_id", "parent_tool_use_id"} <= set(line), f"an event has only the fields {sorted(line)}"
        )
