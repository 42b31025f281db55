"""`handrail runner` as a person starts it: two lines, sessions of a gateway, a quiet end, errors of one sentence."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from handrail.cli.main import main
from handrail.testing import NatsServer
from tests.bridge.cluster.initialized_cluster import InitializedCluster, initialized_cluster
from tests.bridge.powerless import powerless
from tests.cli.command import HANDRAIL, PATIENCE
from tests.cli.served import Server, answers, serving


class Runner:
    """A runner in a process of its own, and the two lines that it said."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._process = process
        self.lines = [process.stdout.readline().rstrip("\n") for _ in range(2)]

    def ends(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal. Returns the exit code and stderr."""
        self._process.send_signal(number)
        _, errors = self._process.communicate(timeout=PATIENCE)
        return self._process.returncode, errors


@contextlib.contextmanager
def running(folder: Path, url: str, *arguments: object) -> Iterator[Runner]:
    command = [
        *powerless(*HANDRAIL),
        "runner",
        "--cluster",
        url,
        "--data",
        str(folder / "runner"),
        "--root",
        str(folder),
    ]
    command += ["--cli", "agent", *map(str, arguments)]
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, env=dict(os.environ), **pipes)
    try:
        yield Runner(process)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def in_cluster(cluster: InitializedCluster, role: str) -> list[object]:
    return ["--cluster", cluster.url, "--credentials", cluster.key(role)]


def machines(server: Server, client: Any) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in client.get("/api/cluster").json()["nodes"]}


async def test_a_session_started_at_a_gateway_runs_on_a_runner_with_the_keys_of_their_roles(tmp_path: Path) -> None:
    async with initialized_cluster(tmp_path / "c") as cluster:
        await asyncio.to_thread(_turn, tmp_path, cluster)
        log = (cluster.folder / "nats-1" / "nats.log").read_text()
    assert [line for line in log.splitlines() if "Violation" in line] == []


def _turn(folder: Path, cluster: InitializedCluster) -> None:
    gateway = [*in_cluster(cluster, "gateway"), "--no-run", "--node-name", "front", "--cli", "agent"]
    key = ["--credentials", cluster.key("runner"), "--name", "back", "--label", "gpu", "--most-sessions", 5]
    with serving(folder, *gateway) as server, running(folder, cluster.url, *key) as runner:
        assert runner.lines[0].startswith("Handrail ")
        assert "runs sessions as back: handrail-agent" in runner.lines[0]
        assert runner.lines[1] == f"Connected to NATS at 127.0.0.1:{cluster.servers[0].port} (Ctrl-C stops it)"
        with server.browser() as client:
            assert server.lets_in(client)
            there = machines(server, client)
            assert {name: one["runs"] for name, one in there.items()} == {"front": False, "back": True}
            assert (there["back"]["labels"], there["back"]["most_sessions"]) == (["gpu"], 5)
            events = asyncio.run(answers(server, client, folder))
            assert [one["data"]["is_error"] for one in events if one["data"].get("type") == "result"] == [False]
            listed = client.get("/api/sessions").json()["sessions"]
            assert [one["runner"] for one in listed] == ["back"]
            found = client.get(f"/api/sessions/{listed[0]['id']}/events").json()["events"]
            assert [one["seq"] for one in found] == list(range(1, len(found) + 1))
        assert runner.ends() == (0, "")
        assert server.ends() == (0, "")


def test_a_runner_waits_for_nats_and_ends_quietly_all_the_same(tmp_path: Path) -> None:
    with running(tmp_path, "nats://127.0.0.1:1") as runner:
        assert runner.lines[1] == "Waiting for NATS at nats://127.0.0.1:1 (Ctrl-C stops it)"
        code, errors = runner.ends(signal.SIGINT)
    assert code == 0
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        ([], 2, "a runner needs a cluster"),
        (["--cluster", "nats://me:hunter2@127.0.0.1"], 2, "put credentials in a file"),
        (["--cluster", "nats://127.0.0.1:1", "--name", "a.b"], 2, "invalid machine name"),
        (["--cluster", "nats://127.0.0.1:1", "--label", "a b"], 2, "invalid label"),
        (["--cluster", "nats://127.0.0.1:1", "--root", "/nowhere/at/all"], 2, "is not a folder"),
        (["--cluster", "nats://127.0.0.1:1", "--credentials", "/nowhere/a.nk"], 1, "No such file"),
        (["--cluster", "nats://127.0.0.1:1", "--prewarm", "1", "--cli", "/bin/true"], 1, "only with handrail-agent"),
    ],
)
def test_invalid_options_of_a_runner_are_reported_in_words(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, why: str
) -> None:
    assert main(["runner", *arguments]) == code
    said = capsys.readouterr().err
    assert why in " ".join(said.split())
    assert "hunter2" not in said


@pytest.mark.parametrize("arguments", [["--no-run"], ["--label", "gpu"], ["--node-name", "a"], ["--stay"]])
def test_options_of_a_cluster_need_the_address_of_nats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(["serve", "--data", str(tmp_path), "--cli", "agent", *arguments]) == 2
    assert "need the address of NATS" in " ".join(capsys.readouterr().err.split())


async def test_a_key_that_nats_does_not_know_ends_it_in_words(tmp_path: Path) -> None:
    async with initialized_cluster(tmp_path / "c") as cluster, initialized_cluster(tmp_path / "other") as other:
        command = [*HANDRAIL, "runner", "--cluster", cluster.url, "--credentials", str(other.key("runner"))]
        command += ["--data", str(tmp_path / "data"), "--root", str(tmp_path), "--cli", "agent"]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert "rejected the credentials" in done.stderr
    assert "Traceback" not in done.stderr


async def test_gateway_prints_a_login_link_once_nats_answers(tmp_path: Path) -> None:
    nats = NatsServer(tmp_path / "nats")
    command = [*HANDRAIL, "serve", "--cluster", nats.url, "--port", "0", "--data", str(tmp_path / "data")]
    command += ["--root", str(tmp_path), "--cli", "agent"]
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdin=nothing, stdout=pipe, stderr=nothing)
    assert process.stdout is not None
    lines: list[str] = []
    try:
        async with asyncio.timeout(PATIENCE):
            while not any("No login link yet, because NATS does not answer" in line for line in lines):
                lines.append((await process.stdout.readline()).decode())
            await nats.start()
            while not lines[-1].startswith("Open "):
                lines.append((await process.stdout.readline()).decode())
        address, _, link = lines[-1].removeprefix("Open ").strip().partition("/#link=")
        async with httpx2.AsyncClient(base_url=address, headers={"origin": address}) as browser:
            assert (await browser.post("/api/login", json={"link": link})).status_code == 200
    finally:
        process.kill()
        await process.wait()
        nats.end()
