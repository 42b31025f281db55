"""`handrail agents`: other agents, which speak the Agent Client Protocol, for `--cli NAME`."""

from __future__ import annotations

import shlex
import shutil
import sys
from typing import Annotated, Any, NoReturn

import msgspec
import typer

from handrail.cli.printable import printable
from handrail.cli.terminal import closed_pipe_ends_quietly

__all__ = ["app"]

app = typer.Typer(
    help="Add, list and remove agents that speak the Agent Client Protocol (ACP).",
    epilog="Example: handrail agents add gemini -- gemini --acp",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name to use with --cli.")]


@app.command()
def add(
    name: Name,
    command: Annotated[list[str], typer.Argument(metavar="-- CMD...", help="The command that speaks ACP.")],
    variables: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="VARIABLE", help="An environment variable to pass to it; can be repeated."),
    ] = None,
) -> None:
    """Add an agent, or replace the one with this name.

    \b
    Example:
      handrail agents add gemini --env GEMINI_API_KEY -- gemini --acp
      handrail serve --cli gemini
    """
    from handrail.model_access.acp_agents import AcpAgent, InvalidAgent, add_agent

    try:
        path = add_agent(name, AcpAgent(command, variables or []))
    except InvalidAgent as error:
        _fail(error)
    print(f"added {name} to {path}; use it with --cli {name}")
    if shutil.which(command[0]) is None:
        print(f"{printable(command[0])} is not on PATH yet", file=sys.stderr)


@app.command("list")
def list_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,  # noqa: FBT002
) -> None:
    """List the added agents, and known ones with whether they are installed.

    \b
    Example:
      handrail agents list
    """
    from handrail.model_access.acp_agents import InvalidAgent

    try:
        rows = _rows()
    except InvalidAgent as error:
        _fail(error)
    with closed_pipe_ends_quietly():
        if as_json:
            print(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
            return
        for row in rows:
            print(f"{row['name']:<14} {row['state']:<14} {printable(shlex.join(row['command']))}")


@app.command()
def remove(name: Name) -> None:
    """Remove an agent that was added. Its program and its sessions stay.

    \b
    Example:
      handrail agents remove gemini
    """
    from handrail.model_access.acp_agents import InvalidAgent, remove_agent

    try:
        remove_agent(name)
    except InvalidAgent as error:
        _fail(error)
    print(f"removed {name}")


def _rows() -> list[dict[str, Any]]:
    from handrail.model_access.acp_agents import KNOWN, added_agents, installed_agents

    added, installed = added_agents(), installed_agents()
    states = {name: "installed" if name in installed else "not installed" for name in KNOWN}
    states |= dict.fromkeys(added, "added")
    return [
        {"name": name, "state": states[name], **msgspec.to_builtins(added.get(name) or KNOWN[name])}
        for name in sorted(states, key=lambda name: (states[name], name))
    ]


def _fail(error: Exception) -> NoReturn:
    print(f"handrail agents: {error}", file=sys.stderr)
    raise typer.Exit(1) from None
