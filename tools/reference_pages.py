"""Writes the reference pages of the documentation site: `python -m tools.reference_pages FOLDER`.

The command line comes from typer, the native protocol from its JSON Schema, and the SDK from the public names of
`handrail`, whose docstrings MkDocs reads.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from typer.main import get_command

import handrail
from handrail.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[1]


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):  # of pages that were renamed
        old.unlink()
    for name, lines in PAGES.items():
        (folder / name).write_text("\n".join(lines()) + "\n", encoding="utf-8")


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


# The command line

COMMANDS_INTRODUCTION = """# Command line

Every command prints this text with `--help`. Exit codes: 0 for success, 1 for failure, 2 for a usage error, unless
a command lists others. The executable `handrail-agent` has the flags of `claude`; [its guide](../guides/agent.md) lists
them. `handrail-acp` is described in [other agents](../guides/other-agents.md).
"""
EXAMPLES = re.compile(r"^Examples?(, [^:]+)?:", re.MULTILINE)
FLAG = re.compile(r"(?<![\w`-])(--[a-z][a-z-]*)")


def commands() -> Iterator[str]:
    yield COMMANDS_INTRODUCTION
    yield "| command | |\n|---|---|"
    for name, line in COMMANDS.items():
        yield f"| [`handrail {name}`](#handrail-{name}) | {cell(line)} |"
    for name in COMMANDS:
        command = get_command(importlib.import_module(f"handrail.cli.{name}").app)
        yield from command_lines(f"handrail {name}", command, level=2)


def command_lines(name: str, command: click.Command, *, level: int) -> Iterator[str]:
    """A command and its subcommands."""
    yield f"\n{'#' * level} {name}\n"
    text, examples = described(command)
    yield text
    if examples:
        yield "\n```sh\n" + "\n".join(line.strip() for line in examples.splitlines() if line.strip()) + "\n```"
    parameters = list(command.params)
    for kind in ("argument", "option"):
        if rows := [row for one in parameters if one.param_type_name == kind and (row := parameter_row(one))]:
            yield f"\n| {kind} | |\n|---|---|"
            yield from rows
    for part, found in getattr(command, "commands", {}).items():
        yield from command_lines(f"{name} {part}", found, level=level + 1)


def described(command: click.Command) -> tuple[str, str]:
    """The help of a command and its examples."""
    help = f"{command.help or ''}\n\n{getattr(command, 'epilog', None) or ''}".replace("\b", "")
    text, *_, examples = EXAMPLES.split(help, maxsplit=1) if EXAMPLES.search(help) else (help, "")
    return FLAG.sub(r"`\1`", text.strip()), examples


def parameter_row(parameter: Any) -> str:
    """An option or argument; "" for hidden ones and --help."""
    if getattr(parameter, "hidden", False) or parameter.name == "help":
        return ""
    text = FLAG.sub(r"`\1`", getattr(parameter, "help", None) or "")
    if parameter.param_type_name == "argument":
        return f"| `{cell(parameter.human_readable_name)}` | {cell(text)} |"
    names = [f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts]]
    metavar = "" if parameter.is_flag else f" {cell(parameter.metavar or parameter.type.name.upper())}"
    if (default := parameter.default) not in (None, False, "", 0, ()) and not callable(default):
        text += f" Default: `{default}`."
    if parameter.multiple:
        text += " Can be repeated."
    return f"| {', '.join(names)}{metavar} | {cell(text)} |"


# The SDK

SDK_INTRODUCTION = """# SDK

The public names of `handrail`. [The guide](../guides/sdk.md) shows how they are used; messages and content blocks are
on [their own page](messages.md). `handrail.blocking` has `Session`, `Turn` and `query` for programs without `async`,
with the same methods.
"""
MESSAGES_INTRODUCTION = """# Messages and content blocks

