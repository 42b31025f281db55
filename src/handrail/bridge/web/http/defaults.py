"""What new sessions are started with."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.bridge.commands.defaults import ASKING, Chosen
from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.grants import BYPASS
from handrail.bridge.web.http.route import Asked, route

__all__: list[str] = []


@route("GET", "/api/defaults", "prompt")
async def defaults(asked: Asked) -> dict[str, Any]:
    """What `start` takes for fields that are not named; null is the CLI's own."""
    return msgspec.to_builtins(await asked.bridge.defaults.get())


@route("PUT", "/api/defaults", "prompt", body=Chosen)
async def choose(asked: Asked) -> dict[str, Any]:
    """Others from now on, all at once. A mode that allows something needs the scope approve."""
    chosen: Chosen = asked.body
    if chosen.mode == BYPASS:
        raise CommandRefused("forbidden", f"{BYPASS} is never a default: it is chosen for one session, by hand")
    before = await asked.bridge.defaults.get()
    allowing = chosen.mode is not None and chosen.mode not in ASKING and chosen.mode != before.mode
    if allowing and "approve" not in asked.device.scopes:
        raise CommandRefused("forbidden", f"the mode {chosen.mode} needs the scope 'approve': this device has it not")
    await asked.bridge.defaults.put(chosen)
    await asked.note("defaults", **msgspec.to_builtins(chosen))
    return msgspec.to_builtins(chosen)
