"""CPU cost and latency of a cluster, compared with one machine.

Sessions on runners write persisted lines; a client at a gateway follows all of them. The cost of the idle cluster is
subtracted, and shown separately.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from statistics import median
from typing import NamedTuple

from benchmarks.bridge_delays import KEPT, LIVE, Delays, shown, summary, through_bridge
from benchmarks.bridge_server import Talk, bridge_server
from benchmarks.cluster_nodes import Cost, MeasuredCluster, measured_cluster
from benchmarks.figures import Promise, Section, at_most
from benchmarks.workbench import Workbench
from handrail.bridge.cluster.nats.names import EVENTS, events_subject
from handrail.bridge.cluster.store.session_stream import Batch, Entry, encode

__all__ = ["measure"]

ROUNDS = 5
ON_EACH = 2
"""Sessions on each runner."""
TURN = "kept 120 40"
KNOWN = 2_000
IDLE_SECONDS = 8.0
LISTS = 9
MOST_MORE = 1.10
MOST_LIST = 100
RATES = 2_000
"""Messages for measuring the throughput of JetStream, `AT_ONCE` concurrently."""
AT_ONCE = 64
PATIENCE = 120.0


def measure(bench: Workbench) -> Section:
    """All measurements."""
    found = asyncio.run(_measure(bench))
    one, three, full = found.costs
    (live_alone, live_here), (kept_alone, kept_here) = (
        (summary(tuple(pair[0] for pair in pairs)), summary(tuple(pair[1] for pair in pairs)))
        for pairs in (found.live, found.kept)
    )
    rows = (
        *(
            _cost_row(f"CPU per 1,000 events, {name}", _middle(costs))
            for name, costs in zip(NAMES, found.costs, strict=True)
        ),
        _cost_row("CPU per idle second, three runners", found.idle),
        ("live lines, one machine", *shown(live_alone), ""),
        ("live lines, another gateway", *shown(live_here), ""),
        ("durable lines, one machine", *shown(kept_alone), ""),
        ("durable lines, another gateway", *shown(kept_here), ""),
        (f"list of {KNOWN:,} sessions", f"{found.listed * 1000:.1f} ms", "", ""),
        (f"a gateway's memory for {KNOWN:,} sessions in the index", f"{found.memory:.1f} MiB", "", ""),
        ("JetStream, three copies, each on disk", f"{found.rate:,.0f} messages/s", f"{found.disk:.0f} B each", ""),
    )
    return Section(
        "Many machines",
        f"Three NATS servers with three replicas of everything, two gateways without sessions, {ON_EACH} sessions on "
        f"each runner with turns of `{TURN}` (durable lines, milliseconds between them), followed at one gateway. "
        f"CPU: of runners, gateways and NATS servers; median over {found.rounds} rounds, alternating. Lines: from the "
        "child's line to the client, p50 and p99, alternating with one bridge on this machine.",
        ("", "", "", ""),
        rows,
        (
            *_growth("from one to three runners", one, three),
            *_growth(f"with {KNOWN:,} sessions in the index", one, full),
            at_most(f"list of {KNOWN:,} sessions in a cluster", MOST_LIST, found.listed * 1000, " ms"),
            at_most("live lines to another gateway against one machine, p50", 5, live_here[0] / live_alone[0]),
            at_most("durable lines to another gateway against one machine, p50", 5, kept_here[0] / kept_alone[0]),
        ),
    )


NAMES = ("one runner", "three runners", f"one runner, {KNOWN:,} sessions in the index")


class _Found(NamedTuple):
    costs: list[list[Cost]]
    idle: Cost
    live: list[tuple[Delays, Delays]]
    kept: list[tuple[Delays, Delays]]
    listed: float
    memory: float
    rate: float
    disk: float
    rounds: int


def _cost_row(name: str, cost: Cost) -> tuple[str, ...]:
    return name, *(f"{part * 1000:.1f} ms" for part in cost)


def _growth(words: str, before: list[Cost], after: list[Cost]) -> Iterator[Promise]:
    """The median of the ratios per round, because the speed of the machine varies over time."""
    for part, name in zip(Cost._fields, ("runners", "gateways", "NATS"), strict=True):
        ratios = [getattr(more, part) / getattr(one, part) for one, more in zip(before, after, strict=True)]
        yield at_most(f"CPU of {name} per event {words}", MOST_MORE, median(ratios))


async def _measure(bench: Workbench) -> _Found:
    async with AsyncExitStack() as stack:
        clusters: list[MeasuredCluster] = []
        talks: Talks = []
        for number, runners in enumerate((1, 3, 1)):
            bench.say(f"a cluster with {runners} runners")
            cluster = await stack.enter_async_context(measured_cluster(bench, f"cluster-{number}", runners=runners))
            talk = await stack.enter_async_context(cluster.talk(1))
            clusters.append(cluster)
            talks.append((talk, await cluster.sessions(talk, ON_EACH)))
        before = clusters[2].resident(clusters[2].gateways[0])
        bench.say(f"{KNOWN} sessions in the index")
        await clusters[2].known(KNOWN)
        memory = clusters[2].resident(clusters[2].gateways[0]) - before
        listed = median([(await clusters[2].listed(2 * KNOWN))[0] for _ in range(LISTS)])
        costs, idle, rounds = await _costs(bench, clusters, talks)
        live, kept = await _delays(bench, clusters[0])
        bench.say("throughput of JetStream")
        rate, disk = await _rate(clusters[0])
    return _Found(costs, idle, live, kept, listed, memory, rate, disk, rounds)


Talks = list[tuple[Talk, list[str]]]


async def _costs(bench: Workbench, clusters: list[MeasuredCluster], talks: Talks) -> tuple[list[list[Cost]], Cost, int]:
    """Returns CPU per 1,000 events by cluster and round, CPU per idle second of the second one, and the rounds."""
    bench.say("idle")
    idle = [await cluster.idle(IDLE_SECONDS) for cluster in clusters]
    found: list[list[Cost]] = [[] for _ in clusters]
    for number in bench.rounds(ROUNDS, "sessions speak"):
        order = sorted(range(len(clusters)), key=lambda place: (place + number) % len(clusters))
        for place in order:  # rotates from round to round
            found[place].append(await _cost(clusters[place], *talks[place], idle[place]))
    return found, idle[1], len(found[0])


def _middle(costs: list[Cost]) -> Cost:
    return Cost(*map(median, zip(*costs, strict=True)))


async def _cost(cluster: MeasuredCluster, talk: Talk, sessions: list[str], idle: Cost) -> Cost:
    """Run a turn in every session, and return the CPU per 1,000 events."""
    before, begun, events = cluster.cpu(), time.monotonic(), 0
    for session in sessions:
        fields = {"session": session, "text": TURN}
        await talk.say(type="command", id=f"c{time.monotonic_ns()}", command="send", fields=fields)
    speaking = set(sessions)
    async with asyncio.timeout(PATIENCE):
        while speaking:
            line = await talk.hear("events")
            kept = [event for event in line["events"] if "seq" in event]
            events += len(kept)
            if any(event["kind"] == "frame" and event["data"]["type"] == "result" for event in kept):
                speaking.discard(line["session"])
    spent = cluster.cpu().less(before).less(idle, time.monotonic() - begun)
    return Cost(*(part / events * 1000 for part in spent))


Pairs = list[tuple[Delays, Delays]]


async def _delays(bench: Workbench, cluster: MeasuredCluster) -> tuple[Pairs, Pairs]:
    """Live and persisted lines, from a bridge on one machine and through another gateway, alternating."""
    live: Pairs = []
    kept: Pairs = []
    async with bridge_server(bench, "alone") as server, server.talk() as near, cluster.talk(1) as far:
        here = await near.start(server.folder)
        await near.say(type="subscribe", session=here, after=0)
        (there,) = await cluster.sessions(far, 1)
        for pairs, words in ((live, LIVE), (kept, KEPT)):
            for _ in bench.rounds(ROUNDS, f"a child writes `{words}`"):
                runs = (await through_bridge(near, here, words), await through_bridge(far, there, words))
                pairs.append((runs[0].delays, runs[1].delays))
    return live, kept


async def _rate(cluster: MeasuredCluster) -> tuple[float, float]:
    """Returns the messages per second that JetStream accepts, and the bytes that each takes in the stream."""
    data = encode(Batch(epoch=1, first=1, start=1, entries=(Entry(0, "frame", b"x" * 400),)))
    async with cluster.jetstream() as js:
        before, begun = (await js.stream_info(EVENTS)).state, time.monotonic()
        for _ in range(0, RATES, AT_ONCE):
            await asyncio.gather(*(js.publish(events_subject(f"rate-{n}"), data) for n in range(AT_ONCE)))
        seconds, after = time.monotonic() - begun, (await js.stream_info(EVENTS)).state
    messages = after.messages - before.messages
    return messages / seconds, (after.bytes - before.bytes) / messages
