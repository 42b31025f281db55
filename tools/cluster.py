"""Runs a cluster on this machine, with three NATS servers, two gateways and three runners, and prints two links.

It is set up as by `handrail cluster init` for three machines, with a key for each role. Ctrl-C stops everything. With
--folder, the data are kept for the next run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from shutil import which

BIN = Path(sys.executable).parent
NATS, GATEWAYS, RUNNERS = 3, 2, 3
READY_SECONDS = 60
LAST_SECONDS = 20


class Ended(Exception):
    """A process of the cluster has exited."""


class Machines:
    """The processes of the cluster, by name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: list[tuple[str, asyncio.subprocess.Process]] = []
        self._reading: set[asyncio.Task[None]] = set()

    async def start(self, name: str, *command: str | Path, cwd: Path | None = None) -> asyncio.Future[str]:
        """Start a process. Returns a future for the line that it prints when it is ready."""
        setpriv = which("setpriv")
        lead = [setpriv, "--pdeathsig", "TERM", "--"] if setpriv else []
        process = await asyncio.create_subprocess_exec(
            *lead,
            *map(str, command),
            cwd=cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,  # only this process gets Ctrl-C, and stops the others in order
        )
        self._running.append((name, process))
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._read(name, process, ready))
        self._reading.add(task)
        return ready

    async def _read(self, name: str, process: asyncio.subprocess.Process, ready: asyncio.Future[str]) -> None:
        """Copy its output to a file, and set the result of `ready`: the line, or Ended if it exits before."""
        assert process.stdout is not None
        text = ""
        with (self._folder / f"{name}.log").open("ab") as log:
            async for line in process.stdout:
                log.write(line)
                log.flush()
                text = line.decode(errors="replace").strip()
                if text.startswith(("Open ", "Connected to NATS", "Waits for NATS")) and not ready.done():
                    ready.set_result(text)
        if not ready.done():
            ready.set_exception(Ended(f"{name} has exited: {text or 'no output'}"))
            ready.exception()  # no one awaits NATS, which does not print a line when it is ready

    async def stop(self) -> None:
        """Stop in reverse order: gateways, runners, and NATS last."""
        kinds = dict.fromkeys(name.partition("-")[0] for name, _ in reversed(self._running))
        for kind in kinds:
            ending = [process for name, process in self._running if name.startswith(f"{kind}-")]
            for process in ending:
                with contextlib.suppress(ProcessLookupError):
                    process.terminate()
            waits = [asyncio.create_task(process.wait()) for process in ending]
            _, late = await asyncio.wait(waits, timeout=LAST_SECONDS)
            for process in ending if late else []:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            await asyncio.gather(*waits)
        await asyncio.gather(*self._reading, return_exceptions=True)


@contextlib.asynccontextmanager
async def cluster(folder: Path, port: int, roots: list[Path], more: list[str]) -> AsyncGenerator[list[str]]:
    """Run the cluster while the context is open. Yields the links of the gateways."""
    from handrail.bridge.cluster.setup.cluster_files import KEYS, cluster_url, parse_server, write_cluster_files

    servers = [parse_server(n + 1, f"127.0.0.1:{port + n}") for n in range(NATS)]
    nats = folder / "nats"
    if not nats.exists():
        keys = {f"gateway-{n}": "gateway" for n in range(1, GATEWAYS + 1)}
        keys |= {f"runner-{n}": "runner" for n in range(1, RUNNERS + 1)}
        write_cluster_files(nats, servers, machines=keys, store="store", disk="4GB", tls=False)
    machines = Machines(folder)
    address = ["--cluster", cluster_url(servers, tls=False)]
    where = [part for root in roots for part in ("--root", str(root))]
    try:
        for one in servers:
            await machines.start(one.name, BIN / "nats-server", "-c", "nats.conf", cwd=nats / one.name)
        links: list[str] = []
        for n in range(1, GATEWAYS + 1):
            key = ["--credentials", str(nats / KEYS / f"gateway-{n}.nk"), "--no-run", "--node-name", f"gateway-{n}"]
            data = ["--data", str(folder / f"gateway-{n}")]
            command = (BIN / "handrail", "serve", *address, *key, *data, *where)
            async with asyncio.timeout(READY_SECONDS):
                links.append((await (await machines.start(f"gateway-{n}", *command))).removeprefix("Open "))
        ready: list[asyncio.Future[str]] = []
        for n in range(1, RUNNERS + 1):
            key = ["--credentials", str(nats / KEYS / f"runner-{n}.nk"), "--name", f"runner-{n}"]
            data = ["--data", str(folder / f"runner-{n}")]
            command = (BIN / "handrail", "runner", *address, *key, *data, *where, *more)
            ready.append(await machines.start(f"runner-{n}", *command))
        async with asyncio.timeout(READY_SECONDS):
            await asyncio.gather(*ready)
        yield links
    finally:
        await machines.stop()


async def main(folder: Path, port: int, roots: list[Path], more: list[str]) -> None:
    """Run until Ctrl-C."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    print(f"Starting {NATS} NATS servers, {GATEWAYS} gateways and {RUNNERS} runners; their logs are in {folder}")
    async with cluster(folder, port, roots, more) as links:
        for n, link in enumerate(links, 1):
            print(f"gateway-{n}: open {link}")
        servers = ",".join(f"nats://127.0.0.1:{port + n}" for n in range(NATS))
        viewer = folder / "nats" / "keys" / "viewer.nk"
        print(f"Status: {BIN / 'handrail'} cluster status --cluster {servers} --credentials {viewer}")
        print("Ctrl-C stops everything", flush=True)
        await stopped.wait()
        print("\nStopping", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--folder", type=Path, help="folder for all data; default: a temporary folder")
    parser.add_argument(
        "--port", type=int, default=4222, help="port of the first NATS server; the others use the next ports"
    )
    parser.add_argument(
        "--root", type=Path, action="append", help="folder in which sessions may work; default: the current one"
    )
    parser.add_argument("--cli", help="the CLI of the runners, as in `handrail runner --cli`")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        chosen = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="handrail-cluster-")))
        chosen.mkdir(parents=True, exist_ok=True)
        roots = [root.absolute() for root in given.root or [Path(os.getcwd())]]
        try:
            asyncio.run(main(chosen.absolute(), given.port, roots, ["--cli", given.cli] if given.cli else []))
        except (Ended, TimeoutError) as error:
            sys.exit(f"cluster: {error or 'it was not ready in time'}")
