"""Partial messages: the events of the stream, and where the whole lines stand between them."""

from __future__ import annotations

from handrail.agent.models.script import hang, reply, text, thinking, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import Json, check, expect, same
from handrail.conform.lines import content_of, inside, of

FLAG = "--include-partial-messages"


async def _streamed(bench: Bench) -> list[Json]:
    said = reply(thinking("Hm."), text("Three words here."), chunk=4)
    bench.says(said)
    return await (await bench.start(FLAG)).turn("go")


def _events(lines: list[Json]) -> list[Json]:
    return [line["event"] for line in of(lines, "stream_event")]


@check("partial", "Without the flag there are no stream events.")
async def off(bench: Bench) -> None:
    bench.says(text("Fine."))
    same("stream events", len(of(await (await bench.start()).turn("hello"), "stream_event")), 0)


@check("partial", "Events come in the order of the API: message start, blocks with their deltas, delta, message stop.")
async def order(bench: Bench) -> None:
    found = [event["type"] for event in _events(await _streamed(bench)) if event["type"] != "ping"]
    names = [name for place, name in enumerate(found) if place == 0 or found[place - 1] != name]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    same("the order", names, ["message_start", *block, *block, "message_delta", "message_stop"])


@check("partial", "The line of a block comes before its content_block_stop.")
async def line_before_stop(bench: Bench) -> None:
    lines = await _streamed(bench)
    opened = -1
    for line in lines:
        event = inside(line, "event")
        if event.get("type") == "content_block_start":
            opened = event["index"]
        elif event.get("type") == "content_block_stop":
            same("the block that closes", event["index"], opened)
            opened = -1
        elif line["type"] == "assistant":
            expect(opened >= 0, f"the line of {content_of(line['message'])[0].get('type')} came when no block was open")


@check("partial", "The deltas of a text add up to the text of its line.")
async def deltas_add_up(bench: Bench) -> None:
    lines = await _streamed(bench)
    deltas = [event["delta"].get("text", "") for event in _events(lines) if event["type"] == "content_block_delta"]
    same("the text", "".join(deltas), "Three words here.")
    expect(len([delta for delta in deltas if delta]) > 1, "it came in one piece")


@check("partial", "Deltas are told while the model is still speaking.")
async def at_once(bench: Bench) -> None:
    bench.says([text("Early words", unfinished=True), hang()])
    agent = await bench.start(FLAG)
    await agent.prompt("go")
    await bench.model.hanging()
    await agent.until("a delta", lambda line: inside(line, "event").get("type") == "content_block_delta")
    await agent.request("interrupt")
    await agent.result()


@check("partial", "The input of a tool comes in deltas of JSON text that add up to it.")
async def tool_input(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="echo a rather long command line"), text("Done."))
    lines = await (await bench.start(FLAG)).turn("go")
    pieces = [
        event["delta"].get("partial_json", "") for event in _events(lines) if event["type"] == "content_block_delta"
    ]
    expect("a rather long command line" in "".join(pieces), f"the pieces are {pieces[:5]}")


@check("partial", "Stream events have a uuid, the session_id and parent_tool_use_id.")
async def fields(bench: Bench) -> None:
    for line in of(await _streamed(bench), "stream_event"):
        expect({"uuid", "session_id", "parent_tool_use_id"} <= set(line), f"an event has only {sorted(line)}")