Typed views of the lines that the CLI writes. Every view has `raw`, the bytes of the line, and `extra`, the fields that
have no name here. A message of an unknown type is an `UnknownMessage`, a block an `UnknownBlock`.
"""
SDK_GROUPS = {
    "Sessions and turns": "client.session client.turn client.query client.warm client.readers client.usage",
    "Options": "client.options client.find_cli",
    "Permissions and questions": "client.callbacks client.rule_policy schema.permission_types schema.questions",
    "Hooks": "client.hook_callbacks schema.hooks",
    "Tools and MCP servers": "client.mcp_tools client.mcp_servers client.mcp_results",
    "Sessions on disk": "transcripts",
    "Transports": "transport.base",
    "Errors": "client.errors",
}
MESSAGE_GROUPS = {
    "Messages of the conversation": "schema.messages schema.result_message schema.stream_events schema.message_view",
    "Content blocks": "schema.content",
    "Messages about the session": "schema.system_messages",
    "Messages about activity": "schema.activity_messages",
}


def sdk() -> Iterator[str]:
    yield SDK_INTRODUCTION
    yield from groups(SDK_GROUPS)


def messages() -> Iterator[str]:
    yield MESSAGES_INTRODUCTION
    yield from groups(MESSAGE_GROUPS)


def groups(wanted: dict[str, str]) -> Iterator[str]:
    """The names of each group: a list with links, then their documentation."""
    found = {title: list(names_in(modules.split())) for title, modules in wanted.items()}
    yield "| | |\n|---|---|"
    for title, entries in found.items():
        yield f"| {title} | {', '.join(f'[`{name}`][handrail.{module}.{name}]' for module, name in entries)} |"
    for title, entries in found.items():
        yield f"\n## {title}\n"
        for module, name in entries:
            yield f"::: handrail.{module}.{name}\n"


def names_in(modules: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The public names of some modules, each with the module that defines it."""
    for module in modules:
        for name in public_names()[module]:
            value = getattr(handrail, name)
            yield value.__module__.removeprefix("handrail."), getattr(value, "__name__", name)


def public_names() -> dict[str, list[str]]:
    """The names of `handrail.__all__` by module. Raises ValueError if a module is in none of the groups."""
    places: dict[str, str] = vars(handrail)["_PLACES"]
    grouped = " ".join([*SDK_GROUPS.values(), *MESSAGE_GROUPS.values()]).split()
    if forgotten := places.keys() - set(grouped):
        raise ValueError(f"no group of the SDK reference contains {', '.join(forgotten)}; add it in {__file__}")
    return {module: names.split() for module, names in places.items()}


# The native protocol


NATIVE_INTRODUCTION = """# Native protocol

The messages and commands of `handrail.v1`, from [its JSON Schema](../native-protocol.schema.json).
[The protocol](../protocol.md#the-native-protocol-handrailv1) describes how a client uses them.

## Commands

A client sends a command in [ClientCommand](#clientcommand) and gets a [ServerReceipt](#serverreceipt). The device needs
the [scope](../guides/serve.md#scopes).
"""


def native_protocol() -> Iterator[str]:
    schema = json.loads((ROOT / "docs" / "native-protocol.schema.json").read_text(encoding="utf-8"))
    shapes: dict[str, Any] = schema["$defs"]
    sent, received = (reference_names(schema[side]) for side in ("client", "server"))
    fields = {name: reference_names(one["fields"])[0] for name, one in schema["commands"].items()}
    yield NATIVE_INTRODUCTION
    yield "| command | scope | fields |\n|---|---|---|"
    for name, one in schema["commands"].items():
        yield f"| `{name}` | {one['scope']} | [{fields[name]}](#{fields[name].lower()}) |"
    for title, names in {
        "Messages of the client": sent,
        "Messages of the server": received,
        "Fields of commands": sorted(set(fields.values())),
        "Other objects": sorted(shapes.keys() - set(sent) - set(received) - set(fields.values())),
    }.items():
        yield f"\n## {title}"
        for name in names:
            yield from shape_lines(name, shapes[name])


def shape_lines(name: str, shape: dict[str, Any]) -> Iterator[str]:
    """One object of the schema."""
    yield f"\n### {name} {{ #{name.lower()} }}\n"
    yield cell(shape.get("description", ""))
    if properties := shape.get("properties"):
        yield "\n| field | type | |\n|---|---|---|"
        for field, form in properties.items():
            needed = "required" if field in shape.get("required", ()) else default_of(form)
            yield f"| `{field}` | {type_of(form)} | {needed} |"


def default_of(form: Any) -> str:
    default = form.get("default") if isinstance(form, dict) else None
    return "" if default in (None, "", [], {}) else f"default: `{json.dumps(default)}`"


def reference_names(form: dict[str, Any]) -> list[str]:
    """The names of the objects that a schema refers to."""
    options = form.get("anyOf", [form])
    return [option["$ref"].rpartition("/")[2] for option in options]


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


PAGES = {
    "commands.md": commands,
    "sdk.md": sdk,
    "messages.md": messages,
    "native-protocol.md": native_protocol,
}

if __name__ == "__main__":
    main(Path(sys.argv[1]))
