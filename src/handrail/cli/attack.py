"""`handrail doctor --attack URL`: the table of web attacks against a running server. In: its address. Out: rows.

A token comes from HANDRAIL_TOKEN, else by a link through the data folder, where the server runs on this machine.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from pathlib import Path
from typing import Any

from handrail.cli.terminal import Terminal, one_line

__all__ = ["attack"]

TOKEN = "HANDRAIL_TOKEN"  # noqa: S105 - the name of a variable
MARKS = {True: ("✓", "green"), False: ("✗", "red")}


def attack(terminal: Terminal, address: str, folder: Path, *, patient: bool = False) -> bool:
    """Run the table and print it. Out: whether everything held. BridgeError where the server cannot be reached."""
    rows = asyncio.run(_rows(address.rstrip("/"), folder, patient=patient))
    for row in rows:
        mark, style = MARKS[bool(row.held)]
        terminal.write(f"{mark} ", style)
        terminal.write(f"{row.id:<4} {one_line(row.what, 200)}", end="\n")
        if row.told:
            terminal.line(f"       {one_line(row.told, 200)}", "dim" if row.held else "yellow")
    fallen = [row.id for row in rows if not row.held]
    verdict = f"{len(fallen)} of {len(rows)} did not hold: {', '.join(fallen)}" if fallen else f"all {len(rows)} held"
    terminal.line(verdict, "bold")
    return not fallen


async def _rows(address: str, folder: Path, *, patient: bool) -> list[Any]:
    from handrail.bridge.errors import BridgeError
    from handrail.bridge.web.running import come_in, known_by, running_address

    attacks: Any = importlib.import_module("handrail.bridge.attacks")
    try:
        if token := os.environ.get(TOKEN, ""):
            return await attacks.run(address, token, patient=patient)
        if running_address(folder) != address:
            raise BridgeError(f"no server is running in {folder} at {address}; set {TOKEN} to an admin token")
        async with come_in(folder, "handrail doctor") as client:
            token = next(iter(client.cookies.values()))
            return await attacks.run(address, token, patient=patient, tls=known_by(folder))
    except OSError as error:
        raise BridgeError(f"{address}: {error or type(error).__name__}") from None
