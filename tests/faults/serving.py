"""The server as a separate program that tests can kill.

    python tests/faults/serving.py '{"data": …, "port": …, "cli": …, "roots": […]}'

The first start writes the token of a device with every scope to `token` in the data folder. The clock can be moved, see
`moved_clock`.
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

from moved_clock import MovedLoop, follow, steady  # first: it replaces the clock that the others use

from handrail.bridge import server
from handrail.bridge.commands.table import SCOPES
from handrail.bridge.configuration import Configuration
from handrail.bridge.server import Bridge
from handrail.model_access.choice import CliChoice


async def serve(options: dict[str, Any]) -> None:
    """Run a server until it is stopped."""
    data = Path(options["data"])
    settings = {name: options[name] for name in ("hibernate_after", "keep_days") if name in options}
    bridge = Bridge(
        Configuration(
            cli=CliChoice.fixed(options["cli"], "claude"),
            data=data,
            port=options["port"],
            roots=tuple(Path(root) for root in options["roots"]),
            **settings,
        ),
        clock=steady,
    )
    follow(data)
    if pages := options.get("most_pages"):
        _limit(bridge, pages)
    async with server.serve(bridge) as served:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, served.stop)
        (data / "pid").write_text(str(os.getpid()))
        token = data / "token"
        if not token.exists():
            _, secret = await bridge.access.add_device("faults", "program", SCOPES)
            token.with_suffix(".new").write_text(secret)
            token.with_suffix(".new").rename(token)
        reporting = asyncio.create_task(_report_tasks(data)) if options.get("tells_tasks") else None
        await served.wait()
        if reporting is not None:
            reporting.cancel()


async def _report_tasks(data: Path) -> None:
    """Write the number of tasks to the file `tasks`."""
    while True:
        (data / "tasks").write_text(str(len(asyncio.all_tasks())))
        await asyncio.sleep(1)


def _limit(bridge: Bridge, pages: int) -> None:
    """Simulate a small disk: limit the database to `pages` until the file `room` exists in the data folder."""
    writing = bridge.database._writing
    writing.execute(f"PRAGMA max_page_count={pages}")

    async def watch() -> None:
        while not (bridge.configuration.data / "room").exists():  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.02)
        await bridge.database.look(lambda _: None)
        writing.execute("PRAGMA max_page_count=1000000")

    bridge.small_disk = asyncio.create_task(watch())  # type: ignore[attr-defined]


def main() -> None:
    """Run with the options given on the command line."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", stream=sys.stderr)
    options = json.loads(sys.argv[1])
    with asyncio.Runner(loop_factory=MovedLoop) as runner:
        runner.run(serve(options))


if __name__ == "__main__":
    main()
