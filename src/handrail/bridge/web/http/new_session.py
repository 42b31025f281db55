"""The choices for a new session: folders, the CLI or the ACP agent that runs it, and defaults."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from handrail.bridge.commands.defaults import ASKING, Chosen, Defaults
from handrail.bridge.commands.router import Router
from handrail.bridge.commands.table import Agent
from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.grants import BYPASS
from handrail.bridge.store.audit import Audit
from handrail.bridge.web.http.route import RouteRequest, note, route
from handrail.model_access.choice import CliChoice

__all__ = ["NewSessionRoutes"]


class FoldersQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`below`: a folder whose subfolders are wanted; empty for the roots."""

    below: Annotated[str, Meta(max_length=4096)] = ""


class AgentsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`ask`: the name of an agent to be asked what it can do."""

    ask: Agent = ""


class NewSessionRoutes:
    """Lists folders and agents; reads and replaces the defaults."""

    def __init__(self, router: Router, cli: CliChoice, defaults: Defaults, audit: Audit) -> None:
        self._router, self._cli, self._defaults, self._audit = router, cli, defaults, audit

    @route("GET", "/api/folders", "prompt", query=FoldersQuery)
    async def folders(self, request: RouteRequest) -> dict[str, Any]:
        """The roots, most likely first, and the CLI; or the subfolders of `below`."""
        found = await self._router.folders(request.query.below)
        if request.query.below:
            return found
        cli = await asyncio.to_thread(self._cli.current)
        return {**found, "cli": cli.shown}

    @route("GET", "/api/agents", "prompt", query=AgentsQuery)
    async def agents(self, request: RouteRequest) -> dict[str, Any]:
        """The ACP agents that `start` takes. The one that `ask` names is started to learn what it can do."""
        return {"agents": msgspec.to_builtins(await self._router.agents(request.query.ask))}

    @route("GET", "/api/defaults", "prompt")
    async def defaults(self, request: RouteRequest) -> dict[str, Any]:
        """The choices that `start` uses for fields that are not named; null is the CLI's own default."""
        return msgspec.to_builtins(await self._defaults.get())

    @route("PUT", "/api/defaults", "prompt", body=Chosen)
    async def replace_defaults(self, request: RouteRequest) -> dict[str, Any]:
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
