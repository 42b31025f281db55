"""Ownership on NATS: one owner per session despite outages; sessions that do not move continue without NATS."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import pytest

from handrail.bridge.cluster.configuration import Timing
from handrail.bridge.cluster.leases.entries import Entries
from handrail.bridge.cluster.nats.names import OWNERS
from handrail.bridge.errors import ClusterAway, ClusterRefused, Fenced
from handrail.testing import NatsServer
from tests.bridge.cluster.leased_machine import TimedEvent, event_on, server_with_streams
from tests.bridge.cluster.leases.ownership_machines import OwnershipMachine, ownership_machine

LONG = Timing()
QUICK = {"retry_for": 0.0, "timeout": 0.2}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with server_with_streams(tmp_path / "nats") as server:
        yield server


class Adoption:
    """Stands in for the store that a claim brings up to date."""

    def __init__(self) -> None:
        self.claimed: list[tuple[str, int]] = []
        self.fault: BaseException | None = None
        self.may_continue = TimedEvent()
        self.may_continue.set()

    async def __call__(self, session: str, epoch: int) -> None:
        self.claimed.append((session, epoch))
        await self.may_continue.wait()
        if self.fault is not None:
            raise self.fault


async def test_concurrent_claims_update_the_store_once(server: NatsServer):
    adoption = Adoption()
    async with ownership_machine(server, "a", timing=LONG, on_claimed=adoption) as a:
        assert all(await asyncio.gather(*(a.ownership.claim("s") for _ in range(20))))
        assert adoption.claimed == [("s", 1)]
        assert a.ownership.epoch("s") == 1
        assert a.ownership.held == {"s"}


async def test_session_is_held_only_after_the_store_is_up_to_date(server: NatsServer):
    adoption = Adoption()
    adoption.may_continue.clear()
    async with (
        ownership_machine(server, "a", timing=LONG, on_claimed=adoption) as a,
        ownership_machine(server, "b", timing=LONG) as b,
    ):
        claiming = asyncio.create_task(a.ownership.claim("s"))
        async with asyncio.timeout(5):
            while not await b.ownership.owner("s"):  # noqa: ASYNC110 - there is nothing to wait on
                await asyncio.sleep(0)
            while not a.ownership.epoch("s"):  # noqa: ASYNC110 - a hears of its own claim later than b may
                await asyncio.sleep(0)
        assert not a.ownership.holds("s")
        assert a.ownership.epoch("s") == 1
        adoption.may_continue.set()
        assert await claiming
        assert a.ownership.holds("s")


async def test_failed_store_update_releases_the_session(server: NatsServer):
    adoption = Adoption()
    adoption.fault = Fenced("s")
    async with (
        ownership_machine(server, "a", timing=LONG, on_claimed=adoption) as a,
        ownership_machine(server, "b", timing=LONG) as b,
    ):
        with pytest.raises(Fenced):
            await a.ownership.claim("s")
        assert not a.ownership.holds("s")
        assert a.ownership.epoch("s") == 0
        assert await b.ownership.claim("s")
        assert b.ownership.epoch("s") == 2


async def test_cancelled_caller_leaves_the_claim_to_others(server: NatsServer):
    adoption = Adoption()
    adoption.may_continue.clear()
    async with ownership_machine(server, "a", timing=LONG, on_claimed=adoption) as a:
        one, other = (asyncio.create_task(a.ownership.claim("s")) for _ in range(2))
        while not adoption.claimed:  # noqa: ASYNC110 - there is nothing to wait on
            await asyncio.sleep(0)
        one.cancel()
        adoption.may_continue.set()
        assert await other
        assert len(adoption.claimed) == 1


async def test_next_process_on_a_data_folder_claims_its_sessions_at_once(server: NatsServer):
    async with ownership_machine(server, "a", timing=LONG) as a, ownership_machine(server, "b", timing=LONG) as b:
        assert await a.ownership.claim("s")
        await a.machine.die()
        assert not await b.ownership.claim("s")
        previous = a.machine.membership.boot
        async with ownership_machine(server, "a", timing=LONG, previous_boot=previous) as again:
            assert await again.ownership.claim("s")
            assert again.ownership.epoch("s") == 2


async def test_sessions_that_do_not_move_stay_until_their_machine_is_forgotten(server: NatsServer):
    async with ownership_machine(server, "a", moves=False) as a, ownership_machine(server, "b") as b:
        a.other = b.machine
        for session in ("s", "t"):
            assert await a.ownership.claim(session)
        await b.ownership.claim("mine")
        with pytest.raises(ClusterRefused, match="machine a is running; stop it first"):
            await b.ownership.forget("a")
        await a.machine.die()
        await b.machine.until(lambda: "a" not in b.machine.nodes)
        assert not await b.ownership.claim("s")
        assert await b.ownership.owner("s") == ""
        last = await b.ownership.last("s")
        assert last is not None
        assert (last.node, last.held, last.moves) == ("a", True, False)
        assert await b.ownership.forget("a") == 2
        assert await b.ownership.forget("a") == 0
        assert await b.ownership.claim("s")
        assert b.ownership.held == {"mine", "s"}


async def test_sessions_that_do_not_move_continue_without_nats(server: NatsServer):
    adoption = Adoption()
    known = {"known": 7}
    options = {"moves": False, "on_claimed": adoption, "epoch_before": known.get, **QUICK}
    async with ownership_machine(server, "a", **options) as a, ownership_machine(server, "b") as b:
        a.other = b.machine
        assert await a.ownership.claim("held")
        boot = a.machine.membership.boot
        await a.cut_off()
        assert a.ownership.holds("held")
        assert a.ownership.epoch("held") == 1
        assert await a.ownership.claim("new", new=True)
        assert await a.ownership.claim("known")
        assert a.ownership.epoch("new") == 0
        with pytest.raises(ClusterAway):
            await a.ownership.claim("unknown")
        assert a.ownership.held == {"held", "new", "known"}
        assert not await b.ownership.claim("held")
        await a.come_back()
        await a.ownership.settle()
        assert a.machine.membership.boot != boot
        assert adoption.claimed == [("held", 1), ("new", 1), ("known", 1)]
        assert a.ownership.held == {"held", "new", "known"}
        for session in a.ownership.held:
            assert a.ownership.epoch(session) == 1
            assert await b.ownership.owner(session) == "a"
            last = await b.ownership.last(session)
            assert last is not None
            assert last.boot == a.machine.membership.boot


async def test_forgotten_machine_keeps_the_sessions_that_were_not_taken(server: NatsServer):
    async with ownership_machine(server, "a", moves=False) as a, ownership_machine(server, "b") as b:
        a.other = b.machine
        lost: list[str] = []

        async def on_lost(session: str) -> None:
            lost.append(session)
            await a.ownership.release(session)

        a.ownership.on_lost.append(on_lost)
        for session in ("taken", "left"):
            assert await a.ownership.claim(session)
        await a.ownership.settle()  # on a busy machine the short lease may expire meanwhile, which postpones a claim
        await a.cut_off()
        assert await b.ownership.forget("a") == 2
        assert await b.ownership.claim("taken")
        await a.come_back()
        await a.ownership.settle()
        assert lost == ["taken"]
        assert a.ownership.held == {"left"}
        assert a.ownership.epoch("left") == 2
        assert b.ownership.holds("taken")
        assert await a.ownership.owner("taken") == "b"


async def test_release_by_a_forgotten_machine_does_not_affect_the_new_owner(server: NatsServer):
    async with ownership_machine(server, "a", moves=False, **QUICK) as a, ownership_machine(server, "b") as b:
        a.other = b.machine
        assert await a.ownership.claim("s")
        await a.cut_off()
        assert await b.ownership.forget("a") == 1
        assert await b.ownership.claim("s")
        await a.ownership.release("s")
        await a.come_back()
        await a.ownership.settle()
        assert a.ownership.held == set()
        assert await a.ownership.owner("s") == "b"


async def test_claim_that_arrives_after_its_timeout_is_released(server: NatsServer):
    async with (
        ownership_machine(server, "a", timing=LONG, **QUICK) as a,
        ownership_machine(server, "b", timing=LONG) as b,
    ):
        cable = a.machine.cable
        cable.stall_at = b"PUB $KV.handrail-owners.s "
        with pytest.raises(ClusterAway):
            await a.ownership.claim("s")
        assert cable.stalled.is_set()
        assert await b.ownership.last("s") is None
        cable.flow()
        await a.ownership.settle()
        assert a.ownership.held == set()
        last = await b.ownership.last("s")
        assert last is not None
        assert not last.held
        assert await b.ownership.claim("s")


async def test_repeated_claim_succeeds_after_a_lost_answer(server: NatsServer):
    async with ownership_machine(server, "a", timing=LONG, retry_for=5.0, timeout=0.2) as a:
        cable = a.machine.cable
        cable.stall_at = b"PUB $KV.handrail-owners.s "
        claiming = asyncio.create_task(a.ownership.claim("s"))
        await cable.stalled.wait()
        a.machine.cable.flow()
        assert await claiming
        await a.ownership.settle()
        assert a.ownership.holds("s")
        last = await a.ownership.last("s")
        assert last is not None
        assert last.held
        assert last.epoch == a.ownership.epoch("s")


async def test_release_during_an_outage_is_published_later(server: NatsServer):
    async with (
        ownership_machine(server, "a", timing=LONG, **QUICK) as a,
        ownership_machine(server, "b", timing=LONG) as b,
    ):
        assert await a.ownership.claim("s")
        a.machine.cable.pull()
        await a.ownership.release("s")
        assert not a.ownership.holds("s")
        assert not await b.ownership.claim("s")
        await a.machine.cable.plug()
        await a.ownership.settle()
        assert await b.ownership.claim("s")


async def test_session_with_unpublished_events_is_not_released(server: NatsServer):
    drained = False

    async def on_release(session: str) -> bool:
        return drained

    async with (
        ownership_machine(server, "a", timing=LONG, on_release=on_release) as a,
        ownership_machine(server, "b", timing=LONG) as b,
    ):
        assert await a.ownership.claim("s")
        await a.ownership.release("s")
        assert a.ownership.holds("s")
        assert not await b.ownership.claim("s")
        drained = True
        await a.ownership.release("s")
        assert await b.ownership.claim("s")


async def test_owner_of_a_deleted_session_expires_after_a_day(server: NatsServer):
    async with ownership_machine(server, "a", timing=LONG) as a:
        assert await a.ownership.claim("s")
        await a.ownership.release("s", gone=True)
        message = await a.machine.js.get_last_msg(f"KV_{OWNERS}", f"$KV.{OWNERS}.s")
        assert message.headers is not None
        assert message.headers["Nats-TTL"] == "86400"
        assert await a.ownership.claim("s")
        assert a.ownership.epoch("s") == 2


async def test_lost_session_is_reported_once(server: NatsServer):
    async with ownership_machine(server, "a", timing=LONG) as a:
        reported: list[str] = []

        async def on_lost(session: str) -> None:
            reported.append(session)
            raise ValueError("no")

        a.ownership.on_lost.append(on_lost)
        assert await a.ownership.claim("s")
        await a.ownership.lost("s")
        await a.ownership.lost("s")
        await a.ownership.lost("never had")
        assert reported == ["s"]
        assert not a.ownership.holds("s")


async def test_invalid_entry_is_replaced_under_a_higher_epoch(server: NatsServer):
    async with ownership_machine(server, "a", timing=LONG) as a:
        for n in range(5):
            assert await a.ownership.claim(f"s{n}")
        revision = await Entries(a.machine.js, OWNERS).write("s", b"{", after=0)
        assert await a.ownership.owner("s") == ""
        assert await a.ownership.claim("s")
        assert a.ownership.epoch("s") == revision + 1


async def test_no_claim_without_a_lease_if_sessions_move(server: NatsServer):
    async with ownership_machine(server, "a", **QUICK) as a:
        await a.ownership.claim("s")
        fenced = event_on(a.machine.membership.on_fenced)
        a.machine.cable.pull()
        await fenced.wait()
        assert a.ownership.held == set()
        with pytest.raises(ClusterAway, match="this machine lacks a lease in the cluster"):
            await a.ownership.claim("new", new=True)


async def test_no_session_has_two_owners_while_machines_are_cut_off(server: NatsServer):
    random, over = Random(7), asyncio.Event()
    async with AsyncExitStack() as stack:
        machines = [await stack.enter_async_context(ownership_machine(server, name, **QUICK)) for name in "abc"]
        sessions = [f"s{n}" for n in range(6)]
        epochs = dict.fromkeys(sessions, 0)

        def check() -> None:
            """Checks all machines without an await in between, so that the view is consistent."""
            for session in sessions:
                holders = [one.name for one in machines if one.ownership.holds(session)]
                assert len(holders) <= 1, f"{session} is held by {holders}"

        async def work(one: OwnershipMachine) -> None:
            while not over.is_set():
                session = random.choice(sessions)
                with contextlib.suppress(ClusterAway):
                    if await one.ownership.claim(session):
                        epoch = one.ownership.epoch(session)
                        assert epoch == 0 or epoch >= epochs[session]
                        epochs[session] = max(epochs[session], epoch)
                check()
                if random.random() < 0.5:
                    await one.ownership.release(session)
                check()

        async def cut_off_machines() -> None:
            for one in random.choices(machines, k=3):
                fenced = event_on(one.machine.membership.on_fenced)
                regained = event_on(one.machine.membership.on_regained)
                one.machine.cable.pull()
                await fenced.wait()
                check()
                await one.machine.cable.plug()
                await regained.wait()
                check()
            over.set()

        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            for task in (cut_off_machines(), *map(work, machines)):
                group.create_task(task)
        assert max(epochs.values()) > 3
