"""Requests and responses survive encoding; anything else is rejected."""

from __future__ import annotations

import msgspec
import pytest

from handrail.bridge.cluster.routing.requests import (
    Do,
    Know,
    Known,
    decode,
    decode_fetched,
    decode_known,
    encode,
)
from handrail.bridge.commands.router import Fetch, Fetched

REQUESTS = [
    Do("d/1", "Ann's phone", ["prompt", "view"], "send", b'{"text":"\xc3\xa9"}'),
    Fetch("GET", "/api/sessions/x/files", [("path", "a b")], "d", "Ann", ["prompt"]),
    Know("search", {"words": "harbour", "limit": 5, "session": None}),
]


@pytest.mark.parametrize("message", REQUESTS, ids=lambda one: type(one).__name__)
def test_request_round_trip(message: Do | Fetch | Know):
    assert decode(encode(message)) == message


def test_response_round_trip():
    fetched, known = Fetched(404, [("content-type", "text/plain")], b"\x00\xff", True), Known("box", [{"a": 1}])
    assert decode_fetched(encode(fetched)) == fetched
    assert decode_known(encode(known)) == known


@pytest.mark.parametrize("data", [b"", b"{}", b"\xc1", msgspec.msgpack.encode({"type": "Delete"}), b"\x91" * 3000])
def test_malformed_requestis_rejected(data: bytes):
    with pytest.raises((msgspec.MsgspecError, RecursionError)):
        decode(data)
