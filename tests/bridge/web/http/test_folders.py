"""The folders that sessions may use, and the CLI that runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_prompt_scope_may_list_the_roots(world: World):
    async with world.client(await world.same_token(("prompt",))) as client:
        body = (await client.get("/api/folders")).json()
    assert body["folders"] == [str(root) for root in world.bridge.configuration.roots]
    assert body["cli"]["kind"] == world.bridge.configuration.cli.kind
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
