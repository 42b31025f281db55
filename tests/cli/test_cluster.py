"""`handrail cluster init`, `status` and `forget`, as run from a shell."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from handrail.bridge.cluster.leases.lease import Node
from handrail.bridge.cluster.leases.ownership import Owner
from handrail.bridge.cluster.nats.names import NODES, OWNERS, bucket_subject
from handrail.bridge.cluster.store.layout import lay_out
from handrail.cli.main import main
from tests.bridge.cluster.initialized_cluster import TIMEOUT, InitializedCluster, initialized_cluster
from tests.cli.command import at_a_terminal


def test_init_writes_the_files_and_prints_the_next_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "cluster"
    servers = [part for host in ("box1", "box2", "10.0.0.3:5222") for part in ("--server", host)]
    assert main(["cluster", "init", str(folder), *servers]) == 0
    said = capsys.readouterr().out
    assert "cd " + str(folder / "nats-3") in said
    assert "--cluster tls://box1:4222,tls://box2:4222,tls://10.0.0.3:5222" in said
    assert f"--credentials {folder / 'keys' / 'runner.nk'}" in said
    for key in (folder / "keys").iterdir():
        assert key.read_text().strip() not in said
    assert "nats-route://route:" in (folder / "nats-1" / "routes.conf").read_text()
    assert "handrail runner --cluster" in (folder / "README.md").read_text()
    assert main(["cluster", "init", str(folder), *servers]) == 1
    assert "will not be overwritten" in capsys.readouterr().err


def test_machines_are_added_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "cluster"
    machines = ["--machine", "front:gateway", "--machine", "back:runner"]
    assert main(["cluster", "init", str(folder), "--server", "127.0.0.1", *machines]) == 0
    said = capsys.readouterr().out
    assert (
        f"front:  handrail serve --no-run --cluster nats://127.0.0.1:4222 --credentials {folder}/keys/front.nk" in said
    )
    assert main(["cluster", "add-machine", str(folder), "more", "--role", "runner"]) == 0
    said = capsys.readouterr().out
    assert f"Created {folder / 'keys' / 'more.nk'}" in said
    assert "nats-server --signal reload" in said
    assert (folder / "keys" / "more.nk").read_text().strip() not in said
    assert main(["cluster", "permissions", str(folder)]) == 0
    assert main(["cluster", "remove-machine", str(folder), "more"]) == 0
    assert not (folder / "keys" / "more.nk").exists()
    assert main(["cluster", "remove-machine", str(folder), "more"]) == 1
    assert "no machine 'more'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--server", "a", "--machine", "x:runner", "--machine", "x:both"], "two machines have the same name"),
        (["--server", "a", "--server", "b"], "two servers stop when either is lost"),
        (["--server", "nats://a"], "invalid server"),
        (["--server", "box", "--no-tls"], "is a remote host"),
        ([], "Missing option"),
    ],
)
def test_invalid_init_arguments_are_usage_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    assert main(["cluster", "init", str(tmp_path / "c"), *arguments]) == 2
    assert why in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        ([], 2, "the address of NATS is required"),
        (["--cluster", "nats://me:hunter2@127.0.0.1"], 2, "put credentials in a file"),
        (["--cluster", "nats://far"], 2, "without TLS"),
        (["--cluster", "nats://127.0.0.1:1", "--credentials", "/nowhere/a.nk"], 1, "No such file"),
    ],
)
def test_invalid_nats_address_is_rejected(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, why: str
) -> None:
    assert main(["cluster", "status", *arguments]) == code
    said = capsys.readouterr()
    assert why in " ".join(said.err.replace("│", " ").split())
    assert "hunter2" not in said.err + said.out


async def laid_out(cluster: InitializedCluster) -> None:
    """Two machines: `here` is alive, `lost` is only listed as the owner of sessions."""
    async with asyncio.timeout(TIMEOUT), cluster.connect("both") as link:
        await link.until_up(TIMEOUT)
        await lay_out(link.js, 1)
        here = Node(name="here", boot="1", address="http://127.0.0.1:8787", sessions=2, roots=["/srv", "/a\x1b[2J"])
        await link.js.publish(bucket_subject(NODES, "here"), msgspec.json.encode(here), msg_ttl=60.0)
        for session, node in (("s1", "lost"), ("s2", "lost"), ("s3", "here")):
            owner = Owner(node=node, boot="1", epoch=1, moves=False)
            await link.js.publish(bucket_subject(OWNERS, session), msgspec.json.encode(owner))


async def owner_of(cluster: InitializedCluster, session: str) -> Owner:
    async with asyncio.timeout(TIMEOUT), cluster.connect("both") as link:
        await link.until_up(TIMEOUT)
        found = await link.js.get_last_msg(f"KV_{OWNERS}", bucket_subject(OWNERS, session))
        return msgspec.json.decode(found.data or b"", type=Owner)


async def test_status_and_forget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with initialized_cluster(tmp_path / "c") as cluster:
        await laid_out(cluster)
        looking = ["--cluster", cluster.url, "--credentials", str(cluster.key("viewer"))]
        assert await asyncio.to_thread(main, ["cluster", "status", *looking]) == 0
        said = capsys.readouterr().out
        assert [line.split()[:4] for line in said.splitlines() if line.startswith("here")] == [
            ["here", "both", "2", "0"]
        ]
        assert "\x1b" not in said
        assert "handrail-events" in said
        assert await asyncio.to_thread(main, ["cluster", "status", *looking, "--json"]) == 0
        assert [one["name"] for one in json.loads(capsys.readouterr().out)["nodes"]] == ["here"]

        acting = ["--cluster", cluster.url, "--credentials", str(cluster.key("both"))]
        assert await asyncio.to_thread(main, ["cluster", "forget", "here", "--yes", *acting]) == 1
        assert "is running; stop it first" in capsys.readouterr().err
        assert await asyncio.to_thread(main, ["cluster", "forget", "lost", "--yes", *acting]) == 0
        assert "2 sessions of lost can now be resumed elsewhere" in capsys.readouterr().out
        assert not (await owner_of(cluster, "s1")).held
        assert (await owner_of(cluster, "s3")).held


async def test_status_prints_warnings_and_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with initialized_cluster(tmp_path / "c") as cluster:
        looking = ["--cluster", cluster.url, "--credentials", str(cluster.key("viewer"))]
        assert await asyncio.to_thread(main, ["cluster", "status", *looking]) == 1
        assert "warning: missing in NATS: handrail-events" in capsys.readouterr().err
        without = await asyncio.to_thread(main, ["cluster", "status", "--cluster", cluster.url])
        assert without == 1
        assert "rejected the credentials" in capsys.readouterr().err


def test_forget_asks_for_confirmation() -> None:
    with at_a_terminal("cluster", "forget", "box3", "--cluster", "nats://127.0.0.1:1") as screen:
        screen.shows("Type its name to confirm")
        screen.type("box4")
        screen.shows("cancelled")
        assert screen.ends() == 1
