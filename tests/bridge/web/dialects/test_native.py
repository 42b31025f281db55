"""The native protocol: subscriptions deliver every later event once, and slow clients delay no one."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.session.events import event
from handrail.bridge.store.base import NewEvent
from handrail.bridge.web.devices import Device
from handrail.bridge.web.dialects import native
from tests.bridge.stage import SCOPES, Stage, Viewer, stage
from tests.client.scripted_cli import write_cli

pytestmark = pytest.mark.usefixtures("anywhere")

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
    """The text of all deltas that a viewer received."""
    events = [line["event"] for line in viewer.of("live")]
    return "".join(one["delta"]["text"] for one in events if one["type"] == "content_block_delta")


async def filled(on: Stage, events: int = 40, size: int = 10) -> str:
    """Start a session and record events of many sizes."""
    session = await on.start()
    host = await on.host(session)
    for n in range(events):
        await host.record_events([event("changed", n=n, text="x" * (size * n)) for n in range(n, n + 1 + n % 3)])
    return session


async def test_subscription_after_any_seq_delivers_all_later_events(tmp_path: Path):
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


STREAMS_MUCH = """
    import time
    def live(**event):
        return {"type": "stream_event", "event": event, "session_id": SESSION, "parent_tool_use_id": None, "uuid": "p"}
    def delta(text):
        return live(type="content_block_delta", index=0, delta={"type": "text_delta", "text": text})
    prompt()
    for n in range(40):
        words = [f"{n}-{m} " for m in range(25)]
        say(live(type="message_start", message={"id": f"msg_{n}", "role": "assistant", "content": []}))
        say(live(type="content_block_start", index=0, content_block={"type": "text", "text": ""}))
        for k in range(0, 25, 5):
            say(*map(delta, words[k : k + 5]))
            time.sleep(0.002)  # streams like a model, so that clients subscribe in the middle of a block
        say(assistant("".join(words)), live(type="content_block_stop", index=0), live(type="message_stop"))
        say(*({"type": "system", "subtype": "note", "session_id": SESSION} for _ in range(n % 4)))
    say(result("end"))
"""


def checked(viewer: Viewer, asked: list[int]) -> int:
    """Check that persisted events came once and in order, and each block from its start; returns the last seq."""
    place, block, afters = 0, None, iter(asked)
    for line in viewer.wire.heard:
        if line["type"] == "subscribed":
            place, block = next(afters), None
        for one in line.get("events", ()):
            event = one["data"].get("event", {}) if one["kind"] == "live" else {}
            if event.get("type") == "content_block_start":
                block = ""
            elif event.get("type") == "content_block_delta":
                assert block is not None, "delta of a block that was not started"
                block += event["delta"]["text"]
            elif "seq" in one:
                assert one["seq"] == place + 1
                place += 1
                if one["kind"] == "frame" and one["data"]["type"] == "assistant":
                    assert block in (None, one["data"]["message"]["content"][0]["text"])
                    block = None
    return place


async def test_reconnecting_clients_see_every_event_once(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, STREAMS_MUCH)) as on:
        session = await on.start()
        host, chance = await on.host(session), random.Random(5)

        async def visit(viewer: Viewer, asked: list[int]) -> bool:
            """Subscribe at random positions for a while; returns whether the session is idle."""

            def settled() -> bool:
                return host.state() == "idle"

            for _ in range(chance.randint(1, 5)):
                had = viewer.kept[-1]["seq"] if viewer.kept else 0
                asked.append(chance.choice((had, chance.randint(0, had), chance.randint(0, host.seq))))
                viewer.say("subscribe", session=session, after=asked[-1])
                await viewer.until(lambda: verdicts(viewer) == len(asked))
                enough = len(viewer.wire.heard) + chance.randint(0, 4)
                await viewer.until(lambda enough=enough: len(viewer.wire.heard) >= enough or settled())
            over = settled()
            await viewer.until(lambda: checked(viewer, asked) == host.seq or not over)
            return over

        async def reconnect() -> None:
            over = False
            while not over:
                async with on.viewer() as viewer:
                    over = await visit(viewer, [])

        async with on.viewer(session) as steady:
            await on.do("send", session=session, text="go")
            await steady.until_state("running")
            reconnecting = [asyncio.create_task(reconnect()) for _ in range(8)]
            await steady.until_result()
            await steady.until_state("idle")
            await asyncio.gather(*reconnecting)
            assert checked(steady, [0]) == host.seq
            assert len(steady.of("live")) == 40 * 29


def verdicts(viewer: Viewer) -> int:
    return sum(line["type"] == "subscribed" for line in viewer.wire.heard)


async def test_client_joining_in_the_middle_of_a_block_receives_it_whole(tmp_path: Path):
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
                assert texts(last) == "", "deltas of a persisted block must not be sent"
                await on.do("send", session=session, text="end")
                await last.until_result()


async def test_client_that_does_not_read_is_dropped_without_delaying_others(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        host = await on.host(session)
        async with on.viewer(session) as slow, on.viewer(session) as quick:
            await slow.until(lambda: slow.kept)
            slow.wire.reads.clear()
            for _ in range(70):
                await host.record_events([event("changed", text="x" * 100_000)])
                await quick.until(lambda: quick.kept and quick.kept[-1]["seq"] == host.seq)
            slow.wire.reads.set()
            resync = await slow.line("resync", session=session)
            assert resync["reason"] == "the client reads too slowly"
            had = [one["seq"] for one in slow.kept]
            assert had == list(range(1, len(had) + 1))
            slow.say("subscribe", session=session, after=had[-1])
            await slow.until(lambda: slow.kept[-1]["seq"] == host.seq)
            assert [one["seq"] for one in slow.kept] == list(range(1, host.seq + 1))
            assert [one["seq"] for one in quick.kept] == list(range(1, host.seq + 1))
            assert slow.wire.longest < 2**20


async def test_frames_are_smaller_than_a_mebibyte(tmp_path: Path):
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


async def test_escaped_block_is_smaller_than_a_mebibyte(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        host = await on.host(session)
        start = {"type": "message_start", "message": {}}
        block = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool", "text": "z" * 2_000_000}}
        delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "\x01" * 400_000}}
        for event in (start, block, delta):
            host.partial.take(json.dumps({"type": "stream_event", "event": event}).encode())
        async with on.viewer(session) as viewer:
            await viewer.until(lambda: len(texts(viewer)) == 400_000)
            assert viewer.wire.longest < 2**20


async def test_large_event_is_announced_by_seq_and_read_separately(tmp_path: Path):
    script = """
        while True:
            text = prompt()
            block = {"type": "tool_result", "tool_use_id": "t", "content": "y" * 3_000_000}
            say({"type": "user", "message": {"role": "user", "content": [block]}, "session_id": SESSION}, result(text))
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as live:
            await on.do("send", session=session, text="x")
            await live.until_result()
            await live.until_state("idle")
            [large] = [one for one in live.kept if "bytes" in one]
            async with on.viewer(session) as late:
                await late.until(lambda: late.kept and late.kept[-1] == live.kept[-1])
                assert late.kept == live.kept
            [whole] = await on.bridge.sessions.events.read(session, large["seq"] - 1, limit=1)
            assert len(whole.data) == large["bytes"] > 3_000_000
            assert max(live.wire.longest, late.wire.longest) < 2**20


