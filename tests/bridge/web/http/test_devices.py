"""Devices are added, renamed, listed and revoked; the audit log names every change."""

from __future__ import annotations

import pytest

from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_device_is_added_renamed_listed_and_revoked(world: World):
    async with world.client(await world.same_token()) as client:
        made = (await client.post("/api/devices", json={"name": "a script", "scopes": ["view"]})).json()
        id, token = made["device"]["id"], made["token"]
        async with world.client(token) as script:
            assert (await script.get("/api/sessions")).status_code == 200
            assert (await script.get("/api/devices")).status_code == 403
            assert (await client.patch(f"/api/devices/{id}", json={"name": "the script"})).status_code == 200
            listed = (await client.get("/api/devices")).json()["devices"]
            assert [(one["name"], one["scopes"], one["this"]) for one in listed if one["id"] == id] == [
                ("the script", ["view"], False)
            ]
            assert not [one for one in listed if {"secret", "token"} & one.keys()]
            assert (await client.delete(f"/api/devices/{id}")).status_code == 200
            assert (await script.get("/api/sessions")).status_code == 401
        assert (await client.delete(f"/api/devices/{id}")).status_code == 404
        rows = (await client.get("/api/audit", params={"limit": 3})).json()["rows"]
        assert {row["what"] for row in rows} == {"add_device", "rename_device", "revoke_device"}
        assert token not in str(rows)


@pytest.mark.parametrize(
    "body", [{}, {"name": "x"}, {"name": "x", "scopes": []}, {"name": "x", "scopes": ["root"]}, []]
)
async def test_invalid_device_is_refused(world: World, body: object):
    async with world.client(await world.same_token()) as client:
        answer = await client.post("/api/devices", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_body")
