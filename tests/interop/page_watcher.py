"""A real browser page that watches a session, and reports the text of its conversation at each change."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

WEB = Path(__file__).parents[2] / "web"


class PageWatcher:
    """What the page shows."""

    def __init__(self) -> None:
        self.text = ""
        self.said: str | None = None
        self._changed = asyncio.Condition()
        self._reload, self._end = asyncio.Event(), asyncio.Event()

    async def until(self, holds: Callable[[str], object]) -> None:
        """Wait until the page shows something. Fails if the program of the browser ends before."""
        async with self._changed:
            await self._changed.wait_for(lambda: holds(self.text) or self.said is not None)
            assert holds(self.text), self.said

    async def run(self, program: asyncio.subprocess.Process) -> None:
        """Wait for the end of the browser's program."""
        said, _ = await program.communicate()
        async with self._changed:
            self.said = said.decode()
            self._changed.notify_all()

    async def reload(self) -> None:
        """Reload the page once, and wait until it shows a conversation again."""
        self.text = ""
        self._reload.set()
        await self.until(lambda text: text)

    def end(self) -> None:
        """Close the page."""
        self._reload.set()
        self._end.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a report of the browser's program, or hold its question when to go on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        path = head.split()[1]
        if path == "/text":
            size = int(head.partition("content-length:")[2].split()[0])
            async with self._changed:
                self.text = (await reader.readexactly(size)).decode()
                self._changed.notify_all()
        else:
            await (self._reload if path == "/reload" else self._end).wait()
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
        writer.close()


@asynccontextmanager
async def watching_page(link: str, session: str) -> AsyncIterator[PageWatcher]:
    """A page in Chromium that shows the session, opened with the link of its server."""
    watcher = PageWatcher()
    server = await asyncio.start_server(watcher.serve, "127.0.0.1", 0)
    told = {
        "BROWSER_RUN": "browser/watch.run.ts",
        "HANDRAIL_LINK": link,
        "HANDRAIL_SESSION": session,
        "HANDRAIL_REPORT": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}",
    }
    command = [str(WEB / "node_modules/.bin/vitest"), "run", "--config", "vitest.browser.config.ts"]
    async with server:
        run = await asyncio.create_subprocess_exec(
            *command, cwd=WEB, env={**os.environ, **told}, stdout=PIPE, stderr=STDOUT, start_new_session=True
        )
        running = asyncio.create_task(watcher.run(run))
        try:
            yield watcher
            watcher.end()
            await running
            assert run.returncode == 0, watcher.said
        finally:
            if run.returncode is None:
                os.killpg(run.pid, signal.SIGKILL)  # with its browser
            await running
