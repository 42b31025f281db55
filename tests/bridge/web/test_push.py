"""Web push: what is sent can be read by the one browser, and goes nowhere it should not."""

from __future__ import annotations

import json
import logging
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from handrail.bridge.errors import BridgeError, CommandRefused
from handrail.bridge.store.database import Database
from handrail.bridge.web.notifications import News
from handrail.bridge.web.push import TABLES, Push
from handrail.bridge.web.push_encryption import public_bytes, to_text
from tests.bridge.receiver import certificate, receiving

NEWS = News("needs_you", "6c9a", "A title", "/home/me", 1)
AUTH = b"0123456789abcdef"


class Browser:
    """The other end: it has the keys, and reads what it is sent."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.p256dh, self.auth = to_text(public_bytes(self._key)), to_text(AUTH)

    def read(self, body: bytes) -> dict[str, str]:
        salt, sender, sealed = body[:16], body[21:86], body[86:]
        shared = self._key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
        secret = self._derive(AUTH, shared, b"WebPush: info\0" + public_bytes(self._key) + sender, 32)
        key = self._derive(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
        nonce = self._derive(salt, secret, b"Content-Encoding: nonce\0", 12)
        return json.loads(AESGCM(key).decrypt(nonce, sealed, None).removesuffix(b"\x02"))

    def _derive(self, salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
        return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "handrail.db", TABLES)
    yield database
    await database.close()


def endpoints(database: Database) -> object:
    return database.look(lambda db: [row[0] for row in db.execute("SELECT endpoint FROM push ORDER BY time")])


async def test_only_the_browser_can_read_it(database: Database, tmp_path: Path):
    cert, key = certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    trusting = ssl.create_default_context(cafile=str(cert))
    push = Push(
        database, tmp_path / "push.pem", allowed=lambda address: address.is_loopback, pauses=(), verify=trusting
    )
    browser = Browser()
    async with receiving(201, 410, tls=tls) as receiver:
        endpoint = f"https://localhost:{receiver.port}/send/abc"
        await push.subscribe("laptop", endpoint, browser.p256dh, browser.auth)
        await push.send(NEWS)
        (request,) = receiver.requests
        assert browser.read(request.body) == {"kind": "needs_you", "session": "6c9a", "title": "A title"}
        assert (request.path, request.headers["host"]) == ("/send/abc", f"localhost:{receiver.port}")
        assert (request.headers["content-encoding"], request.headers["urgency"]) == ("aes128gcm", "high")
        assert request.headers["authorization"].endswith(f"k={push.public_key()}")
        assert await endpoints(database) == [endpoint]
        await push.send(NEWS)
        assert await endpoints(database) == []  # the service said that the browser has gone


async def test_nothing_is_sent_into_a_private_network(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    browser, push = Browser(), Push(database, tmp_path / "push.pem", pauses=())
    async with receiving() as receiver:
        await push.subscribe("laptop", f"https://localhost:{receiver.port}/x", browser.p256dh, browser.auth)
        with caplog.at_level(logging.WARNING):
            await push.send(NEWS)
        assert (receiver.requests, "private network" in caplog.text) == ([], True)


async def test_what_is_no_subscription_is_refused(database: Database, tmp_path: Path):
    browser, push = Browser(), Push(database, tmp_path / "push.pem")
    for endpoint, p256dh, auth in (
        ("http://push.example/x", browser.p256dh, browser.auth),
        ("https://push.example/x", browser.p256dh[:-4], browser.auth),
        ("https://push.example/x", browser.p256dh, "AAAA"),
        ("https://push.example/x", "!!!", browser.auth),
    ):
        with pytest.raises(CommandRefused):
            await push.subscribe("laptop", endpoint, p256dh, auth)
    assert await endpoints(database) == []


async def test_a_device_has_a_few_and_can_have_none(database: Database, tmp_path: Path):
    browser, push = Browser(), Push(database, tmp_path / "push.pem")
    for number in range(7):
        await push.subscribe("laptop", f"https://push.example/{number}", browser.p256dh, browser.auth)
    await push.subscribe("phone", "https://push.example/phone", browser.p256dh, browser.auth)
    found = await database.look(lambda db: db.execute("SELECT COUNT(*) FROM push WHERE device = 'laptop'").fetchone())
    assert found == (5,)
    await push.unsubscribe("laptop", "https://push.example/phone")
    await push.unsubscribe("laptop")
    assert await endpoints(database) == ["https://push.example/phone"]


async def test_the_key_stays_and_only_its_owner_reads_it(database: Database, tmp_path: Path):
    path = tmp_path / "push.pem"
    assert Push(database, path).public_key() == Push(database, path).public_key()
    assert path.stat().st_mode & 0o777 == 0o600
    path.unlink()
    (tmp_path / "push.pem.new").write_text("half a k")  # of somebody who was killed
    assert Push(database, path).public_key() == Push(database, path).public_key()
    path.write_text("no key")
    with pytest.raises(BridgeError, match="is not a valid key"):
        Push(database, path).public_key()
