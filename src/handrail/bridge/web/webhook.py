"""Posts notifications as JSON to the operator's webhook, with two retries."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from handrail.bridge.errors import BridgeError
from handrail.bridge.web.notifications import News

if TYPE_CHECKING:
    import httpx2

__all__ = ["NotTaken", "Webhook", "check_webhook", "posted"]

PAUSES: Final = (1.0, 5.0)
"""Seconds before the two retries."""
SECONDS: Final = 10.0
_FOR_NOW: Final = frozenset({408, 425, 429})


class NotTaken(BridgeError):
    """The receiver rejected the request; `status` is 0 if it was unreachable."""

    def __init__(self, status: int, why: str) -> None:
        self.status = status
        super().__init__(why)


def check_webhook(address: str) -> str:
    """The URL unchanged. Raises BridgeError if it is invalid."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if address and not good:
        raise BridgeError("--webhook needs a URL that starts with http:// or https://")
    return address


class Webhook:
    """One webhook. `pauses` are the seconds before each retry."""

    def __init__(self, address: str, *, pauses: Sequence[float] = PAUSES) -> None:
        self._address, self._pauses = check_webhook(address), pauses

    async def send(self, news: News) -> None:
        """Post a notification. Raises NotTaken."""
        import httpx2

        body = msgspec.json.encode(news)
        async with httpx2.AsyncClient(timeout=SECONDS, follow_redirects=False, trust_env=False) as client:
            await posted(client, self._address, body, {"content-type": "application/json"}, pauses=self._pauses)


async def posted(
    client: httpx2.AsyncClient,
    address: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    pauses: Sequence[float] = PAUSES,
    extensions: dict[str, Any] | None = None,
) -> None:
    """Post, with retries for temporary errors. Raises NotTaken, whose message contains no URL."""
    import httpx2

    for pause in (*pauses, None):
        status, why = 0, ""
        try:
            asking = client.stream("POST", address, content=body, headers=headers, extensions=extensions)
            async with asyncio.timeout(SECONDS), asking as answer:  # the body is not read
                status, why = answer.status_code, f"it responded with {answer.status_code}"
        except (httpx2.HTTPError, OSError) as error:
            why = f"it is unreachable ({type(error).__name__})"
        if 200 <= status < 300:
            return
        if pause is None or (0 < status < 500 and status not in _FOR_NOW):
            raise NotTaken(status, why)
        await asyncio.sleep(pause)
