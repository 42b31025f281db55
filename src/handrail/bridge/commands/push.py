"""Commands about web push: the server's key, subscribe, unsubscribe."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

from msgspec import Meta

from handrail.bridge.commands.table import Call, Fields, command

__all__ = ["PushCommands", "Subscriptions"]

JsonObject = dict[str, Any]
Endpoint = Annotated[str, Meta(min_length=1, max_length=2048)]
Key = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{16,128}$")]


class Subscriptions(Protocol):
    """The push subscriptions of the server."""

    async def public_key(self) -> str:
        """The key that a browser needs to subscribe."""
        ...

    async def subscribe(self, device: str, endpoint: str, p256dh: str, auth: str) -> None:
        """Add a browser. Raises CommandRefused for an invalid endpoint or key."""
        ...

    async def unsubscribe(self, device: str, endpoint: str = "") -> None:
        """Remove one endpoint of a device, or all of them."""
        ...


class PushKey(Fields, frozen=True, kw_only=True):
    """No fields."""


class PushSubscribe(Fields, frozen=True, kw_only=True):
    """A subscription as the browser's Push API returns it."""

    endpoint: Endpoint
    p256dh: Key
    auth: Key


class PushUnsubscribe(Fields, frozen=True, kw_only=True):
    """The endpoint of the subscription."""

    endpoint: Endpoint


class PushCommands:
    """Handlers for web push."""

    def __init__(self, push: Subscriptions) -> None:
        self._push = push

    @command("push_key", "view")
    async def push_key(self, call: Call, fields: PushKey) -> JsonObject:
        """The server's public key."""
        return {"key": await self._push.public_key()}

    @command("push_subscribe", "view")
    async def push_subscribe(self, call: Call, fields: PushSubscribe) -> None:
        """Notify this browser when a session needs an answer or is done."""
        await self._push.subscribe(call.device, fields.endpoint, fields.p256dh, fields.auth)

    @command("push_unsubscribe", "view")
    async def push_unsubscribe(self, call: Call, fields: PushUnsubscribe) -> None:
        """Stop notifying this browser."""
        await self._push.unsubscribe(call.device, fields.endpoint)
