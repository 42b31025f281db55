"""Resuming a long transcript beside resuming one of a single turn: time to the handshake, first turn, and memory.

The long transcript is what months of work leave behind: turns with long tool results, and a compaction every few
megabytes. Both sessions are resumed in alternation. The scripted model runs in the agent's process.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

from benchmarks.agent_process import agent
from benchmarks.figures import Section, at_most
from benchmarks.workbench import Workbench
from handrail.testing import Lab
from handrail.transcripts import project_name

__all__ = ["measure"]

MEGABYTE = 1024 * 1024
SIZE, QUICK_SIZE, SEGMENT = 100 * MEGABYTE, 25 * MEGABYTE, 4 * MEGABYTE
ROUNDS = 8
SETTLE = 1.0
"""Seconds to wait before memory is measured."""
SLOWER = 1.3
"""Promised CPU until the handshake is answered, against a session of one turn."""
MOST_MEMORY = 100
"""Promised resident memory, in megabytes."""
SCRIPT = {"replies": [], "afterwards": {"blocks": [{"type": "text", "text": "It is said."}]}}
OUTPUT = "".join(f"part {number} was compiled, and there is nothing else to report about it\n" for number in range(80))
USAGE = {"input_tokens": 10, "output_tokens": 10}
Entry = dict[str, Any]


@dataclass
class Figures:
    """The measurements of one session, by round."""

    start: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])
    idle: list[float] = field(default_factory=list[float])
    first_turn: list[float] = field(default_factory=list[float])
    used: list[float] = field(default_factory=list[float])


def measure(bench: Workbench) -> Section:
    """Every round resumes both sessions once; the first round only warms the caches."""
    size = QUICK_SIZE if bench.quick else SIZE
    long, short = asyncio.run(_measure(bench, size))
    rows = (
        ("process to `initialize` answer", "start", _milliseconds),
        ("CPU until that answer", "cpu", _milliseconds),
        ("resident memory, idle", "idle", _megabytes),
        ("prompt to first line, first turn", "first_turn", _milliseconds),
        ("resident memory after the first turn", "used", _megabytes),
    )
    middle = {name: (median(getattr(long, name)), median(getattr(short, name))) for _, name, _ in rows}
    return Section(
        "Resuming a long session of the agent",
        f"A transcript of {size // MEGABYTE} MB with a compaction every {SEGMENT // MEGABYTE} MB beside one of a single"
        f" turn, in alternation. Median of {len(long.start)} rounds; idle: {SETTLE:g} s after `initialize`.",
        ("", f"{size // MEGABYTE} MB", "one turn"),
        tuple((text, *(shown(each) for each in middle[name])) for text, name, shown in rows),
        (
            at_most(
                f"CPU until the `initialize` answer when {size // MEGABYTE} MB are resumed, against one turn",
                SLOWER,
                middle["cpu"][0] / middle["cpu"][1],
            ),
            at_most("resident memory when they are resumed", MOST_MEMORY, middle["used"][0] / MEGABYTE, " MB"),
        ),
    )


async def _measure(bench: Workbench, size: int) -> tuple[Figures, Figures]:
    lab = Lab(bench.folder / "resume")
    environment = lab.environment(HANDRAIL_SCRIPT=json.dumps(SCRIPT))
    command = Path(bench.ours).with_name("handrail-agent")
    sessions = [(_written(lab, size), Figures()), (_written(lab, 0), Figures())]
    for number in bench.rounds(ROUNDS + 1, "resuming a long session"):
        for id, figures in sessions:
            kept = figures if number > 1 else Figures()
            async with agent(command, environment, lab.project, ("--resume", id)) as running:
                kept.start.append(await running.initialize())
                kept.cpu.append(running.cpu())
                await asyncio.sleep(SETTLE)
                kept.idle.append(running.resident())
                kept.first_turn.append(await running.turn())
                kept.used.append(running.resident())
                await running.end()
    return sessions[0][1], sessions[1][1]


def _written(lab: Lab, size: int) -> str:
    """Write the transcript of a session of at least one turn. Returns its id."""
    id = str(uuid4())
    folder = lab.home / ".claude" / "projects" / project_name(str(lab.project.resolve()))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{id}.jsonl").open("wb") as file:
        for entry in _entries(file.tell, size):
            file.write(json.dumps({**entry, "sessionId": id}, separators=(",", ":")).encode() + b"\n")
    return id


def _entries(position: Any, size: int) -> Iterator[Entry]:
    last: str | None = None
    border = number = 0
    while not number or position() < size:
        number += 1
        messages = [*_turn(number)]
        if position() - border > SEGMENT:
            border, boundary = position(), str(uuid4())
            yield {
                "type": "system",
                "subtype": "compact_boundary",
                "parentUuid": None,
                "logicalParentUuid": last,
                "compactMetadata": {"trigger": "auto", "keptMessages": 0},
                "uuid": boundary,
            }
            last = boundary
            messages[0] = {"role": "user", "content": [{"type": "text", "text": "A summary of the work. " * 100}]}
        for message in messages:
            uuid = str(uuid4())
            yield {"type": message["role"], "message": message, "parentUuid": last, "uuid": uuid}
            last = uuid
        yield {"type": "last-prompt", "lastPrompt": "Look at it.", "leafUuid": last}
        yield {"type": "cost-state", "totalCostUSD": number / 100, "modelUsage": {}}


def _turn(number: int) -> Iterator[Entry]:
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": f"make part{number}"}}
    answer = {"role": "assistant", "model": "claude-sonnet-5-5", "usage": USAGE}
    yield {"role": "user", "content": [{"type": "text", "text": f"Look at part {number}."}]}
    yield {**answer, "id": f"msg_{number}a", "content": [call]}
    yield {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": OUTPUT}]}
    yield {**answer, "id": f"msg_{number}b", "content": [{"type": "text", "text": "It is as it should be. " * 20}]}


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def _megabytes(size: float) -> str:
    return f"{size / MEGABYTE:.0f} MB"
