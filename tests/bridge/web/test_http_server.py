"""Shutdown, timeouts and TLS of the HTTP server."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from pathlib import Path

import httpx2
import pytest
import websockets

from handrail.bridge.web import guard, http_server, sockets
from tests.bridge.certificate import own_certificate
from tests.bridge.serving import running


async def test_shutdown_closes_client_connections(tmp_path: Path):
    async with running(tmp_path) as one:
        socket = await one.socket(await one.token())
        await socket.send('{"type":"hello","protocol":1}')
        await socket.recv()
    with pytest.raises(websockets.ConnectionClosed):
        await socket.recv()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", one.port)


async def read_to_the_end(port: int, *pieces: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        async with asyncio.timeout(10):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize("began", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX: "])
async def test_incomplete_request_head_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, began: bytes):
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.1)
    async with running(tmp_path) as one:
        assert await read_to_the_end(one.port, began) == b""


async def test_incomplete_second_request_head_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.1)
    async with running(tmp_path) as one:
        reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
        writer.write(f"GET /api/health HTTP/1.1\r\nHost: {one.host}\r\n\r\n".encode())
        await reader.readuntil(b'{"ok":true}')
        writer.write(b"GET / HTTP/1.1\r\nHost:")
        with contextlib.suppress(ConnectionResetError):
            async with asyncio.timeout(20):
                assert await reader.read() == b""
        writer.close()


async def test_incomplete_body_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.1)
    monkeypatch.setattr(guard, "DRAINED_SECONDS", 0.1)
    async with running(tmp_path) as one:
        head = f"POST /api/commands HTTP/1.1\r\nHost: {one.host}\r\nAuthorization: Bearer {await one.token()}\r\n"
        head += "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"
        answer = await read_to_the_end(one.port, head.encode())
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"too_slow"' in answer


async def test_socket_without_a_hello_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sockets, "HELLO_SECONDS", 0.1)
    async with running(tmp_path) as one, one.socket(await one.token()) as socket:
        with pytest.raises(websockets.ConnectionClosed) as closed:
            await socket.recv()
    assert closed.value.rcvd.code == 4401


UPGRADE = (
    "GET /ws HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Protocol: handrail.v1\r\n\r\n"
)


async def write_until_refused(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Write repeatedly without reading; raises ConnectionError once the peer has closed the connection."""
    while True:
        writer.write(data)
        await writer.drain()
        await asyncio.sleep(0.001)


async def test_client_that_pings_without_reading_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_server, "MOST_UNREAD", 65536)
    async with running(tmp_path) as one, asyncio.timeout(20):
        _reader, writer = await asyncio.open_connection("127.0.0.1", one.port, limit=1024)
        writer.write(UPGRADE.format(host=one.host, token=await one.token()).encode())
        with pytest.raises(ConnectionError):
            await write_until_refused(writer, (b"\x89\xfd\0\0\0\0" + b"x" * 125) * 500)
        writer.close()


async def test_ended_socket_is_closed_despite_unread_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_server, "LINGER_SECONDS", 0.1)
    monkeypatch.setattr(sockets, "ENDING_SECONDS", 0.1)
    begun = asyncio.Event()

    async def flood(device: object, wire: sockets.SocketWire) -> None:
        begun.set()
        while not wire.ended.is_set():
            await wire.send("x" * 500_000)

    async with running(tmp_path, dialects={"/ws": flood}) as one, asyncio.timeout(20):
        token = await one.token()
        _reader, writer = await asyncio.open_connection("127.0.0.1", one.port, limit=1024)
        writer.write(UPGRADE.format(host=one.host, token=token).encode())
        await begun.wait()
        await one.bridge.access.revoke(token.partition(".")[0])
        with pytest.raises(ConnectionError):
            await write_until_refused(writer, b"\x8a\x80\0\0\0\0")
        writer.close()


@pytest.mark.parametrize("began", [b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n"])
async def test_incomplete_tls_handshake_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, began: bytes):
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.1)
    certificate, key = own_certificate(tmp_path)
    async with running(tmp_path, certificate=certificate, key=key) as one:
        assert not (await read_to_the_end(one.port, began)).startswith(b"HTTP")


async def test_cookie_is_secure_over_tls(tmp_path: Path):
    certificate, key = own_certificate(tmp_path)
    async with running(tmp_path, certificate=certificate, key=key) as one:
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with httpx2.AsyncClient(base_url=one.address, verify=trusting, trust_env=False) as client:
            link = await one.bridge.access.make_link()
            answer = await client.post("/api/login", json={"link": link}, headers={"origin": one.address})
    assert one.address == f"https://127.0.0.1:{one.port}"
    assert answer.headers["set-cookie"].startswith(f"__Host-handrail-{one.port}=")
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=strict"} <= set(answer.headers["set-cookie"].split("; "))
