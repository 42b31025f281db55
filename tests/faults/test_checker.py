"""The checker finds no faults in a good run, and reports each single defect."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.checker import ROOM, check
from tests.faults.watcher import digest

Json = dict[str, Any]
SESSION = "s"
ASKED: Json = {"question": "q", "request": {"tool_use_id": "t"}}


def frame(kind: str, **fields: Any) -> tuple[str, Json]:
    return "frame", {"type": kind, **fields}


def good_run() -> Json:
    """One turn with one question, seen by one client."""
    events = [
        ("said", {"uuid": "u"}),
        ("handed", {"uuid": "u"}),
        frame("system", subtype="init"),
        ("asked", ASKED),
        ("answered", {"question": "q", "answer": {"behavior": "allow"}}),
        frame("result"),
    ]
    wrote = [data for kind, data in events if kind == "frame"]
    diary = [{"begins": SESSION}, {"read": "u"}, {"wrote": wrote}, {"ran": "t"}]
    seen = [{"session": SESSION, "seq": n, "digest": digest(data)} for n, (_, data) in enumerate(events, 1)]
    sent = [{"sent": "c", "command": "send"}, {"receipt": "c", "answer": {"ok": True, "result": {"uuid": "u"}}}]
    return {"events": events, "diary": diary, "notes": [*sent, *seen]}


def faults_of(run: Json, folder: Path) -> list[str]:
    database, diaries, notes = folder / "a.db", folder / "diaries", folder / "client.notes"
    diaries.mkdir()
    with sqlite3.connect(database) as db:
        db.execute("CREATE TABLE log (key INTEGER PRIMARY KEY, session TEXT, first INTEGER, last INTEGER)")
        db.execute("CREATE TABLE event (place INTEGER PRIMARY KEY, time INTEGER, kind TEXT, data BLOB)")
        db.execute("INSERT INTO log VALUES (1, ?, 1, 1)", (SESSION,))
        for seq, (kind, data) in enumerate(run["events"], 1):
            db.execute("INSERT INTO event VALUES (?, 0, ?, ?)", (ROOM + seq, kind, json.dumps(data)))
        for seq in run.get("lost", ()):
            db.execute("DELETE FROM event WHERE place = ?", (ROOM + seq,))
    db.close()
    (diaries / "1.diary").write_text("".join(json.dumps(note) + "\n" for note in run["diary"]))
    notes.write_text("".join(json.dumps(note) + "\n" for note in run["notes"]))
    return check(database, diaries, [notes], killed=False)


def test_a_good_run_has_no_faults(tmp_path: Path):
    assert faults_of(good_run(), tmp_path) == []


def lose_an_event(run: Json) -> None:
    run["lost"] = [2]


def show_one_twice(run: Json) -> None:
    run["notes"].append(run["notes"][-1])


def show_another(run: Json) -> None:
    run["notes"][-1] = {**run["notes"][-1], "digest": "other"}


def lose_a_line(run: Json) -> None:
    run["diary"][2]["wrote"].append({"type": "assistant"})


def tear_a_block(run: Json) -> None:
    run["notes"].append({"session": SESSION, "torn": {}})


def give_a_message_twice(run: Json) -> None:
    run["diary"].append({"read": "u"})


def have_two_receipts(run: Json) -> None:
    run["notes"].append({"receipt": "c", "answer": {"ok": False}})


def lose_an_accepted_answer(run: Json) -> None:
    run["notes"] += [
        {"sent": "a", "command": "answer", "question": "other"},
        {"receipt": "a", "answer": {"ok": True, "result": {}}},
    ]


def end_no_turn(run: Json) -> None:
    run["events"].append(frame("system", subtype="init"))
    run["diary"][2]["wrote"].append({"type": "system", "subtype": "init"})
    run["notes"].append({"session": SESSION, "seq": 7, "digest": digest({"type": "system", "subtype": "init"})})


def run_without_permission(run: Json) -> None:
    run["diary"].append({"ran": "other"})


def have_two_processes(run: Json) -> None:
    run["diary"].append({"beside": "17", "pid": 18})


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (lose_an_event, "gapless"),
        (show_one_twice, "seen once"),
        (show_another, "seen once"),
        (lose_a_line, "nothing lost"),
        (tear_a_block, "live"),
        (give_a_message_twice, "once"),
        (have_two_receipts, "once"),
        (lose_an_accepted_answer, "once"),
        (end_no_turn, "one end"),
        (run_without_permission, "asked first"),
        (have_two_processes, "alone"),
    ],
)
def test_each_defect_is_reported(tmp_path: Path, spoil: Callable[[Json], None], rule: str):
    run = good_run()
    spoil(run)
    found = faults_of(run, tmp_path)
    assert {fault.partition(":")[0] for fault in found} >= {rule}
