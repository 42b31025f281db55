"""Commands about web push: the key to subscribe with, a browser more, a browser less."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from handrail.bridge.commands.fields import Fields
from handrail.bridge.commands.table import Call, command

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__: list[str] = []

JsonObject = dict[str, Any]
Endpoint = Annotated[str, Meta(min_length=1, max_length=2048)]
Key = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{16,128}$")]


class PushKey(Fields, frozen=True, kw_only=True):
    """Nothing."""


@command("push_key", "view")
async def push_key(bridge: Bridge, call: Call, fields: PushKey) -> JsonObject:
    """The server's public key, with which a browser subscribes."""
    return {"key": bridge.push.public_key()}


class PushSubscribe(Fields, frozen=True, kw_only=True):
    """A subscription as the browser gives it: where to send, its key and its secret."""

    endpoint: Endpoint
    p256dh: Key
    auth: Key


@command("push_subscribe", "view")
async def push_subscribe(bridge: Bridge, call: Call, fields: PushSubscribe) -> None:
    """Tell this browser when a session needs somebody or is done."""
    await bridge.push.subscribe(call.device, fields.endpoint, fields.p256dh, fields.auth)


class PushUnsubscribe(Fields, frozen=True, kw_only=True):
    """Where it was sent."""

    endpoint: Endpoint


@command("push_unsubscribe", "view")
async def push_unsubscribe(bridge: Bridge, call: Call, fields: PushUnsubscribe) -> None:
    """Tell this browser no more."""
    await bridge.push.unsubscribe(call.device, fields.endpoint)
