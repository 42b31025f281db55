"""A report on a recording: its lines, its requests with their answers, its turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any, cast

import msgspec

from handrail.cli.inspect_summary import body_of, kind_of, pick, shorten, summary_of
from handrail.protocol.codec import decode
from handrail.protocol.frames import BadLine, CancelRequest, Failure, Frame, KeepAlive, Message, Request, Success
from handrail.schema.control import ANSWERS
from handrail.schema.messages import MESSAGES
from handrail.transport.recording_file import Direction, Recording, Row

__all__ = ["Entry", "Pair", "Report", "Totals", "Turn", "report_of"]


class Entry(msgspec.Struct):
    """One line. `latency`: on an answer, the seconds since its request. `flag`: bad, unknown or empty."""

    number: int
    t: float
    dir: Direction
    type: str
    kind: str
    summary: str
    size: int
    flag: str = ""
    latency: float | None = None
    row: Row | None = None

    @property
    def words(self) -> set[str]:
        """The values of `--only`."""
        return {self.dir, self.type, self.kind, self.flag, *self.kind.replace("/", " ").split()} - {""}


class Pair(msgspec.Struct):
    """A request and its outcome. `by`: the side that sent it. `outcome`: success, error, cancelled or unanswered."""

    id: str
    subtype: str
    by: str
    asked: float
    entry: int
    about: str = ""
    latency: float | None = None
    outcome: str = "unanswered"


class Turn(msgspec.Struct):
    """From a prompt to its result. `first`: seconds until the model's first word; `cost` is that of this turn alone."""

    number: int
    prompt: str
    began: float
    first: float | None = None
    seconds: float | None = None
    cost: float | None = None
    output_tokens: int | None = None
    tools: int = 0
    outcome: str = "unfinished"
    uuid: str = ""


class Totals(msgspec.Struct):
    """The totals of a recording."""

    seconds: float
    lines: dict[str, int]
    bytes: dict[str, int]
    kinds: dict[str, int]
    requests: int
    unanswered: int
    median_latency: float | None
    slowest_latency: float | None
    turns: int
    cost: float
    bad: int
    unknown: dict[str, int]
    ending: str


class Report(msgspec.Struct):
    """All of it."""

    argv: tuple[str, ...]
    started: str
    entries: list[Entry]
    pairs: list[Pair]
    turns: list[Turn]
    totals: Totals


def report_of(recording: Recording) -> Report:
    """Read a whole recording into a report."""
    reader = _Reader()
    for number, row in enumerate(recording.rows, 1):
        reader.read(number, row)
    totals = _totals(recording, reader.entries, reader.pairs, reader.turns)
    header = recording.header
    return Report(header.argv, header.started, reader.entries, reader.pairs, reader.turns, totals)


