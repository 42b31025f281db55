"""When the first answer of a turn was requested and received, for the `result` line."""

from __future__ import annotations

from time import monotonic, time
from typing import Any, Final

__all__ = ["TurnTiming"]

JsonObject = dict[str, Any]
_CONTENT: Final = frozenset({"content_block_start", "content_block_delta"})


class TurnTiming:
    """The times of one turn, in milliseconds since its start."""

    def __init__(self) -> None:
        self._start = monotonic()
        self._sent: JsonObject = {}
        self._received: JsonObject = {}
        self._usage: JsonObject = {}
        self.complete = False
        """True after the first delta; later events change nothing."""

    def note_request(self) -> None:
        """A request is sent. A retry counts instead of the request that failed."""
        if not self.complete:
            self._sent = {"time_to_request_ms": self._elapsed(), "request_sent_wall_ms": round(time() * 1000)}
            self._received = {}

    def note_event(self, event: JsonObject) -> None:
        """An event of the answer was received."""
        kind = event.get("type")
        if not self._received:
            self._received["ttft_stream_ms"] = self._elapsed()
        if kind == "message_start":
            message: JsonObject = event.get("message") or {}
            self._usage = message.get("usage") or {}
        elif kind in _CONTENT:
            self._received.setdefault("first_content_frame_ms", self._elapsed())
            if kind == "content_block_delta":
                self._received["ttft_ms"] = self._elapsed()
                self.complete = True

    def _elapsed(self) -> int:
        return round((monotonic() - self._start) * 1000)

    def fields(self, *, named: bool) -> JsonObject:
        """The fields of the result. `named`: the host gave its prompt a uuid and wants to follow it in detail."""
        if not self._received:
            return {}
        fields = {"ttft_ms": self._received["ttft_stream_ms"], **self._sent, **self._received}
        if not named:
            del fields["request_sent_wall_ms"]
            return fields
        usage = {name: self._usage.get(name) for name in ("input_tokens", "cache_read_input_tokens")}
        return fields | {f"first_request_{name}": count for name, count in usage.items() if isinstance(count, int)}
