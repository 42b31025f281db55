"""Writes the reference pages of the documentation site: `python -m tools.reference_pages FOLDER`.

The command line comes from typer, the native protocol from its JSON Schema, the SDK from the public names of
`handrail`, whose docstrings MkDocs reads.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from typer.main import get_command

import handrail
from handrail.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[1]


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in PAGES.items():
        (folder / name).write_text("\n".join(lines()) + "\n", encoding="utf-8")


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


# The command line


def commands() -> Iterator[str]:
    yield "# Command line"
    yield "\nEvery command prints this with `--help`. Exit codes: 0 success, 1 failure, 2 usage error."
    yield "The flags of `handrail-agent` are in [its guide](../guides/agent.md)."
    for name in COMMANDS:
        command = get_command(importlib.import_module(f"handrail.cli.{name}").app)
        yield from command_lines(f"handrail {name}", command, level=2)


def command_lines(name: str, command: click.Command, *, level: int) -> Iterator[str]:
    """A command and its subcommands."""
    yield f"\n{'#' * level} {name}\n"
    text, _, examples = (command.help or "").partition("Example:")
    yield text.replace("\b", "").strip()
    if examples:
        yield "\n```sh\n" + "\n".join(line.strip() for line in examples.strip().splitlines()) + "\n```"
    if rows := [row for parameter in command.params if (row := parameter_row(parameter))]:
        yield "\n| | |\n|---|---|"
        yield from rows
    for part, found in getattr(command, "commands", {}).items():
        yield from command_lines(f"{name} {part}", found, level=level + 1)


def parameter_row(parameter: Any) -> str:
    """An option or argument; "" for hidden ones and --help."""
    if getattr(parameter, "hidden", False) or parameter.name == "help":
        return ""
    names = ", ".join(parameter.opts) if parameter.param_type_name == "option" else parameter.human_readable_name
    return f"| `{cell(names)}` | {cell(getattr(parameter, 'help', None) or '')} |"


# The SDK


def sdk() -> Iterator[str]:
    yield "# SDK"
    yield "\nThe public names of `handrail`, from their docstrings. [The guide](../guides/sdk.md) shows their use.\n"
    for name in handrail.__all__:
        value = getattr(handrail, name)
        if callable(value) and getattr(value, "__module__", "").startswith("handrail."):
            yield f"::: {value.__module__}.{getattr(value, '__name__', name)}\n"


# The native protocol


def native_protocol() -> Iterator[str]:
    schema = json.loads((ROOT / "docs" / "native-protocol.schema.json").read_text(encoding="utf-8"))
    yield "# Native protocol"
    yield "\nThe messages and commands of `handrail.v1`, from [its JSON Schema](../native-protocol.schema.json)."
    yield "How they are used: [the protocol](../protocol.md#the-native-protocol-handrailv1)."
    for name, shape in sorted(schema["$defs"].items()):
        yield f"\n## {name} {{ #{name.lower()} }}\n"
        yield cell(shape.get("description", ""))
        if properties := shape.get("properties"):
            yield "\n| field | type | |\n|---|---|---|"
            for field, form in properties.items():
                needed = "required" if field in shape.get("required", ()) else ""
                yield f"| `{field}` | {type_of(form)} | {needed} |"


def type_of(form: Any) -> str:
    """A JSON Schema in a few words."""
    if not isinstance(form, dict):
        return "any"
    if "$ref" in form:
        name = form["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in form:
        return ", ".join(f"`{json.dumps(one)}`" for one in form["enum"])
    if "const" in form:
        return f"`{json.dumps(form['const'])}`"
    if options := form.get("anyOf") or form.get("oneOf"):
        return " or ".join(map(type_of, options))
    if form.get("type") == "array":
        return f"list of {type_of(form.get('items'))}"
    return str(form.get("type", "any"))


# Configuration


def configuration() -> Iterator[str]:
    yield "# Configuration"
    yield "\nHandrail has no configuration file. A server is configured by [its options](../guides/serve.md#options),"
    yield "a session by [the options of the SDK](../guides/options.md) and the settings files of the CLI, the agent"
    yield "also by the variables in [its guide](../guides/agent.md).\n"
    yield "| place | content |\n|---|---|"
    for place, content in PLACES.items():
        yield f"| `{place}` | {content} |"
    yield "\n::: handrail.bridge.configuration.Configuration"


PLACES = {
    "~/.handrail/bridge": "the data folder of `handrail serve`; `--data` names another",
    "~/.config/handrail/model.json": "the connected model and its key; `handrail connect --forget` deletes it",
    "~/.claude, .claude": "settings, trust, transcripts and memory files, shared with the CLI",
    "HANDRAIL_CLI": "the CLI: `claude`, `agent` or a path; `--cli` overrides it",
    "HANDRAIL_TRUST_FOLDER": "`1`: the agent trusts the folder for one session",
    "HANDRAIL_TOKEN": "the token with which `handrail doctor --attack` logs in to a server on another machine",
}

PAGES = {
    "commands.md": commands,
    "sdk.md": sdk,
    "native-protocol.md": native_protocol,
    "configuration.md": configuration,
}

if __name__ == "__main__":
    main(Path(sys.argv[1]))
