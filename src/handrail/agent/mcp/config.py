"""How a server is reached. In: one entry of `mcpServers` as somebody wrote it. Out: ServerConfig, or ConfigError.

`${VAR}` and `${VAR:-otherwise}` stand for variables of the environment. What a project's own files say may not name the
keys of the account: a server's address is a way out of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, cast
from urllib.parse import urlsplit

from msgspec import Struct

__all__ = ["ConfigError", "ServerConfig", "https_address", "read_config", "server_environment"]

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
"""What of the environment a server gets unasked. No key of the account is among it."""
KEYS: Final = frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"})
OF_A_PROJECT: Final = frozenset({"project", "local", "projectSettings", "localSettings"})
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_PLAIN_ADDRESS: Final = re.compile(r"https://[A-Za-z0-9.-]+(?::\d{1,5})?(?:[/?#][A-Za-z0-9\-._~:/?#@!&*+,;=%]*)?")


class ConfigError(ValueError):
    """An entry that cannot be used; the text says which part of it and why."""


class ServerConfig(Struct, frozen=True):
    """How one server is reached: a child with `argv`, an address with `headers`, or the host itself."""

    kind: Kind
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: str = ""
    headers: Mapping[str, str] = {}

    def shown(self) -> JsonObject | None:
        """What a host is told of it: neither variables nor headers, which may hold secrets."""
        if self.kind == "stdio":
            return {"type": "stdio", "command": self.argv[0], "args": list(self.argv[1:])}
        return None if self.kind == "sdk" else {"type": self.kind, "url": self.url}


def read_config(entry: Any, environment: Mapping[str, str], *, scope: str = "dynamic") -> ServerConfig:
    """Check one entry. In: the entry, variables for `${…}`, whose it is. Out: the config; ConfigError otherwise."""
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
        arguments = [expand(item, "args") for item in _list(given, "args")]
        return ServerConfig(
            "stdio", (expand(_text(given, "command"), "command"), *arguments), _map(given, "env", expand)
        )
    url = expand(_text(given, "url"), "url")
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise ConfigError("url must be an http or https address")
    return ServerConfig(kind, url=url, headers=_map(given, "headers", expand))


class _Expansion:
    """Puts variables in. A variable that is not set and has no default is an error, not an empty text."""

    def __init__(self, environment: Mapping[str, str], *, of_a_project: bool) -> None:
        self._environment, self._of_a_project = environment, of_a_project

    def __call__(self, text: Any, where: str) -> str:
        if not isinstance(text, str) or "\0" in text:
            raise ConfigError(f"{where} must be text")
        return _VARIABLE.sub(lambda found: self._value(found[1], found[2], where), text)

    def _value(self, name: str, otherwise: str | None, where: str) -> str:
        if self._of_a_project and name in KEYS:
            raise ConfigError(f"{where} asks for {name}, which a project's own files may not name")
        value = self._environment.get(name) or otherwise
        if value is None:
            raise ConfigError(f"{where} needs the variable {name}, which is not set")
        return value


def _text(given: JsonObject, key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(
            f"{key}: a text is needed here, and there is " + ("none" if key not in given else "none in it")
        )
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


def server_environment(config: ServerConfig, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of a server's process: a small base of ours, and what its entry gives it."""
    return {**{name: value for name, value in environment.items() if name in BASE}, **config.env}


def https_address(text: object) -> str:
    """An address that may be shown as a link: https, and nothing in it that a shell or a page might obey; else ""."""
    if not isinstance(text, str) or len(text) > 2048 or not _PLAIN_ADDRESS.fullmatch(text):
        return ""
    return text
