"""The SDK options with which each session starts its CLI."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.acp_agents import cli_of
from handrail.bridge.session.grants import options_of
from handrail.bridge.store.base import SessionRecord
from handrail.client.options import Options
from handrail.files.errors import FileError, OutsideRoot
from handrail.files.open import Root
from handrail.model_access.choice import Cli, CliChoice, NoCli
from handrail.settings import config_home, look, restrictions_of

__all__ = ["CHOICES", "Launcher", "launcher"]

CHOICES: Final = ("model", "effort", "max_turns", "max_budget_usd", "fallback_model", "max_thinking_tokens")
"""SDK options that a user may choose for a session, in addition to the output style."""


def launcher(
    cli: CliChoice,
    more: Iterable[str] = (),
    environment: Mapping[str, str] = os.environ,
    *,
    roots: Sequence[Path] | None = None,
) -> Launcher:
    """A launcher for this CLI. `more`: names of further environment variables to pass to it."""
    passed = {name: environment[name] for name in more if environment.get(name)}
    return Launcher(cli, passed, roots=roots)


def _trusts(folder: str) -> bool:
    return look(folder, config_home()).trusted


class Launcher:
    """Builds the options. The folder is checked at every start: it may have been replaced, or its files changed.

    `roots`: the folders below which sessions may work; None for any folder.
    """

    def __init__(
        self,
        cli: CliChoice,
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

    def _process(self, choice: CliChoice, cli: Cli) -> dict[str, Any]:
        """The options that decide on the executable and its environment."""
        env = {**self._env, **choice.child_environment()}
        return {"cli_path": cli.path, "env": env, "enable_file_checkpointing": True}

    def waiting_process(self) -> Options | None:
        """The options of a process that can wait for a session; None if the CLI is not our agent, or is missing."""
        try:
            cli = self.cli.current(version=False)
        except NoCli:
            return None
        return Options(**self._process(self.cli, cli)) if cli.kind == "agent" else None

    def __call__(self, record: SessionRecord, *, resumes: bool) -> Options:
        """Raises CommandRefused if the session's folder is not below the roots, or its agent is missing."""
        self._check_folder(record.cwd)
        choice = cli_of(self.cli, record.agent)
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
            **self._process(choice, choice.current()),
            cwd=record.cwd,
            permission_mode=record.mode,
            allow_dangerously_skip_permissions=bool(record.options.get("may_bypass")),
            setting_sources=("user", "project", "local") if trusted else ("user",),
            include_partial_messages=True,
            replay_user_messages=True,
            forward_subagent_text=True,
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
