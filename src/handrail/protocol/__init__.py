"""The wire protocol without I/O: lines, frames, control requests and turns."""

from handrail.errors import HandrailError, LocalProtocolError, ProtocolError, RemoteProtocolError
from handrail.protocol.codec import decode, encode_message
from handrail.protocol.frames import (
    Answer,
    BadLine,
    CancelRequest,
    Failure,
    Frame,
    KeepAlive,
    Message,
    Request,
    Success,
)
from handrail.protocol.lines import LineSplitter
from handrail.protocol.peer import Peer
from handrail.protocol.turns import TurnTable

__all__ = [
    "Answer",
    "BadLine",
    "CancelRequest",
    "Failure",
    "Frame",
    "HandrailError",
    "KeepAlive",
    "LineSplitter",
    "LocalProtocolError",
    "Message",
    "Peer",
    "ProtocolError",
    "RemoteProtocolError",
    "Request",
    "Success",
    "TurnTable",
    "decode",
    "encode_message",
]
