"""Flags that take more thought than `arguments` gives them, and the help. In: the table of flags. Out: a parser.

argparse takes long to load, and hosts send nothing that needs it.
"""

from __future__ import annotations

import argparse
import re
from typing import Any, Final, NoReturn

from handrail.agent.arguments import FLAGS
from handrail.agent.errors import Refused

__all__ = ["parser"]

_KINDS: Final[dict[str, dict[str, Any]]] = {
    "switch": {"action": "store_true"},
    "list": {"action": "extend", "nargs": "+"},
    "names": {"action": "extend", "nargs": "+"},
    "optional": {"nargs": "?", "const": ""},
    "int": {"type": int},
    "float": {"type": float},
    "value": {},
}
_EPILOG: Final = """
examples:
  handrail-agent -p "what is in this folder?"
  handrail-agent --output-format stream-json --verbose --input-format stream-json
"""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Of a fixed width: argparse makes one of these for every flag, and to look at the terminal takes long."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=110)


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """In the words that hosts have seen before."""
        unknown = re.match(r"unrecognized arguments: (\S+)", message)
        if unknown:
            message = f"unknown option '{unknown[1]}'"
        choice = re.match(r"argument (\S+): invalid choice: (\S+) \(choose from (.*)\)", message)
        if choice:
            shown = choice[3].replace("'", "")
            message = f"option '{choice[1]}' argument {choice[2]} is invalid. Allowed choices are {shown}."
        raise Refused(f"error: {message}")


def parser() -> Parser:
    """The parser of all flags; it also prints them."""
    found = Parser(
        prog="handrail-agent",
        usage="handrail-agent [options] [prompt]",
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
        found.add_argument(
            *flag.names.split(), dest=flag.field, default=None, help=flag.help or argparse.SUPPRESS, **extra
        )
    found.add_argument("words", nargs="*", metavar="prompt", help="the prompt")
    return found
