"""The start-up output of `handrail serve`: version and address, the CLI, a login link."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.bridge.addresses import own_address
from handrail.bridge.errors import ClusterAway
from handrail.cli.terminal import Terminal

if TYPE_CHECKING:
    from handrail.bridge.server import Bridge

__all__ = ["Welcome"]

DEMO: Final = "Demo mode: a script answers. For a model use “Connect a model” on the page, or `handrail connect`"
OLD_TOKEN_FILE: Final = "seed-token"  # noqa: S105  a file name
"""The name of the token file in version 0.1; its token stays valid."""
RETRY_SECONDS: Final = 1.0


class Welcome:
    """Prints where the server is and which CLI it uses. In a terminal, Enter prints another link."""

    def __init__(self, bridge: Bridge, terminal: Terminal, *, qr: bool) -> None:
        self._bridge, self._terminal, self._qr = bridge, terminal, qr
        self._address = bridge.configuration.address
        self._showing: set[asyncio.Task[None]] = set()

    async def show(self) -> None:
        """Print everything, once the server is ready."""
        from importlib.metadata import version

        line, choice = self._terminal.line, self._bridge.configuration.cli
        line(f"Handrail {version('handrail')} serves {self._address} (Ctrl-C stops it)", "bold")
        cli = choice.current()
        line(DEMO if cli.demo else f"{cli.name} answers, with {cli.model}")
        if choice.problem:
            line(f"The connected model is not used: {choice.problem}", "bold")
        if self._bridge.damage:
            line(f"{self._bridge.damage}. Sessions are imported again from the CLI's transcripts.", "bold")
        try:
            await self._show_logins()
        except ClusterAway:
            line("No login link yet, because NATS does not answer; known devices can connect, and a link follows")
            self._spawn(self._show_logins_later())
        if self._terminal.interactive:
            line("A link works once; Enter prints another", "dim")
            asyncio.get_running_loop().add_reader(0, self._on_enter)

    async def _show_logins(self) -> None:
        if self._bridge.configuration.ccpocket:
            await self._show_ccpocket()
        await self._show_link()

    async def _show_logins_later(self) -> None:
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            with contextlib.suppress(ClusterAway):
                return await self._show_logins()

    async def _show_link(self) -> None:
        given = self._bridge.configuration
        if self._qr and given.phone_address:
            await self._show_phone_link()
        # With a certificate for a phone, this machine's own browser uses the name that the certificate has for it.
        here = own_address("localhost", given.port, secure=True) if given.fingerprint else self._address
        link = f"{here}/#link={await self._bridge.access.make_link()}"
        self._terminal.line(f"Open {link}")
        if self._qr and not given.phone_address:
            self._draw(link)
        self._terminal.out.flush()

    async def _show_phone_link(self) -> None:
        """A link for the phone as a QR code, and what its owner does with it."""
        given = self._bridge.configuration
        link = f"{given.phone_address}/#link={await self._bridge.access.make_link()}"
        self._terminal.line(f"On your phone, scan this code or open {link}")
        self._draw(link)
        if given.fingerprint:
            self._terminal.line("The phone must be in the same network. Its browser warns once, because this machine")
            self._terminal.line("made the certificate. Continue if the certificate has this SHA-256 fingerprint:")
            self._terminal.line(given.fingerprint)

    def _draw(self, link: str) -> None:
        import segno

        segno.make(link, error="m").terminal(self._terminal.out, compact=True)

    def _on_enter(self) -> None:
        if not os.read(0, 4096):
            asyncio.get_running_loop().remove_reader(0)
            return
        self._spawn(self._show_another())

    async def _show_another(self) -> None:
        try:
            await self._show_link()
        except ClusterAway as away:
            self._terminal.line(str(away))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._showing.add(task)
        task.add_done_callback(self._showing.discard)

    async def _show_ccpocket(self) -> None:
        """The token is valid for long, so it is printed to a terminal only, never into a log file."""
        token, kept = await _ccpocket_token(self._bridge)
        shown, hint = (token, "") if self._terminal.out.isatty() else ("***", f" with the token in {kept}")
        self._terminal.line(f"ccpocket: {self._address.replace('http', 'ws', 1)}/?token={shown}{hint}")


async def _ccpocket_token(bridge: Bridge) -> tuple[str, Path]:
    """The token of clients that can only set a URL, and its file. It stays the same until it is revoked."""
    from handrail.bridge.private_files import read_private, write_private

    path = bridge.configuration.data / "ccpocket-token"
    known = read_private(path) or read_private(path.with_name(OLD_TOKEN_FILE))
    if bridge.access.device(known) is not None:
        write_private(path, known)
        return known, path
    _, token = await bridge.access.add_device("ccpocket", "ccpocket", ("prompt", "approve"))
    write_private(path, token)
    return token, path
