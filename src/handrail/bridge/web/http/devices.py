"""Devices: list, add, rename, revoke."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.commands.table import Scope
from handrail.bridge.store.audit import Audit
from handrail.bridge.web.devices import Access, Device
from handrail.bridge.web.http.route import RouteRequest, json_answer, note, route

__all__ = ["DeviceRoutes"]

Name = Annotated[str, Meta(min_length=1, max_length=80)]


class NewDevice(Struct, frozen=True, forbid_unknown_fields=True):
    """A program that gets a bearer token."""

    name: Name
    scopes: Annotated[list[Scope], Meta(min_length=1)]


class Renamed(Struct, frozen=True, forbid_unknown_fields=True):
    """A new name."""

    name: Name


class DeviceRoutes:
    """Administers devices."""

    def __init__(self, access: Access, audit: Audit) -> None:
        self._access, self._audit = access, audit

    @route("GET", "/api/devices", "admin")
    async def list_devices(self, request: RouteRequest) -> dict[str, Any]:
        """All devices that can log in, oldest first."""
        return {"devices": [_fields(device, request) for device in self._access.devices()]}

    @route("POST", "/api/devices", "admin", body=NewDevice)
    async def add(self, request: RouteRequest) -> Response:
        """Add a program. Its bearer token is in this response and nowhere else."""
        device, token = await self._access.add_device(request.body.name, "program", request.body.scopes)
        fields = {"device": device.id, "name": device.name, "scopes": sorted(device.scopes)}
        await note(self._audit, request.device, "add_device", **fields)
        return json_answer({"device": _fields(device, request), "token": token}, 201)

    @route("PATCH", "/api/devices/{device}", "admin", body=Renamed)
    async def rename(self, request: RouteRequest) -> dict[str, Any]:
        """Rename a device."""
        id = request.parts["device"]
        await self._access.rename(id, request.body.name)
        await note(self._audit, request.device, "rename_device", device=id, name=request.body.name)
        return {}

    @route("DELETE", "/api/devices/{device}", "admin")
    async def revoke(self, request: RouteRequest) -> dict[str, Any]:
        """Revoke a device for good. Its sockets are closed at once."""
        id = request.parts["device"]
        await self._access.revoke(id)
        await note(self._audit, request.device, "revoke_device", device=id)
        return {}


def _fields(device: Device, request: RouteRequest) -> dict[str, Any]:
    return {
        "id": device.id,
        "name": device.name,
        "kind": device.kind,
        "scopes": sorted(device.scopes),
        "created": device.created,
        "seen": device.seen,
        "this": device.id == request.device.id,
    }
