"""The rule by which `run`, `serve`, `runner` and `sessions` choose the CLI and its model.

1. `--cli`, or the variable HANDRAIL_CLI: `claude`, `agent`, the name of an ACP agent, or a path.
2. The model that a person connected: `claude`, or our agent with the key.
3. `claude` if it is installed and signed in.
4. Our agent: with the Messages API if a key is set, else with the Demo script.

Keys and credentials of `claude` are only checked for existence, never read.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Literal, cast

from msgspec import Struct

from handrail.client.errors import CliNotFound, OptionsError
from handrail.client.find_cli import VARIABLE, cli_version, find_cli
from handrail.errors import MachineError
from handrail.installed_programs import find_program
from handrail.model_access.acp_agents import KNOWN, AcpAgent, InvalidAgent, find_agent
from handrail.model_access.acp_agents import VARIABLE as ACP_VARIABLE
from handrail.model_access.stored import InvalidAccess, ModelAccess, forget_access, load_access, save_access
from handrail.settings import config_home

__all__ = ["Cli", "CliChoice", "CliKind", "NoCli", "agent_path", "kind_of", "signed_in", "which_cli"]

CliKind = Literal["claude", "agent", "acp"]
AGENT: Final = "handrail-agent"
ACP: Final = "handrail-acp"
DEMO: Final = "Demo"
VERSION_SECONDS: Final = 1.0
"""A CLI that is slow to report its version must not delay the start of the server."""
KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
CLOUDS: Final = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
PASSED: Final = ("HANDRAIL_SCRIPT", "HANDRAIL_MODEL", ACP_VARIABLE)
"""Variables of this process that our executables need, besides those that the SDK passes to every CLI."""
LARGEST: Final = 8 * 1024 * 1024


class Cli(Struct, frozen=True):
    """The CLI that runs sessions. `model` describes the model behind it, for people; `demo`: it is the Demo script.

    `agent`: the name of the ACP agent behind `handrail-acp`.
    """

    path: str
    kind: CliKind
    version: str = ""
    model: str = ""
    demo: bool = False
    agent: str = ""

    @property
    def name(self) -> str:
        """Its name with its version, if that is known. An ACP agent has only a name: the version is ours."""
        names = {"claude": "claude", "agent": AGENT, "acp": ACP}
        return self.agent or f"{names[self.kind]} {self.version}".rstrip()

    @property
    def shown(self) -> dict[str, Any]:
        """What the page shows of it."""
        return {"kind": self.kind, "name": self.name, "version": self.version, "model": self.model, "demo": self.demo}


class NoCli(MachineError):
    """The requested CLI cannot be used."""


class CliChoice:
    """The CLI and its environment. The stored model is read again for every process, so a change needs no restart.

    `requested`: the value of --cli.
    """

    def __init__(self, requested: str = "", environment: Mapping[str, str] = os.environ) -> None:
        self.requested = requested or environment.get(VARIABLE, "")
        self.environment = environment
        self._fixed: Cli | None = None
        self._this_run: ModelAccess | None = None

    @classmethod
    def fixed(cls, path: str, kind: CliKind = "agent", environment: Mapping[str, str] = os.environ) -> CliChoice:
        """A CLI that was chosen already. No model can be connected to it."""
        choice = cls(path, environment)
        choice._fixed = Cli(path, kind)
        return choice

    @property
    def access(self) -> ModelAccess | None:
        """The model that was connected; None if there is none, or if --cli named another CLI."""
        try:
            found = self._this_run or load_access(self.environment)
        except InvalidAccess:
            return None
        return found if found is not None and self.can_use(found.use) else None

    @property
    def problem(self) -> str:
        """Why the stored model is not used, for people; "" if it is, or if there is none."""
        try:
            load_access(self.environment)
        except InvalidAccess as error:
            return str(error)
        return ""

    @property
    def kept(self) -> bool:
        """Whether the connected model is stored, and not for this run only."""
        return self._this_run is None and self.access is not None

    def can_use(self, use: Literal["claude", "api"]) -> bool:
        """Whether --cli leaves room for this way to a model."""
        if self._fixed is not None:
            return False
        wanted = {"claude": "claude", "api": "agent"}[use]
        return not self.requested or kind_of(self.requested, self.environment) == wanted

    def current(self, *, version: bool = True) -> Cli:
        """The CLI for the next process. `version`: also ask `claude` for its version. Raises NoCli."""
        return self._fixed or which_cli(self.requested, self.environment, self.access, version=version)

    def child_environment(self) -> dict[str, str]:
        """The variables that the CLI needs besides those that the SDK passes to every CLI. It may contain a key."""
        passed = {name: self.environment[name] for name in PASSED if self.environment.get(name)}
        if (agent := _acp_agent(self.requested, self.environment)) is not None:
            wanted = {name: self.environment[name] for name in agent.variables if self.environment.get(name)}
            return {**wanted, ACP_VARIABLE: self.requested}
        return passed | (access.environment() if (access := self.access) is not None else {})

    def connect(self, access: ModelAccess, *, keep: bool) -> None:
        """Use this model from the next process on. `keep`: also after a restart."""
        if keep:
            save_access(access, self.environment)
        self._this_run = None if keep else access

    def disconnect(self) -> None:
        """Forget the connected model."""
        self._this_run = None
        forget_access(self.environment)


def which_cli(
    requested: str = "",
    environment: Mapping[str, str] = os.environ,
    access: ModelAccess | None = None,
    *,
    version: bool = True,
) -> Cli:
    """Choose by `claude`, `agent`, an ACP agent, a path, or "" for the best one. Raises NoCli if it cannot be used."""
    requested = requested or environment.get(VARIABLE, "")
    if access is not None:
        environment = {**environment, **access.environment()}
    if requested == "agent" or (not requested and access is not None and access.use == "api"):
        return _agent(agent_path(), environment)
    if _acp_agent(requested, environment) is not None:
        return Cli(
            _installed(ACP),
            "acp",
            metadata.version("handrail"),
            "the model that it is configured with",
            agent=requested,
        )
    try:
        path = find_cli(None if requested in ("", "claude") else requested, {**environment, VARIABLE: ""})
    except CliNotFound as error:
        if not requested:
            return _agent(agent_path(), environment)
        raise NoCli(f"claude not found in {', '.join(error.looked)}; install it, or use --cli agent") from None
    except OptionsError as error:
        if requested in KNOWN:
            program = KNOWN[requested].command[0]
            raise NoCli(
                f"{program} is not on PATH; install it, or run `handrail agents add {requested} -- CMD...`"
            ) from None
        if "/" not in requested:
            offered = "claude, agent, an agent that `handrail agents` lists, or the path of an executable"
            raise NoCli(f"no CLI is named {requested!r}; choose {offered}") from None
        raise NoCli(str(error).removeprefix("Options.cli_path: ")) from None
    if (kind := kind_of(path, environment)) == "agent":
        return _agent(path, environment)
    if kind == "acp":
        return Cli(path, "acp", metadata.version("handrail"), agent=environment.get(ACP_VARIABLE, ""))
    if not requested and access is None and not signed_in(environment):
        return _agent(agent_path(), environment)
    return Cli(path, "claude", _version(path) if version else "", _claude_model(environment))


def _version(path: str) -> str:
    status = os.stat(path)
    version = _version_of_file(path, status.st_mtime_ns, status.st_size)
    if not version:  # the CLI did not answer in time; the next call asks it again
        _version_of_file.cache_clear()
    return version


@lru_cache(maxsize=16)
def _version_of_file(path: str, mtime: int, size: int) -> str:
    """Asked once per executable: the CLI takes up to a second to answer."""
    return cli_version(path, timeout=VERSION_SECONDS).partition(" ")[0]


def kind_of(requested: str, environment: Mapping[str, str] = os.environ) -> CliKind:
    """The kind of CLI that a value of --cli names."""
    name = os.path.basename(requested)
    if requested == "agent" or name.startswith(AGENT):
        return "agent"
    return "acp" if name.startswith(ACP) or _acp_agent(requested, environment) is not None else "claude"


def _acp_agent(requested: str, environment: Mapping[str, str]) -> AcpAgent | None:
    """The ACP agent that a value of --cli names, if it names one. Raises NoCli."""
    if not requested or requested in ("claude", "agent") or "/" in requested:
        return None
    try:
        return find_agent(requested, environment)
    except InvalidAgent as error:
        raise NoCli(str(error)) from None


def agent_path() -> str:
    """The executable of our agent. Raises NoCli if it is missing."""
    return _installed(AGENT)


def _installed(program: str) -> str:
    """One of our executables. Raises NoCli if it is missing."""
    if path := find_program(program):
        return path
    raise NoCli(f"{program} is missing from this installation ({sys.prefix}); reinstall handrail")


def signed_in(environment: Mapping[str, str] = os.environ) -> bool:
    """True if `claude` would find an account: a key, a cloud provider, a credentials file, or one in its settings."""
    if any(environment.get(name) for name in (*KEYS, *CLOUDS)):
        return True
    home = Path(config_home(environment))
    if (home / ".credentials.json").is_file() or _user_settings(environment).get("apiKeyHelper"):
        return True
    account_file = home / ".claude.json" if environment.get("CLAUDE_CONFIG_DIR") else home.with_name(".claude.json")
    return bool(_read(account_file).get("oauthAccount"))  # on macOS the token itself is in the keychain


def _claude_model(environment: Mapping[str, str]) -> str:
    named = environment.get("ANTHROPIC_MODEL") or _user_settings(environment).get("model")
    model = f"model {named}" if isinstance(named, str) and named else "its default model"
    return model if signed_in(environment) else f"{model}, but not signed in; run `claude` to sign in"


def _agent(path: str, environment: Mapping[str, str]) -> Cli:
    model = _agent_model(environment)
    return Cli(path, "agent", metadata.version("handrail"), model, demo=model == DEMO)


def _agent_model(environment: Mapping[str, str]) -> str:
    """The model that the agent will choose. It checks the same variables in the same order."""
    if script := environment.get("HANDRAIL_SCRIPT"):
        return f"the script {os.path.basename(script)}"
    has_key = environment.get("ANTHROPIC_API_KEY") or environment.get("ANTHROPIC_AUTH_TOKEN")
    if has_key or _user_settings(environment).get("apiKeyHelper"):
        named = environment.get("HANDRAIL_MODEL") or environment.get("ANTHROPIC_MODEL") or "opus"
        return f"model {named} through the Messages API"
    if environment.get("ANTHROPIC_BASE_URL"):
        return "no model: ANTHROPIC_BASE_URL is set without a key"
    return DEMO


def _user_settings(environment: Mapping[str, str]) -> dict[str, Any]:
    return _read(Path(config_home(environment)) / "settings.json")


def _read(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if the file is missing or invalid."""
    try:
        with path.open("rb") as file:
            found: Any = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
