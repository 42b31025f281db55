"""Files of a session's folder; paths outside of it are refused. Uploads accept images only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from handrail.bridge.commands.queries import files_like
from handrail.bridge.errors import CommandRefused
from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

IMAGES = {
    "image/png": b"\x89PNG\r\n\x1a\n...",
    "image/jpeg": b"\xff\xd8\xff...",
    "image/gif": b"GIF89a...",
    "image/webp": b"RIFF\0\0\0\0WEBP...",
}
BYTES = {"content-type": "application/octet-stream"}


@pytest.fixture(autouse=True, scope="module")
def folder(world: World) -> None:
    (world.work / "sub").mkdir()
    (world.work / "sub" / "page.html").write_text("<script>window.__xss=1</script>")
    (world.work / "large").write_bytes(bytes(8 * 1024 * 1024 + 1))
    (world.work / ".ssh").mkdir()
    (world.work / ".ssh" / "id").write_text("secret")
    (world.work / "key").symlink_to("/etc/passwd")
    (world.work / "inside").symlink_to("sub")
    (world.work / "dangling").symlink_to("/no/such/file")
    os.mkfifo(world.work / "pipe")
    evil = world.work.parent / "work_evil"
    evil.mkdir()
    (evil / "s").write_text("secret")


async def test_a_folder_is_listed(world: World):
    async with world.client(await world.same_token()) as client:
        top = (await client.get(f"/api/sessions/{world.session}/files")).json()
        below = (await client.get(f"/api/sessions/{world.session}/files", params={"path": "sub"})).json()
    kinds = {one["name"]: one["kind"] for one in top["entries"]}
    assert (kinds["sub"], kinds["key"], kinds["large"]) == ("directory", "link", "file")
    assert ".ssh" not in kinds
    assert [one["name"] for one in below["entries"]] == ["page.html"]


async def test_file_is_sent_as_an_inert_download(world: World):
    async with world.client(await world.same_token()) as client:
        answer = await client.get(f"/api/sessions/{world.session}/files", params={"path": "sub/page.html"})
    assert answer.text == "<script>window.__xss=1</script>"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''page.html"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_refusal_does_not_reveal_whether_an_outside_file_exists(world: World):
    outside = [
        "/etc/passwd",
        "/etc/no-such",
        "..",
        "../work_evil/s",
        "../no-such",
        f"{world.work}_evil/s",
        "key",
        "dangling",
    ]
    closed = [".ssh", ".ssh/id", ".ssh/no-such", "sub/../.ssh/id", "inside", "inside/page.html", "pipe", "a\x00b"]
    async with world.client(await world.same_token()) as client:
        answers = [
            await client.get(f"/api/sessions/{world.session}/files", params={"path": path}) for path in outside + closed
        ]
    assert {(one.status_code, one.text) for one in answers} == {(403, answers[0].text)}


async def test_data_folder_of_the_server_is_closed(world: World):
    record = await world.bridge.sessions.index.get(world.session)
    assert record is not None
    id = "aaaaaaaa-bbbb-cccc-dddd-000000000002"
    above = type(record)(id=id, cwd=str(world.work.parent), created=1, changed=1, state="hibernated")
    await world.bridge.sessions.index.put(above)
    async with world.client(await world.same_token()) as client:
        for path in ("data", "data/handrail.db", "work/../data/handrail.db", f"{world.work.parent}/data/handrail.db"):
            answer = await client.get(f"/api/sessions/{id}/files", params={"path": path})
            assert answer.status_code == 403


async def test_missing_and_large_files_have_status_codes(world: World):
    async with world.client(await world.same_token()) as client:
        missing = await client.get(f"/api/sessions/{world.session}/files", params={"path": "no-such"})
        large = await client.get(f"/api/sessions/{world.session}/files", params={"path": "large"})
    assert (missing.status_code, large.status_code) == (404, 413)


@pytest.mark.parametrize("kind", IMAGES)
async def test_image_is_returned_with_its_media_type(world: World, kind: str):
    async with world.client(await world.same_token()) as client:
        made = await client.post("/api/uploads", content=IMAGES[kind], headers=BYTES)
        answer = await client.get(f"/api/uploads/{made.json()['id']}")
    assert (made.status_code, answer.content, answer.headers["content-type"]) == (201, IMAGES[kind], kind)


async def test_other_data_is_refused_despite_an_image_content_type(world: World):
    async with world.client(await world.same_token()) as client:
        for data in (b"<svg/>", b"%PDF-", b"", b"\x89PN"):
            answer = await client.post("/api/uploads", content=data, headers={"content-type": "image/png"})
            assert (answer.status_code, answer.json()["error"]["code"]) == (415, "no_picture")


async def test_image_size_is_limited(world: World):
    most = IMAGES["image/png"].ljust(5 * 1024 * 1024, b"\0")
    async with world.client(await world.same_token()) as client:
        assert (await client.post("/api/uploads", content=most, headers=BYTES)).status_code == 201
        assert (await client.post("/api/uploads", content=most + b"\0", headers=BYTES)).status_code == 413


async def test_credentials_are_neither_listed_nor_sent(world: World):
    for name in (".config/gh/hosts.yml", ".docker/config.json", ".pgpass", ".vault-token", "deploy/id_rsa"):
        path = world.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret")
    folders = ("", ".config", ".docker", "deploy")
    async with world.client(await world.same_token()) as client:
        address = f"/api/sessions/{world.session}/files"
        listed = [(await client.get(address, params={"path": folder or "."})).json()["entries"] for folder in folders]
        sent = [await client.get(address, params={"path": name}) for name in (".config/gh/hosts.yml", "deploy/id_rsa")]
    names = {one["name"] for entries in listed for one in entries}
    assert names.isdisjoint({"gh", "config.json", ".pgpass", ".vault-token", "id_rsa"})
    assert {one.status_code for one in sent} == {403}


async def test_folder_replaced_by_a_link_out_of_the_roots_is_closed(world: World, tmp_path: Path):
    (tmp_path / "s").write_text("secret")
    record = await world.bridge.sessions.index.get(world.session)
    assert record is not None
    id, folder = "aaaaaaaa-bbbb-cccc-dddd-000000000003", world.work / "moving"
    folder.mkdir()
    (folder / "s").write_text("ours")
    await world.bridge.sessions.index.put(replace(record, id=id, cwd=str(folder)))
    async with world.client(await world.same_token()) as client:
        before = await client.get(f"/api/sessions/{id}/files", params={"path": "s"})
        folder.rename(world.work / "moved")
        folder.symlink_to(tmp_path)
        after = [await client.get(f"/api/sessions/{id}/files", params={"path": path}) for path in (".", "s")]
    host = await world.bridge.sessions.get(id)
    with pytest.raises(CommandRefused, match="no longer below"):
        await host.start()
    assert before.text == "ours"
    assert {one.status_code for one in after} == {403}
    assert files_like(str(folder), "", [str(world.work)]) == []
