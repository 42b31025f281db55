"""Notifications to a webhook: JSON by HTTP POST, with retries."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from handrail.bridge.errors import BridgeError
from handrail.bridge.web.notifications import News

if TYPE_CHECKING:
    import httpx2

__all__ = ["RETRY_DELAYS", "TIMEOUT_SECONDS", "DeliveryFailed", "Webhook", "check_webhook", "post_with_retries"]

RETRY_DELAYS: Final = (1.0, 5.0)
"""Seconds before the second and the third attempt."""
TIMEOUT_SECONDS: Final = 10.0
_RETRYABLE: Final = frozenset({408, 425, 429})


class DeliveryFailed(BridgeError):
    """The receiver did not accept the request. `status` is 0 if it could not be reached."""

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        super().__init__(reason)


def check_webhook(address: str) -> str:
    """Return the URL unchanged; "" is allowed. Raises BridgeError if it is not an http or https URL."""
    try:
        parts = urlsplit(address)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if address and not valid:
        # The URL is not quoted: it may contain a token.
        raise BridgeError("invalid --webhook URL; it must begin with http:// or https://")
    return address


class Webhook:
    """Posts notifications to one URL. `delays`: seconds before each retry."""

    def __init__(self, address: str, *, delays: Sequence[float] = RETRY_DELAYS) -> None:
        self._address, self._delays = check_webhook(address), delays

    async def send(self, news: News) -> None:
        """Post a notification. Raises DeliveryFailed after the last attempt."""
        import httpx2

        body = msgspec.json.encode(news)
        headers = {"content-type": "application/json"}
        async with httpx2.AsyncClient(timeout=TIMEOUT_SECONDS, follow_redirects=False, trust_env=False) as client:
            await post_with_retries(client, self._address, body, headers, delays=self._delays)


async def post_with_retries(
    client: httpx2.AsyncClient,
    address: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    delays: Sequence[float] = RETRY_DELAYS,
    extensions: dict[str, Any] | None = None,
) -> None:
    """Post, and retry on network errors and temporary failures. Raises DeliveryFailed, which never quotes the URL."""
    import httpx2

    for delay in (*delays, None):
        status, reason = 0, ""
        try:
            request = client.stream("POST", address, content=body, headers=headers, extensions=extensions)
            # The body of the answer is not read: the receiver could send it without end.
            async with asyncio.timeout(TIMEOUT_SECONDS), request as answer:
                status, reason = answer.status_code, f"the receiver answered {answer.status_code}"
        except (httpx2.HTTPError, OSError) as error:
            reason = f"the receiver could not be reached ({type(error).__name__})"
        if 200 <= status < 300:
            return
        if delay is None or (0 < status < 500 and status not in _RETRYABLE):
            raise DeliveryFailed(status, reason)
        await asyncio.sleep(delay)
