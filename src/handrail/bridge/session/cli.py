"""Which CLI a server uses. In: what was asked for, and the environment. Out: a Cli, with the model behind it in words.

`claude` where it is installed and signed in; else our own agent, with the Messages API where a key is set, else with a
script. Of keys and credentials only that they are there is looked at.
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
"""A server does not start later because a CLI is slow to tell its version."""
KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
CLOUDS: Final = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
LARGEST: Final = 8 * 1024 * 1024


class NoCli(BridgeError):
    """The CLI that was asked for cannot be used."""


def which_cli(asked: str = "", environment: Mapping[str, str] = os.environ) -> Cli:
    """Choose. In: `claude`, `agent`, a path, or "" for what is best here. Out: the CLI. NoCli where it is not there."""
    asked = asked or environment.get(VARIABLE, "")
    if asked == "agent":
        return _agent(agent_path(), environment)
    try:
        path = find_cli(None if asked in ("", "claude") else asked, {**environment, VARIABLE: ""})
    except CliNotFound as error:
        if not asked:
            return _agent(agent_path(), environment)
        raise NoCli(f"claude was not found (looked in {', '.join(error.looked)}); try --cli agent") from None
    except OptionsError as error:
        raise NoCli(str(error).removeprefix("Options.cli_path: ")) from None
    if os.path.basename(path).startswith(AGENT):
        return _agent(path, environment)
    if not asked and not signed_in(environment):
        return _agent(agent_path(), environment)
    version = cli_version(path, timeout=VERSION_SECONDS).partition(" ")[0]
    return Cli(path, "claude", version, _claude_model(environment))


def agent_path() -> str:
    """Our own agent: the executable beside this Python. NoCli where the installation has none."""
    path = Path(sys.executable).with_name(AGENT)
    if not os.access(path, os.X_OK):
        raise NoCli(f"{path} is not there: install handrail again")
    return str(path)


def signed_in(environment: Mapping[str, str] = os.environ) -> bool:
    """Would `claude` find an account? A key, a cloud's, its credentials file, or an account in its own settings."""
    if any(environment.get(name) for name in (*KEYS, *CLOUDS)):
        return True
    home = config_home(environment)
    if (home / ".credentials.json").is_file() or _read(home / "settings.json").get("apiKeyHelper"):
        return True
    beside = home / ".claude.json" if environment.get("CLAUDE_CONFIG_DIR") else home.with_name(".claude.json")
    return bool(_read(beside).get("oauthAccount"))  # where the machine's keychain has the rest


def _claude_model(environment: Mapping[str, str]) -> str:
    named = environment.get("ANTHROPIC_MODEL") or _read(config_home(environment) / "settings.json").get("model")
    model = f"model {named}" if isinstance(named, str) and named else "its default model"
    return model if signed_in(environment) else f"{model}, but nobody is signed in: run claude once"


def _agent(path: str, environment: Mapping[str, str]) -> Cli:
    return Cli(path, "agent", metadata.version("handrail"), _agent_model(environment))


def _agent_model(environment: Mapping[str, str]) -> str:
    """Who answers: the agent looks at the same variables in the same order."""
    if script := environment.get("HANDRAIL_SCRIPT"):
        return f"the script {os.path.basename(script)}"
    if environment.get("ANTHROPIC_API_KEY") or environment.get("ANTHROPIC_AUTH_TOKEN"):
        named = environment.get("HANDRAIL_MODEL") or environment.get("ANTHROPIC_MODEL") or "sonnet"
        return f"model {named} by the Messages API"
    if environment.get("ANTHROPIC_BASE_URL"):
        return "no model: ANTHROPIC_BASE_URL is set, but no key for it"
    return "the built-in script (no account; set ANTHROPIC_API_KEY for a model)"


def _read(path: Path) -> dict[str, Any]:
    """A file of JSON; nothing where there is none, or where it is broken."""
    try:
        with path.open("rb") as file:
            found: Any = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
