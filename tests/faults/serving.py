"""The server as a program of its own, for those who kill it. In: a data folder, a port, a CLI. Out: a bridge that runs.

    python tests/faults/serving.py '{"data": …, "port": …, "cli": …, "roots": […]}'

`serve` is the one place that knows how a server is put together. The token of a device with every scope stands in
`token` in the data folder, from the first start on. Its clock can be moved.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

from moved_clock import MovedLoop, follow, steady  # first: it moves the clock that all others ask

from handrail.bridge import server
from handrail.bridge.commands.table import SCOPES
from handrail.bridge.configuration import Configuration
from handrail.bridge.server import Bridge
from handrail.bridge.session.launch import Cli


async def serve(told: dict[str, Any]) -> None:
    """Run a server until it is ended."""
    data = Path(told["data"])
    settings = {name: told[name] for name in ("hibernate_after", "keep_days") if name in told}
    bridge = Bridge(
        Configuration(
            cli=Cli(told["cli"], "claude"),
            data=data,
            port=told["port"],
            roots=tuple(Path(root) for root in told["roots"]),
            **settings,
        ),
        clock=steady,
    )
    follow(data)
    if pages := told.get("most_pages"):
        _limit(bridge, pages)
    async with server.serve(bridge) as served:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, served.stop)
        (data / "pid").write_text(str(os.getpid()))
        token = data / "token"
        if not token.exists():
            _, secret = await bridge.access.add_device("faults", "program", SCOPES)
            token.with_suffix(".new").write_text(secret)
            token.with_suffix(".new").rename(token)
        telling = asyncio.create_task(_tell_tasks(data)) if told.get("tells_tasks") else None
        await served.wait()
        if telling is not None:
            telling.cancel()


async def _tell_tasks(data: Path) -> None:
    """How many tasks there are, in the file `tasks`."""
    while True:
        (data / "tasks").write_text(str(len(asyncio.all_tasks())))
        await asyncio.sleep(1)


def _limit(bridge: Bridge, pages: int) -> None:
    """A small disk: so many pages, until there is a file `room` in the data folder."""
    writing = bridge.database._writing
    writing.execute(f"PRAGMA max_page_count={pages}")

    async def watch() -> None:
        while not (bridge.configuration.data / "room").exists():  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(0.02)
        await bridge.database.look(lambda _: None)
        writing.execute("PRAGMA max_page_count=1000000")

    bridge.small_disk = asyncio.create_task(watch())  # type: ignore[attr-defined]


def main() -> None:
    """As it is told on the command line."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", stream=sys.stderr)
    told = json.loads(sys.argv[1])
    with asyncio.Runner(loop_factory=MovedLoop) as runner:
        runner.run(serve(told))


if __name__ == "__main__":
    main()
