"""Web push: stores the subscriptions of browsers and sends them encrypted notifications.

The gateways of a cluster share the subscriptions and the key that signs messages, so that any of them can notify a
browser.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import ssl
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from handrail.bridge.errors import BridgeError, CommandRefused, ServerUnreachable, UnusableFile
from handrail.bridge.store.shared_values import SharedValues
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

__all__ = ["Push", "Subscription", "subscription_key"]

log = logging.getLogger("handrail.bridge")
MAX_PER_DEVICE: Final = 5
TTL_SECONDS: Final = 86_400
"""A push service stores a message for this time while the browser is offline."""
_EXPIRED: Final = frozenset({403, 404, 410})
"""Answers after which a subscription is deleted."""
_SUBSCRIPTION: Final = "push."
_KEY: Final = "push-key"


class Subscription(Struct, frozen=True):
    """A subscription as a browser's Push API returns it. `time` is in milliseconds since 1970."""

    endpoint: str
    device: str
    p256dh: str
    auth: str
    time: int


def subscription_key(endpoint: str) -> str:
    """The key under which a subscription is stored."""
    return _SUBSCRIPTION + hashlib.sha256(endpoint.encode(errors="replace")).hexdigest()


class Push:
    """The subscriptions of a server or cluster, and its VAPID key.

    key_file   the key of a server of version 0.1, which is taken over
    is_valid   whether a device may still be notified
    allowed    decides to which IP addresses messages are sent
    """

    def __init__(
        self,
        values: SharedValues,
        key_file: Path,
        *,
        is_valid: Callable[[str], bool] = lambda _: True,
        allowed: Callable[[IpAddress], bool] = is_public,
        delays: Sequence[float] = RETRY_DELAYS,
        verify: ssl.SSLContext | bool = True,
    ) -> None:
        self._values, self._key_file, self._is_valid = values, key_file, is_valid
        self._allowed, self._delays, self._verify = allowed, delays, verify
        self._key: tuple[bytes, EllipticCurvePrivateKey] | None = None

    async def public_key(self) -> str:
        """The public key, which a browser needs to subscribe."""
        from handrail.bridge.web.push_encryption import base64url_encode, public_bytes

        return base64url_encode(public_bytes(await self._own_key()))

    async def subscribe(self, device: str, endpoint: str, p256dh: str, auth: str) -> None:
        """Add a subscription. Raises CommandRefused if the endpoint or the keys are invalid.

        The oldest subscriptions of a device beyond the limit are deleted.
        """
        try:
            check_endpoint(endpoint)
            self._encrypt(b"{}", p256dh, auth)  # a dry run checks the keys
        except (EndpointRefused, ValueError) as error:
            raise CommandRefused("bad_subscription", str(error)) from None
        # Later than the others of the device even within a millisecond, or after the clock was set back.
        newest = max((one.time for one in self._subscriptions() if one.device == device), default=0)
        new = Subscription(endpoint, device, p256dh, auth, max(round(time.time() * 1000), newest + 1))
        key, value = subscription_key(endpoint), msgspec.json.encode(new)
        if not await self._values.create(key, value):
            await self._values.update(key, lambda _: value)
        own = [one for one in self._subscriptions() if one.device == device]
        for old in sorted(own, key=lambda one: one.time, reverse=True)[MAX_PER_DEVICE:]:
            await self._values.take(subscription_key(old.endpoint))

    async def unsubscribe(self, device: str, endpoint: str = "") -> None:
        """Delete the subscription of a device at one endpoint, or all of them."""
        for one in self._subscriptions():
            if one.device == device and endpoint in ("", one.endpoint):
                await self._values.take(subscription_key(one.endpoint))

    def _subscriptions(self) -> list[Subscription]:
        found: list[Subscription] = []
        for key, value in self._values.below(_SUBSCRIPTION).items():
            try:
                found.append(msgspec.json.decode(value, type=Subscription))
            except msgspec.MsgspecError as error:
                log.warning("ignoring an invalid push subscription (%s): %s", key, error)
        return found

    async def send(self, news: News) -> None:
        """Notify all browsers concurrently, so that a slow push service delays no other."""
        receivers = [one for one in self._subscriptions() if self._is_valid(one.device)]
        await asyncio.gather(*(self._send_or_log(one, news) for one in receivers))

    async def _send_or_log(self, to: Subscription, news: News) -> None:
        try:
            await self._send_one(to, news)
        except DeliveryFailed as error:
            if error.status in _EXPIRED:
                await self._values.take(subscription_key(to.endpoint))
            else:
                log.warning("push notification rejected: %s", error)
        except (BridgeError, ValueError) as error:
            log.warning("push notification not sent: %s", error)

    async def _send_one(self, to: Subscription, news: News) -> None:
        import httpx2

        from handrail.bridge.web.push_encryption import vapid_header

        target = await resolve_endpoint(to.endpoint, allowed=self._allowed)
        text = msgspec.json.encode({"kind": news.kind, "session": news.session, "title": news.title[:200]})
        headers = {
            "host": target.host_header,
            "authorization": vapid_header(to.endpoint, await self._own_key(), time.time()),
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
            body = self._encrypt(text, to.p256dh, to.auth)
            await post_with_retries(client, target.url, body, headers, delays=self._delays, extensions=extensions)

    def _encrypt(self, text: bytes, p256dh: str, auth: str) -> bytes:
        from cryptography.hazmat.primitives.asymmetric import ec

        from handrail.bridge.web.push_encryption import base64url_decode, encrypt

        sender, salt = ec.generate_private_key(ec.SECP256R1()), secrets.token_bytes(16)
        return encrypt(text, base64url_decode(p256dh), base64url_decode(auth), sender=sender, salt=salt)

    async def _own_key(self) -> EllipticCurvePrivateKey:
        """The key, created on first use. Subscriptions are bound to it, so it must not change."""
        text = self._values.get(_KEY)
        if text is None:
            await self._values.create(_KEY, _read_file(self._key_file) or _new_key())
            text = self._values.get(_KEY)
        if text is None:
            raise ServerUnreachable("the key for push notifications is not known yet; retry")
        if self._key is None or self._key[0] != text:
            self._key = text, _loaded(text, "the stored key for push notifications")
        return self._key[1]


def _read_file(path: Path) -> bytes:
    """The key of a server of version 0.1; b"" if the file does not exist. Raises BridgeError if it is invalid."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise UnusableFile(f"cannot read {path}: {error.strerror}") from None
    _loaded(text, str(path))
    return text


def _loaded(text: bytes, what: str) -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        found = load_pem_private_key(text, None)
    except (ValueError, TypeError) as error:
        reason = type(error).__name__  # the message itself could quote the key
        raise UnusableFile(f"{what} is not a valid key ({reason}); delete it, and browsers will resubscribe") from None
    if not isinstance(found, ec.EllipticCurvePrivateKey):
        raise UnusableFile(f"{what} is not an elliptic-curve key; delete it, and browsers will resubscribe")
    return found


def _new_key() -> bytes:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
