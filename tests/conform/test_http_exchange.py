"""handrail.conform.http_exchange: parsing requests, including malformed ones."""

import asyncio

import pytest

from handrail.agent.models.script import Script, text
from handrail.conform.messages_api import ScriptedMessagesApi

BODY = b'{"model": "m", "messages": [], "tools": [{}]}'
HEAD = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\n"


async def answer_to(*parts: bytes) -> bytes:
    """All bytes that the API sends until it closes the connection."""
    async with asyncio.timeout(10), ScriptedMessagesApi(Script.of(text("Hello."))) as api:
        host, port = api.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        for part in parts:
            writer.write(part)
            await writer.drain()
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer


async def test_a_request_may_arrive_in_pieces():
    answer = await answer_to(HEAD[:9], HEAD[9:], b"content-length: %d\r\n\r\n" % len(BODY), BODY[:5], BODY[5:])
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b'"Hello."' in answer


async def test_expect_100_continue_is_answered():
    headers = b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(BODY)
    answer = await answer_to(HEAD + headers, BODY)
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


async def test_head_response_has_no_body():
    answer = await answer_to(b"HEAD / HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"POST / SMTP\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (HEAD + b"content-length: -1\r\n\r\n", 400),
        (HEAD + "content-length: ²\r\n\r\n".encode("latin-1"), 400),
        (HEAD + b"content-length: 99999999999999999999\r\n\r\n", 413),
        (HEAD + b"content-length: 99999999\r\n\r\n", 413),
        (HEAD + b"content-length: " + b"9" * 5000 + b"\r\n\r\n", 413),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n", 411),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * 100_000 + b"\r\n\r\n", 431),
    ],
)
async def test_bad_request_is_refused_with_a_reason(request_bytes: bytes, status: int):
    answer = await answer_to(request_bytes)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert b'{"type":"error","error":{"type":' in answer


async def test_clients_may_disconnect_within_a_request():
    async with asyncio.timeout(10), ScriptedMessagesApi(Script.of(text("Hello."))) as api:
        host, port = api.url.removeprefix("http://").split(":")
        for part in (b"", HEAD[:9], HEAD + b"content-length: 10\r\n\r\n{"):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(part)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()
        assert api.requests == []
