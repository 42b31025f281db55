"""Several machines on a real NATS server: sessions anywhere, clients anywhere."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.cluster.configuration import Timing
from handrail.bridge.cluster.leases.lease import Node
from handrail.bridge.commands.router import Fetch
from handrail.bridge.server import Bridge
from handrail.bridge.store.base import SessionRecord
from tests.bridge.cluster_stage import BOTH, GATEWAY, RUNNER, ClusterStage, cluster_stage
from tests.bridge.stage import Refused, Stage
from tests.client.scripted_cli import write_cli

ANSWERS = """
    while True:
        heard = hear()
        if heard["type"] == "user":
            uuids[:] = [heard["uuid"]]
            say(result(heard["message"]["content"]))
        else:
            answer(heard, {})
"""


def at(on: ClusterStage, name: str) -> Stage:
    """The same stage, through another gateway."""
    return Stage(on.nodes[name], on.folder, on.clock)


async def until(bridge: Bridge, session: str, **fields: Any) -> SessionRecord:
    """Wait until the record of a session on a machine has these fields."""
    follower, more = bridge.sessions.list_feed.follow(), asyncio.Event()
    follower.on_wake = more
    try:
        while True:
            more.clear()
            record = await bridge.sessions.index.get(session)
            if record is not None and all(getattr(record, name) == value for name, value in fields.items()):
                return record
            await more.wait()
    finally:
        follower.close()


async def test_session_on_a_runner_is_visible_through_every_gateway(tmp_path: Path):
    async with cluster_stage(tmp_path) as on:
        session = await on.start(prompt="Hello")
        async with on.viewer(session) as viewer:
            await viewer.until_result()
            await viewer.until_state("idle")
        record = await until(on.viewing, session, state="idle")
        assert record.runner in ("runner-1", "runner-2")
        assert on.running(session).name == record.runner


async def test_sessions_are_placed_by_name_and_label(tmp_path: Path):
    kinds = {"gateway-1": GATEWAY, "gateway-2": GATEWAY, "runner-1": RUNNER, "runner-2": {**RUNNER, "labels": ("gpu",)}}
    async with cluster_stage(tmp_path, write_cli(tmp_path, ANSWERS), kinds=kinds) as on:
        assert on.running(await on.start(runner="runner-1")).name == "runner-1"
        assert on.running(await on.start(runner="runner-2")).name == "runner-2"
        assert on.running(await on.start(labels=["gpu"])).name == "runner-2"
        with pytest.raises(Refused, match="no machine has the label tpu") as refused:
            await on.start(labels=["tpu"])
        assert refused.value.code == "no_machine"
        with pytest.raises(Refused, match=r"runner-1 has .*runner-2 has "):
            await on.do("start", cwd="/elsewhere")


async def test_sessions_started_in_quick_succession_are_spread(tmp_path: Path):
    async with cluster_stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        sessions = [await on.start() for _ in range(4)]
        assert Counter(on.running(session).name for session in sessions) == {"runner-1": 2, "runner-2": 2}


async def test_command_sent_through_both_gateways_runs_once(tmp_path: Path):
    async with cluster_stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            ways = [at(on, name) for name in ("gateway-1", "gateway-2") for _ in range(5)]
            said = await asyncio.gather(*(way.do("send", id="once", session=session, text="x") for way in ways))
            assert all(one == said[0] for one in said)
            await viewer.until_result()
            await viewer.until_state("idle")
            assert len(viewer.of("said")) == 1


async def test_repeated_command_does_not_run_again_on_the_next_machine(tmp_path: Path):
    async with cluster_stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        begun = await on.do("start", id="start", cwd=str(tmp_path), prompt="Begin.")
        session = begun["session"]["id"]
        async with on.viewer(session) as viewer:
            said = await on.do("send", id="once", session=session, text="x")
            await viewer.until_result(2)
            await viewer.until_state("idle")
            await on.leave(on.running(session).name)
            await viewer.until_state("hibernated")
            assert await on.do("send", id="once", session=session, text="x") == said
            assert (await on.do("start", id="start", cwd=str(tmp_path), prompt="Begin."))["session"]["id"] == session
            await on.do("send", session=session, text="y")
            await viewer.until_result(3)
            assert [one["content"] for one in viewer.of("said")] == ["Begin.", "x", "y"]


async def test_sessions_of_a_leaving_machine_continue_on_others_with_their_history(tmp_path: Path):
    async with cluster_stage(tmp_path) as on:
        session = await on.start(prompt="Remember the harbour.", runner="")
        async with on.viewer(session) as viewer:
            await viewer.until_result()
            await viewer.until_state("idle")
            first = on.running(session)
            await on.leave(first.name)
            await viewer.until_state("hibernated")
            await on.do("send", session=session, text="Continue.")
            await viewer.until_result(2)
            await viewer.until_state("idle")
            second = on.running(session)
            assert second.name != first.name
            assert [event["seq"] for event in viewer.kept] == list(range(1, viewer.kept[-1]["seq"] + 1))
            assert [one["resumed"] for one in viewer.of("started")] == [False, True]
        await until(on.bridge, session, runner=second.name)


async def test_files_of_a_session_are_served_through_any_gateway(tmp_path: Path):
    async with cluster_stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start(prompt="Hello")
        (tmp_path / "work" / "notes.txt").write_bytes(b"x" * 2_000_000)
        runner, router = on.running(session).name, on.viewing.router

        async def fetch(what: str, scopes: list[str], **query: str) -> tuple[int, bytes]:
            ask = Fetch("GET", f"/api/sessions/{session}/{what}", list(query.items()), "d", "Ann", scopes)
            found = await router.fetch(session, ask)
            assert found is not None
            return found.status, found.body

        assert await fetch("files", ["prompt"], path="notes.txt") == (200, b"x" * 2_000_000)
        status, listing = await fetch("files", ["prompt"])
        assert (status, [one["name"] for one in json.loads(listing)["entries"]]) == (200, ["notes.txt"])
        assert (await fetch("files", ["prompt"], path="../secret"))[0] == 403
        assert (await fetch("files", ["view"], path="notes.txt"))[0] == 403
        assert (await fetch("wire", ["admin"]))[0] == 200
        assert (await fetch("events", ["view"]))[0] == 403, "this route is not available to other machines"
        await on.leave(runner)
        with pytest.raises(Exception, match=f"{runner} does not respond"):
            await fetch("files", ["prompt"], path="notes.txt")


async def test_search_and_folders_cover_all_machines(tmp_path: Path):
    async with cluster_stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        sessions = [await on.start(runner=name) for name in ("runner-1", "runner-2")]
        for session in sessions:
            async with on.viewer(session) as viewer:
                await on.do("send", session=session, text="A harbour in the morning")
                await viewer.until_result()
        hits = await on.viewing.sessions.events.search("harb morn")
        assert {hit.session for hit in hits} == set(sessions)
        assert {hit.session for hit in await on.bridge.sessions.events.search("harb", session=sessions[0])} == {
            sessions[0]
        }
        assert on.bridge.cluster is not None
        known = await on.bridge.router.ask_all("folders", below="")
        assert {one.node: one.answer["folders"] for one in known} == {
            "gateway-1": [],
            "gateway-2": [],
            "runner-1": [str(tmp_path)],
            "runner-2": [str(tmp_path)],
        }


async def test_terminal_session_visible_to_several_machines_is_listed_once(tmp_path: Path):
    async with cluster_stage(tmp_path) as on:
        session = await on.start(prompt="Hello", runner="runner-1")
        async with on.viewer(session) as viewer:
            await viewer.until_result()
        rows = await on.bridge.router.terminal_sessions(50)
        assert [row["id"] for row in rows] == [session], "all machines of this test share one home folder"


async def test_session_that_stays_continues_without_nats_and_is_published_later(tmp_path: Path):
    kinds = {"gateway-1": BOTH, "gateway-2": GATEWAY}
    async with cluster_stage(tmp_path, write_cli(tmp_path, ANSWERS), kinds=kinds) as on:
        session = await on.start()
        here = at(on, "gateway-1")
        async with here.viewer(session) as near, on.viewer(session) as far:
            await far.until_state("idle")
            await on.server.kill()
            for n in range(1, 4):
                await on.do("send", session=session, text=f"Without NATS {n}")
                await near.until_result(n)
            another = await on.start(prompt="A new one without NATS")
            with pytest.raises(Refused) as refused:
                await at(on, "gateway-2").do("send", session=session, text="from the other gateway")
            assert refused.value.code == "cluster_away"
            await on.server.start()
            await far.until_result(3)
            await near.until_state("idle")
            last = near.kept[-1]["seq"]
            await far.until(lambda: far.kept and far.kept[-1]["seq"] >= last)
            assert [event["seq"] for event in far.kept] == list(range(1, far.kept[-1]["seq"] + 1))
        await until(on.viewing, another, runner="gateway-1")


SHORT_LEASE = Timing(ttl=2.0, renew=0.4, fence_after=1.4)


async def test_runner_without_nats_stops_its_sessions_and_rejoins(tmp_path: Path):
    works = """
    while True:
        heard = hear()
        if heard["type"] == "user" and "wait" not in str(heard["message"]["content"]):
            uuids[:] = [heard["uuid"]]
            say(result("done"))
        elif heard["type"] != "user":
            answer(heard, {})
    """
    kinds = {"gateway-1": GATEWAY, "gateway-2": GATEWAY, "runner-1": RUNNER}
    async with cluster_stage(tmp_path, write_cli(tmp_path, works), kinds=kinds, timing=SHORT_LEASE) as on:
        session = await on.start()
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="wait forever")
            await viewer.until_state("running")
            runner = on.nodes["runner-1"]
            assert runner.cluster is not None
            regained = asyncio.Event()

            async def note_regained() -> None:
                regained.set()

            runner.cluster.membership.on_regained.append(note_regained)
            fenced = asyncio.Event()

            async def note_fenced() -> None:
                fenced.set()

            runner.cluster.membership.on_fenced.append(note_fenced)
            await on.server.kill()
            await fenced.wait()
            await on.server.start()
            await regained.wait()
            assert runner.sessions.running == [], "sessions that another machine may run have stopped"
            await until(on.bridge, session, state="hibernated")
        async with on.viewer(session) as viewer:
            await viewer.until_kind("crashed")
            await on.do("send", session=session, text="continue")
            await viewer.until_result()
            assert [event["seq"] for event in viewer.kept] == list(range(1, viewer.kept[-1]["seq"] + 1))


async def test_session_that_stays_is_not_taken_over_while_its_machine_is_offline(tmp_path: Path):
    kinds = {"gateway-1": GATEWAY, "gateway-2": GATEWAY, "box": BOTH, "runner-1": RUNNER}
    async with cluster_stage(tmp_path, write_cli(tmp_path, ANSWERS), kinds=kinds, timing=SHORT_LEASE) as on:
        session = await on.start(runner="box")
        await until(on.bridge, session, state="idle")
        box = on.nodes["box"]
        assert box.cluster is not None
        await box.cluster.link.__aexit__()  # the machine keeps running without NATS
        expired = asyncio.Event()
        assert on.bridge.cluster is not None

        def notice(now: Node | None, before: Node | None) -> None:
            if now is None and before is not None and before.name == "box":  # another may expire on a busy machine
                expired.set()

        on.bridge.cluster.membership.on_change.append(notice)
        await expired.wait()
        await until(on.bridge, session, state="interrupted")
        with pytest.raises(Refused, match="handrail cluster forget box") as refused:
            await on.do("send", session=session, text="x")
        assert refused.value.code == "unreachable"
        with pytest.raises(Refused, match="no other runs it"):
            await on.do("about", session=session)
        assert await on.bridge.cluster.ownership.forget("box") == 1
        await on.leave("box")
        await on.do("resume", session=session)
        assert on.running(session).name == "runner-1"
