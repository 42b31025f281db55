"""A bridge under measurement and a bare relay on the same event loop. Its argument is JSON with its options.

`/relay?say=WORDS` starts the CLI and sends each of its lines as a frame; with `&kept=1` each line is first committed to
a SQLite file. `plain` makes the bridge send one event per frame; `roomy` keeps it from dropping slow clients. When
ready it prints the ports and the token of a device with all scopes.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from handrail.bridge.commands.table import SCOPES
from handrail.bridge.configuration import Configuration
from handrail.bridge.process_memory import tune_gc
from handrail.bridge.server import Bridge, serve
from handrail.bridge.session import feed
from handrail.bridge.web.dialects import native
from handrail.model_access.choice import CliChoice

ROOM = 64 * 1024 * 1024


class Relay:
    """The smallest possible relay: reads a line and sends it."""

    def __init__(self, cli: str, folder: Path) -> None:
        self._cli, self._path = cli, folder / "relay.db"
        self._writer = ThreadPoolExecutor(1)
        self._db: sqlite3.Connection | None = None

    async def serve(self, link: WebSocket) -> None:
        await link.accept()
        kept = "kept" in link.query_params
        words = (self._cli, "--say", link.query_params["say"])
        child = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
        assert child.stdout is not None
        while line := await child.stdout.readline():
            if kept:
                await asyncio.get_running_loop().run_in_executor(self._writer, self._keep, line)
            await link.send_text(line.decode())
        await child.wait()
        await link.close()

    def _keep(self, line: bytes) -> None:
        if self._db is None:
            self._db = sqlite3.connect(self._path, isolation_level=None)
            self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE line (data BLOB)")
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("INSERT INTO line VALUES (?)", (line,))
        self._db.execute("COMMIT")


async def main() -> None:
    """Serve until SIGTERM."""
    options = json.loads(sys.argv[1])
    folder = Path(options["folder"])
    if options.get("plain"):
        native.MOST_BYTES = 1  # type: ignore[misc]
    if options.get("roomy"):  # so that all clients count the same messages
        feed.Feed.__init__.__defaults__ = (ROOM,)
    cli = CliChoice.fixed(options["cli"], "claude")
    bridge = Bridge(Configuration(cli=cli, data=folder / "data", port=0, roots=(folder,)))
    relay = Starlette(routes=[WebSocketRoute("/relay", Relay(options["cli"], folder).serve)])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        beside = uvicorn.Server(uvicorn.Config(relay, log_level="error", ws_per_message_deflate=False))
        relaying = asyncio.create_task(beside.serve(sockets=[listener]))
        async with serve(bridge) as served:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, served.stop)
            _, token = await bridge.access.add_device("bench", "program", SCOPES)
            ready = {"token": token, "port": served.port, "relay": listener.getsockname()[1]}
            tune_gc()  # as the command does
            print(json.dumps(ready), flush=True)
            await served.wait()
        beside.should_exit = True
        await relaying


if __name__ == "__main__":
    asyncio.run(main())
