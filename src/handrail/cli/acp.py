"""`handrail acp`: sessions in an editor that speaks the Agent Client Protocol."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from handrail.acp.editors.base import Source
    from handrail.bridge_client.server_link import ServerLink

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

TOKEN: Final = "HANDRAIL_TOKEN"  # noqa: S105 - the name of a variable
TOKEN_FILE: Final = "editor-token"  # noqa: S105 - the name of a file
SCOPES: Final = ["view", "prompt", "approve", "admin"]
"""Of the device that is made for editors of this machine: their user owns the server."""
SETTINGS: Final = "user,project,local"
Cli = Annotated[
    str, typer.Option("--cli", metavar="CLI", help="claude, agent or a path. Default: as in `handrail run`.")
]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="The model.")]
Mode = Annotated[str | None, typer.Option(metavar="MODE", help="The permission mode of new sessions, such as plan.")]
Sources = Annotated[
    str,
    typer.Option(
        metavar="LIST", help="Settings files to read: user,project,local. Those of a folder can run commands."
    ),
]
Dangerous = Annotated[bool, typer.Option("--allow-bypass", help="Offer the mode that runs everything without asking.")]
Address = Annotated[
    str, typer.Option("--server", metavar="URL", help="Use the sessions of this server instead of starting a CLI.")
]
Agent = Annotated[
    str | None, typer.Option(metavar="NAME", help="With --server: the ACP agent of new sessions, of `handrail agents`.")
]
Data = Annotated[
    Path | None, typer.Option(metavar="DIR", help="The server's data folder. Default: ~/.handrail/bridge.")
]


@app.command()
def acp(
    cli: Cli = "",
    model: Model = None,
    permission_mode: Mode = None,
    setting_sources: Sources = SETTINGS,
    allow_bypass: Dangerous = False,  # noqa: FBT002 - typer's way to declare a flag
    server: Address = "",
    agent: Agent = None,
    data: Data = None,
) -> None:
    """Run sessions in an editor, as an agent of the Agent Client Protocol on standard input and output.

    The editor starts it and sends requests; it is not for terminals. With --server the sessions are
    those of a running `handrail serve`, and the page shows them too. The token of a server on another machine comes
    from HANDRAIL_TOKEN.

    \b
    Example, in the settings of Zed:
      "agent_servers": {"Handrail": {"command": "handrail", "args": ["acp"]}}
    """
    from handrail.errors import HandrailError

    if sys.stdin.isatty():
        print("handrail acp: started by an editor, it speaks JSON-RPC on standard input and output", file=sys.stderr)
    if server and (cli or setting_sources != SETTINGS or allow_bypass):
        raise typer.BadParameter("--cli, --setting-sources and --allow-bypass are choices of the server; see `serve`")
    if agent and not server:
        raise typer.BadParameter("--agent chooses an agent of a server; without --server use --cli NAME")
    if server:
        from handrail.cli.starting import in_words

        choices = {"model": model, "mode": permission_mode, "agent": agent}
        return in_words("acp", lambda: asyncio.run(_serve_sessions_of(server.rstrip("/"), data, **choices)))
    try:
        asyncio.run(_serve(_own_sessions(cli, model, permission_mode, setting_sources, bypass=allow_bypass)))
    except HandrailError as error:
        print(f"handrail acp: {error}", file=sys.stderr)
        raise typer.Exit(2) from None


async def _serve(source: Source) -> None:
    from handrail.acp.editors.agent import EditorAgent
    from handrail.transport.stdio import StdioTransport

    await EditorAgent(StdioTransport(), source).run()


def _own_sessions(cli: str, model: str | None, mode: str | None, sources: str, *, bypass: bool) -> Source:
    """Sessions of a CLI on this machine. Raises HandrailError."""
    from handrail.acp.editors.local import LocalSource
    from handrail.client.options import Options
    from handrail.model_access.choice import CliChoice

    choice = CliChoice(cli)
    return LocalSource(
        Options(
            cli_path=choice.current(version=False).path,
            env=choice.child_environment(),
            model=model,
            permission_mode=mode,
            setting_sources=[one for one in sources.split(",") if one],  # pyright: ignore[reportArgumentType] - checked
            allow_dangerously_skip_permissions=bypass,
        )
    )


# Sessions of a server


async def _serve_sessions_of(address: str, data: Path | None, **choices: str | None) -> None:
    from handrail.acp.editors.served import ServerSource
    from handrail.bridge_client.connection import BridgeConnection
    from handrail.cli.starting import folder_of

    folder = folder_of(data)
    connection = BridgeConnection(await _link(address, folder))
    connecting = asyncio.create_task(connection.run())
    try:
        await _serve(ServerSource(connection, **choices))
    finally:
        if connecting.done() and TOKEN not in os.environ:  # refused: the next start logs in again
            (folder / TOKEN_FILE).unlink(missing_ok=True)
        connecting.cancel()
        await asyncio.wait([connecting])


async def _link(address: str, folder: Path) -> ServerLink:
    """The way to a server: with HANDRAIL_TOKEN, or on this machine with a device that is made for editors."""
    from handrail.bridge_client.server_link import ServerLink

    if token := os.environ.get(TOKEN, ""):
        return ServerLink(address, token)
    from handrail.bridge.errors import ServerUnreachable
    from handrail.bridge.private_files import read_private, write_private
    from handrail.bridge.web.running import come_in, known_by, running_address

    if running_address(folder) != address.replace("//localhost", "//127.0.0.1"):
        raise ServerUnreachable(
            f"no server is running in {folder} at {address}; start it with `handrail serve`, or set {TOKEN}"
        )
    path = folder / TOKEN_FILE
    if not read_private(path):
        async with come_in(folder, "handrail acp") as client:
            answer = await client.post("/api/devices", json={"name": "Editor", "scopes": SCOPES})
            answer.raise_for_status()
        write_private(path, answer.json()["token"])
    return ServerLink(address, read_private(path), tls=known_by(folder))
