"""Web push: stores the subscriptions of browsers and sends them encrypted notifications."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import secrets
import sqlite3
import ssl
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from handrail.bridge.errors import BridgeError, CommandRefused
from handrail.bridge.store.database import Database
from handrail.bridge.web.notifications import News
from handrail.bridge.web.outbound import (
    RETRY_DELAYS,
    TIMEOUT_SECONDS,
    DeliveryFailed,
    EndpointRefused,
    IpAddress,
    check_endpoint,
    is_public,
    post_with_retries,
    resolve_endpoint,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

__all__ = ["TABLES", "Push"]

log = logging.getLogger("handrail.bridge")
TABLES: Final = """
CREATE TABLE IF NOT EXISTS push (
    endpoint TEXT PRIMARY KEY, device TEXT NOT NULL, p256dh TEXT NOT NULL, auth TEXT NOT NULL, time INTEGER NOT NULL);
"""
MAX_PER_DEVICE: Final = 5
TTL_SECONDS: Final = 86_400
"""A push service stores a message for this time while the browser is offline."""
_EXPIRED: Final = frozenset({403, 404, 410})
"""Answers after which a subscription is deleted."""
_Row = tuple[str, str, str]


class Push:
    """Subscriptions of a server, and its VAPID key. `allowed` decides to which IP addresses messages are sent."""

    def __init__(
        self,
        database: Database,
        key: Path,
        *,
        allowed: Callable[[IpAddress], bool] = is_public,
        delays: Sequence[float] = RETRY_DELAYS,
        verify: ssl.SSLContext | bool = True,
    ) -> None:
        self._database, self._path = database, key
        self._allowed, self._delays, self._verify = allowed, delays, verify
        self._key: EllipticCurvePrivateKey | None = None

    def public_key(self) -> str:
        """The public key, which a browser needs to subscribe."""
        from handrail.bridge.web.push_encryption import base64url_encode, public_bytes

        return base64url_encode(public_bytes(self._own_key()))

    async def subscribe(self, device: str, endpoint: str, p256dh: str, auth: str) -> None:
        """Add a subscription. Raises CommandRefused if the endpoint or the keys are invalid.

        The oldest subscriptions of a device beyond the limit are deleted.
        """
        try:
            check_endpoint(endpoint)
            self._encrypt(b"{}", p256dh, auth)  # a dry run checks the keys
        except (EndpointRefused, ValueError) as error:
            raise CommandRefused("bad_subscription", str(error)) from None
        row = (endpoint, device, p256dh, auth, round(time.time() * 1000))

        def insert(db: sqlite3.Connection) -> None:
            db.execute("REPLACE INTO push VALUES (?, ?, ?, ?, ?)", row)
            newest = "SELECT endpoint FROM push WHERE device = ? ORDER BY time DESC LIMIT ?"
            db.execute(
                f"DELETE FROM push WHERE device = ? AND endpoint NOT IN ({newest})",  # noqa: S608
                (device, device, MAX_PER_DEVICE),
            )

        await self._database.change(insert)

    async def unsubscribe(self, device: str, endpoint: str = "") -> None:
        """Delete the subscription of a device at one endpoint, or all of them."""
        which = "device = ? AND endpoint = ?" if endpoint else "device = ?"
        values = (device, endpoint) if endpoint else (device,)
        await self._database.execute(f"DELETE FROM push WHERE {which}", values)  # noqa: S608

    async def send(self, news: News) -> None:
        """Notify all browsers concurrently, so that a slow push service delays no other."""

        def read(db: sqlite3.Connection) -> list[_Row]:
            return db.execute("SELECT endpoint, p256dh, auth FROM push").fetchall()

        rows = await self._database.look(read)
        await asyncio.gather(*(self._send_or_log(row, news) for row in rows))

    async def _send_or_log(self, row: _Row, news: News) -> None:
        try:
            await self._send_one(row, news)
        except DeliveryFailed as error:
            if error.status in _EXPIRED:
                await self._database.execute("DELETE FROM push WHERE endpoint = ?", (row[0],))
            else:
                log.warning("push notification rejected: %s", error)
        except (BridgeError, ValueError) as error:
            log.warning("push notification not sent: %s", error)

    async def _send_one(self, row: _Row, news: News) -> None:
        import httpx2

        from handrail.bridge.web.push_encryption import vapid_header

        endpoint, p256dh, auth = row
        target = await resolve_endpoint(endpoint, allowed=self._allowed)
        text = msgspec.json.encode({"kind": news.kind, "session": news.session, "title": news.title[:200]})
        headers = {
            "host": target.host_header,
            "authorization": vapid_header(endpoint, self._own_key(), time.time()),
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
            "ttl": str(TTL_SECONDS),
            "urgency": "high" if news.kind == "needs_you" else "normal",
            # A newer message of the same session replaces one that is not delivered yet.
            "topic": hashlib.sha256(news.session.encode()).hexdigest()[:32],
        }
        # The URL contains the resolved address; the certificate must still match the name.
        extensions: dict[str, Any] = {"sni_hostname": target.server_name}
        async with httpx2.AsyncClient(timeout=TIMEOUT_SECONDS, trust_env=False, verify=self._verify) as client:
            body = self._encrypt(text, p256dh, auth)
            await post_with_retries(client, target.url, body, headers, delays=self._delays, extensions=extensions)

    def _encrypt(self, text: bytes, p256dh: str, auth: str) -> bytes:
        from cryptography.hazmat.primitives.asymmetric import ec

        from handrail.bridge.web.push_encryption import base64url_decode, encrypt

        sender, salt = ec.generate_private_key(ec.SECP256R1()), secrets.token_bytes(16)
        return encrypt(text, base64url_decode(p256dh), base64url_decode(auth), sender=sender, salt=salt)

    def _own_key(self) -> EllipticCurvePrivateKey:
        """The server's key, created on first use. Subscriptions are bound to it, so it must not change."""
        if self._key is None:
            self._key = _read_key(self._path) or _new_key(self._path)
        return self._key


def _read_key(path: Path) -> EllipticCurvePrivateKey | None:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        found = load_pem_private_key(path.read_bytes(), None)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        reason = type(error).__name__  # the message itself could quote the file
        raise BridgeError(f"{path} is not a valid key ({reason}); delete it, and browsers will resubscribe") from None
    if not isinstance(found, ec.EllipticCurvePrivateKey):
        raise BridgeError(f"{path} is not an elliptic-curve key; delete it, and browsers will resubscribe")
    return found


def _new_key(path: Path) -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    temporary = path.with_name(f"{path.name}.new")  # renamed when complete: a crash must not leave a partial key
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    return key
