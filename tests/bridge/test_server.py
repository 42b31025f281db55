"""Where a server listens, how it ends, and whom it does not wait for."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ipaddress
import ssl
from pathlib import Path

import httpx2
import pytest
import websockets
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from handrail.bridge import guard, server, sockets
from handrail.bridge.bridge import Bridge
from handrail.bridge.errors import AddressRefused
from handrail.bridge.server import check_address, serve
from tests.bridge.serving import configuration, running


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.1", "example.com"])
def test_other_machines_come_in_over_tls_or_when_somebody_says_so(host: str):
    with pytest.raises(AddressRefused, match="--tls-cert"):
        check_address(host, secure=False)
    check_address(host, secure=True)
    check_address(host, secure=False, insecure=True)


async def test_a_port_that_is_taken_is_told_in_a_sentence(tmp_path: Path):
    (tmp_path / "other").mkdir()
    async with running(tmp_path) as first:
        bridge = Bridge(configuration(tmp_path / "other", port=first.port))
        with pytest.raises(AddressRefused, match="already in use. Choose another one with --port") as refused:
            async with serve(bridge):
                pass
        await bridge.database.close()
        assert refused.value.taken


async def test_a_server_that_ends_lets_its_clients_know(tmp_path: Path):
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
async def test_whoever_begins_and_does_not_go_on_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, began: bytes
):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.1)
    async with running(tmp_path) as one:
        assert await read_to_the_end(one.port, began) == b""


async def test_also_after_a_first_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.1)
    async with running(tmp_path) as one:
        reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
        writer.write(f"GET /api/health HTTP/1.1\r\nHost: {one.host}\r\n\r\n".encode())
        await reader.readuntil(b'{"ok":true}')
        writer.write(b"GET / HTTP/1.1\r\nHost:")
        with contextlib.suppress(ConnectionResetError):
            async with asyncio.timeout(3):
                assert await reader.read() == b""
        writer.close()


async def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.1)
    monkeypatch.setattr(guard, "DRAINED_SECONDS", 0.1)
    async with running(tmp_path) as one:
        head = f"POST /api/commands HTTP/1.1\r\nHost: {one.host}\r\nAuthorization: Bearer {await one.token()}\r\n"
        head += "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"
        answer = await read_to_the_end(one.port, head.encode())
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"too_slow"' in answer


async def test_a_socket_on_which_nothing_is_said_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sockets, "HELLO_SECONDS", 0.1)
    async with running(tmp_path) as one, one.socket(await one.token()) as socket:
        with pytest.raises(websockets.ConnectionClosed) as closed:
            await socket.recv()
    assert closed.value.rcvd.code == 4401


async def test_over_tls_the_cookie_is_bound_to_it(tmp_path: Path):
    certificate, key = own_certificate(tmp_path)
    async with running(tmp_path, certificate=certificate, key=key) as one:
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with httpx2.AsyncClient(base_url=one.address, verify=trusting, trust_env=False) as client:
            link = await one.bridge.access.make_link()
            answer = await client.post("/api/login", json={"link": link}, headers={"origin": one.address})
    assert one.address == f"https://127.0.0.1:{one.port}"
    assert answer.headers["set-cookie"].startswith(f"__Host-handrail-{one.port}=")
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=strict"} <= set(answer.headers["set-cookie"].split("; "))


def own_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine that nobody has signed. Out: its file, and that of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    paths[1].write_bytes(private)
    return paths
