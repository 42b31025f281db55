"""Notifications: a session needs an answer, has finished, ended or failed.

None are sent while a visible client shows the session or the list. They go to a webhook, and to browsers by web push.
Every gateway of a cluster notices a change; the first that claims the notification sends it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal, Protocol
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from handrail.bridge.errors import BridgeError, InvalidSetup
from handrail.bridge.store.base import SessionRecord
from handrail.bridge.store.shared_values import SharedValues
from handrail.bridge.web.outbound import RETRY_DELAYS, TIMEOUT_SECONDS, post_with_retries

__all__ = ["Kind", "News", "Notifications", "Watcher", "Webhook", "check_webhook", "what_is_new"]

log = logging.getLogger("handrail.bridge")
Kind = Literal["needs_you", "finished", "ended", "failed"]
BUSY: Final = frozenset({"running", "waiting_approval", "compacting"})
MOST_UNDER_WAY: Final = 100
CLAIM_SECONDS: Final = 600
"""A gateway that notices a change later than this after the others would send the notification again."""


class News(Struct, frozen=True):
    """A notification. `time` is in milliseconds since 1970."""

    kind: Kind
    session: str
    title: str
    cwd: str
    time: int


class Watcher(Protocol):
    """A client that may show sessions."""

    def shows(self, session: str) -> bool:
        """Whether someone is looking at this session."""
        ...


Send = Callable[[News], Awaitable[None]]
IsShown = Callable[[str], Awaitable[bool]]
_Stand = tuple[str, int]


def what_is_new(before: _Stand, now: _Stand) -> Kind | None:
    """The notification for a change of state and number of open questions, if any."""
    if now[1] > before[1]:
        return "needs_you"
    if now[0] == before[0]:
        return None
    if now[0] == "failed":
        return "failed"
    if before[0] not in BUSY:
        return None
    return "finished" if now[0] == "idle" else "ended" if now[0] == "hibernated" else None


class Notifications:
    """Compares each record with the previous one, and passes notifications to all senders.

    watchers   the clients of this server
    senders    by name; of the gateways that have a sender of the same name, one uses it
    values     where notifications are claimed
    is_shown   whether a visible client of any gateway shows a session
    """

    def __init__(
        self, watchers: Collection[Watcher], senders: Mapping[str, Send], values: SharedValues, is_shown: IsShown
    ) -> None:
        self._watchers, self._senders, self._values, self._is_shown = watchers, senders, values, is_shown
        self._sending: set[asyncio.Task[Any]] = set()

    def changed(self, record: SessionRecord, before: SessionRecord) -> None:
        """A session record changed. Changes found after a restart count too."""
        kind = what_is_new((before.state, before.questions), (record.state, record.questions))
        if kind is None or self.shows(record.id):
            return
        news = News(kind, record.id, record.title, record.cwd, round(time.time() * 1000))
        for name, send in self._senders.items():
            if len(self._sending) < MOST_UNDER_WAY:
                task = asyncio.ensure_future(self._send(_claim(name, kind, record), send, news))
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)

    def shows(self, session: str) -> bool:
        """Whether a visible client of this server shows the session."""
        return any(watcher.shows(session) for watcher in self._watchers)

    async def _send(self, claim: str, send: Send, news: News) -> None:
        try:
            if await self._is_ours(claim) and not await self._is_shown(news.session):
                await send(news)
        except Exception as error:  # a failed notification does not affect the session
            log.warning("cannot send a notification of session %s: %s", news.session, error)

    async def _is_ours(self, claim: str) -> bool:
        try:
            return await self._values.create(claim, b"", seconds=CLAIM_SECONDS)
        except BridgeError:  # better twice than not at all
            return True

    async def settled(self) -> None:
        """Wait until all notifications are sent or have failed."""
        while self._sending:
            await asyncio.wait(self._sending)

    async def close(self) -> None:
        """Cancel pending notifications and send no more."""
        self._senders = dict[str, Send]()
        for task in self._sending:
            task.cancel()
        await self.settled()


def _claim(sender: str, kind: Kind, record: SessionRecord) -> str:
    """The key by which a notification is claimed: the same on every gateway, and hashed, as a webhook is secret."""
    facts = (sender, kind, record.id, record.changed, record.state, record.questions)
    return f"sent.{hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[:32]}"


class Webhook:
    """Posts notifications as JSON to one URL. `delays`: seconds before each retry."""

    def __init__(self, address: str, *, delays: Sequence[float] = RETRY_DELAYS) -> None:
        self._address, self._delays = check_webhook(address), delays

    async def send(self, news: News) -> None:
        """Post a notification. Raises DeliveryFailed after the last attempt."""
        import httpx2

        body = msgspec.json.encode(news)
        headers = {"content-type": "application/json"}
        async with httpx2.AsyncClient(timeout=TIMEOUT_SECONDS, follow_redirects=False, trust_env=False) as client:
            await post_with_retries(client, self._address, body, headers, delays=self._delays)


def check_webhook(address: str) -> str:
    """Return the URL unchanged; "" is allowed. Raises BridgeError if it is not an http or https URL."""
    try:
        parts = urlsplit(address)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if address and not valid:
        # The URL is not quoted: it may contain a token.
        raise InvalidSetup("invalid --webhook URL; it must begin with http:// or https://")
    return address
