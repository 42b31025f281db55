"""The argparse parser of all flags, for command lines that `arguments.quickly` cannot read, and for --help.

argparse takes long to load, and hosts do not send anything that needs it.
"""

from __future__ import annotations

import argparse
import re
from typing import Any, Final, NoReturn

from handrail.agent.errors import Refused
from handrail.agent.flags import FLAGS

__all__ = ["parser"]


def _whole_number(text: str) -> int:
    """A number without its decimals, as the CLI reads `1.5`."""
    return int(float(text))


_KINDS: Final[dict[str, dict[str, Any]]] = {
    "switch": {"action": "store_true"},
    "list": {"action": "extend", "nargs": "+"},
    "names": {"action": "extend", "nargs": "+"},
    "optional": {"nargs": "?", "const": ""},
    "int": {"type": _whole_number},
    "float": {"type": float},
    "value": {},
}
_EPILOG: Final = """
examples:
  handrail-agent -p "what is in this folder?"
  handrail-agent --output-format stream-json --verbose --input-format stream-json
  handrail-agent mcp --help
"""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Has a fixed width: argparse makes a formatter for every flag, and asking the terminal each time takes long."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=110)


class Parser(argparse.ArgumentParser):
    """Raises Refused with the texts of the CLI instead of exiting."""

    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"unrecognized arguments: (\S+)", message)
        if unknown:
            message = f"unknown option '{unknown[1]}'"
        choice = re.match(r"argument (\S+): invalid choice: (\S+) \(choose from (.*)\)", message)
        if choice:
            shown = choice[3].replace("'", "")
            message = f"option '{choice[1]}' argument {choice[2]} is invalid. Allowed choices are {shown}."
        number = re.match(r"argument (\S+): invalid (?:_whole_number|float) value: (.*)", message)
        if number:
            message = f"option '{number[1]}' argument {number[2]} is invalid. must be a number"
        raise Refused(f"error: {message}")


def parser() -> Parser:
    """Make the parser; it also formats the help."""
    found = Parser(
        prog="handrail-agent",
        usage="handrail-agent [options] [prompt]\n       handrail-agent mcp|plugin|agents|doctor [options]",
        description="An agent that speaks the stream-json and control protocol of the Claude CLI.",
        epilog=_EPILOG,
        allow_abbrev=False,
        add_help=False,
        formatter_class=_Help,
    )
    for flag in FLAGS:
        extra: dict[str, Any] = dict(_KINDS[flag.kind])
        if flag.choices:
            extra["choices"] = flag.choices
        if flag.kind != "switch":
            extra["metavar"] = "VALUE"
        found.add_argument(*flag.names.split(), dest=flag.dest, default=None, help=flag.help, **extra)
    found.add_argument("words", nargs="*", metavar="prompt", help="the prompt")
    return found
