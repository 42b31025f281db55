"""Finds the subcommand of `handrail` and runs it. Exit codes: 0 success, 1 failure, 2 usage error."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Sequence

from handrail.platform import exit_without

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "serve": "serve sessions to browsers, phones, editors and programs; prints a link to open",
    "connect": "connect a model: claude with its account, an API key, or a compatible endpoint",
    "agents": "add, list and remove other agents for --cli NAME, such as Gemini CLI or Goose",
    "runner": "run sessions on this machine for the gateways of a cluster",
    "cluster": "set up a cluster of machines, show its status, remove a machine",
    "devices": "list browsers and programs with access to the server, add a program, revoke access",
    "backup": "back up the sessions, devices and keys of the server while it runs",
    "restore": "restore a backup into the data folder of a stopped server",
    "run": "run one prompt in the terminal",
    "acp": "run sessions in an editor that speaks the Agent Client Protocol",
    "sessions": "list, show, search, export, rename and delete the sessions on this machine",
    "record": "record the lines between any SDK and any CLI, in both directions",
    "replay": "play a recording back as the CLI",
    "inspect": "read a recording, compare two, or record the requests of a CLI to the model",
    "permissions": "explain whether a tool may run and why, check cases, list the rules",
    "trust": "show what the files of a folder would run, and accept or revoke it",
    "migrate": "change imports of claude_agent_sdk to handrail.claude_agent_sdk",
    "conform": "check whether an executable speaks the protocol",
    "doctor": "show which CLI, model and keys are found; test a server with web attacks",
    "tour": "play a recorded session in the terminal; needs no account and no network",
}
"""Each subcommand with one line of help; its module is `handrail.cli.NAME` and holds a typer `app`."""

USAGE = """Usage: handrail COMMAND [ARGS]...

Drive, watch, record and replay coding agents that speak the Claude CLI's stream-json protocol.

Commands:
{commands}

Example:
  handrail run "What does this project do?"

`handrail COMMAND --help` shows its options. Exit codes: 0 success, 1 failure, 2 usage error.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line, given without the program's name. Returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage(), end="")
        return 0 if arguments else 2
    if arguments[0] in ("-V", "--version"):
        from importlib.metadata import version

        print(f"handrail {version('handrail')}")
        return 0
    exit_without("groups", f"`handrail {arguments[0][:40]}`")
    name, *rest = arguments
    if name not in COMMANDS:
        print(f"handrail: unknown command {name!r}; `handrail --help` lists the commands", file=sys.stderr)
        return 2
    return _run(name, rest)


def usage() -> str:
    """The help of the whole command."""
    width = max(map(len, COMMANDS))
    return USAGE.format(commands="\n".join(f"  {name:<{width}}  {help}" for name, help in COMMANDS.items()))


def _run(name: str, arguments: list[str]) -> int:
    # Log records of the SDK are for programs; commands print their own messages.
    logging.getLogger("handrail").addHandler(logging.NullHandler())
    try:
        app = importlib.import_module(f"handrail.cli.{name}").app
        code = app(args=arguments, prog_name=f"handrail {name}", standalone_mode=True)
    except ModuleNotFoundError as error:
        package = (error.name or str(error)).partition(".")[0]
        missing = "is missing from this installation" if package == "handrail" else f"needs the package {package}"
        hint = "install handrail again" if package == "handrail" else f"pip install {package}"
        print(f"handrail {name} {missing}: {hint}", file=sys.stderr)
        return 1
    except SystemExit as exit:
        code = exit.code
    except KeyboardInterrupt:
        return 130
    return code if isinstance(code, int) else 0 if code is None else 1
