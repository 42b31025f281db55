"""The CLI of a server: which one is run, and the SDK options with which each session starts it.

The choice is `claude` if it is installed and signed in; otherwise our own agent, with the Messages API if a key is set
and with the built-in script if not. Keys and credentials are only checked for existence, never read.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Literal, cast

from msgspec import Struct

from handrail.bridge.errors import BridgeError, CommandRefused
from handrail.bridge.session.grants import options_of
from handrail.bridge.store.base import SessionRecord
from handrail.client.errors import CliNotFound, OptionsError
from handrail.client.find_cli import VARIABLE, cli_version, find_cli
from handrail.client.options import Options
from handrail.files.errors import FileError, OutsideRoot
from handrail.files.open import Root
from handrail.settings import config_home, look, restrictions_of

__all__ = ["CHOICES", "Cli", "Launcher", "NoCli", "agent_path", "launcher", "which_cli"]

AGENT: Final = "handrail-agent"
VERSION_SECONDS: Final = 1.0
"""A CLI that is slow to report its version must not delay the start of the server."""
KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
CLOUDS: Final = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
LARGEST: Final = 8 * 1024 * 1024
PASSED: Final = ("HANDRAIL_SCRIPT", "HANDRAIL_MODEL")
"""Variables of the server that our agent needs. The SDK adds those that every CLI needs; no others are inherited."""
CHOICES: Final = ("model", "effort", "max_turns", "max_budget_usd", "fallback_model", "max_thinking_tokens")
"""SDK options that a user may choose for a session, in addition to the output style."""


class Cli(Struct, frozen=True):
    """The CLI that the server runs. `model` describes the model behind it, for people."""

    path: str
    kind: Literal["claude", "agent"]
    version: str = ""
    model: str = ""


# Choosing it


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
    home = Path(config_home(environment))
    if (home / ".credentials.json").is_file() or _read(home / "settings.json").get("apiKeyHelper"):
        return True
    account_file = home / ".claude.json" if environment.get("CLAUDE_CONFIG_DIR") else home.with_name(".claude.json")
    return bool(_read(account_file).get("oauthAccount"))  # on macOS the token itself is in the keychain


def _claude_model(environment: Mapping[str, str]) -> str:
    named = environment.get("ANTHROPIC_MODEL") or _read(Path(config_home(environment)) / "settings.json").get("model")
    model = f"model {named}" if isinstance(named, str) and named else "its default model"
    return model if signed_in(environment) else f"{model}, but not signed in; run `claude` to sign in"


def _agent(path: str, environment: Mapping[str, str]) -> Cli:
    return Cli(path, "agent", metadata.version("handrail"), _agent_model(environment))


def _agent_model(environment: Mapping[str, str]) -> str:
    """The model that the agent will choose. It checks the same variables in the same order."""
    if script := environment.get("HANDRAIL_SCRIPT"):
        return f"the script {os.path.basename(script)}"
    if environment.get("ANTHROPIC_API_KEY") or environment.get("ANTHROPIC_AUTH_TOKEN"):
        named = environment.get("HANDRAIL_MODEL") or environment.get("ANTHROPIC_MODEL") or "opus"
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


# Starting it


def launcher(
    cli: Cli,
    more: Iterable[str] = (),
    environment: Mapping[str, str] = os.environ,
    *,
    roots: Sequence[Path] | None = None,
) -> Launcher:
    """A launcher for this CLI. `more`: names of further environment variables to pass to it."""
    passed = {name: environment[name] for name in (*PASSED, *more) if environment.get(name)}
    return Launcher(cli, passed, roots=roots)


def _trusts(folder: str) -> bool:
    return look(folder, config_home()).trusted


class Launcher:
    """Builds the options. The folder is checked at every start: it may have been replaced, or its files changed.

    `roots`: the folders below which sessions may work; None for any folder.
    """

    def __init__(
        self,
        cli: Cli,
        env: Mapping[str, str],
        trusts: Callable[[str], bool] = _trusts,
        *,
        roots: Sequence[Path] | None = None,
    ) -> None:
        self.cli, self._env, self._trusts = cli, dict(env), trusts
        self._roots = None if roots is None else tuple(map(str, roots))

    def _check_folder(self, folder: str) -> None:
        try:
            Root(folder, within=self._roots).close()
        except OutsideRoot:
            problem = f"{folder} is no longer below one of the server's roots (--root)"
            raise CommandRefused("bad_folder", problem) from None
        except FileError:  # the CLI reports a folder that is missing
            pass

    def __call__(self, record: SessionRecord, *, resumes: bool) -> Options:
        """Raises CommandRefused if the session's folder is not below the roots."""
        self._check_folder(record.cwd)
        chosen = {name: record.options[name] for name in CHOICES if record.options.get(name) is not None}
        plugins = [{"type": "local", "path": path} for path in record.options.get("plugin_dirs") or ()]
        granted = options_of(record.rules)
        folders = [*(record.options.get("add_dirs") or ()), *granted.pop("add_dirs", ())]
        style = record.options.get("output_style")
        trusted = self._trusts(record.cwd)
        # An untrusted folder may still restrict: its deny and ask rules hold although its files are not read.
        restrictions = restrictions_of(record.cwd, config_home(), cli_reads_folder=trusted)
        settings = {**({"outputStyle": style} if style else {}), **restrictions.settings}
        return Options(
            **chosen,
            **granted,
            settings=settings or None,
            add_dirs=folders,
            plugins=plugins,
            cli_path=self.cli.path,
            cwd=record.cwd,
            env=self._env,
            permission_mode=record.mode,
            allow_dangerously_skip_permissions=bool(record.options.get("may_bypass")),
            setting_sources=("user", "project", "local") if trusted else ("user",),
            include_partial_messages=True,
            replay_user_messages=True,
            forward_subagent_text=True,
            enable_file_checkpointing=True,
            wait_until_ready=True,
            **_conversation(record, resumes=resumes),
        )


def _conversation(record: SessionRecord, *, resumes: bool) -> dict[str, Any]:
    """The options that select the conversation: resumed, new or forked."""
    if resumes:
        return {"resume": record.conversation or record.id}
    origin = record.options.get("origin")
    if not origin:
        return {"session_id": record.id}
    at = record.options.get("origin_message")
    return {
        "resume": origin,
        "fork_session": True,
        "session_id": record.id,
        **({"resume_session_at": at} if at else {}),
    }
