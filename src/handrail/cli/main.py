"""Finds the subcommand of `handrail` and runs it. Exit codes: 0 success, 1 failure, 2 usage error."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Sequence

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "serve": "sessions for browsers, phones and programs: opens a link, runs until Ctrl-C",
    "connect": "the model of your sessions: an API key, an endpoint, or claude with its account",
    "agents": "other agents for --cli NAME, which speak the Agent Client Protocol: add, list, remove",
    "runner": "sessions on this machine, for the gateways of a cluster",
    "cluster": "many machines: files for NATS, status of the cluster, removal of a machine",
    "devices": "access to the running server: list devices, add a program, revoke",
    "backup": "write a backup of the server's sessions, devices and keys while it runs",
    "restore": "put a backup into the data folder of a server that is stopped",
    "run": "one prompt in the terminal: streamed text, tools, permission questions, cost",
    "acp": "sessions in an editor that speaks the Agent Client Protocol",
    "sessions": "list, show, search, export, rename, delete the sessions on this machine",
    "record": "record the wire between any SDK and any CLI, both directions, losslessly",
    "replay": "play a recording back as the CLI",
    "inspect": "read a recording, compare two, or record what a CLI sends to the model",
    "permissions": "what may run here and why: explain a tool, check cases, list the rules",
    "trust": "what a folder's own files would run, and whether they may",
    "migrate": "change imports of claude_agent_sdk to handrail.claude_agent_sdk",
    "conform": "does an executable speak the protocol? what agrees, what drifted",
    "doctor": "what is installed, which CLI, which keys are present",
    "tour": "a short tour in the terminal, with no account and no network",
}
"""Each subcommand with one line of help; its module is `handrail.cli.NAME` and holds a typer `app`."""

USAGE = """Usage: handrail COMMAND [ARGS]...

Drive, watch, record and replay coding agents that speak the Claude CLI's stream-json protocol.

Commands:
{commands}

Example:
  handrail run "What does this project do?"

`handrail COMMAND --help` tells more. Exit codes: 0 success, 1 failed, 2 usage.
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
    name, *rest = arguments
    if name not in COMMANDS:
        print(f"handrail: no command {name!r}; `handrail --help` lists them", file=sys.stderr)
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
        missing = "is not part of this installation" if package == "handrail" else f"needs the package {package}"
        hint = "install handrail again" if package == "handrail" else f"pip install {package}"
        print(f"handrail {name} {missing}: {hint}", file=sys.stderr)
        return 1
    except SystemExit as exit:
        code = exit.code
    except KeyboardInterrupt:
        return 130
    return code if isinstance(code, int) else 0 if code is None else 1
