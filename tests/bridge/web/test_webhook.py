"""News to an address: as JSON, three times where that may help, never where it does not."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from handrail.bridge.errors import BridgeError
from handrail.bridge.web.notifications import News
from handrail.bridge.web.webhook import NotTaken, Webhook, check_webhook
from tests.bridge.receiver import receiving

NEWS = News("needs_you", "6c9a", "A title", "/home/me", 1)


async def test_news_are_posted_as_json():
    async with receiving() as receiver:
        await Webhook(f"http://127.0.0.1:{receiver.port}/hook", pauses=()).send(NEWS)
    (request,) = receiver.requests
    assert (request.path, request.headers["content-type"]) == ("/hook", "application/json")
    assert json.loads(request.body) == {
        "kind": "needs_you",
        "session": "6c9a",
        "title": "A title",
        "cwd": "/home/me",
        "time": 1,
    }


async def test_it_is_tried_three_times():
    async with receiving(500, 429, 204) as receiver:
        await Webhook(f"http://127.0.0.1:{receiver.port}/", pauses=(0, 0)).send(NEWS)
    assert len(receiver.requests) == 3
    async with receiving(500, 500, 500, 200) as receiver:
        with pytest.raises(NotTaken, match="500"):
            await Webhook(f"http://127.0.0.1:{receiver.port}/", pauses=(0, 0)).send(NEWS)
    assert len(receiver.requests) == 3


@pytest.mark.parametrize("status", [400, 404, 302])
async def test_a_refusal_and_a_detour_are_taken_as_they_are(status: int):
    async with receiving(status) as receiver:
        with pytest.raises(NotTaken, match=str(status)):
            await Webhook(f"http://127.0.0.1:{receiver.port}/", pauses=(0, 0)).send(NEWS)
    assert len(receiver.requests) == 1


async def test_what_is_not_reached_is_told_without_its_address():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    with pytest.raises(NotTaken, match="unreachable") as caught:
        await Webhook(f"http://127.0.0.1:{port}/?key=secret", pauses=(0,)).send(NEWS)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("address", ["ftp://x/", "x", "http://", "http://[::1", "javascript:alert(1)"])
def test_an_address_that_is_none_is_refused(address: str):
    with pytest.raises(BridgeError, match="--webhook"):
        check_webhook(address)


async def test_what_the_other_side_says_without_end_is_not_listened_to():
    """Else whoever names an address could fill our memory."""
    ended = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        try:
            while True:
                writer.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
                await writer.drain()
        except ConnectionError:
            ended.set()

    async with asyncio.timeout(20), await asyncio.start_server(talk, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        await Webhook(f"http://127.0.0.1:{port}/x", pauses=()).send(NEWS)
        await ended.wait()
