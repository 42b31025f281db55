"""The folders that sessions may use, the CLI that runs them, and defaults of new sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")
NOTHING = {"model": None, "mode": None, "effort": None, "thinking_tokens": None, "output_style": None}


async def test_prompt_scope_may_list_the_roots(world: World):
    async with world.client(await world.same_token(("prompt",))) as client:
        body = (await client.get("/api/folders")).json()
    assert body["folders"] == [str(root) for root in world.bridge.configuration.roots]
    assert body["cli"]["kind"] == world.bridge.configuration.cli.current().kind
    assert "path" not in body["cli"]


async def test_subfolders_are_listed_without_hidden_ones_and_links(world: World):
    for name in ("src", "docs", ".git", ".ssh"):
        (world.work / name).mkdir(exist_ok=True)
    (world.work / "file.txt").write_text("x")
    if not (world.work / "away").is_symlink():
        (world.work / "away").symlink_to("/")
    async with world.client(await world.same_token(("prompt",))) as client:
        body = (await client.get("/api/folders", params={"below": str(world.work)})).json()
    assert [Path(one).name for one in body["folders"]] == ["docs", "src"]
    assert body["complete"] is True


@pytest.mark.parametrize("below", ["/", "/etc", "work", "/nowhere/at/all"])
async def test_folders_outside_the_roots_are_not_listed(world: World, below: str):
    async with world.client(await world.same_token(("prompt",))) as client:
        answer = await client.get("/api/folders", params={"below": below})
    assert answer.status_code in (400, 403, 404), answer.text
    assert "folders" not in answer.json()


async def test_view_scope_may_not_list_folders(world: World):
    async with world.client(await world.same_token(("view",))) as client:
        assert (await client.get("/api/folders", params={"below": str(world.work)})).status_code == 403


async def test_defaults_are_replaced_and_persisted(world: World):
    chosen = {**NOTHING, "model": "opus", "mode": "acceptEdits", "effort": "high", "output_style": "Concise"}
    async with world.client(await world.same_token()) as client:
        assert (await client.get("/api/defaults")).json() == NOTHING
        assert (await client.put("/api/defaults", json=chosen)).json() == chosen
        assert (await client.get("/api/defaults")).json() == chosen
        assert (await client.put("/api/defaults", json={})).json() == NOTHING


@pytest.mark.parametrize(
    ("scopes", "body", "status"),
    [
        (["view"], {}, 403),
        (["prompt"], {"mode": "plan"}, 200),
        (["prompt"], {"mode": "acceptEdits"}, 403),
        (["prompt", "approve"], {"mode": "acceptEdits"}, 200),
        (["prompt", "approve", "admin"], {"mode": "bypassPermissions"}, 403),
        (["prompt"], {"mode": "made up"}, 400),
        (["prompt"], {"made": "up"}, 400),
        (["prompt"], {"model": "-x"}, 400),
        (["prompt"], {"output_style": "a\nb"}, 400),
        (["prompt"], {"thinking_tokens": -1}, 400),
    ],
)
async def test_defaults_need_the_scope_of_their_mode(
    world: World, scopes: list[str], body: dict[str, object], status: int
):
    async with world.client(await world.same_token()) as owner:
        await owner.put("/api/defaults", json={})
    async with world.client(await world.same_token(scopes)) as client:
        assert (await client.put("/api/defaults", json=body)).status_code == status


async def test_unchanged_mode_needs_no_scope(world: World):
    async with world.client(await world.same_token()) as owner, world.client(await world.same_token(["prompt"])) as one:
        await owner.put("/api/defaults", json={"mode": "acceptEdits"})
        changed = await one.put("/api/defaults", json={"mode": "acceptEdits", "effort": "low"})
        assert (changed.status_code, changed.json()["effort"]) == (200, "low")
        await owner.put("/api/defaults", json={})
