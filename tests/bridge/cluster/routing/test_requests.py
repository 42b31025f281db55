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

ASKS = [
    Do("d/1", "Ann's phone", ["prompt", "view"], "send", b'{"text":"\xc3\xa9"}'),
    Fetch("GET", "/api/sessions/x/files", [("path", "a b")], "d", "Ann", ["prompt"]),
    Know("search", {"words": "harbour", "limit": 5, "session": None}),
]


@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: type(ask).__name__)
def test_an_ask_comes_out_as_it_went_in(ask: Do | Fetch | Know):
    assert decode(encode(ask)) == ask


def test_answers_come_out_as_they_went_in():
    fetched, known = Fetched(404, [("content-type", "text/plain")], b"\x00\xff", True), Known("box", [{"a": 1}])
    assert decode_fetched(encode(fetched)) == fetched
    assert decode_known(encode(known)) == known


@pytest.mark.parametrize("data", [b"", b"{}", b"\xc1", msgspec.msgpack.encode({"type": "Delete"}), b"\x91" * 3000])
def test_what_is_no_ask_is_refused(data: bytes):
    with pytest.raises((msgspec.MsgspecError, RecursionError)):
        decode(data)
