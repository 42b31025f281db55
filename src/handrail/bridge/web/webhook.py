"""Posts news to an address that the operator chose. In: news. Out: JSON by HTTP, tried three times."""

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
"""Before the second and the third try."""
SECONDS: Final = 10.0
_FOR_NOW: Final = frozenset({408, 425, 429})


class NotTaken(BridgeError):
    """The other side did not take it. `status` is 0 where it was not reached at all."""

    def __init__(self, status: int, why: str) -> None:
        self.status = status
        super().__init__(why)


def check_webhook(address: str) -> str:
    """The address as it came. BridgeError where it is none to which anything could be posted."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if address and not good:
        raise BridgeError("--webhook takes an address that begins with http:// or https://")
    return address


class Webhook:
    """One address. `pauses` says how often, and after how many seconds, it is tried again."""

    def __init__(self, address: str, *, pauses: Sequence[float] = PAUSES) -> None:
        self._address, self._pauses = check_webhook(address), pauses

    async def send(self, news: News) -> None:
        """Tell it. NotTaken."""
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
    """Post, and again where that may help. NotTaken where it was not taken; its words hold no address."""
    import httpx2

    for pause in (*pauses, None):
        status, why = 0, ""
        try:
            asking = client.stream("POST", address, content=body, headers=headers, extensions=extensions)
            async with asyncio.timeout(SECONDS), asking as answer:  # what it says besides is not read
                status, why = answer.status_code, f"it answered {answer.status_code}"
        except (httpx2.HTTPError, OSError) as error:
            why = f"it was not reached ({type(error).__name__})"
        if 200 <= status < 300:
            return
        if pause is None or (0 < status < 500 and status not in _FOR_NOW):
            raise NotTaken(status, why)
        await asyncio.sleep(pause)
