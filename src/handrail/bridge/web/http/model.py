"""The model behind new sessions: which one is connected, connecting another, forgetting it. A key never leaves here."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from handrail.bridge.addresses import is_loopback
from handrail.bridge.errors import CommandRefused
from handrail.bridge.store.audit import Audit
from handrail.bridge.web.http.route import RouteRequest, note, route
from handrail.client.errors import CliNotFound
from handrail.client.find_cli import VARIABLE, find_cli
from handrail.model_access.check import check_access
from handrail.model_access.choice import CliChoice, signed_in
from handrail.model_access.stored import InvalidAccess, ModelAccess, shown

__all__ = ["ModelRoutes"]

Word = Annotated[str, Meta(max_length=1000)]


class ConnectBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of a ModelAccess, and whether it is stored for later runs."""

    use: Literal["claude", "api"]
    key: Word = ""
    endpoint: Word = ""
    model: Annotated[str, Meta(max_length=200)] = ""
    keep: bool = True

    def __repr__(self) -> str:
        return f"ConnectBody({self.use!r})"


class ModelRoutes:
    """Shows, connects and forgets the model."""

    def __init__(self, cli: CliChoice, audit: Audit) -> None:
        self._cli, self._audit = cli, audit
        self._checking = asyncio.Lock()

    @route("GET", "/api/model", "prompt")
    async def model(self, request: RouteRequest) -> dict[str, Any]:
        """The CLI and model of new sessions, and what is needed to use `claude`. Contains no key."""
        return await asyncio.to_thread(self._state)

    def _state(self) -> dict[str, Any]:
        choice = self._cli
        cli = choice.current()
        return {
            "cli": cli.shown,
            "connected": {**shown(choice.access), "kept": choice.kept} if choice.access else None,
            "problem": choice.problem,
            "claude": {"installed": self._has_claude(), "signed_in": signed_in(choice.environment)},
            "ways": [use for use in ("claude", "api") if choice.can_use(use)],
            "requested": choice.requested,
        }

    @route("POST", "/api/model", "admin", body=ConnectBody)
    async def connect(self, request: RouteRequest) -> dict[str, Any]:
        """Check a key with one request to its endpoint, then use it for new processes. A rejected one is not stored."""
        body: ConnectBody = request.body
        if not self._cli.can_use(body.use):
            problem = f"the server was started with --cli {self._cli.requested}; start it without --cli to connect this"
            raise CommandRefused("forbidden", problem)
        if body.key and not request.secure and not is_loopback(request.address):
            raise CommandRefused("forbidden", "a key is accepted only over HTTPS, or from this machine itself")
        if body.use == "claude" and not await asyncio.to_thread(self._has_claude):
            raise CommandRefused("not_found", "claude is not installed on this machine")
        if self._checking.locked():
            raise CommandRefused("too_many", "another key is being checked; try again in a moment")
        async with self._checking:
            try:
                access = ModelAccess(body.use, body.key, body.endpoint, body.model).check()
                await check_access(access, self._cli.environment)
                await asyncio.to_thread(self._cli.connect, access, keep=body.keep)
            except InvalidAccess as error:
                raise CommandRefused("rejected", str(error)) from None
        await note(self._audit, request.device, "connect_model", **shown(access), kept=body.keep)
        return await asyncio.to_thread(self._state)

    @route("DELETE", "/api/model", "admin")
    async def forget(self, request: RouteRequest) -> dict[str, Any]:
        """Forget the connected model and delete its key."""
        try:
            await asyncio.to_thread(self._cli.disconnect)
        except InvalidAccess as error:
            raise CommandRefused("failed", str(error)) from None
        await note(self._audit, request.device, "forget_model")
        return await asyncio.to_thread(self._state)

    def _has_claude(self) -> bool:
        try:
            find_cli(None, {**self._cli.environment, VARIABLE: ""})
        except CliNotFound:
            return False
        return True
