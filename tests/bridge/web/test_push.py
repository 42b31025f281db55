"""Web push: only the subscribed browser can read a message, and no message goes into a private network."""

from __future__ import annotations

import json
import logging
import ssl
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from handrail.bridge.errors import BridgeError, CommandRefused
from handrail.bridge.store.database import Database
from handrail.bridge.store.shared_values import TABLES, SharedValues, SqliteValues
from handrail.bridge.web.notifications import News
from handrail.bridge.web.push import Push
from handrail.bridge.web.push_encryption import base64url_encode, public_bytes
from tests.bridge.certificate import own_certificate
from tests.bridge.receiver import receiving

NEWS = News("needs_you", "6c9a", "A title", "/home/me", 1)
AUTH = b"0123456789abcdef"


class Browser:
    """A browser with its keys, which decrypts messages."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.p256dh, self.auth = base64url_encode(public_bytes(self._key)), base64url_encode(AUTH)

    def decrypt(self, body: bytes) -> dict[str, str]:
        salt, sender, ciphertext = body[:16], body[21:86], body[86:]
        shared = self._key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
        secret = self._derive(AUTH, shared, b"WebPush: info\0" + public_bytes(self._key) + sender, 32)
        key = self._derive(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
        nonce = self._derive(salt, secret, b"Content-Encoding: nonce\0", 12)
        return json.loads(AESGCM(key).decrypt(nonce, ciphertext, None).removesuffix(b"\x02"))

    def _derive(self, salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
        return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


@pytest.fixture
async def values(tmp_path: Path) -> AsyncIterator[SharedValues]:
    database = Database(tmp_path / "handrail.db", TABLES)
    yield SqliteValues(database)
    await database.close()


def endpoints(values: SharedValues) -> Sequence[str]:
    return [json.loads(value)["endpoint"] for value in values.below("push.").values()]


async def test_message_is_encrypted_for_the_browser(values: SharedValues, tmp_path: Path):
    cert, key = own_certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    trusting = ssl.create_default_context(cafile=str(cert))
    push = Push(values, tmp_path / "push.pem", allowed=lambda address: address.is_loopback, delays=(), verify=trusting)
    browser = Browser()
    async with receiving(201, 410, tls=tls) as receiver:
        endpoint = f"https://localhost:{receiver.port}/send/abc"
        await push.subscribe("laptop", endpoint, browser.p256dh, browser.auth)
        await push.send(NEWS)
        (request,) = receiver.requests
        assert browser.decrypt(request.body) == {"kind": "needs_you", "session": "6c9a", "title": "A title"}
        assert (request.path, request.headers["host"]) == ("/send/abc", f"localhost:{receiver.port}")
        assert (request.headers["content-encoding"], request.headers["urgency"]) == ("aes128gcm", "high")
        assert request.headers["authorization"].endswith(f"k={await push.public_key()}")
        assert endpoints(values) == [endpoint]
        await push.send(NEWS)
        assert endpoints(values) == []  # 410: the subscription has expired


async def test_endpoint_in_a_private_network_is_not_called(
    values: SharedValues, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    browser, push = Browser(), Push(values, tmp_path / "push.pem", delays=())
    async with receiving() as receiver:
        await push.subscribe("laptop", f"https://localhost:{receiver.port}/x", browser.p256dh, browser.auth)
        with caplog.at_level(logging.WARNING):
            await push.send(NEWS)
        assert (receiver.requests, "private network" in caplog.text) == ([], True)


async def test_invalid_subscription_is_rejected(values: SharedValues, tmp_path: Path):
    browser, push = Browser(), Push(values, tmp_path / "push.pem")
    for endpoint, p256dh, auth in (
        ("http://push.example/x", browser.p256dh, browser.auth),
        ("https://push.example/x", browser.p256dh[:-4], browser.auth),
        ("https://push.example/x", browser.p256dh, "AAAA"),
        ("https://push.example/x", "!!!", browser.auth),
    ):
        with pytest.raises(CommandRefused):
            await push.subscribe("laptop", endpoint, p256dh, auth)
    assert endpoints(values) == []


async def test_subscriptions_per_device_are_limited_and_can_be_deleted(values: SharedValues, tmp_path: Path):
    browser, push = Browser(), Push(values, tmp_path / "push.pem")
    for number in range(7):
        await push.subscribe("laptop", f"https://push.example/{number}", browser.p256dh, browser.auth)
    await push.subscribe("phone", "https://push.example/phone", browser.p256dh, browser.auth)
    numbers = sorted(endpoint.rpartition("/")[2] for endpoint in endpoints(values))
    assert numbers == ["2", "3", "4", "5", "6", "phone"]
    await push.unsubscribe("laptop", "https://push.example/phone")
    await push.unsubscribe("laptop")
    assert endpoints(values) == ["https://push.example/phone"]


async def test_revoked_device_is_not_notified(values: SharedValues, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """Deleting its subscriptions may have failed, if NATS did not answer."""
    browser, valid = Browser(), {"laptop"}
    push = Push(values, tmp_path / "push.pem", is_valid=valid.__contains__, delays=())
    async with receiving() as receiver:
        await push.subscribe("laptop", f"https://localhost:{receiver.port}/x", browser.p256dh, browser.auth)
        with caplog.at_level(logging.WARNING):
            valid.clear()
            await push.send(NEWS)
            assert caplog.text == ""
            valid.add("laptop")
            await push.send(NEWS)
            assert "private network" in caplog.text


async def test_key_is_persistent(values: SharedValues, tmp_path: Path):
    path = tmp_path / "push.pem"
    key = await Push(values, path).public_key()
    assert await Push(values, path).public_key() == key
    await values.take("push-key")
    assert await Push(values, path).public_key() != key


async def test_key_file_of_an_older_server_is_taken_over(values: SharedValues, tmp_path: Path):
    path = tmp_path / "push.pem"
    path.write_text("invalid")
    with pytest.raises(BridgeError, match=r"push.pem is not a valid key"):
        await Push(values, path).public_key()
    path.unlink()
    key = await Push(values, path).public_key()
    path.write_bytes(await values.take("push-key") or b"")
    assert await Push(values, path).public_key() == key
    path.unlink()
    assert await Push(values, path).public_key() == key


async def test_invalid_stored_values_are_reported(
    values: SharedValues, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    await values.create("push-key", b"-----BEGIN")
    await values.create("push.x", b"{}")
    push = Push(values, tmp_path / "push.pem")
    with pytest.raises(BridgeError, match="the stored key for push notifications is not a valid key"):
        await push.public_key()
    await push.send(NEWS)
    assert "ignoring an invalid push subscription" in caplog.text
