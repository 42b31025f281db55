"""The native protocol: subscribing at any moment gives exactly the rest, and nobody waits for a client that sleeps."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from handrail.bridge.access import Device
from handrail.bridge.dialects import native
from handrail.bridge.event_log.base import NewEvent
from handrail.bridge.events import event
from tests.bridge.stage import SCOPES, Stage, Viewer, stage
from tests.client.scripted_cli import write_cli

ANSWERS = """
    while True:
        text = prompt()
        say(assistant(text), result(text))
"""
STREAMS = """
    def live(**event):
        say({"type": "stream_event", "event": event, "session_id": SESSION, "parent_tool_use_id": None, "uuid": "p"})
    def delta(text):
        live(type="content_block_delta", index=0, delta={"type": "text_delta", "text": text})
    prompt()
    live(type="message_start", message={"id": "msg_1", "role": "assistant", "content": []})
    live(type="content_block_start", index=0, content_block={"type": "text", "text": ""})
    delta("one ")
    delta("two ")
    hear()
    delta("three")
    say(assistant("one two three"))
    live(type="content_block_stop", index=0)
    hear()
    live(type="message_stop")
    say(result("one two three"))
"""


def texts(viewer: Viewer) -> str:
    """What the pieces of an answer that a viewer saw make up."""
    events = [line["event"] for line in viewer.of("live")]
    return "".join(one["delta"]["text"] for one in events if one["type"] == "content_block_delta")


async def filled(on: Stage, events: int = 40, size: int = 10) -> str:
    """A session with events of many sizes."""
    session = await on.start()
    host = await on.host(session)
    for n in range(events):
        await host.record_events([event("changed", n=n, text="x" * (size * n)) for n in range(n, n + 1 + n % 3)])
    return session


async def test_subscribing_after_any_number_gives_exactly_the_rest(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await filled(on, 20)
        host = await on.host(session)
        last = host.seq
        async with on.viewer() as viewer:
            for after in range(last + 1):
                viewer.wire.heard.clear()
                viewer.say("subscribe", session=session, after=after)
                verdict = await viewer.line("subscribed")
                assert (verdict["verdict"], verdict["last"]) == ("replayed", host.seq)
                await host.record_events([event("changed", after=after)])
                await viewer.until(lambda: viewer.kept and viewer.kept[-1]["seq"] == host.seq)
                assert [one["seq"] for one in viewer.kept] == list(range(after + 1, host.seq + 1))


async def test_subscribing_while_events_come_loses_none_and_doubles_none(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        host = await on.host(session)

        async def write() -> None:
            for n in range(40):
                await host.record_events([event("changed", n=n)] * (1 + n % 3))

        async def come_and_go(step: int) -> None:
            async with on.viewer() as viewer:
                asked: list[int] = []
                while not writing.done():
                    asked.append(max(0, (viewer.kept[-1]["seq"] if viewer.kept else 0) - step))
                    viewer.say("subscribe", session=session, after=asked[-1])
                    await viewer.until(lambda: verdicts(viewer) == len(asked))
                    await viewer.until(lambda: viewer.wire.heard[-1]["type"] == "events" or asked[-1] == host.seq)
                await viewer.until(lambda: viewer.kept[-1]["seq"] == host.seq)
                place, afters = 0, iter(asked)
                for line in viewer.wire.heard:
                    place = next(afters) if line["type"] == "subscribed" else place
                    for one in line.get("events", ()):
                        assert one["seq"] == place + 1
                        place += 1
                assert place == host.seq

        writing = asyncio.create_task(write())
        await asyncio.gather(writing, *map(come_and_go, range(3)))


def verdicts(viewer: Viewer) -> int:
    return sum(line["type"] == "subscribed" for line in viewer.wire.heard)


async def test_whoever_joins_in_the_middle_of_a_block_sees_the_block_so_far_and_then_the_rest(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, STREAMS)) as on:
        session = await on.start(prompt="go")
        async with on.viewer(session) as first:
            await first.until(lambda: texts(first) == "one two ")
            async with on.viewer(session) as late:
                await late.until(lambda: texts(late) == "one two ")
                assert [line["event"]["type"] for line in late.of("live")] == [
                    "message_start",
                    "content_block_start",
                    "content_block_delta",
                ]
                await on.do("send", session=session, text="more")
                await late.until(lambda: late.frames("assistant"))
                assert texts(late) == texts(first) == "one two three"
            async with on.viewer(session) as last:
                await last.until(lambda: last.frames("assistant"))
                assert texts(last) == "", "the block is on record; its pieces are of no use"
                await on.do("send", session=session, text="end")
                await last.until_result()


async def test_a_client_that_does_not_read_is_cut_off_and_the_others_go_on(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        host = await on.host(session)
        async with on.viewer(session) as slow, on.viewer(session) as quick:
            await slow.until(lambda: slow.kept)
            slow.wire.reads.clear()
            for _ in range(70):
                await host.record_events([event("changed", text="x" * 100_000)])
                await quick.until(lambda: quick.kept[-1]["seq"] == host.seq)
            slow.wire.reads.set()
            resync = await slow.line("resync", session=session)
            assert resync["reason"] == "this client reads too slowly"
            had = [one["seq"] for one in slow.kept]
            assert had == list(range(1, len(had) + 1))
            slow.say("subscribe", session=session, after=had[-1])
            await slow.until(lambda: slow.kept[-1]["seq"] == host.seq)
            assert [one["seq"] for one in slow.kept] == list(range(1, host.seq + 1))
            assert [one["seq"] for one in quick.kept] == list(range(1, host.seq + 1))
            assert slow.wire.longest < 2**20


async def test_every_frame_stays_below_a_mebibyte(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        host = await on.host(session)
        sizes = (100, 700_000, 500_000, 510_000, 1_500_000, 3)
        await host.record_events([NewEvent("frame", json.dumps("x" * size).encode()) for size in sizes])
        line = {"type": "stream_event", "event": {"type": "message_start", "message": {}}}
        host.partial.take(json.dumps(line).encode())
        piece = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "y" * 900_000}}
        host.partial.take(json.dumps({"type": "stream_event", "event": piece}).encode())
        async with on.viewer(session) as viewer:
            await viewer.until(lambda: len(texts(viewer)) == 900_000)
            assert viewer.wire.longest < 2**20
            assert [one.get("bytes") for one in viewer.kept if one["kind"] == "frame"] == [
                size + 2 if size > 512 * 1024 else None for size in sizes
            ]


async def test_events_that_were_given_up_give_a_snapshot_and_the_reason(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await filled(on, 10)
        last = (await on.host(session)).seq
        await on.bridge.sessions.events.forget(session, through=5)
        for after, verdict, reason, first in (
            (2, "snapshot", "older events were given up", 6),
            (last + 7, "snapshot", "the number is higher than any of this session", 6),
            (6, "replayed", "", 7),
        ):
            async with on.viewer() as viewer:
                viewer.say("subscribe", session=session, after=after)
                line = await viewer.line("subscribed")
                assert (line["verdict"], line["reason"]) == (verdict, reason)
                await viewer.until(lambda: viewer.kept and viewer.kept[-1]["seq"] == last)
                assert viewer.kept[0]["seq"] == first


async def test_the_verdict_comes_before_the_events_also_when_one_subscribes_again_and_again(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        one, two = await filled(on, 12, 5000), await filled(on, 12, 5000)
        async with on.viewer() as viewer:
            for _ in range(10):
                for session in (one, two):
                    viewer.say("subscribe", session=session, after=0)
            await viewer.until(lambda: verdicts(viewer) == 20)
            await viewer.until(lambda: viewer.wire.heard[-1]["type"] == "events")
            place = {one: 0, two: 0}
            for line in viewer.wire.heard:
                if line["type"] == "subscribed":
                    place[line["session"]] = 0
                for seen in line.get("events", ()):
                    assert seen["seq"] == place[line["session"]] + 1
                    place[line["session"]] = seen["seq"]


async def test_a_follower_of_a_deleted_session_is_told(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer, on.viewer() as watcher:
            watcher.say("watch")
            watcher.say("ping")
            await watcher.line("heartbeat")
            await on.do("delete", session=session)
            assert (await viewer.line("resync", session=session))["reason"] == "the session was deleted"
            viewer.say("subscribe", session=session, after=0)
            assert (await viewer.line("error"))["code"] == "not_found"
            items = await watcher.until(
                lambda: [item for line in watcher.wire.heard for item in line.get("items", ()) if "deleted" in item]
            )
            assert items == [{"deleted": session}]


OFFENCES: list[tuple[Any, str]] = [
    ({"type": "ping"}, "no_hello"),
    ({"type": "hello", "protocol": 2}, "protocol"),
    ({"type": "dance"}, "no_hello"),
    ({"type": "hello", "protocol": 1, "extra": 1}, "bad_message"),
    ({"type": "hello", "protocol": 1, "__proto__": {"isAdmin": True}}, "bad_message"),
    ({"no": "type"}, "bad_message"),
    ([], "bad_message"),
]


async def test_whoever_does_not_keep_to_the_protocol_is_told_and_the_socket_is_closed(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        for said, code in OFFENCES:
            viewer = Viewer()
            viewer.wire.said.put_nowait(json.dumps(said))
            await native.Client(on.bridge, Device("v", "v", "program", SCOPES, 0, 0), viewer.wire).run()
            assert viewer.wire.heard[-1]["code"] == code
            assert viewer.wire.closed == (4400, code)


async def test_a_cursor_that_is_no_number_of_an_event_is_refused(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        for after in (-1, 9e18, "abc", None):
            async with on.viewer() as viewer:
                viewer.say("subscribe", session="x", after=after)
                assert (await viewer.line("error"))["code"] == "bad_message"


async def test_a_client_that_asks_and_does_not_read_is_not_listened_to(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on, on.viewer() as viewer:
        await viewer.line("hello")
        viewer.wire.reads.clear()
        for _ in range(2000):
            viewer.say("ping")
        async with on.viewer() as other:  # whatever is done for it, the first one has had its chance
            for _ in range(50):
                other.say("ping")
            await other.until(lambda: sum(line["type"] == "heartbeat" for line in other.wire.heard) == 50)
        assert viewer.wire.said.qsize() > 2000 - native.MOST_WAITING - 5
        viewer.wire.reads.set()
        await viewer.until(lambda: sum(line["type"] == "heartbeat" for line in viewer.wire.heard) == 2000)


async def test_a_command_over_the_wire_has_a_receipt_with_its_id(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            viewer.say("command", id="m1", command="rename", fields={"session": session, "title": " A  title "})
            assert (await viewer.line("receipt", id="m1"))["ok"]
            assert (await viewer.until_kind("changed"))["title"] == "A title"
            viewer.say("command", id="m2", command="dance", fields={})
            refused = await viewer.line("receipt", id="m2")
            assert refused["error"]["code"] == "unknown_command"
