"""`handrail devices`: access to the running server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Annotated, Any

import typer

from handrail.cli.printable import printable

__all__ = ["app"]

app = typer.Typer(
    help="List browsers and programs with access to the running server, add a program, revoke access.",
    epilog="Example: handrail devices add nightly-report --scope view",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Data = Annotated[
    Path | None, typer.Option(metavar="DIR", help="The server's data folder. Default: ~/.handrail/bridge.")
]


@app.command("list")
def list_command(
    data: Data = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,  # noqa: FBT002
) -> None:
    """List the devices, oldest first: id, kind, scopes, last seen, name.

    \b
    Example:
      handrail devices list
    """
    with _errors_in_one_line():
        devices = [one for one in _ask(data, "GET", "/api/devices")["devices"] if not one["this"]]
        if as_json:
            return print(json.dumps(devices, indent=2))
        for one in devices:
            fields = (one["id"], one["kind"], ",".join(one["scopes"]), _time(one["seen"]), one["name"])
            print("\t".join(map(printable, fields)))
        if not devices:
            print("no devices yet; open the link that `handrail serve` prints", file=sys.stderr)


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the program.")],
    scope: Annotated[list[str], typer.Option(help="view, prompt, approve or admin; can be repeated.")],
    data: Data = None,
) -> None:
    """Create a bearer token for a program. It is printed only once; revoke the device to withdraw it.

    \b
    Example:
      handrail devices add nightly-report --scope view
      curl -H "Authorization: Bearer TOKEN" http://127.0.0.1:8787/api/sessions
    """
    from handrail.bridge.commands.table import SCOPES

    if unknown := [one for one in scope if one not in SCOPES]:
        raise typer.BadParameter(f"there is no scope {unknown[0]!r}: {', '.join(SCOPES)}", param_hint="--scope")
    with _errors_in_one_line():
        print(_ask(data, "POST", "/api/devices", {"name": name, "scopes": scope})["token"])


@app.command()
def revoke(
    device: Annotated[str, typer.Argument(metavar="ID", help="The id that `list` shows.")], data: Data = None
) -> None:
    """Revoke the access of a device at once and permanently. Its connections are closed.

    \b
    Example:
      handrail devices revoke 3f2a91c04b7e11aa
    """
    from urllib.parse import quote

    with _errors_in_one_line():
        _ask(data, "DELETE", f"/api/devices/{quote(device, safe='')}")
        print(f"{printable(device)} is out")


def _ask(data: Path | None, method: str, path: str, body: Any = None) -> Any:
    """One request to the running server. Returns its answer. Raises BridgeError with its message."""
    from handrail.bridge.errors import ServerUnreachable
    from handrail.bridge.web.running import come_in
    from handrail.cli.starting import folder_of

    folder = folder_of(data)

    async def ask() -> Any:
        async with come_in(folder, "handrail devices") as client:
            return await client.request(method, path, json={} if body is None and method != "GET" else body)

    answer = asyncio.run(ask())
    said = answer.json()
    if answer.is_error:
        raise ServerUnreachable(said["error"]["message"])
    return said


def _time(milliseconds: int) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(milliseconds / 1000).astimezone().isoformat(" ", "minutes")


@contextlib.contextmanager
def _errors_in_one_line() -> Generator[None]:
    from handrail.bridge.errors import BridgeError

    try:
        yield
    except (BridgeError, OSError) as error:
        print(f"handrail devices: {printable(str(error))}", file=sys.stderr)
        raise typer.Exit(1) from None
