"""`handrail doctor --attack URL`: runs the web attacks of the threat model against a server and prints each outcome.

The token comes from HANDRAIL_TOKEN. For a server on this machine a login link is created through its data folder.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from handrail.cli.terminal import Terminal, one_line

if TYPE_CHECKING:
    from handrail.attacks import Outcome

__all__ = ["attack"]

TOKEN = "HANDRAIL_TOKEN"  # noqa: S105 - the name of a variable
MARKS = {True: ("✓", "green"), False: ("✗", "red")}


def attack(terminal: Terminal, address: str, folder: Path, *, patient: bool = False) -> bool:
    """Print the outcomes and return whether every attack was withstood.

    Raises BridgeError if the server cannot be reached. `patient` adds the attacks that take up to half a minute.
    """
    outcomes = asyncio.run(_outcomes(address.rstrip("/"), folder, patient=patient))
    for outcome in outcomes:
        mark, style = MARKS[outcome.held]
        terminal.write(f"{mark} ", style)
        terminal.write(f"{outcome.id:<4} {one_line(outcome.title, 200)}", end="\n")
        if outcome.detail:
            terminal.line(f"       {one_line(outcome.detail, 200)}", "dim" if outcome.held else "yellow")
    failed = [outcome.id for outcome in outcomes if not outcome.held]
    total = len(outcomes)
    terminal.line(
        f"{len(failed)} of {total} did not hold: {', '.join(failed)}" if failed else f"all {total} held", "bold"
    )
    return not failed


async def _outcomes(address: str, folder: Path, *, patient: bool) -> list[Outcome]:
    from handrail.attacks import run
    from handrail.bridge.errors import ServerUnreachable
    from handrail.bridge.web.running import come_in, known_by, running_address

    try:
        if token := os.environ.get(TOKEN, ""):
            return await run(address, token, slow=patient)
        if running_address(folder) != address:
            raise ServerUnreachable(f"no server is running in {folder} at {address}; set {TOKEN} to an admin token")
        async with come_in(folder, "handrail doctor") as client:
            token = next(iter(client.cookies.values()))
            return await run(address, token, slow=patient, tls=known_by(folder))
    except OSError as error:
        raise ServerUnreachable(f"{address}: {str(error) or type(error).__name__}") from None