async def test_result_larger_than_a_frame_is_refused(tmp_path: Path):
    script = """
        while True:
            answer(requested("get_context_usage"), {"pad": "x" * 1_200_000})
    """
    async with stage(tmp_path, write_cli(tmp_path, script)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            viewer.say("command", id="m1", command="context_usage", fields={"session": session})
            assert (await viewer.line("receipt", id="m1"))["error"]["code"] == "too_large"
            assert viewer.wire.longest < 2**20
            assert len((await on.do("context_usage", id="m1", device="v", session=session))["pad"]) == 1_200_000


async def test_heartbeats_are_sent_periodically(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(native, "HEARTBEAT", 0.01)
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on, on.viewer() as viewer:
        await viewer.until(lambda: sum(line["type"] == "heartbeat" for line in viewer.wire.heard) >= 3)


async def test_internal_error_ends_the_socket_and_is_raised(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        viewer = Viewer()
        viewer.say("hello", protocol=1)

        async def broken(text: str) -> None:
            raise RuntimeError("internal fault")

        viewer.wire.send = broken  # type: ignore[method-assign]
        with pytest.raises(RuntimeError, match="internal fault"):
            await native.Client(on.bridge, Device("v", "v", "program", SCOPES, 0, 0), viewer.wire).run()
        assert on.bridge.watchers == set()


@pytest.mark.one_server
async def test_deleted_events_lead_to_a_snapshot_with_a_reason(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await filled(on, 10)
        last = (await on.host(session)).seq
        await on.bridge.sessions.events.forget(session, through=5)
        for after, verdict, reason, first in (
            (2, "snapshot", "older events were deleted", 6),
            (last + 7, "snapshot", "the seq is higher than any of this session", 6),
            (6, "replayed", "", 7),
        ):
            async with on.viewer() as viewer:
                viewer.say("subscribe", session=session, after=after)
                line = await viewer.line("subscribed")
                assert (line["verdict"], line["reason"]) == (verdict, reason)
                await viewer.until(lambda: viewer.kept and viewer.kept[-1]["seq"] == last)
                assert viewer.kept[0]["seq"] == first


async def test_verdict_precedes_events_on_every_subscription(tmp_path: Path):
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


async def test_followers_are_notified_of_deletion(tmp_path: Path):
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


@pytest.mark.one_server
async def test_protocol_violation_is_reported_and_closes_the_socket(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        for said, code in OFFENCES:
            viewer = Viewer()
            viewer.wire.said.put_nowait(json.dumps(said))
            await native.Client(on.bridge, Device("v", "v", "program", SCOPES, 0, 0), viewer.wire).run()
            assert viewer.wire.heard[-1]["code"] == code
            assert viewer.wire.closed == (4400, code)


async def test_invalid_cursor_is_refused(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        for after in (-1, 9e18, "abc", None):
            async with on.viewer() as viewer:
                viewer.say("subscribe", session="x", after=after)
                assert (await viewer.line("error"))["code"] == "bad_message"


async def test_requests_wait_while_the_client_does_not_read(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on, on.viewer() as viewer:
        await viewer.line("hello")
        viewer.wire.reads.clear()
        for _ in range(2000):
            viewer.say("ping")
        async with on.viewer() as other:  # by the time this one is served, the first one could have been
            for _ in range(50):
                other.say("ping")
            await other.until(lambda: sum(line["type"] == "heartbeat" for line in other.wire.heard) == 50)
        assert viewer.wire.said.qsize() > 2000 - native.MOST_WAITING - 5
        viewer.wire.reads.set()
        await viewer.until(lambda: sum(line["type"] == "heartbeat" for line in viewer.wire.heard) == 2000)


async def test_command_gets_a_receipt_with_its_id(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            viewer.say("command", id="m1", command="rename", fields={"session": session, "title": " A  title "})
            assert (await viewer.line("receipt", id="m1"))["ok"]
            assert (await viewer.until_kind("changed"))["title"] == "A title"
            viewer.say("command", id="m2", command="dance", fields={})
            refused = await viewer.line("receipt", id="m2")
            assert refused["error"]["code"] == "unknown_command"
