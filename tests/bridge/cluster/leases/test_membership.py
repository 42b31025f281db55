"""Leases: renewal, expiry, fencing, rejoining, and the list of machines."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from nats.aio.client import Client

from handrail.bridge.cluster.configuration import Timing
from handrail.bridge.cluster.leases.entries import Entries
from handrail.bridge.cluster.leases.lease import Node
from handrail.bridge.cluster.leases.membership import Membership, end_tasks
from handrail.bridge.cluster.nats.names import NODES
from handrail.bridge.errors import ClusterAway, ClusterRefused
from handrail.testing import NatsServer
from tests.bridge.cluster.leased_machine import SHORT_LEASE, TimedEvent, event_on, leased_machine, server_with_streams


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with server_with_streams(tmp_path / "nats") as server:
        yield server


async def test_machines_see_each_other_join_change_and_leave(server: NatsServer):
    changes: list[tuple[str | None, str | None]] = []
    async with leased_machine(server, "a", {"roots": ["/work"]}) as a, leased_machine(server, "b") as b:
        a.membership.on_change.append(lambda now, was: changes.append((now and now.name, was and was.name)))
        assert await a.membership.open()
        assert await b.membership.open()
        assert b.nodes["a"].roots == ["/work"]
        assert b.nodes["a"].boot == a.membership.boot != ""
        await a.until(lambda: "b" in a.nodes)
        b.fields["sessions"] = 3
        b.membership.renew_soon()
        await a.until(lambda: a.nodes["b"].sessions == 3)
        await b.membership.close()
        await a.until(lambda: "b" not in a.nodes)
    assert changes == [("a", None), ("b", None), ("b", "b"), (None, "b")]


async def test_dead_machine_is_listed_until_its_lease_expires(server: NatsServer):
    async with leased_machine(server, "a") as a, leased_machine(server, "b", timing=SHORT_LEASE) as b:
        await b.membership.open()
        await a.membership.open()
        boot = b.membership.boot
        await b.die()
        assert await a.membership.alive("b", boot)
        await a.until(lambda: "b" not in a.nodes)
        assert not await a.membership.alive("b", boot)
        assert await a.membership.present("b") is None


async def test_renewed_lease_outlasts_its_ttl(server: NatsServer):
    timing = Timing(ttl=2.0, renew=0.1, fence_after=1.9)
    async with leased_machine(server, "a", timing=timing) as a, leased_machine(server, "b") as b:
        await a.membership.open()
        await b.membership.open()
        first = a.nodes["a"]
        for n in range(23):  # longer than the ttl of two seconds
            a.fields["sessions"] = n + 1
            await b.until(lambda n=n: b.nodes["a"].sessions == n + 1)
        assert b.nodes["a"].boot == first.boot == a.membership.boot
        assert a.membership.valid


async def test_machine_without_nats_is_fenced_and_rejoins_with_a_new_boot(server: NatsServer):
    async with (
        leased_machine(server, "a", timing=SHORT_LEASE) as a,
        leased_machine(server, "b", timing=SHORT_LEASE) as b,
    ):
        boots: list[str] = []

        async def fenced() -> None:
            assert not a.membership.valid
            boots.append(a.membership.boot)

        a.membership.on_fenced.append(fenced)
        await a.membership.open()
        await b.membership.open()
        first, regained, ended = a.membership.boot, event_on(a.membership.on_regained), event_on(b.membership.on_fenced)
        assert a.membership.valid
        await server.kill()
        await ended.wait()
        await server.start()
        await regained.wait()
        assert a.membership.valid
        assert boots == [first]
        assert a.membership.boot not in ("", first)
        await b.until(lambda: b.nodes["a"].boot == a.membership.boot)
        assert not await b.membership.alive("a", first)
        assert await b.membership.alive("a", a.membership.boot)


async def test_late_renewal_is_reported_until_the_machine_rejoins(server: NatsServer):
    async with leased_machine(server, "a", timing=SHORT_LEASE) as a:
        reports: list[bool] = []
        again = asyncio.Event()

        def late() -> None:
            reports.append(a.membership.valid)
            if not reports[-1]:
                again.set()

        a.membership.on_late.append(late)
        await a.membership.open()
        regained = event_on(a.membership.on_regained)
        await server.kill()
        async with asyncio.timeout(20):
            await again.wait()
        await server.start()
        await regained.wait()
        assert a.membership.valid


async def test_machine_rejoins_only_after_its_sessions_stopped(server: NatsServer, caplog: pytest.LogCaptureFixture):
    async with leased_machine(server, "a", timing=SHORT_LEASE) as a, leased_machine(server, "b") as b:
        over, ending = TimedEvent(), TimedEvent()

        async def slow() -> None:
            ending.set()
            await over.wait()

        async def fails() -> None:
            raise ValueError("no")

        a.membership.on_fenced += [slow, fails]
        await a.membership.open()
        await b.membership.open()
        regained = event_on(a.membership.on_regained)
        await Entries(b.js, NODES).remove("a", after=(await Entries(b.js, NODES).read("a")).revision)
        await ending.wait()
        await b.until(lambda: "a" not in b.nodes)
        assert not a.membership.valid
        assert not regained.is_set()
        over.set()
        await regained.wait()
        assert a.membership.valid
    assert "lost its lease: the entry was deleted" in caplog.text
    assert "ValueError('no')" in caplog.text


async def test_machine_that_cannot_describe_itself_is_fenced_in_time(
    server: NatsServer, caplog: pytest.LogCaptureFixture
):
    async with leased_machine(server, "a", timing=SHORT_LEASE) as a:
        fenced, regained = event_on(a.membership.on_fenced), event_on(a.membership.on_regained)
        await a.membership.open()
        a.fields["nonsense"] = 1
        await fenced.wait()
        assert not a.membership.valid
        del a.fields["nonsense"]
        await regained.wait()
        assert a.membership.valid
    assert caplog.text.count("renewal of the lease failed: TypeError") == 1


async def test_restarted_watch_leaks_no_tasks(server: NatsServer):
    async with leased_machine(server, "a", timing=Timing(ttl=10.0, renew=0.05, fence_after=9.0)) as a:
        await a.membership.open()
        before = len(asyncio.all_tasks())
        for n in range(3):
            stop = a.membership._watcher  # ends the watch as if the server had dropped its consumer
            assert stop is not None
            await stop.stop()
            a.fields["sessions"] = n + 1
            await a.until(lambda n=n: a.nodes["a"].sessions == n + 1)
        assert len(asyncio.all_tasks()) <= before


async def test_short_outage_does_not_fence(server: NatsServer):
    async with leased_machine(server, "a", timing=Timing(ttl=10.0, renew=0.1, fence_after=9.0)) as a:
        fenced = event_on(a.membership.on_fenced)
        await a.membership.open()
        boot = a.membership.boot
        await server.kill()
        await server.start()
        a.fields["sessions"] = 7
        await a.until(lambda: a.nodes["a"].sessions == 7)
        assert a.membership.boot == boot
        assert not fenced.is_set()


async def test_list_is_refreshed_after_an_outage(server: NatsServer):
    timing = Timing(ttl=10.0, renew=0.1, fence_after=9.0)
    async with leased_machine(server, "a", timing=timing) as a, leased_machine(server, "b", timing=timing) as b:
        await a.membership.open()
        await b.membership.open()
        await a.until(lambda: "b" in a.nodes)
        await server.kill()
        await b.die()
        await server.start()
        async with leased_machine(server, "c") as c:
            await c.membership.open()
            await a.until(lambda: "c" in a.nodes)


async def test_machine_started_without_nats_joins_later(server: NatsServer):
    async with leased_machine(server, "a", timing=SHORT_LEASE) as a:
        regained = event_on(a.membership.on_regained)
        await server.kill()
        assert not await a.membership.open()
        assert not a.membership.valid
        assert a.membership.boot == ""
        await server.start()
        await regained.wait()
        assert a.membership.valid
        await a.until(lambda: "a" in a.nodes)


async def test_name_of_a_live_machine_is_refused(server: NatsServer):
    async with leased_machine(server, "a", {"address": "https://a"}, timing=SHORT_LEASE) as a:
        await a.membership.open()
        async with leased_machine(server, "a", timing=SHORT_LEASE) as twin:
            with pytest.raises(ClusterRefused, match="machine name a is in use .page at https://a.; choose another"):
                await twin.membership.open()
        assert await a.membership.alive("a", a.membership.boot)


async def test_name_is_free_after_the_lease_expired(server: NatsServer):
    async with (
        leased_machine(server, "a", timing=SHORT_LEASE) as a,
        leased_machine(server, "a", timing=SHORT_LEASE) as heir,
    ):
        await a.membership.open()
        await a.die()
        assert await heir.membership.open()
        assert heir.membership.boot != a.membership.boot


async def test_next_process_on_a_data_folder_takes_over_at_once(server: NatsServer):
    kept: list[str] = []
    async with leased_machine(server, "a", keep_boot=kept.append) as a:
        await a.membership.open()
        assert kept == [a.membership.boot]
        await a.die()
    async with leased_machine(server, "a", previous_boot=kept[-1]) as again, asyncio.timeout(5):
        assert await again.membership.open()


async def test_machine_whose_name_was_taken_stays_fenced(server: NatsServer, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.ERROR)
    async with leased_machine(server, "a", timing=SHORT_LEASE) as a:
        await a.membership.open()
        fenced = event_on(a.membership.on_fenced)
        async with leased_machine(server, "a", timing=SHORT_LEASE, previous_boot=a.membership.boot) as thief:
            assert await thief.membership.open()
            await fenced.wait()
            refused = TimedEvent()
            handler = logging.Handler()
            handler.emit = lambda record: refused.set() if "cannot rejoin" in record.getMessage() else None
            logging.getLogger("handrail.bridge").addHandler(handler)
            await refused.wait()
            logging.getLogger("handrail.bridge").removeHandler(handler)
            assert "choose another name" in a.membership.refused
            assert not a.membership.valid
            assert thief.membership.valid


@pytest.mark.parametrize("name", ["", "a.b", "a b", "*", ">", "-x", "ä", "x" * 64])
async def test_invalid_machine_name_is_refused(name: str):
    with pytest.raises(ClusterRefused, match="invalid machine name"):
        Membership(Client().jetstream(), lambda: Node(name=name, boot=""))


async def test_invalid_entries_are_ignored(server: NatsServer):
    async with leased_machine(server, "a") as a, leased_machine(server, "b") as b:
        await a.membership.open()
        entries = Entries(a.js, NODES)
        for key, value in {"c": b"{", "d": b'{"name":"x","boot":"1"}', "e": b"[]", "f": b""}.items():
            await entries.write(key, value, after=0)
        await b.membership.open()
        assert set(b.nodes) == {"a", "b"}
        assert not await a.membership.alive("c", "1")


async def test_liveness_is_unknown_without_nats(server: NatsServer):
    async with leased_machine(server, "a", timing=SHORT_LEASE) as a:
        await a.membership.open()
        await server.kill()
        with pytest.raises(ClusterAway):
            await a.membership.alive("b", "1")


async def test_leaving_is_visible_at_once_and_never_hangs(server: NatsServer):
    async with (
        leased_machine(server, "a", timing=SHORT_LEASE) as a,
        leased_machine(server, "b", timing=SHORT_LEASE) as b,
    ):
        await a.membership.open()
        await b.membership.open()
        boot = b.membership.boot
        await b.membership.close()
        assert not await a.membership.alive("b", boot)
        await server.kill()


async def test_task_that_swallows_a_cancellation_is_cancelled_again():
    missed = 0

    async def misses() -> None:
        nonlocal missed
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            missed += 1
            if missed == 2:
                raise ValueError("its own")

    async def over() -> None:
        return

    tasks = [asyncio.create_task(misses()), asyncio.create_task(over()), None]
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await end_tasks(tasks)
        await end_tasks([])
    assert missed == 2
    assert isinstance(tasks[0] and tasks[0].exception(), ValueError)
