"""The SDK options with which the CLI of a session is started."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from handrail.bridge.session.grants import options_of
from handrail.bridge.store.base import SessionRecord
from handrail.client.options import Options
from handrail.settings import config_home, look, restrictions_of

__all__ = ["CHOICES", "Cli", "launcher"]

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


def launcher(cli: Cli, more: Iterable[str] = (), environment: Mapping[str, str] = os.environ) -> Launcher:
    """A launcher for this CLI. `more`: names of further environment variables to pass to it."""
    return Launcher(cli, {name: environment[name] for name in (*PASSED, *more) if environment.get(name)})


def _trusts(folder: str) -> bool:
    return look(folder, config_home()).trusted


class Launcher:
    """Builds the options. Trust in the folder is checked at every start, because its files may have changed."""

    def __init__(self, cli: Cli, env: Mapping[str, str], trusts: Callable[[str], bool] = _trusts) -> None:
        self.cli, self._env, self._trusts = cli, dict(env), trusts

    def __call__(self, record: SessionRecord, *, resumes: bool) -> Options:
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
