"""Chooses the CLI of a server.

`claude` if it is installed and signed in; otherwise our own agent, with the Messages API if a key is set and with the
built-in script if not. Keys and credentials are only checked for existence, never read.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final, cast

from handrail.bridge.errors import BridgeError
from handrail.bridge.session.launch import Cli
from handrail.client.errors import CliNotFound, OptionsError
from handrail.client.find_cli import VARIABLE, cli_version, find_cli
from handrail.transcripts import config_home

__all__ = ["NoCli", "agent_path", "which_cli"]

AGENT: Final = "handrail-agent"
VERSION_SECONDS: Final = 1.0
"""A CLI that is slow to report its version must not delay the start of the server."""
KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
CLOUDS: Final = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
LARGEST: Final = 8 * 1024 * 1024


class NoCli(BridgeError):
    """The requested CLI cannot be used."""


def which_cli(requested: str = "", environment: Mapping[str, str] = os.environ) -> Cli:
    """Choose by `claude`, `agent`, a path, or "" for the best one available. Raises NoCli if it cannot be used."""
    requested = requested or environment.get(VARIABLE, "")
    if requested == "agent":
        return _agent(agent_path(), environment)
    try:
        path = find_cli(None if requested in ("", "claude") else requested, {**environment, VARIABLE: ""})
    except CliNotFound as error:
        if not requested:
            return _agent(agent_path(), environment)
        raise NoCli(f"claude not found in {', '.join(error.looked)}; install it, or use --cli agent") from None
    except OptionsError as error:
        raise NoCli(str(error).removeprefix("Options.cli_path: ")) from None
    if os.path.basename(path).startswith(AGENT):
        return _agent(path, environment)
    if not requested and not signed_in(environment):
        return _agent(agent_path(), environment)
    version = cli_version(path, timeout=VERSION_SECONDS).partition(" ")[0]
    return Cli(path, "claude", version, _claude_model(environment))


def agent_path() -> str:
    """The executable of our agent, beside this Python. Raises NoCli if it is missing."""
    path = Path(sys.executable).with_name(AGENT)
    if not os.access(path, os.X_OK):
        raise NoCli(f"{path} is missing; reinstall handrail")
    return str(path)


def signed_in(environment: Mapping[str, str] = os.environ) -> bool:
    """True if `claude` would find an account: a key, a cloud provider, a credentials file, or one in its settings."""
    if any(environment.get(name) for name in (*KEYS, *CLOUDS)):
        return True
    home = config_home(environment)
    if (home / ".credentials.json").is_file() or _read(home / "settings.json").get("apiKeyHelper"):
        return True
    account_file = home / ".claude.json" if environment.get("CLAUDE_CONFIG_DIR") else home.with_name(".claude.json")
    return bool(_read(account_file).get("oauthAccount"))  # on macOS the token itself is in the keychain


def _claude_model(environment: Mapping[str, str]) -> str:
    named = environment.get("ANTHROPIC_MODEL") or _read(config_home(environment) / "settings.json").get("model")
    model = f"model {named}" if isinstance(named, str) and named else "its default model"
    return model if signed_in(environment) else f"{model}, but not signed in; run `claude` to sign in"


def _agent(path: str, environment: Mapping[str, str]) -> Cli:
    return Cli(path, "agent", metadata.version("handrail"), _agent_model(environment))


def _agent_model(environment: Mapping[str, str]) -> str:
    """The model that the agent will choose. It checks the same variables in the same order."""
    if script := environment.get("HANDRAIL_SCRIPT"):
        return f"the script {os.path.basename(script)}"
    if environment.get("ANTHROPIC_API_KEY") or environment.get("ANTHROPIC_AUTH_TOKEN"):
        named = environment.get("HANDRAIL_MODEL") or environment.get("ANTHROPIC_MODEL") or "sonnet"
        return f"model {named} through the Messages API"
    if environment.get("ANTHROPIC_BASE_URL"):
        return "no model: ANTHROPIC_BASE_URL is set without a key"
    return "the built-in script (no account; set ANTHROPIC_API_KEY for a model)"


def _read(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if the file is missing or invalid."""
    try:
        with path.open("rb") as file:
            found: Any = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
