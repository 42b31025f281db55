"""Web push: subscriptions of browsers, and encrypted notifications to their push services."""

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
from handrail.bridge.web.outbound import Address, Refused, checked_endpoint, is_public, safe_target
from handrail.bridge.web.webhook import PAUSES, SECONDS, NotTaken, posted

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

__all__ = ["TABLES", "Push"]

log = logging.getLogger("handrail.bridge")
TABLES: Final = """
CREATE TABLE IF NOT EXISTS push (
    endpoint TEXT PRIMARY KEY, device TEXT NOT NULL, p256dh TEXT NOT NULL, auth TEXT NOT NULL, time INTEGER NOT NULL);
"""
MOST_PER_DEVICE: Final = 5
KEPT_SECONDS: Final = 86_400
_GONE: Final = frozenset({403, 404, 410})
_Row = tuple[str, str, str]


class Push:
    """The subscriptions of one server, and its key. `allowed` decides which addresses may be contacted."""

    def __init__(
        self,
        database: Database,
        key: Path,
        *,
        allowed: Callable[[Address], bool] = is_public,
        pauses: Sequence[float] = PAUSES,
        verify: ssl.SSLContext | bool = True,
    ) -> None:
        self._database, self._path = database, key
        self._allowed, self._pauses, self._verify = allowed, pauses, verify
        self._key: EllipticCurvePrivateKey | None = None

    def public_key(self) -> str:
        """The application server key that a browser needs to subscribe."""
        from handrail.bridge.web.push_encryption import public_bytes, to_text

        return to_text(public_bytes(self._own_key()))

    async def subscribe(self, device: str, endpoint: str, p256dh: str, auth: str) -> None:
        """Add a browser. Raises CommandRefused for an invalid endpoint or key."""
        try:
            checked_endpoint(endpoint)
            self._message(b"{}", p256dh, auth)
        except (Refused, ValueError) as error:
            raise CommandRefused("bad_subscription", str(error)) from None
        row = (endpoint, device, p256dh, auth, round(time.time() * 1000))

        def keep(db: sqlite3.Connection) -> None:
            db.execute("REPLACE INTO push VALUES (?, ?, ?, ?, ?)", row)
            newest = "SELECT endpoint FROM push WHERE device = ? ORDER BY time DESC LIMIT ?"
            db.execute(
                f"DELETE FROM push WHERE device = ? AND endpoint NOT IN ({newest})",  # noqa: S608
                (device, device, MOST_PER_DEVICE),
            )

        await self._database.change(keep)

    async def unsubscribe(self, device: str, endpoint: str = "") -> None:
        """Remove one endpoint of a device, or all of them."""
        which = "device = ? AND endpoint = ?" if endpoint else "device = ?"
        values = (device, endpoint) if endpoint else (device,)
        await self._database.execute(f"DELETE FROM push WHERE {which}", values)  # noqa: S608

    async def send(self, news: News) -> None:
        """Notify every browser, concurrently."""

        def look(db: sqlite3.Connection) -> list[_Row]:
            return db.execute("SELECT endpoint, p256dh, auth FROM push").fetchall()

        rows = await self._database.look(look)
        await asyncio.gather(*(self._try_one(row, news) for row in rows))

    async def _try_one(self, row: _Row, news: News) -> None:
        try:
            await self._send_one(row, news)
        except NotTaken as error:
            if error.status in _GONE:
                await self._database.execute("DELETE FROM push WHERE endpoint = ?", (row[0],))
            else:
                log.warning("a push was rejected: %s", error)
        except (BridgeError, ValueError) as error:
            log.warning("a push was not sent: %s", error)

    async def _send_one(self, row: _Row, news: News) -> None:
        import httpx2

        from handrail.bridge.web.push_encryption import authorization

        endpoint, p256dh, auth = row
        target = await safe_target(endpoint, allowed=self._allowed)
        said = msgspec.json.encode({"kind": news.kind, "session": news.session, "title": news.title[:200]})
        headers = {
            "host": target.host,
            "authorization": authorization(endpoint, self._own_key(), time.time()),
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
            "ttl": str(KEPT_SECONDS),
            "urgency": "high" if news.kind == "needs_you" else "normal",
            "topic": hashlib.sha256(news.session.encode()).hexdigest()[:32],
        }
        named: dict[str, Any] = {"sni_hostname": target.name}
        async with httpx2.AsyncClient(timeout=SECONDS, trust_env=False, verify=self._verify) as client:
            body = self._message(said, p256dh, auth)
            await posted(client, target.url, body, headers, pauses=self._pauses, extensions=named)

    def _message(self, text: bytes, p256dh: str, auth: str) -> bytes:
        from cryptography.hazmat.primitives.asymmetric import ec

        from handrail.bridge.web.push_encryption import encrypted, from_text

        once = ec.generate_private_key(ec.SECP256R1())
        return encrypted(text, from_text(p256dh), from_text(auth), sender=once, salt=secrets.token_bytes(16))

    def _own_key(self) -> EllipticCurvePrivateKey:
        """The server's key, created on first use. Subscriptions are bound to it."""
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
        raise BridgeError(
            f"{path} is not a valid key ({type(error).__name__}); delete it, and browsers subscribe again"
        ) from None
    if not isinstance(found, ec.EllipticCurvePrivateKey):
        raise BridgeError(f"{path} is a key of another kind; delete it, and browsers subscribe again")
    return found


def _new_key(path: Path) -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    half = path.with_name(f"{path.name}.new")  # atomic: a killed server leaves no partial key
    half.unlink(missing_ok=True)
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    half.rename(path)
    return key
