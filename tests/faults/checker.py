"""Checks a run: compares the event log, the diaries of the children and the notes of the clients.

    python tests/faults/checker.py DATABASE DIARIES NOTES...

It reads the files directly and shares no code with the program that wrote them.

| rule | |
|---|---|
| gapless | a session's events are numbered 1, 2, 3, … |
| seen once | each client saw each number once, in order, with the persisted content |
| nothing lost | all lines of a child are persisted in order; after a kill, all up to some line |
| live | the deltas of a block add up to the block; none follows the complete block |
| once | a command has one receipt and, if it was accepted, one effect; a child reads a message at most once |
| one end | each turn has one result, real or synthesized |
| asked first | no tool runs without a persisted answer; each question is answered or closed once |
| alone | no two processes use one conversation at the same time |
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Event", "Run", "check", "judge", "lines_of"]

Json = dict[str, Any]
ROOM = 2**32
MOST_SHOWN = 20
LAST_WORDS = {"state", "ended"}
"""Kinds of events recorded after the clients were disconnected, while the server ends the processes."""


class Event(NamedTuple):
    """One row of the log."""

    seq: int
    kind: str
    data: Json


class Run(NamedTuple):
    """The data of a run. `killed`: the server was killed, so the last lines of a child may be missing."""

    events: dict[str, list[Event]]
    diaries: list[list[Json]]
    notes: dict[str, list[Json]]
    killed: bool


def check(database: Path, diaries: Path, notes: Iterable[Path], *, killed: bool) -> list[str]:
    """Check a finished run and return its faults."""
    run = Run(
        _events(database),
        [lines_of(path) for path in sorted(diaries.glob("*.diary"))],
        {path.stem: lines_of(path) for path in notes},
        killed,
    )
    return judge(run)


def judge(run: Run) -> list[str]:
    """Apply every rule."""
    rules = (_gapless, _seen_once, _nothing_lost, _live, _once, _one_end, _asked_first, _alone)
    return [fault for rule in rules for fault in rule(run)]


def _events(database: Path) -> dict[str, list[Event]]:
    db = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    found: dict[str, list[Event]] = {}
    for key, session in db.execute("SELECT key, session FROM log WHERE session <> ''").fetchall():
        rows = db.execute(
            "SELECT place, kind, data FROM event WHERE place BETWEEN ? AND ? ORDER BY place",
            (key * ROOM, (key + 1) * ROOM - 1),
        )
        found[session] = [Event(place - key * ROOM, kind, json.loads(data)) for place, kind, data in rows]
    db.close()
    return found


def lines_of(path: Path) -> list[Json]:
    """The lines of a file, without an unfinished last one."""
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line) for line in whole.splitlines()]


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:24]


def _gapless(run: Run) -> Iterator[str]:
    for session, events in run.events.items():
        if [event.seq for event in events] != list(range(1, len(events) + 1)):
            yield f"gapless: {session}: the numbers are not 1 to {len(events)}"


def _seen_once(run: Run) -> Iterator[str]:
    kept = {session: {event.seq: _digest(event.data) for event in events} for session, events in run.events.items()}
    for name, notes in run.notes.items():
        last: Counter[str] = Counter()
        for note in notes:
            if "seq" not in note:
                continue
            session, seq = note["session"], note["seq"]
            if seq <= last[session]:
                yield f"seen once: {name} saw {seq} of {session} again after {last[session]}"
            elif seq != last[session] + 1:
                yield f"seen once: {name} saw {seq} of {session} after {last[session]}"
            if kept.get(session, {}).get(seq) != note["digest"]:
                yield f"seen once: {name} saw {seq} of {session} with content that differs from the log"
            last[session] = max(seq, last[session])
        for session, seq in last.items():
            unseen = [event.kind for event in run.events.get(session, ())[seq:]]
            kinds = ", ".join(unseen[:9])
            if set(unseen) - LAST_WORDS:
                yield f"seen once: {name} saw {seq} events of {session}, and not the last {len(unseen)} ({kinds})"


def _nothing_lost(run: Run) -> Iterator[str]:
    """The persisted lines are those of the diaries, process by process, each up to some line."""
    written: defaultdict[str, list[list[str]]] = defaultdict(list)
    for diary in run.diaries:
        if diary:
            lines = [_digest(line) for note in diary for line in note.get("wrote", ())]
            written[diary[0]["begins"]].append(lines)
    for session, processes in written.items():
        kept = [_digest(event.data) for event in run.events.get(session, ()) if event.kind == "frame"]
        place = 0
        for lines in processes:
            same = _same(lines, kept[place:])
            place += same
            if same < len(lines) and not run.killed:
                yield f"nothing lost: {session}: {len(lines) - same} lines of a process are not persisted"
        if place != len(kept):
            yield f"nothing lost: {session}: persisted line {place + 1} is in no diary, or in another order"


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    return next(
        (n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )


def _live(run: Run) -> Iterator[str]:
    for name, notes in run.notes.items():
        for note in notes:
            for fault in ("torn", "doubled"):
                if fault in note:
                    yield f"live: {name}: {note['session']}: {fault}: {note[fault]}"


def _once(run: Run) -> Iterator[str]:
    said = Counter(event.data["uuid"] for events in run.events.values() for event in events if event.kind == "said")
    yield from (f"once: message {uuid} is persisted {count} times" for uuid, count in said.items() if count > 1)
    read = Counter(note["read"] for diary in run.diaries for note in diary if "read" in note)
    yield from (f"once: a child read message {uuid} {count} times" for uuid, count in read.items() if count > 1)
    yield from (f"once: a child read message {uuid}, which was never sent" for uuid in read if uuid not in said)
    answered = {e.data["question"] for events in run.events.values() for e in events if e.kind == "answered"}
    for name, notes in run.notes.items():
        questions = {note["sent"]: note.get("question") for note in notes if "sent" in note}
        commands = {note["sent"]: note["command"] for note in notes if "sent" in note}
        receipts: dict[str, Json] = {}
        for note in notes:
            if "receipt" in note and receipts.setdefault(note["receipt"], note["answer"]) != note["answer"]:
                yield f"once: {name}: command {note['receipt']} has two receipts"
        for id, answer in receipts.items():
            if commands[id] == "send" and answer["ok"] and said[answer["result"]["uuid"]] != 1:
                yield f"once: {name}: {id} was accepted, but is not persisted"
            if commands[id] == "answer" and answer["ok"] and questions[id] not in answered:
                yield f"once: {name}: the answer {id} was accepted, but is not persisted"
    given_up = ("doubted", "withdrawn")
    events = [event for events in run.events.values() for event in events]
    settled = {event.data["uuid"] for event in events if event.kind in given_up} | set(read)
    yield from (f"once: message {uuid} was accepted, but never delivered" for uuid in said if uuid not in settled)


def _one_end(run: Run) -> Iterator[str]:
    for session, events in run.events.items():
        runs = 0
        for event in events:
            if event.kind == "frame" and (event.data.get("type"), event.data.get("subtype")) == ("system", "init"):
                if runs:
                    yield f"one end: {session}: a turn begins at {event.seq}, but the previous one did not end"
                runs = event.seq
            elif event.kind == "crashed":
                runs = 0
            elif event.kind == "frame" and event.data.get("type") == "result":
                if not runs:
                    yield f"one end: {session}: the result {event.seq} belongs to no turn"
                runs = 0
        if runs:
            yield f"one end: {session}: the turn of {runs} did not end"


def _asked_first(run: Run) -> Iterator[str]:
    allowed: set[str] = set()
    for session, events in run.events.items():
        asked = {event.data["question"]: event.data["request"] for event in events if event.kind == "asked"}
        ends = Counter(event.data["question"] for event in events if event.kind in ("answered", "closed"))
        yield from (f"asked first: {session}: question {id} has {ends[id]} ends" for id in asked if ends[id] != 1)
        for event in events:
            if event.kind == "answered" and event.data["answer"]["behavior"] == "allow":
                allowed.add(asked[event.data["question"]]["tool_use_id"])
    ran = Counter(note["ran"] for diary in run.diaries for note in diary if "ran" in note)
    yield from (f"asked first: {id} ran without a persisted answer" for id in ran if id not in allowed)


def _alone(run: Run) -> Iterator[str]:
    for diary in run.diaries:
        for note in diary:
            if "beside" in note:
                yield f"alone: {diary[0]['begins']}: process {note['pid']} began while {note['beside']} was using it"


if __name__ == "__main__":
    found = check(Path(sys.argv[1]), Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]], killed=True)
    print("\n".join(found[:MOST_SHOWN]) or "no faults")
    sys.exit(1 if found else 0)
