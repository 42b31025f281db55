"""Plays the CLI's side of a recording to a live client. No I/O.

A line of the CLI is due once the live client has sent everything that preceded the line in the recording. Lines of the
client are matched by kind, not by content: requests by subtype and order, prompts by order, answers by request id. Ids
chosen by the client are translated; those of the CLI are played as recorded. Requests that were not recorded are
refused at once.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

import msgspec

from handrail.protocol.codec import decode, encode_failure, encode_message, encode_success
from handrail.protocol.frames import BadLine, CancelRequest, Failure, Frame, KeepAlive, Message, Request, Success
from handrail.transport.recording_file import Direction, Recording, Row

__all__ = ["NOT_IN_RECORDING", "Due", "Replay"]

NOT_IN_RECORDING = "not_in_recording"
"""The error code for requests that are not in the recording."""
INITIALIZE_ANSWER: dict[str, Any] = {
    "commands": [],
    "agents": [],
    "models": [],
    "account": {},
    "output_style": "default",
    "available_output_styles": ["default"],
}

Key = tuple[str, str]
_END_OF_INPUT: Key = ("end of input", "")
_REQUEST_ID = re.compile(rb'("request_id"\s*:\s*)("(?:[^"\\]|\\.)*")')
_SESSION_ID = re.compile(rb'"session_id"\s*:\s*"([^"\\]+)"')


class Due(msgspec.Struct, frozen=True):
    """Bytes that the CLI writes now. `gap`: seconds after the previous row of the recording."""

    gap: float
    dir: Direction
    data: bytes


class _Expected(msgspec.Struct, eq=False):
    """A line that the recorded client sent. `met`: the live client sent it too. `passed`: no longer expected."""

    index: int
    key: Key
    id: str = ""
    met: bool = False
    passed: bool = False
    answered: bool = False


class _Uuid(msgspec.Struct):
    uuid: str | None = None


class Replay:
    """One replay: feed it the client's lines, and ask it for the lines that are due."""

    def __init__(self, recording: Recording) -> None:
        self._rows = list(recording.rows)
        if recording.end is None:  # the recording is incomplete: the process was still running
            self._rows.append(Row(self._rows[-1].t if self._rows else 0.0, "in", b"", eof=True))
        self._expected: dict[int, _Expected] = {}
        self._waiting: dict[Key, deque[_Expected]] = defaultdict(deque)
        self._answer_rows: dict[str, int] = {}
        self._requests: dict[str, _Expected] = {}
        self._read(self._rows)
        self._session_id = next(iter(_session_ids(self._rows)), "")
        self._at, self._t = 0, 0.0
        self.missed = ""
        """A description of the line that was expected when the client's input ended, or ""."""
        self._input_ended = False
        self._at_once: deque[bytes] = deque()
        self._left_over: deque[str] = deque()
        self._ids: dict[bytes, bytes] = {}
        self._uuids: dict[bytes, bytes] = {}
        self._any_uuid: re.Pattern[bytes] | None = None

    @property
    def finished(self) -> bool:
        """Whether the recorded process has ended, and nothing more is due."""
        return self._at >= len(self._rows) and not self._at_once

    @property
    def waiting_for(self) -> str:
        """A description of the line that is expected now, or ""."""
        expected = self._expected.get(self._at)
        if expected is None or expected.met or expected.passed:
            return ""
        return " ".join(filter(None, expected.key))

    def feed(self, line: bytes) -> None:
        """Process a line of the live client, without its newline."""
        frame = decode(line)
        key = _key_of(frame)
        if key is None:
            return
        if not self._waiting[key]:
            self._unexpected(frame)
            return
        expected = self._waiting[key].popleft()
        expected.met = True
        if isinstance(frame, Request):
            self._meet_request(expected, frame)
        elif key[0] == "user":
            self._pass_over(expected.index, "request", "line")
            self._map_uuid(self._rows[expected.index].data, line)

    def end_input(self) -> None:
        """The live client sends nothing more, so stop expecting lines."""
        self._input_ended = True

    @property
    def has_at_once(self) -> bool:
        """Whether `at_once` returns anything."""
        return bool(self._at_once)

    def at_once(self) -> bytes:
        """Lines out of order: answers that are elsewhere in the recording, or not in it."""
        data = b"".join(self._at_once)
        self._at_once.clear()
        return data

    def next_due(self) -> Due | None:
        """The next line of the CLI; None while a line of the client is expected, and after the end."""
        while self._at < len(self._rows):
            row, expected = self._rows[self._at], self._expected.get(self._at)
            if expected is not None and not (expected.met or expected.passed):
                if not self._give_up(expected):
                    return None
                continue
            gap, self._t = max(0.0, row.t - self._t), row.t
            self._at += 1
            if row.dir == "in" or self._is_withheld(self._at - 1):
                continue
            return Due(gap, row.dir, self._translate(row.wire) if row.dir == "out" else row.wire)
        return None

    def _read(self, rows: list[Row]) -> None:
        asked: set[str] = set()
        for index, row in enumerate(rows):
            if row.eof:
                self._expect(index, _END_OF_INPUT)
                continue
            frame = decode(row.data) if row.dir != "err" and row.data and not row.data.isspace() else None
            if row.dir == "out":
                if isinstance(frame, Success | Failure):
                    self._answer_rows.setdefault(frame.id, index)
                elif isinstance(frame, Request):
                    asked.add(frame.id)
                elif isinstance(frame, CancelRequest):
                    asked.discard(frame.id)
            elif row.dir == "in" and frame is not None and (key := _key_of(frame)) is not None:
                if row.cut and isinstance(frame, BadLine):  # part of a line
                    continue
                if key[0] == "answer" and key[1] not in asked:  # duplicate, late or unsolicited: it had no effect
                    continue
                asked.discard(key[1])
                self._expect(index, key, frame.id if isinstance(frame, Request) else "")

    def _expect(self, index: int, key: Key, id: str = "") -> None:
        expected = _Expected(index, key, id)
        self._expected[index] = expected
        self._waiting[key].append(expected)
        if key[0] == "request":
            self._requests[id] = expected

    def _meet_request(self, expected: _Expected, request: Request) -> None:
        self._ids[msgspec.json.encode(expected.id)] = msgspec.json.encode(request.id)
        if request.subtype == "interrupt":  # an interrupt makes earlier questions obsolete
            self._pass_over(expected.index, "request", "line", "answer")
        earlier = (other for index, other in self._expected.items() if index < expected.index)
        if not expected.passed and all(other.met or other.passed for other in earlier):
            return
        expected.answered = True
        answer = self._answer_rows.get(expected.id)
        if answer is None:
            self._refuse(request.id, request.subtype)
        else:
            self._at_once.append(self._translate(self._rows[answer].wire))

    def _pass_over(self, index: int, *kinds: str) -> None:
        """Stop expecting earlier lines of these kinds: the live client continues without them."""
        for expected in self._expected.values():
            if expected.index < index and not expected.met and expected.key[0] in kinds:
                expected.passed = True

    def _unexpected(self, frame: Frame) -> None:
        if isinstance(frame, Request) and frame.subtype == "initialize":
            self._at_once.append(encode_success(frame.id, INITIALIZE_ANSWER).raw + b"\n")
        elif isinstance(frame, Request):
            self._refuse(frame.id, frame.subtype)
        elif isinstance(frame, Message) and frame.type == "user":
            self._left_over.append(_uuid_of(frame.raw))

    def _refuse(self, id: str, subtype: str) -> None:
        text = f"the recording contains no (further) request {subtype!r}"
        self._at_once.append(encode_failure(id, text, NOT_IN_RECORDING).raw + b"\n")

    def _give_up(self, expected: _Expected) -> bool:
        """Handle a missing line. Returns whether to continue without it, because the input has ended."""
        if expected.key == _END_OF_INPUT:
            self._settle()
            expected.met = self._input_ended
        elif self._input_ended:
            self.missed = self.waiting_for
            self._at = len(self._rows)
        return self._input_ended

    def _settle(self) -> None:
        """Everything was played: answer pending requests, and end pending prompts with an error."""
        for id, request in self._requests.items():
            if request.met and not request.answered and id not in self._answer_rows:
                request.answered = True
                self._refuse(msgspec.json.decode(self._ids[msgspec.json.encode(id)]), request.key[1])
        while self._left_over:
            self._at_once.append(self._failed_turn(self._left_over.popleft()))

    def _failed_turn(self, uuid: str) -> bytes:
        result: dict[str, Any] = {
            "type": "result",
            "subtype": "error_during_execution",
            "is_error": True,
            "errors": [f"{NOT_IN_RECORDING}: the recording contains no further prompt"],
            "num_turns": 0,
            "duration_ms": 0,
            "duration_api_ms": 0,
            "total_cost_usd": 0,
            "usage": {},
            "permission_denials": [],
            "session_id": self._session_id,
        }
        named = {"user_message_uuid": uuid, "user_message_uuids": [uuid]} if uuid else {}
        return encode_message(result | named).raw + b"\n"

    def _is_withheld(self, index: int) -> bool:
        """Whether a row answers a request that the live client never sent, or that was answered already."""
        frame = decode(self._rows[index].data) if b"control_response" in self._rows[index].data else None
        request = self._requests.get(frame.id) if isinstance(frame, Success | Failure) else None
        return request is not None and (request.answered or not request.met)

    def _map_uuid(self, recorded: bytes, live: bytes) -> None:
        old, new = _uuid_of(recorded), _uuid_of(live)
        if old and new and old != new:
            self._uuids[msgspec.json.encode(old)] = msgspec.json.encode(new)
            self._any_uuid = re.compile(b"|".join(map(re.escape, self._uuids)))

    def _translate(self, line: bytes) -> bytes:
        """Replace the recorded client's ids by those of the live client."""
        if self._any_uuid is not None:
            line = self._any_uuid.sub(lambda found: self._uuids[found[0]], line)
        if b"control_response" in line or b"control_request_progress" in line:
            line = _REQUEST_ID.sub(lambda found: found[1] + self._ids.get(found[2], found[2]), line)
        return line


def _key_of(frame: Frame) -> Key | None:
    """The key by which a line of the client is matched; None for lines without effect."""
    match frame:
        case Request():
            return ("request", frame.subtype)
        case Success() | Failure():
            return ("answer", frame.id)
        case Message(type="user"):
            return ("user", "")
        case Message() | BadLine():
            return ("line", frame.type if isinstance(frame, Message) else "")
        case CancelRequest() | KeepAlive():
            return None


def _uuid_of(line: bytes) -> str:
    try:
        return msgspec.json.decode(line, type=_Uuid).uuid or ""
    except msgspec.DecodeError:
        return ""


def _session_ids(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        if row.dir == "out" and (found := _SESSION_ID.search(row.data)):
            yield found[1].decode("utf-8", "replace")
