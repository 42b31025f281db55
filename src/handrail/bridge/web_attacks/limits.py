"""W30–W36: too much, too slow, too crooked."""

from __future__ import annotations

import asyncio
import contextlib
from itertools import product

import websockets

from handrail.bridge.web_attacks.probe import SECONDS, GotThrough, Probe, Way
from handrail.bridge.web_attacks.row import attack

__all__: list[str] = []

HALF_OPEN = 300
FRAGMENTS = 100_000
DROPPED_SECONDS = 15.0
BODY_SECONDS = 35.0
WAITS = "that nobody is waited for takes its time to see: only with --patient"


@attack("W30", "a frame over 1 MiB; a message in endless pieces")
async def large_frames(probe: Probe) -> None:
    if (code := await probe.closing("x" * (1024 * 1024 + 1))) != 1009:
        raise GotThrough(f"a large frame ended with {code}")
    head = f"GET /ws HTTP/1.1\r\nHost: {probe.host}\r\nAuthorization: Bearer {probe.token}\r\nUpgrade: websocket\r\n"
    head += "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    head += "Sec-WebSocket-Protocol: handrail.v1\r\n\r\n"
    piece = b"\x00\x80\x00\x00\x00\x00"  # nothing, that goes on what was before and is not the last
    async with probe.connection() as (reader, writer):
        writer.write(head.encode())
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"\x01\x81\x00\x00\x00\x00a")
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(SECONDS):
                for _ in range(FRAGMENTS // 1000):
                    writer.write(piece * 1000)
                    await writer.drain()
                await reader.read()
        if not reader.at_eof() and not writer.transport.is_closing():
            raise GotThrough(f"{FRAGMENTS} pieces of one message were taken")


@attack("W31", "a small message that becomes a large one (compression)")
async def compression(probe: Probe) -> None:
    heard = await probe.upgrade(token=probe.token, sec_websocket_extensions="permessage-deflate")
    if "sec-websocket-extensions" in probe.expect(heard, 101).headers:
        raise GotThrough("compression was agreed on")


@attack("W32", f"{HALF_OPEN} connections that begin and do not go on")
async def half_open(probe: Probe) -> str:
    async with contextlib.AsyncExitStack() as stack:
        began = [await stack.enter_async_context(probe.connection()) for _ in range(HALF_OPEN)]
        for _, writer in began:
            writer.write(f"GET /ws HTTP/1.1\r\nHost: {probe.host}\r\n".encode())
        probe.expect(await probe.upgrade(token=probe.token), 101, what="an honest client meanwhile")
        if probe.patient:
            try:
                async with asyncio.timeout(DROPPED_SECONDS):
                    await asyncio.gather(*(reader.read() for reader, _ in began), return_exceptions=True)
            except TimeoutError:
                raise GotThrough("they are waited for") from None
    return "" if probe.patient else WAITS


@attack("W33", "a body that comes a byte at a time")
async def slow_body(probe: Probe) -> str:
    told = f"Host: {probe.host}\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n"
    ways = [way for way in await probe.closed() if way.changes]
    begun = [probe.raw(f"{way.method} {way.path} HTTP/1.1\r\n{told}\r\n{{".encode()) for way in ways]
    for way, heard in zip(ways, await asyncio.gather(*begun), strict=True):
        probe.expect(heard, 401, 429, what=f"a body of nobody to {way.method} {way.path}")
    head = f"POST /api/commands HTTP/1.1\r\n{told}"
    if probe.patient:
        known = f"{head}Authorization: Bearer {probe.token}\r\n\r\n{{"
        probe.expect(await probe.raw(known.encode(), seconds=BODY_SECONDS), 408, what="a slow body")
    return "" if probe.patient else WAITS


@attack("W34", "a body with two lengths")
async def two_lengths(probe: Probe) -> None:
    ways = [way for way in await probe.ways() if way.changes] or [Way("POST", "/api/login")]
    told = f"HTTP/1.1\r\nHost: {probe.host}\r\nContent-Type: application/json\r\n"
    for way, lengths in product(ways, _LENGTHS):
        heard = await probe.raw(f"{way.method} {way.path} {told}{lengths}\r\n\r\n0\r\n\r\n".encode())
        probe.expect(heard, 400, 411, 501, 0, what=f"{way.path} with {lengths}".replace("\r\n", " and "))


_LENGTHS = (
    "Content-Length: 5\r\nTransfer-Encoding: chunked",
    "Content-Length: 5\r\nContent-Length: 6",
    "Content-Length: -1",
    "Content-Length: +5",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: gzip, chunked",
)


@attack("W35", "129 headers; one of 64 kB")
async def large_heads(probe: Probe) -> None:
    for way, headers in product(await probe.ways(), ("X: y\r\n" * 129, f"X: {'y' * 65536}\r\n")):
        heard = await probe.raw(f"{way.method} {way.path} HTTP/1.1\r\nHost: {probe.host}\r\n{headers}\r\n".encode())
        probe.expect(heard, 431, what=f"a large head to {way.path}")


@attack("W36", "paths that lead out of the page's folder")
async def paths_out(probe: Probe) -> None:
    for path in (
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/%252e%252e/x",
        "/static/..%5c..%5cx",
        "//etc/passwd",
        "/static/%00",
        "/%c0%ae%c0%ae/x",
        "/page.js/../../app.py",
        "/index.html%00",
    ):
        probe.expect(await probe.ask("GET", path), 404, 400, what=path)
        try:
            heard = await probe.upgrade(path, token=probe.token)
        except websockets.WebSocketException:
            continue
        probe.expect(heard, 404, 400, what=f"a socket at {path}")
