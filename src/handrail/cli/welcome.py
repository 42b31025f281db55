"""What a person sees of a server that has started. In: its bridge, a terminal. Out: three lines, the last a link."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from handrail.cli.terminal import Terminal

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__ = ["Welcome"]


class Welcome:
    """Tells where the server is and who answers; at a terminal, Enter gives another link."""

    def __init__(self, bridge: Bridge, terminal: Terminal, *, qr: bool) -> None:
        self._bridge, self._terminal, self._qr = bridge, terminal, qr
        self._address = bridge.configuration.address
        self._showing: set[asyncio.Task[None]] = set()

    async def show(self) -> None:
        """Once, when the server is ready."""
        from importlib.metadata import version

        line, cli = self._terminal.line, self._bridge.configuration.cli
        line(f"Handrail {version('handrail')} serves {self._address} (Ctrl-C stops it)", "bold")
        named = "claude" if cli.kind == "claude" else "handrail-agent"
        known = f"{named} {cli.version}".rstrip()  # a CLI that is slow to tell its version answers all the same
        line(f"{known} answers, with {cli.model}")
        if self._bridge.configuration.seed_protocol:
            await self._show_seed()
        if self._bridge.damage:
            line(f"{self._bridge.damage}. Sessions are taken up again from the CLI's transcripts.", "bold")
        await self._show_link()
        if self._terminal.interactive:
            line("A link is good once: Enter prints another", "dim")
            asyncio.get_running_loop().add_reader(0, self._on_enter)

    async def _show_link(self) -> None:
        link = f"{self._address}/#link={await self._bridge.access.make_link()}"
        self._terminal.line(f"Open {link}")
        if self._qr:
            import segno

            segno.make(link, error="m").terminal(self._terminal.out, compact=True)
        self._terminal.out.flush()

    def _on_enter(self) -> None:
        if not os.read(0, 4096):
            asyncio.get_running_loop().remove_reader(0)
            return
        task = asyncio.ensure_future(self._show_link())
        self._showing.add(task)
        task.add_done_callback(self._showing.discard)

    async def _show_seed(self) -> None:
        """A terminal forgets; what goes to a file or a journal would keep a token that is good for long."""
        token, kept = await _seed_token(self._bridge)
        shown, hint = (token, "") if self._terminal.out.isatty() else ("***", f" with the token in {kept}")
        self._terminal.line(f"seed protocol: {self._address.replace('http', 'ws', 1)}/?token={shown}{hint}")


async def _seed_token(bridge: Bridge) -> tuple[str, Path]:
    """The token of clients that can only set a URL, and where it is kept. It stays the same until it is revoked."""
    from handrail.bridge.web.running import read_private, write_private

    path = bridge.configuration.data / "seed-token"
    known = read_private(path)
    if bridge.access.device(known) is not None:
        return known, path
    _, token = await bridge.access.add_device("seed protocol", "seed", ("prompt", "approve"))
    write_private(path, token)
    return token, path
