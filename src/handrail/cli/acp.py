"""`handrail acp`: sessions in an editor that speaks the Agent Client Protocol."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

Cli = Annotated[
    str, typer.Option("--cli", metavar="CLI", help="claude, agent or a path; else as `handrail run` chooses.")
]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="The model.")]
Mode = Annotated[str | None, typer.Option(metavar="MODE", help="The permission mode of new sessions: default, plan, …")]
Sources = Annotated[
    str, typer.Option(metavar="LIST", help="Settings to load, of user,project,local. A folder's own can run commands.")
]
Dangerous = Annotated[bool, typer.Option("--allow-bypass", help="Offer the mode that runs everything unasked.")]


@app.command()
def acp(
    cli: Cli = "",
    model: Model = None,
    permission_mode: Mode = None,
    setting_sources: Sources = "user,project,local",
    allow_bypass: Dangerous = False,  # noqa: FBT002 - typer's way to declare a flag
) -> None:
    """Sessions in an editor: an agent of the Agent Client Protocol on standard input and output.

    The editor starts it and sends requests; a person has no use for it in a terminal.

    \b
    Example, in the settings of Zed:
      "agent_servers": {"Handrail": {"command": "handrail", "args": ["acp"]}}
    """
    from handrail.acp.editors.agent import EditorAgent
    from handrail.client.errors import HandrailError
    from handrail.client.options import Options
    from handrail.model_access.choice import CliChoice
    from handrail.transport.stdio import StdioTransport

    if sys.stdin.isatty():
        print("handrail acp: started by an editor, it speaks JSON-RPC on standard input and output", file=sys.stderr)
    sources = [source for source in setting_sources.split(",") if source]
    try:
        choice = CliChoice(cli)
        options = Options(
            cli_path=choice.current(version=False).path,
            env=choice.child_environment(),
            model=model,
            permission_mode=permission_mode,
            setting_sources=sources,  # pyright: ignore[reportArgumentType] - checked by Options
            allow_dangerously_skip_permissions=allow_bypass,
        )
    except HandrailError as error:
        print(f"handrail acp: {error}", file=sys.stderr)
        raise typer.Exit(2) from None

    async def serve() -> None:
        await EditorAgent(StdioTransport(), options).run()

    asyncio.run(serve())
