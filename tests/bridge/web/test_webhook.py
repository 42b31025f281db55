"""Webhooks: JSON, retries on temporary failures, no retries otherwise."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from handrail.bridge.errors import BridgeError
from handrail.bridge.web.notifications import News
from handrail.bridge.web.webhook import DeliveryFailed, Webhook, check_webhook
from tests.bridge.receiver import receiving

NEWS = News("needs_you", "6c9a", "A title", "/home/me", 1)


async def test_notification_is_posted_as_json():
    async with receiving() as receiver:
        await Webhook(f"http://127.0.0.1:{receiver.port}/hook", delays=()).send(NEWS)
    (request,) = receiver.requests
    assert (request.path, request.headers["content-type"]) == ("/hook", "application/json")
    assert json.loads(request.body) == {
        "kind": "needs_you",
        "session": "6c9a",
        "title": "A title",
        "cwd": "/home/me",
        "time": 1,
    }


async def test_temporary_failures_are_retried_twice():
    async with receiving(500, 429, 204) as receiver:
        await Webhook(f"http://127.0.0.1:{receiver.port}/", delays=(0, 0)).send(NEWS)
    assert len(receiver.requests) == 3
    async with receiving(500, 500, 500, 200) as receiver:
        with pytest.raises(DeliveryFailed, match="500"):
            await Webhook(f"http://127.0.0.1:{receiver.port}/", delays=(0, 0)).send(NEWS)
    assert len(receiver.requests) == 3


@pytest.mark.parametrize("status", [400, 404, 302])
async def test_rejections_and_redirects_are_final(status: int):
    async with receiving(status) as receiver:
        with pytest.raises(DeliveryFailed, match=str(status)):
            await Webhook(f"http://127.0.0.1:{receiver.port}/", delays=(0, 0)).send(NEWS)
    assert len(receiver.requests) == 1


async def test_error_does_not_quote_the_url():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    with pytest.raises(DeliveryFailed, match="could not be reached") as caught:
        await Webhook(f"http://127.0.0.1:{port}/?key=secret", delays=(0,)).send(NEWS)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("address", ["ftp://x/", "x", "http://", "http://[::1", "javascript:alert(1)"])
def test_invalid_url_is_rejected(address: str):
    with pytest.raises(BridgeError, match="--webhook"):
        check_webhook(address)


async def test_body_of_the_answer_is_not_read():
    """An endless answer could fill the memory."""
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
        await Webhook(f"http://127.0.0.1:{port}/x", delays=()).send(NEWS)
        await ended.wait()
