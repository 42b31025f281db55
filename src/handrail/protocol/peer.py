"""The state of one end of the control protocol, without I/O: pending requests and the legal next steps.

The control protocol is the same in both directions, so both ends run this class:

    our request     ask() ──► waiting ──► Answered | withdrawn by cancel() | failed by close()
    their request   Asked ──► open    ──► answer() | refuse() | withdrawn by them: Withdrawn

The first answer wins. Late answers and answers to unknown requests are counted and dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from handrail.errors import LocalProtocolError
from handrail.protocol.codec import encode_cancel, encode_failure, encode_request, encode_success
from handrail.protocol.frames import Answer, CancelRequest, Failure, Frame, InternalId, Request, Success

__all__ = ["Answered", "Asked", "Counts", "Ignored", "Peer", "PeerEvent", "Withdrawn"]


class Asked(msgspec.Struct, frozen=True):
    """The other side sent a request, which stays open until answer() or refuse()."""

    request: Request


class Answered(msgspec.Struct, frozen=True):
    """The other side answered one of our requests."""

    id: str
    subtype: str
    answer: Answer


class Withdrawn(msgspec.Struct, frozen=True):
    """The other side withdrew its request."""

    id: str


class Ignored(msgspec.Struct, frozen=True):
    """A frame without effect, and why. It is `odd` if a peer that keeps to the protocol would not have sent it."""

    frame: Frame
    reason: str
    odd: bool = False


PeerEvent = Asked | Answered | Withdrawn | Ignored


class Counts(msgspec.Struct):
    """Numbers of dropped frames."""

    late_answers: int = 0
    unknown_answers: int = 0
    unknown_cancels: int = 0
    duplicate_requests: int = 0


class Peer:
    """The state of one end. `salt` makes its request ids unique among peers.

    `takes_repeated`: a request with the id of an open one is a request of its own, which is not ignored.
    """

    def __init__(self, salt: str = "", *, takes_repeated: bool = False) -> None:
        self._takes_repeated = takes_repeated
        self.counts = Counts()
        self.closed = False
        self._suffix = f"_{salt}" if salt else ""
        self._asked = 0
        self._waiting: dict[str, Request] = {}
        self._open: dict[str, Request] = {}

    @property
    def waiting(self) -> Mapping[str, Request]:
        """Our unanswered requests, by id."""
        return self._waiting

    @property
    def open(self) -> Mapping[str, Request]:
        """The other side's unanswered requests, by id."""
        return self._open

    def ask(self, subtype: str, fields: Mapping[str, Any]) -> Request:
        """Register a request. Returns the frame to send."""
        if self.closed:
            raise LocalProtocolError(f"cannot send {subtype}: the conversation has ended")
        self._asked += 1
        frame = encode_request(f"req_{self._asked}{self._suffix}", subtype, fields)
        self._waiting[frame.id] = frame
        return frame

    def cancel(self, id: str) -> CancelRequest | None:
        """Withdraw a request. Returns the frame to send, or None if it is no longer waiting."""
        return encode_cancel(id) if self._waiting.pop(id, None) is not None else None

    def answer(self, id: str, payload: Mapping[str, Any] | None, beside: Mapping[str, Any] | None = None) -> Success:
        """Answer a request of the other side. Returns the frame to send; `beside` are fields next to the payload."""
        frame = encode_success(id, payload, beside)
        self._settle(id)
        return frame

    def refuse(self, id: str, error: str, code: str = "") -> Failure:
        """Refuse a request of the other side. Returns the frame to send."""
        frame = encode_failure(id, error, code)
        self._settle(id)
        return frame

    def receive(self, frame: Frame) -> PeerEvent:
        """Process a received control frame."""
        if isinstance(frame, Request):
            return self._receive_request(frame)
        if isinstance(frame, Success | Failure):
            return self._receive_answer(frame)
        if isinstance(frame, CancelRequest):
            if self._open.pop(frame.id, None) is not None:
                return Withdrawn(frame.id)
            self.counts.unknown_cancels += 1
            return Ignored(frame, "it withdraws a request that is not open")
        return Ignored(frame, "it is not a control frame")

    def close(self) -> tuple[list[str], list[str]]:
        """End of the conversation. Returns the ids of our and of their unanswered requests."""
        self.closed = True
        ended = list(self._waiting), list(self._open)
        self._waiting.clear()
        self._open.clear()
        return ended

    def _settle(self, id: str) -> None:
        if self.closed:
            raise LocalProtocolError(f"cannot answer {id}: the conversation has ended")
        if self._open.pop(id, None) is None:
            raise LocalProtocolError(f"cannot answer {id}: it is not open (answered already, or withdrawn)")

    def _receive_request(self, request: Request) -> PeerEvent:
        if request.id in self._open:
            self.counts.duplicate_requests += 1
            if not self._takes_repeated:
                return Ignored(request, "a request with this id is open already", odd=True)
            id = InternalId(f"{request.id}\n{self.counts.duplicate_requests}", request_id=request.id)
            request = msgspec.structs.replace(request, id=id)
        self._open[request.id] = request
        return Asked(request)

    def _receive_answer(self, answer: Answer) -> PeerEvent:
        request = self._waiting.pop(answer.id, None)
        if request is not None:
            return Answered(answer.id, request.subtype, answer)
        if self._is_ours(answer.id):
            self.counts.late_answers += 1
            return Ignored(answer, "it answers a request that is no longer waiting")
        self.counts.unknown_answers += 1
        return Ignored(answer, "it answers an unknown request", odd=True)

    def _is_ours(self, id: str) -> bool:
        number = id.removeprefix("req_").removesuffix(self._suffix)
        return (
            number.isascii()
            and number.isdecimal()
            and len(number) < 20
            and 0 < int(number) <= self._asked
            and id == f"req_{int(number)}{self._suffix}"
        )
