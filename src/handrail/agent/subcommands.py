"""Sub-commands of the CLI: `mcp`, `plugin list` and `agents --json`. The others are refused with an error.

No sub-command starts a session, and none reaches the model.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, cast

from handrail.agent.arguments import Arguments
from handrail.agent.errors import Refused
from handrail.agent.mcp.config import ConfigError, ServerConfig, read_config
from handrail.agent.mcp.content import clean
from handrail.agent.mcp.hub import McpHub
from handrail.agent.mcp.registry import SCOPES, Registry, Scope
from handrail.agent.session import Session

__all__ = ["run_subcommand"]

JsonObject = dict[str, Any]
Run = Callable[["_Context", argparse.Namespace], int]
HEALTH_LIMIT: Final = 30.0
_SCOPE_WORDS: Final = {
    "local": "Local config (private to you in this project)",
    "project": "Project config (shared via .mcp.json)",
    "user": "User config (available in all your projects)",
}


class _Context:
    """Where a sub-command runs."""

    def __init__(self, environment: Mapping[str, str], cwd: str) -> None:
        self.environment, self.cwd = environment, cwd
        self.registry = Registry(environment, cwd)

    def session(self) -> Session:
        return Session(Arguments(), self.environment, self.cwd)


def run_subcommand(words: Sequence[str], environment: Mapping[str, str], cwd: str) -> int:
    """Run a sub-command and return its exit code. Raises Refused."""
    cut = list(words).index("--") if "--" in words else len(words)
    given = _parser().parse_args(list(words[:cut]))
    given.rest = list(words[cut + 1 :])
    return given.run(_Context(environment, cwd), given)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(f"error: {message}\nRun `{self.prog} --help` for the usage.")


def _parser() -> _Parser:
    parser = _Parser(prog="handrail-agent", allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_mcp(commands.add_parser("mcp", help="MCP servers", allow_abbrev=False))
    for name in ("plugin", "plugins"):
        _add_plugin(commands.add_parser(name, help="plugins", allow_abbrev=False))
    agents = commands.add_parser("agents", help="list background sessions", allow_abbrev=False)
    agents.add_argument("--json", action="store_true", help="as JSON")
    agents.set_defaults(run=_list_background_sessions)
    for name, instead in _UNSUPPORTED.items():
        command = commands.add_parser(
            name, help="not supported", description=f"Not supported by handrail-agent: {instead}.", allow_abbrev=False
        )
        command.add_argument("words", nargs="*", help=argparse.SUPPRESS)
        command.set_defaults(run=_refuse(name, instead))
    return parser


_HOSTED: Final = "it needs Anthropic's hosted service"
_BACKGROUND: Final = "background sessions are not supported; run `handrail serve` for sessions that keep running"
_UNSUPPORTED: Final = {
    "attach": _BACKGROUND,
    "auth": "set ANTHROPIC_API_KEY, or the setting apiKeyHelper",
    "auto-mode": "the mode auto cannot be configured",
    "doctor": "run `handrail doctor`",
    "gateway": _HOSTED,
    "import": "copy the settings by hand",
    "install": "install Handrail with pip",
    "kill": _BACKGROUND,
    "logs": _BACKGROUND,
    "purge": "run `handrail sessions`",
    "respawn": _BACKGROUND,
    "rm": _BACKGROUND,
    "setup-token": "set ANTHROPIC_API_KEY",
    "stop": _BACKGROUND,
    "ultrareview": _HOSTED,
    "update": "update Handrail with pip",
    "upgrade": "update Handrail with pip",
}
"""Sub-commands of the CLI that are refused, and what to do instead."""
_MCP_REFUSED: Final = ("add-from-claude-desktop", "login", "logout", "reset-project-choices", "serve")
_PLUGIN_REFUSED: Final = (
    *("configure", "details", "disable", "enable", "eval", "init", "install", "marketplace", "prune", "tag"),
    *("uninstall", "update", "validate"),
)


def _refuse(name: str, instead: str) -> Run:
    def refuse(context: _Context, given: argparse.Namespace) -> int:
        raise Refused(f"error: '{name}' is not supported by handrail-agent: {instead}")

    return refuse


# mcp


def _add_mcp(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add = commands.add_parser("add", help="add a server", allow_abbrev=False)
    _add_scope(add)
    add.add_argument("-t", "--transport", choices=("stdio", "sse", "http"), help="how the server is reached")
    add.add_argument("-e", "--env", action="extend", nargs="+", default=[], metavar="KEY=VALUE", help="variables")
    add.add_argument("-H", "--header", action="extend", nargs="+", default=[], metavar="NAME: VALUE", help="headers")
    add.add_argument("name")
    add.add_argument("words", nargs="*", metavar="command|url", help="a URL, or a command with its arguments after --")
    add.set_defaults(run=_add_server)
    add_json = commands.add_parser("add-json", help="add a server as JSON", allow_abbrev=False)
    _add_scope(add_json)
    add_json.add_argument("name")
    add_json.add_argument("json")
    add_json.set_defaults(run=_add_json)
    remove = commands.add_parser("remove", help="remove a server", allow_abbrev=False)
    remove.add_argument("-s", "--scope", choices=SCOPES)
    remove.add_argument("name")
    remove.set_defaults(run=_remove_server)
    listing = commands.add_parser("list", help="list the servers and whether they can be reached", allow_abbrev=False)
    listing.set_defaults(run=_list_servers)
    get = commands.add_parser("get", help="show a server", allow_abbrev=False)
    get.add_argument("name")
    get.set_defaults(run=_show_server)
    for name in _MCP_REFUSED:
        command = commands.add_parser(name, help="not supported", allow_abbrev=False)
        command.add_argument("words", nargs="*", help=argparse.SUPPRESS)
        command.set_defaults(run=_refuse(f"mcp {name}", "add servers with `mcp add`"))


def _add_scope(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-s", "--scope", choices=SCOPES, default="local", help="where the server is written (default: local)"
    )


def _add_server(context: _Context, given: argparse.Namespace) -> int:
    words: list[str] = [*given.words, *given.rest]
    if not words:
        raise Refused("error: missing required argument 'commandOrUrl'")
    transport = given.transport or "stdio"
    if transport == "stdio":
        if given.header:
            raise Refused("Error: --header can only be used with --transport http or sse")
        entry: JsonObject = {"type": "stdio", "command": words[0], "args": words[1:], "env": _pairs(given.env, "=")}
        shown = f"with command: {' '.join(words)}"
    else:
        if words[1:] or given.env:
            raise Refused(f"Error: a server of type {transport} takes no arguments and no --env")
        headers = _pairs(given.header, ":")
        entry = {"type": transport, "url": words[0], **({"headers": headers} if headers else {})}
        shown = f"with URL: {words[0]}"
    _write(context, given.scope, given.name, entry)
    print(f"Added {transport} MCP server {given.name} {shown} to {given.scope} config")
    print(f"File modified: {_file(context.registry, given.scope)}")
    return 0


def _add_json(context: _Context, given: argparse.Namespace) -> int:
    try:
        entry: Any = json.loads(given.json)
    except (ValueError, RecursionError) as error:
        raise Refused(f"Error: Invalid configuration: not JSON: {error}") from None
    if not isinstance(entry, dict):
        raise Refused("Error: Invalid configuration: it must be an object")
    server = cast("JsonObject", entry)
    _write(context, given.scope, given.name, server)
    print(f"Added {server.get('type', 'stdio')} MCP server {given.name} to {given.scope} config")
    return 0


def _write(context: _Context, scope: Scope, name: str, entry: JsonObject) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise Refused(
            f"Invalid name {clean(name, 80)}. Names can only contain letters, numbers, hyphens, and underscores."
        )
    try:
        # Variables are expanded when a session starts; here any value will do.
        read_config(entry, _AnyVariable(context.environment), scope="project" if scope == "project" else "dynamic")
    except ConfigError as error:
        raise Refused(f"Error: Invalid configuration: {error}") from None
    context.registry.add(scope, name, entry)


class _AnyVariable(dict[str, str]):
    """An environment in which every variable is set."""

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key) or default or "x"


def _pairs(texts: Sequence[str], mark: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition(mark)
        if not separator or not name.strip():
            example = "KEY=value" if mark == "=" else '"Name: value"'
            raise Refused(f"Error: {clean(text, 80)!r} is not of the form {example}")
        found[name.strip()] = value.strip() if mark == ":" else value
    return found


def _file(registry: Registry, scope: Scope) -> str:
    return registry.path(scope) + (f" [project: {registry.folder}]" if scope == "local" else "")


def _remove_server(context: _Context, given: argparse.Namespace) -> int:
    registry, name = context.registry, given.name
    found: list[Scope] = [scope for scope in SCOPES if name in registry.servers(scope)]
    if not given.scope and not found:
        raise _unknown(name)
    if not given.scope and len(found) > 1:
        choices = "\n".join(f'  handrail-agent mcp remove "{name}" -s {scope}' for scope in found)
        raise Refused(f'MCP server "{name}" exists in multiple scopes. To remove it from one, use:\n{choices}')
    scope: Scope = given.scope or found[0]
    registry.remove(scope, name)
    print(f"Removed MCP server {name} from {scope} config")
    print(f"File modified: {_file(registry, scope)}")
    return 0


def _unknown(name: str) -> Refused:
    return Refused(f'No MCP server named "{clean(name, 80)}". Run `handrail-agent mcp add` to add one.')


def _list_servers(context: _Context, given: argparse.Namespace) -> int:
    weakest_first: tuple[Scope, ...] = SCOPES[::-1]
    servers: dict[str, tuple[Scope, JsonObject]] = {}
    for scope in weakest_first:
        servers |= {name: (scope, entry) for name, entry in _servers(context, scope).items()}
    if not servers:
        print("No MCP servers configured. Use `handrail-agent mcp add` to add a server.")
        return 0
    print("Checking MCP server health...\n", flush=True)
    states = _health(context, servers)
    for name, (_, entry) in servers.items():
        print(f"{clean(name, 80)}: {_described(context, entry)} - {states[name]}")
    return 0


def _show_server(context: _Context, given: argparse.Namespace) -> int:
    name: str = given.name
    scope: Scope | None = next((scope for scope in SCOPES if name in _servers(context, scope)), None)
    if scope is None:
        raise _unknown(name)
    entry = _servers(context, scope)[name]
    print(f"{name}:\n  Scope: {_SCOPE_WORDS[scope]}")
    print(f"  Status: {_health(context, {name: (scope, entry)})[name]}")
    for key in ("type", "command", "url"):
        if entry.get(key):
            print(f"  {'URL' if key == 'url' else key.capitalize()}: {clean(entry[key], 500)}")
    if isinstance(args := entry.get("args"), list):
        print(f"  Args: {clean(' '.join(map(str, cast('list[Any]', args))), 2000)}")
    for title, key in (("Environment", "env"), ("Headers", "headers")):
        if isinstance(values := entry.get(key), dict) and values:
            names = ", ".join(clean(one, 80) for one in cast("JsonObject", values))
            print(f"  {title}: {names}")  # only names: values are often secrets
    print(f"\nTo remove this server, run: handrail-agent mcp remove {name} -s {scope}")
    return 0


def _servers(context: _Context, scope: Scope) -> dict[str, JsonObject]:
    return context.registry.servers(scope)


def _config(context: _Context, entry: JsonObject) -> ServerConfig | None:
    try:
        return read_config(entry, _AnyVariable(context.environment))
    except ConfigError:
        return None


def _described(context: _Context, entry: JsonObject) -> str:
    """The command or the address, with variables as they are written."""
    config = _config(context, entry)
    if config is None:
        return "(invalid)"
    if config.kind == "stdio":
        return clean(" ".join([str(entry.get("command")), *map(str, entry.get("args") or ())]), 500)
    return f"{clean(entry.get('url'), 500)} ({config.kind.upper()})"


def _health(context: _Context, servers: Mapping[str, tuple[Scope, JsonObject]]) -> dict[str, str]:
    """Connect to the servers, and return the state of each. Those of an untrusted folder are not started."""
    trusted = context.session().loaded.trusted
    states = dict.fromkeys(servers, "⏸ Pending approval: run `handrail trust`")
    checked = {name: found for name, found in servers.items() if trusted or found[0] != "project"}
    return {**states, **asyncio.run(_connect(context, checked))} if checked else states


async def _connect(context: _Context, servers: Mapping[str, tuple[Scope, JsonObject]]) -> dict[str, str]:
    async def refuse(*_: Any) -> JsonObject:
        return {"action": "cancel"}

    session = context.session()
    hub = McpHub(
        refuse,
        refuse,
        environment=session.child_environment(),
        cwd=context.cwd,
        config_home=session.config_home,
    )
    for name, (scope, entry) in servers.items():
        hub.configure({name: entry}, scope="project" if scope == "project" else "dynamic")
    hub.start()
    try:
        await hub.ready(HEALTH_LIMIT)
        connected = {one["name"]: one["status"] == "connected" for one in hub.servers()}
    finally:
        await hub.close()
    return {name: "✓ Connected" if connected.get(name) else "✗ Failed to connect" for name in servers}


# plugin, agents


def _add_plugin(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the plugins", allow_abbrev=False)
    listing.add_argument("--json", action="store_true", help="as JSON")
    listing.set_defaults(run=_list_plugins)
    for name in _PLUGIN_REFUSED:
        command = commands.add_parser(name, help="not supported", allow_abbrev=False)
        command.add_argument("words", nargs="*", help=argparse.SUPPRESS)
        command.set_defaults(run=_refuse(f"plugin {name}", "plugins are loaded from folders with --plugin-dir"))


def _list_plugins(context: _Context, given: argparse.Namespace) -> int:
    if given.json:
        print("[]")
    else:
        print("No plugins installed. Plugins are loaded from folders with --plugin-dir.")
    return 0


def _list_background_sessions(context: _Context, given: argparse.Namespace) -> int:
    if not given.json:
        raise Refused(f"error: 'agents' is not supported by handrail-agent: {_BACKGROUND}")
    print("[]")
    return 0


SUBCOMMAND_STATES: Final = {
    **dict.fromkeys(_UNSUPPORTED, "refused"),
    **{f"mcp {name}": "works" for name in ("add", "add-json", "get", "list", "remove")},
    **{f"mcp {name}": "refused" for name in _MCP_REFUSED},
    "plugin list": "works",
    "agents --json": "works",
    "agents": "refused",
    **{f"plugin {name}": "refused" for name in _PLUGIN_REFUSED},
}
"""For the reference in docs/guides/agent.md."""