class _Reader:
    """Reads the rows once and keeps the open requests and turns."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.pairs: list[Pair] = []
        self.turns: list[Turn] = []
        self._open: dict[tuple[str, str], Pair] = {}
        self._spent = 0.0

    def read(self, number: int, row: Row) -> None:
        if row.eof or row.dir == "err" or not row.data.strip():
            kind = "end of input" if row.eof else "stderr" if row.dir == "err" else "blank line"
            text = shorten(row.data.decode("utf-8", "replace"))
            self.entries.append(Entry(number, row.t, row.dir, kind, kind, text, len(row.data), row=row))
            return
        frame = decode(row.data.removesuffix(b"\r"))
        wire_type = frame.type if isinstance(frame, Message) else _CONTROL_TYPES[type(frame)]
        entry = Entry(number, row.t, row.dir, wire_type, kind_of(frame), summary_of(frame), len(row.data), row=row)
        entry.flag = _flag(frame)
        self.entries.append(entry)
        self._pair(entry, frame)
        if isinstance(frame, Message):
            self._follow_turn(entry, frame)

    def _pair(self, entry: Entry, frame: Frame) -> None:
        by, other = ("client", "CLI") if entry.dir == "in" else ("CLI", "client")
        if isinstance(frame, Request):
            pair = Pair(frame.id, frame.subtype, by, entry.t, entry.number, shorten(entry.summary, 80))
            self.pairs.append(pair)
            self._open[by, frame.id] = pair
        elif isinstance(frame, Success | Failure) and (pair := self._open.pop((other, frame.id), None)):
            pair.latency = entry.latency = round(entry.t - pair.asked, 6)
            pair.outcome = "success" if isinstance(frame, Success) else "error"
            entry.kind = f"{entry.kind} {pair.subtype}"
        elif isinstance(frame, CancelRequest) and (pair := self._open.pop((by, frame.id), None)):
            pair.outcome = "cancelled"
            entry.kind = f"{entry.kind} {pair.subtype}"

    def _follow_turn(self, entry: Entry, message: Message) -> None:
        if entry.dir == "in":
            if message.type == "user":
                uuid = pick(body_of(message), "uuid")
                began = Turn(len(self.turns) + 1, entry.summary, entry.t, uuid=uuid if isinstance(uuid, str) else "")
                self.turns.append(began)
            return
        if message.type in ("assistant", "stream_event") and (turn := self._running()):
            turn.first = round(entry.t - turn.began, 6) if turn.first is None else turn.first
        if message.type == "assistant" and (turn := self._running()):
            content: Any = pick(body_of(message), "message", "content")
            blocks = cast(list[Any], content) if isinstance(content, list) else []
            turn.tools += sum(pick(block, "type") == "tool_use" for block in blocks)
        if message.type == "result":
            self._end_turn(entry, message)

    def _running(self) -> Turn | None:
        return next((turn for turn in self.turns if turn.outcome == "unfinished"), None)

    def _end_turn(self, entry: Entry, message: Message) -> None:
        body = body_of(message)
        named: Any = body.get("user_message_uuids")
        ended = [turn for turn in self.turns if isinstance(named, list) and turn.uuid in named and turn.uuid]
        ended = ended or [turn for turn in [self._running()] if turn]
        if not ended:
            ended = [Turn(len(self.turns) + 1, "(begun by the CLI)", entry.t)]
            self.turns += ended
        total, tokens = body.get("total_cost_usd"), pick(body, "usage", "output_tokens")
        for turn in ended:
            turn.outcome = f"{body.get('subtype')}{' (failed)' if body.get('is_error') else ''}"
            turn.seconds = round(entry.t - turn.began, 6)
        if isinstance(total, int | float):  # the wire has the sum so far, and a reset starts it again
            ended[0].cost = round(total - self._spent if total >= self._spent else total, 8)
            self._spent = float(total)
        ended[0].output_tokens = tokens if isinstance(tokens, int) else None


_CONTROL_TYPES: Mapping[type, str] = {
    Request: "control_request",
    Success: "control_response",
    Failure: "control_response",
    CancelRequest: "control_cancel_request",
    KeepAlive: "keep_alive",
    BadLine: "bad",
}


def _flag(frame: Frame) -> str:
    if isinstance(frame, BadLine):
        return "bad"
    if isinstance(frame, Message):
        return "" if kind_of(frame) in MESSAGES else "unknown"
    return "unknown" if isinstance(frame, Request) and frame.subtype not in ANSWERS else ""


def _totals(recording: Recording, entries: list[Entry], pairs: list[Pair], turns: list[Turn]) -> Totals:
    latencies = [pair.latency for pair in pairs if pair.latency is not None]
    last = entries[-1].t if entries else 0.0
    return Totals(
        seconds=recording.end.t if recording.end else last,
        lines=_sum((entry.dir, 1) for entry in entries),
        bytes=_sum((entry.dir, entry.size) for entry in entries),
        kinds=dict(Counter(entry.kind for entry in entries).most_common()),
        requests=len(pairs),
        unanswered=sum(pair.outcome == "unanswered" for pair in pairs),
        median_latency=median(latencies) if latencies else None,
        slowest_latency=max(latencies, default=None),
        turns=len(turns),
        cost=round(sum(turn.cost or 0.0 for turn in turns), 8),
        bad=sum(entry.flag == "bad" for entry in entries),
        unknown=_sum((entry.kind, 1) for entry in entries if entry.flag == "unknown"),
        ending=_ending(recording),
    )


def _sum(numbers: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for name, number in numbers:
        found[name] += number
    return dict(found)


def _ending(recording: Recording) -> str:
    if recording.end is None:
        return "incomplete: the recording breaks off" + (" inside a line" if recording.torn else "")
    if recording.end.signal:
        return f"killed by {recording.end.signal}"
    return f"exit code {recording.end.code}" if recording.end.code is not None else "ended"
