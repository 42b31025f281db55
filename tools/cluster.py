"""A cluster on this machine: three NATS servers, two gateways, three runners. In: a folder, or none. Out: two links.

It is set up as `handrail cluster init` would for three machines, with a key for each role. Ctrl-C ends everything; what
lies in a folder that was named is there again the next time.
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
    """One of them has ended, and why."""


class Machines:
    """Processes, each with a name that stands before what it says."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: list[tuple[str, asyncio.subprocess.Process]] = []
        self._reading: set[asyncio.Task[None]] = set()

    async def start(self, name: str, *command: str | Path, cwd: Path | None = None) -> asyncio.Future[str]:
        """Start one. Out: the line by which it says that it is ready, once it does."""
        setpriv = which("setpriv")
        lead = [setpriv, "--pdeathsig", "TERM", "--"] if setpriv else []
        process = await asyncio.create_subprocess_exec(
            *lead,
            *map(str, command),
            cwd=cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is ours, so that they end in order
        )
        self._running.append((name, process))
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._read(name, process, ready))
        self._reading.add(task)
        return ready

    async def _read(self, name: str, process: asyncio.subprocess.Process, ready: asyncio.Future[str]) -> None:
        """What it says goes to a file; the sign that it is ready, and the end, to whoever waits."""
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
            ready.set_exception(Ended(f"{name} has ended: {text or 'it said nothing'}"))
            ready.exception()  # NATS says nothing when it is ready, and nobody waits for it

    async def stop(self) -> None:
        """The last first: gateways, runners, and NATS when nobody needs it any more."""
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
    """Everything, as long as the block runs. Out: the links of the gateways."""
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
    """Until Ctrl-C."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    print(f"Starting {NATS} NATS servers, {GATEWAYS} gateways and {RUNNERS} runners; their logs are in {folder}")
    async with cluster(folder, port, roots, more) as links:
        for n, link in enumerate(links, 1):
            print(f"gateway-{n}: open {link}")
        servers = ",".join(f"nats://127.0.0.1:{port + n}" for n in range(NATS))
        viewer = folder / "nats" / "keys" / "viewer.nk"
        print(f"How it is: {BIN / 'handrail'} cluster status --cluster {servers} --credentials {viewer}")
        print("Ctrl-C stops everything", flush=True)
        await stopped.wait()
        print("\nStopping", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--folder", type=Path, help="where all of it is kept; else it is gone afterwards")
    parser.add_argument("--port", type=int, default=4222, help="of the first NATS server; the others follow")
    parser.add_argument("--root", type=Path, action="append", help="where sessions may work; else here")
    parser.add_argument("--cli", help="who answers on the runners, as for `handrail runner`")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        chosen = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="handrail-cluster-")))
        chosen.mkdir(parents=True, exist_ok=True)
        roots = [root.absolute() for root in given.root or [Path(os.getcwd())]]
        try:
            asyncio.run(main(chosen.absolute(), given.port, roots, ["--cli", given.cli] if given.cli else []))
        except (Ended, TimeoutError) as error:
            sys.exit(f"cluster: {error or 'it was not ready in time'}")
