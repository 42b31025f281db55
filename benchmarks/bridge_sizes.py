"""Memory of many sessions, and response times of long sessions and long lists."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from pathlib import Path
from statistics import median

import msgspec

from benchmarks.bridge_server import BridgeServer, Talk, bridge_server
from benchmarks.figures import Section, at_most
from benchmarks.workbench import Workbench
from handrail.bridge.store import event_log as events
from handrail.bridge.store import session_index as index
from handrail.bridge.store.base import NewEvent, SessionRecord
from handrail.bridge.store.database import Database

__all__ = ["measure"]

SESSIONS, QUICK_SESSIONS = 500, 40
AT_ONCE = 16
EVENTS, QUICK_EVENTS = 100_000, 20_000
LISTED, QUICK_LISTED = 10_000, 2_000
SCREEN = 200
ROUNDS = 9
LONG = "00000000-0000-4000-8000-00000000aaaa"


def measure(bench: Workbench) -> Section:
    """All three measurements."""
    sessions, idle, full, seconds = asyncio.run(_many_sessions(bench))
    count, first, first_bytes = asyncio.run(_long_session(bench))
    listed, ours, theirs = asyncio.run(_long_lists(bench))
    return Section(
        "Many sessions, long sessions, long lists",
        f"{sessions} sessions, each with a child and one finished turn: resident memory of the server alone. A session "
        f"of {count:,} events: from subscribing to its newest {SCREEN}. Lists of {listed:,} "
        "sessions, of Handrail and of a terminal: from the HTTP request to the last byte.",
        ("", "", ""),
        (
            (
                f"memory with {sessions} sessions",
                f"{full:.1f} MiB",
                f"{idle:.1f} MiB without; {seconds:.1f} s to start all",
            ),
            (f"first screen of {count:,} events", f"{first * 1000:.1f} ms", f"{first_bytes / 1024:.0f} KiB"),
            (f"list of {listed:,} sessions", f"{ours * 1000:.1f} ms", ""),
            (f"list of {listed:,} sessions of a terminal", f"{theirs * 1000:.1f} ms", "after the first time"),
        ),
        (
            at_most(f"memory of {sessions} sessions above idle", 300, full - idle, " MiB"),
            at_most(f"first screen of a session of {count:,} events", 1, first, " s"),
            at_most(f"list of {listed:,} sessions", 50, ours * 1000, " ms"),
            at_most(f"list of {listed:,} sessions of a terminal", 200, theirs * 1000, " ms"),
        ),
    )


async def _many_sessions(bench: Workbench) -> tuple[int, float, float, float]:
    count = QUICK_SESSIONS if bench.quick else SESSIONS
    async with bridge_server(bench, "many") as server:
        idle, begun = server.resident(), time.monotonic()
        limit = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> None:
            async with limit, server.talk() as talk:
                bench.say(f"session {number} of {count}")
                session = await talk.start(server.folder)
                await talk.say(type="subscribe", session=session, after=0)
                await talk.command("send", session=session, text="live 20 0")
                await _until_result(talk)

        await asyncio.gather(*(one(number) for number in range(count)))
        return count, idle, server.resident(), time.monotonic() - begun


async def _until_result(talk: Talk) -> None:
    while True:
        line = await talk.hear("events")
        if any(event["kind"] == "frame" and event["data"]["type"] == "result" for event in line["events"]):
            return


async def _long_session(bench: Workbench) -> tuple[int, float, int]:
    """Returns the number of events, and the seconds and bytes to the first screen."""
    count = QUICK_EVENTS if bench.quick else EVENTS
    async with bridge_server(bench, "long") as server:
        bench.say(f"a session of {count} events")
        await _write_session(server.folder / "data" / "handrail.db", server.folder, count)
        opened = [await _open(server, count) for _ in range(ROUNDS)]
    return count, median(seconds for seconds, _ in opened), opened[0][1]


async def _write_session(path: Path, cwd: Path, count: int) -> None:
    """Write a session to the database, bypassing the server."""
    database = Database(path, events.TABLES, index.TABLES)
    log, sessions = events.SqliteEventLog(database), index.SqliteSessionIndex(database)
    record = SessionRecord(id=LONG, cwd=str(cwd), created=1, changed=1, state="hibernated", settled=count)
    await sessions.put(msgspec.structs.replace(record, conversation=LONG))
    block = {"type": "text", "text": "This was said in a long session. " * 6}
    line = {"type": "assistant", "message": {"id": "m", "content": [block]}, "session_id": LONG}
    one = NewEvent("frame", json.dumps(line).encode(), block["text"])
    for _ in range(count // 1000):
        await log.append(LONG, [one] * 1000)
    await database.close()


async def _open(server: BridgeServer, count: int) -> tuple[float, int]:
    """Connect a client and load the newest screen."""
    begun, seen = time.monotonic(), 0
    async with server.talk() as talk:
        await talk.say(type="subscribe", session=LONG, tail=SCREEN)
        size = 0
        while seen < count:
            text = await talk.link.recv()
            size += len(text)
            line = json.loads(text)
            if line["type"] == "events":
                seen = line["events"][-1]["seq"]
    return time.monotonic() - begun, size


async def _long_lists(bench: Workbench) -> tuple[int, float, float]:
    """Returns the number of sessions, and the seconds to list those of Handrail and as many of a terminal."""
    count = QUICK_LISTED if bench.quick else LISTED
    async with bridge_server(bench, "list") as server:
        bench.say(f"lists of {count} sessions")
        _write_records(server.folder / "data" / "handrail.db", count)
        _write_transcripts(server.folder / ".claude" / "projects", count)
        ours = [await server.get(f"/api/sessions?limit={count}") for _ in range(ROUNDS)]
        theirs = [await server.get(f"/api/sessions?terminal=1&words=project&limit={count}") for _ in range(ROUNDS + 1)]
    if (found := len(json.loads(ours[0][1])["sessions"])) != count:
        raise RuntimeError(f"{found} sessions are listed, not {count}")
    if (found := len(json.loads(theirs[0][1])["terminal"])) != count:
        raise RuntimeError(f"{found} sessions of a terminal are listed, not {count}")
    return count, median(seconds for seconds, _ in ours), median(seconds for seconds, _ in theirs[1:])


def _write_records(path: Path, count: int) -> None:
    """Write sessions to the database, bypassing the server."""
    with sqlite3.connect(path) as db:
        for number in range(count):
            id = f"00000000-0000-4000-8000-{number:012d}"
            record = SessionRecord(
                id=id, cwd=f"/work/{number % 50}", created=number, changed=number, state="hibernated"
            )
            record = msgspec.structs.replace(record, title=f"What was asked in {number}", conversation=id, model="m")
            row = (id, number, 0, record.title.casefold(), msgspec.json.encode(record))
            db.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?)", row)
    db.close()


def _write_transcripts(folder: Path, count: int) -> None:
    """Write terminal sessions with one prompt each."""
    for number in range(count):
        cwd = f"/project/{number % 50}"
        (folder / cwd.replace("/", "-")).mkdir(parents=True, exist_ok=True)
        message = {"role": "user", "content": f"What was asked in {number}"}
        line = {"type": "user", "cwd": cwd, "uuid": "u", "timestamp": "2026-01-01T00:00:00Z", "message": message}
        id = f"00000000-0000-4000-9000-{number:012d}"
        (folder / cwd.replace("/", "-") / f"{id}.jsonl").write_text(json.dumps(line) + "\n")
