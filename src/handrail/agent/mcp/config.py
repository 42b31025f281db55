"""Configuration of MCP servers: entries of `mcpServers`, from files, the command line or the host.

`${VAR}` and `${VAR:-default}` are replaced from the environment. Files of a project may not name the variables that
hold keys of the account, because a server's address can carry them off the machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from handrail.agent.errors import Refused
from handrail.errors import CallerError

__all__ = [
    "ConfigError",
    "OAuthConfig",
    "ServerConfig",
    "https_address",
    "read_config",
    "read_configs",
    "server_environment",
]

JsonObject = dict[str, Any]
Kind = Literal["stdio", "http", "sse", "sdk"]

KINDS: Final[Mapping[str, Kind]] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "sse": "sse",
    "sdk": "sdk",
}
BASE: Final = frozenset(
    "HOME LANG LANGUAGE LC_ALL LC_CTYPE LOGNAME PATH SHELL TERM TMPDIR TZ USER XDG_CACHE_HOME XDG_CONFIG_HOME"
    " XDG_DATA_HOME XDG_RUNTIME_DIR HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy"
    " SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS SYSTEMROOT".split()
)
"""Variables that every server process inherits. None of them holds a key of the account."""
KEYS: Final = frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"})
OF_A_PROJECT: Final = frozenset({"project", "local", "projectSettings", "localSettings"})
FILE_LIMIT: Final = 2 * 1024 * 1024
_INVALID: Final = "Error: Invalid MCP configuration:\n"
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_PLAIN_ADDRESS: Final = re.compile(r"https://[A-Za-z0-9.-]+(?::\d{1,5})?(?:[/?#][A-Za-z0-9\-._~:/?#@!&*+,;=%]*)?")

_SCOPES: Final = re.compile(r"[\x20-\x21\x23-\x5b\x5d-\x7e]*")


class ConfigError(CallerError, ValueError):
    """An invalid entry; the text names the field and the reason."""


class OAuthConfig(Struct, frozen=True):
    """The `oauth` object of an entry: a client that was registered by hand, the port of its redirect address, and the
    scopes to ask for, separated by spaces.

    `unsupported` lists the other keys. They would change how the sign-in works, so a sign-in is refused if there are
    any; the server can still be used without one.
    """

    client_id: str = ""
    callback_port: int = 0
    scopes: str = ""
    unsupported: tuple[str, ...] = ()


class ServerConfig(Struct, frozen=True):
    """How one server is reached: a child process (`argv`, `env`), an address (`url`, `headers`), or the host itself."""

    kind: Kind
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: str = ""
    headers: Mapping[str, str] = {}
    oauth: OAuthConfig = OAuthConfig()
    unset: tuple[str, ...] = ()
    """Variables without a value or a default. Their text stays as it is written."""

    @property
    def signs_in(self) -> bool:
        """Whether the agent can sign in to it. A configured `Authorization` header takes the place of a sign-in."""
        return self.kind in ("http", "sse") and not any(name.lower() == "authorization" for name in self.headers)

    def shown(self) -> JsonObject | None:
        """The part that the host may see: neither variables nor headers, which may hold secrets."""
        if self.kind == "stdio":
            return {"type": "stdio", "command": self.argv[0], "args": list(self.argv[1:])}
        return None if self.kind == "sdk" else {"type": self.kind, "url": self.url}


def read_config(entry: Any, environment: Mapping[str, str], *, scope: str = "dynamic") -> ServerConfig:
    """Check one entry and expand its variables. Raises ConfigError."""
    if not isinstance(entry, dict):
        raise ConfigError("it must be an object")
    given = cast("JsonObject", entry)
    written = given.get("type", "stdio" if "command" in given else "http" if "url" in given else "stdio")
    kind = KINDS.get(written) if isinstance(written, str) else None
    if kind is None:
        raise ConfigError(f"type must be one of stdio, http, sse and sdk, not {str(written)[:40]!r}")
    if kind == "sdk":
        _text(given, "name")
        return ServerConfig("sdk")
    expand = _Expansion(environment, of_a_project=scope in OF_A_PROJECT)
    if kind == "stdio":
        command = expand(_text(given, "command"), "command")
        arguments = [expand(item, "args") for item in _list(given, "args")]
        env = _map(given, "env", expand)
        return ServerConfig("stdio", (command, *arguments), env, unset=tuple(expand.unset))
    url = expand(_text(given, "url"), "url")
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise ConfigError("url must be an http or https address")
    headers, oauth = _map(given, "headers", expand), _oauth(given.get("oauth"), expand)
    return ServerConfig(kind, url=url, headers=headers, oauth=oauth, unset=tuple(expand.unset))


class _Expansion:
    """Replaces variables. An unset variable without a default keeps its text, as in the CLI, and is noted."""

    def __init__(self, environment: Mapping[str, str], *, of_a_project: bool) -> None:
        self._environment, self._of_a_project = environment, of_a_project
        self.unset: dict[str, None] = {}

    def __call__(self, text: Any, where: str) -> str:
        if not isinstance(text, str) or "\0" in text:
            raise ConfigError(f"{where} must be text")
        return _VARIABLE.sub(lambda found: self._value(found[1], found[2], where), text)

    def _value(self, name: str, otherwise: str | None, where: str) -> str:
        if self._of_a_project and name in KEYS:
            raise ConfigError(f"{where} asks for {name}, which a project's own files may not name")
        value = self._environment.get(name) or otherwise
        if value is None:
            self.unset[name] = None
            return f"${{{name}}}"
        return value


def _text(given: JsonObject, key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{key} " + ("is missing" if key not in given else "must be text that is not empty"))
    return value


def _list(given: JsonObject, key: str) -> list[Any]:
    value = given.get(key, [])
    if not isinstance(value, list):
        raise ConfigError(f"{key} must be a list")
    return cast("list[Any]", value)


def _map(given: JsonObject, key: str, expand: _Expansion) -> dict[str, str]:
    value: Any = given.get(key) or {}
    if not isinstance(value, dict):
        raise ConfigError(f"{key} must be an object")
    return {name: expand(item, f"{key}.{name}") for name, item in cast("JsonObject", value).items()}


def _oauth(value: Any, expand: _Expansion) -> OAuthConfig:
    if value is None:
        return OAuthConfig()
    if not isinstance(value, dict):
        raise ConfigError("oauth must be an object")
    given = cast("JsonObject", value)
    client, port = given.get("clientId", ""), given.get("callbackPort", 0)
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port < 65536:
        raise ConfigError("oauth.callbackPort must be a port number")
    others = tuple(sorted(str(key)[:40] for key in given.keys() - {"clientId", "callbackPort", "scopes"}))
    return OAuthConfig(expand(client, "oauth.clientId"), port, _scopes(given.get("scopes", "")), others)


def _scopes(value: Any) -> str:
    """The scopes, given as text or as a list. Raises ConfigError for characters that no scope has (RFC 6749, 3.3)."""
    text = " ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else value
    if not isinstance(text, str) or not _SCOPES.fullmatch(text):
        raise ConfigError("oauth.scopes must be the names of scopes, separated by spaces")
    return " ".join(text.split())


def read_configs(given: Sequence[str], cwd: str) -> dict[str, Any]:
    """The entries of every `--mcp-config`, each a file or JSON; the last entry of a name wins. Raises Refused."""
    servers: dict[str, Any] = {}
    for text in given:
        servers |= _read(text, cwd)
    return servers


def _read(text: str, cwd: str) -> dict[str, Any]:
    try:
        value: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        value = _read_file(os.path.join(cwd, text))
    found = cast("JsonObject", value).get("mcpServers") if isinstance(value, dict) else None
    if not isinstance(found, dict):
        raise Refused(f"{_INVALID}mcpServers: it must be an object of servers by name")
    return cast("dict[str, Any]", found)


def _read_file(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(FILE_LIMIT))
    except FileNotFoundError:
        raise Refused(f"{_INVALID}MCP config file not found: {path}") from None
    except (OSError, msgspec.DecodeError) as error:
        raise Refused(f"{_INVALID}{path}: {error}") from None


def server_environment(config: ServerConfig, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of a server's process: the base, and those of its entry."""
    return {**{name: value for name, value in environment.items() if name in BASE}, **config.env}


def https_address(text: object) -> str:
    """An address that is safe to show as a link: plain https, no characters special to a shell or a page; else ""."""
    if not isinstance(text, str) or len(text) > 2048 or not _PLAIN_ADDRESS.fullmatch(text):
        return ""
    return text
