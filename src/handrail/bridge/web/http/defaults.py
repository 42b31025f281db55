"""The defaults of new sessions."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.bridge.commands.defaults import ASKING, Chosen, Defaults
from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.grants import BYPASS
from handrail.bridge.store.audit import Audit
from handrail.bridge.web.http.route import RouteRequest, note, route

__all__ = ["DefaultRoutes"]


class DefaultRoutes:
    """Reads and replaces the defaults."""

    def __init__(self, defaults: Defaults, audit: Audit) -> None:
        self._defaults, self._audit = defaults, audit

    @route("GET", "/api/defaults", "prompt")
    async def read(self, request: RouteRequest) -> dict[str, Any]:
        """The choices that `start` uses for fields that are not named; null is the CLI's own default."""
        return msgspec.to_builtins(await self._defaults.get())

    @route("PUT", "/api/defaults", "prompt", body=Chosen)
    async def replace(self, request: RouteRequest) -> dict[str, Any]:
        """Replace all defaults. A mode that allows more than the settings needs the scope approve."""
        chosen: Chosen = request.body
        if chosen.mode == BYPASS:
            raise CommandRefused("forbidden", f"{BYPASS} cannot be a default; choose it for one session")
        before = await self._defaults.get()
        allowing = chosen.mode is not None and chosen.mode not in ASKING and chosen.mode != before.mode
        if allowing and "approve" not in request.device.scopes:
            raise CommandRefused(
                "forbidden", f"the mode {chosen.mode} needs the scope 'approve', which this device lacks"
            )
        await self._defaults.put(chosen)
        await note(self._audit, request.device, "defaults", **msgspec.to_builtins(chosen))
        return msgspec.to_builtins(chosen)
