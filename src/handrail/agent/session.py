"""What a session is: who it is, where it works, what is in force. In: arguments and settings. Out: shared state.

Nothing here waits or speaks. Whoever changes something that hosts are told of says so through `Speaker`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from msgspec.structs import replace

from handrail.agent.arguments import Arguments
from handrail.agent.errors import Refused
from handrail.agent.models.choose import is_built_in
from handrail.agent.models.prices import SCRIPT_MODEL, default_model, resolve
from handrail.files.resolve import Disk, anchors_of
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.rules import SourcedRule, read_rules
from handrail.permissions.updates import FILE_SCOPES, UpdateRefused, apply
from handrail.schema.permission_types import PermissionUpdate
from handrail.settings.load import Loaded, load
from handrail.settings.merge import Settings, merge

__all__ = ["Session"]

JsonObject = dict[str, Any]
PROMPT_LIMIT: Final = 1024 * 1024
_OF_THE_SESSION: Final = frozenset({"session", "cliArg", "command"})
_SOURCES: Final = {"user": "userSettings", "project": "projectSettings", "local": "localSettings"}


class Session:
    """One session. `environment` is that of the process; children get it with what the settings add."""

    def __init__(self, arguments: Arguments, environment: Mapping[str, str], cwd: str) -> None:
        self.arguments = arguments
        self.environment = dict(environment)
        self.cwd = os.path.realpath(cwd)
        self.home = environment.get("HOME") or os.path.expanduser("~")
        self.config_home = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(self.home, ".claude")
        self.data_home = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(self.home, ".handrail")
        self.id = arguments.session_id or str(uuid4())
        self.loaded: Loaded = self._load()
        self._check_flag_settings()
        self.settings: Settings = self._settings(self.loaded)
        self.circumstances = self._circumstances()
        self.chosen_model = arguments.model or str(self.settings.values.get("model") or "")
        self.thinking_tokens = arguments.max_thinking_tokens
        self.mode_before_plan = "default"
        self.title = arguments.name
        self.system_prompt = self._text(arguments.system_prompt, arguments.system_prompt_file)
        self.append_system_prompt = self._text(arguments.append_system_prompt, arguments.append_system_prompt_file)
        self.turns = 0
        self._other_mode = asyncio.Event()

    def _load(self) -> Loaded:
        return load(self.cwd, home=self.config_home, user_home=self.home, flag=self.arguments.settings or None)

    def _check_flag_settings(self) -> None:
        """A file of the folder that is broken is passed over; one that was named on the command line must be whole."""
        for file in self.loaded.files:
            if file.place.scope == "flagSettings" and file.problems:
                raise Refused(f"Error: --settings cannot be used: {file.problems[0]}")

    def _text(self, given: str | None, path: str) -> str | None:
        """A prompt of the command line: as it stands there, or from the file that is named there."""
        if not path:
            return given
        try:
            with open(os.path.join(self.cwd, path), encoding="utf-8", errors="replace") as file:
                return file.read(PROMPT_LIMIT)
        except OSError as error:
            raise Refused(f"Error: the file with the system prompt cannot be read: {path}: {error.strerror}") from None

    def _settings(self, loaded: Loaded) -> Settings:
        """Those of the sources that --setting-sources leaves; policy and flags always count."""
        wanted = self.arguments.setting_sources
        if wanted is None:
            return loaded.settings
        names = {_SOURCES.get(name.strip(), name.strip()) for name in wanted.split(",")}
        files = [
            file for file in loaded.files if file.place.scope not in _SOURCES.values() or file.place.scope in names
        ]
        return merge(files, folder=self.cwd, home=self.home, trusted=loaded.trusted)

    def _circumstances(self) -> Circumstances:
        arguments, settings = self.arguments, self.settings
        rules: list[SourcedRule] = list(settings.rules)
        rules += read_rules(arguments.allowed_tools, "allow", "cliArg")
        rules += read_rules(arguments.disallowed_tools, "deny", "cliArg")
        bypass = arguments.skip_permissions or arguments.permission_mode == "bypassPermissions"
        mode = "bypassPermissions" if arguments.skip_permissions else arguments.permission_mode or settings.mode
        mode = "default" if mode == "manual" else mode
        if settings.bypass_disabled and mode == "bypassPermissions":
            mode, bypass = "default", False
        available = (bypass or arguments.may_skip_permissions or mode == "bypassPermissions") and not (
            settings.bypass_disabled
        )
        anchors = anchors_of(self.cwd, home=self.home, additional=(*settings.directories, *arguments.add_dir))
        return Circumstances(
            anchors=anchors,
            mode=mode,
            rules=tuple(rules),
            bypass_available=available,
            can_prompt=bool(arguments.permission_prompt_tool),
            trusted=self.loaded.trusted,
        )

    # What is in force

    @property
    def mode(self) -> str:
        """The permission mode."""
        return self.circumstances.mode

    def set_mode(self, mode: str) -> None:
        """Change the mode; from a plan, the way back is remembered."""
        if mode == "plan" and self.mode != "plan":
            self.mode_before_plan = self.mode
        self.circumstances = replace(self.circumstances, mode="default" if mode == "manual" else mode)
        self._tell_mode()

    async def mode_switched(self) -> None:
        """Wait until the mode is set, by whomever."""
        await self._other_mode.wait()

    def _tell_mode(self) -> None:
        told, self._other_mode = self._other_mode, asyncio.Event()
        told.set()

    def apply(self, update: PermissionUpdate) -> None:
        """Carry out an update of the permissions, in its file too where it is to last. Raises UpdateRefused."""
        self.circumstances = apply(self.circumstances, update, Disk(self.circumstances.anchors))
        if update.type == "setMode":
            self._tell_mode()
        if update.destination in FILE_SCOPES:
            from handrail.settings.write import WriteRefused, write_update  # few sessions write any

            try:
                write_update(update, folder=self.cwd, home=self.config_home)
            except WriteRefused as error:
                raise UpdateRefused(str(error)) from error

    def read_rules_again(self) -> None:
        """The rules of the files as they are now: somebody may have changed them while a question waited.

        What was granted for the session, and what stands on the command line, stays.
        """
        kept = [rule for rule in self.circumstances.rules if rule.scope in _OF_THE_SESSION]
        self.circumstances = replace(self.circumstances, rules=(*self._settings(self._load()).rules, *kept))

    def may_read(self, path: str) -> bool:
        """May this file be read without asking?"""
        from handrail.permissions.decide import decide

        disk = Disk(self.circumstances.anchors)
        return decide("Read", {"file_path": path}, self.circumstances, disk).behavior == "allow"

    @property
    def model(self) -> str:
        """The model that is asked."""
        if self.chosen_model:
            return resolve(self.chosen_model)
        return SCRIPT_MODEL if is_built_in(self.environment) else default_model(self.environment)

    def child_environment(self) -> dict[str, str]:
        """The variables for what tools start: no keys of ours."""
        kept = {name: value for name, value in self.environment.items() if name not in _SECRETS}
        return {**kept, **self.loaded.environment, "CLAUDECODE": "1"}

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that may be worked in, besides the first."""
        return self.circumstances.anchors.additional

    @property
    def key_source(self) -> str:
        """Which variable the key comes from."""
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
            if self.environment.get(name):
                return name
        return "none"


_SECRETS: Final = frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"})
