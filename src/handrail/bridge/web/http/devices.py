"""Devices: who may come in, under which name, with which scopes; and out with them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.commands.table import Scope
from handrail.bridge.web.devices import Device
from handrail.bridge.web.http.route import Asked, json_answer, route

__all__: list[str] = []

Name = Annotated[str, Meta(min_length=1, max_length=80)]


def _fields(device: Device, asked: Asked) -> dict[str, Any]:
    return {
        "id": device.id,
        "name": device.name,
        "kind": device.kind,
        "scopes": sorted(device.scopes),
        "created": device.created,
        "seen": device.seen,
        "this": device.id == asked.device.id,
    }


@route("GET", "/api/devices", "admin")
async def devices(asked: Asked) -> dict[str, Any]:
    """Those that may come in, the oldest first."""
    return {"devices": [_fields(device, asked) for device in asked.bridge.access.devices()]}


class NewDevice(Struct, frozen=True, forbid_unknown_fields=True):
    """A program."""

    name: Name
    scopes: Annotated[list[Scope], Meta(min_length=1)]


@route("POST", "/api/devices", "admin", body=NewDevice)
async def add(asked: Asked) -> Response:
    """A bearer token for a program. It is shown only now."""
    device, token = await asked.bridge.access.add_device(asked.body.name, "program", asked.body.scopes)
    await asked.note("add_device", device=device.id, name=device.name, scopes=sorted(device.scopes))
    return json_answer({"device": _fields(device, asked), "token": token}, 201)


class Renamed(Struct, frozen=True, forbid_unknown_fields=True):
    """Another name."""

    name: Name


@route("PATCH", "/api/devices/{device}", "admin", body=Renamed)
async def rename(asked: Asked) -> dict[str, Any]:
    """Call a device something else."""
    await asked.bridge.access.rename(asked.parts["device"], asked.body.name)
    await asked.note("rename_device", device=asked.parts["device"], name=asked.body.name)
    return {}


@route("DELETE", "/api/devices/{device}", "admin")
async def revoke(asked: Asked) -> dict[str, Any]:
    """Out, at once and for good: its sockets are closed."""
    await asked.bridge.access.revoke(asked.parts["device"])
    await asked.note("revoke_device", device=asked.parts["device"])
    return {}
