"""The state of one session: its id, its folders, and the settings, rules and model in force.

Nothing here waits or writes to the host. Code that changes something a host is notified of does that with `Speaker`.
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
from handrail.agent.models.prices import SCRIPT_MODEL, default_model, facts_of, resolve
from handrail.files.resolve import Disk, anchors_of
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.rules import SourcedRule, read_rules
from handrail.permissions.updates import FILE_SCOPES, UpdateRefused, apply
from handrail.schema.permission_types import PermissionUpdate
from handrail.settings.files import SettingsFile
from handrail.settings.load import Loaded, load
from handrail.settings.merge import Settings, merge

__all__ = ["Session"]

JsonObject = dict[str, Any]
PROMPT_LIMIT: Final = 1024 * 1024
OUTPUT_LIMIT: Final = 32_000
"""Tokens of one answer, where the model could write more."""
_OF_THE_SESSION: Final = frozenset({"session", "cliArg", "command"})
_SOURCES: Final = {"user": "userSettings", "project": "projectSettings", "local": "localSettings"}


class Session:
    """One session. `environment` is that of the process; child processes get it plus the variables of the settings."""

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
        self.chosen_model = self._launch_model()
        self.effort_level = self._launch_effort()
        self.thinking_tokens = arguments.max_thinking_tokens
        self.thinking_display = ""
        self.mode_before_plan = "default"
        self.title = arguments.name
        self.system_prompt = self._text(arguments.system_prompt, arguments.system_prompt_file)
        self.append_system_prompt = self._text(arguments.append_system_prompt, arguments.append_system_prompt_file)
        self.turns = 0
        self._other_mode = asyncio.Event()

    def _load(self) -> Loaded:
        return load(self.cwd, home=self.config_home, user_home=self.home, flag=self.arguments.settings or None)

    def _check_flag_settings(self) -> None:
        """Refuse to start with a broken --settings; a broken file of the folder is only skipped."""
        for file in self.loaded.files:
            if file.place.scope == "flagSettings" and file.problems:
                raise Refused(f"Error: --settings cannot be used: {file.problems[0]}")

    def _text(self, given: str | None, path: str) -> str | None:
        """A system prompt of the command line, or of the file named there."""
        if not path:
            return given
        try:
            with open(os.path.join(self.cwd, path), encoding="utf-8", errors="replace") as file:
                return file.read(PROMPT_LIMIT)
        except OSError as error:
            raise Refused(f"Error: cannot read the system prompt file {path}: {error.strerror}") from None

    def _settings(self, loaded: Loaded) -> Settings:
        """Merge the sources that --setting-sources selects; policy and flags always count."""
        wanted = self.arguments.setting_sources
        if wanted is None:
            return loaded.settings
        return self._merged(loaded)

    def _merged(self, loaded: Loaded) -> Settings:
        wanted, files = self.arguments.setting_sources, loaded.files
        if wanted is not None:
            names = {_SOURCES.get(name.strip(), name.strip()) for name in wanted.split(",")}
            files = [file for file in files if file.place.scope not in _SOURCES.values() or file.place.scope in names]
        return merge(files, folder=self.cwd, home=self.home, trusted=loaded.trusted)

    def _launch_model(self) -> str:
        return self.arguments.model or str(self.settings.values.get("model") or "")

    def _launch_effort(self) -> str:
        return self.arguments.effort or str(self.settings.values.get("effortLevel") or "")

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

    # Settings changed while the session runs

    def flag_values(self) -> JsonObject:
        """The flag layer of the settings: --settings, and later changes by the host."""
        found = [file.values for file in self.loaded.files if file.place.scope == "flagSettings"]
        return {key: value for values in found for key, value in values.items()}

    def with_flags(self, file: SettingsFile) -> tuple[Loaded, Settings]:
        """The settings with `file` as their flag layer. Nothing changes yet, and no other file is read again."""
        files = [one for one in self.loaded.files if one.place.scope != "flagSettings"]
        at = next((index for index, one in enumerate(files) if one.place.scope == "policySettings"), len(files))
        loaded = replace(self.loaded, files=(*files[:at], file, *files[at:]))
        settings = self._merged(loaded)
        return replace(loaded, settings=settings), settings

    def use_flags(self, loaded: Loaded, settings: Settings, *, changed: JsonObject) -> None:
        """Put settings from `with_flags` in force. `changed`: the keys to apply, null for those that were removed."""
        self.loaded, self.settings = loaded, settings
        if "model" in changed:
            self.chosen_model = changed["model"] or self._launch_model()
        if "effortLevel" in changed:
            self.effort_level = changed["effortLevel"] or self._launch_effort()
        if "permissions" in changed:
            self._use_rules(settings)

    # In force

    @property
    def mode(self) -> str:
        """The permission mode."""
        return self.circumstances.mode

    def set_mode(self, mode: str) -> None:
        """Change the mode. Entering plan mode stores the mode to return to."""
        if mode == "plan" and self.mode != "plan":
            self.mode_before_plan = self.mode
        self.circumstances = replace(self.circumstances, mode="default" if mode == "manual" else mode)
        self._tell_mode()

    async def mode_switched(self) -> None:
        """Wait until the mode is set again."""
        await self._other_mode.wait()

    def _tell_mode(self) -> None:
        told, self._other_mode = self._other_mode, asyncio.Event()
        told.set()

    def apply(self, update: PermissionUpdate) -> None:
        """Apply a permission update, and write it to the file it names. Raises UpdateRefused."""
        self.circumstances = apply(self.circumstances, update, Disk(self.circumstances.anchors))
        if update.type == "setMode":
            self._tell_mode()
        if update.destination in FILE_SCOPES:
            from handrail.settings.write import WriteRefused, write_update  # few sessions need it

            try:
                write_update(update, folder=self.cwd, home=self.config_home)
            except WriteRefused as error:
                raise UpdateRefused(str(error)) from error

    def read_rules_again(self) -> None:
        """Read the rules of all files again: one may have changed while a question was pending.

        Rules granted for the session, and those of the command line and of `apply_flag_settings`, stay.
        """
        flags = [file for file in self.loaded.files if file.place.scope == "flagSettings"]
        fresh = self._load()
        others = [file for file in fresh.files if file.place.scope != "flagSettings"]
        self._use_rules(self._merged(replace(fresh, files=(*others, *flags))))

    def _use_rules(self, settings: Settings) -> None:
        kept = [rule for rule in self.circumstances.rules if rule.scope in _OF_THE_SESSION]
        self.circumstances = replace(self.circumstances, rules=(*settings.rules, *kept))

    def may_read(self, path: str) -> bool:
        """Whether this file may be read without asking."""
        from handrail.permissions.decide import decide

        disk = Disk(self.circumstances.anchors)
        return decide("Read", {"file_path": path}, self.circumstances, disk).behavior == "allow"

    @property
    def model(self) -> str:
        """The id of the model in force."""
        if self.chosen_model:
            return resolve(self.chosen_model, self.environment)
        return SCRIPT_MODEL if is_built_in(self.environment) else default_model(self.environment)

    def effort_for(self, model: str) -> str:
        """The effort level that a request to this model carries; "" where the model does not support it."""
        return self.effort_level if self.effort_level in facts_of(model).efforts else ""

    def max_tokens(self, model: str) -> int:
        """The most tokens that one answer of this model may have."""
        return min(facts_of(model).max_output, OUTPUT_LIMIT)

    def thinking_for(self, model: str) -> JsonObject | None:
        """The `thinking` field of a request to this model; None where thinking is off."""
        if not self.thinking_tokens:
            return None
        display = {"display": self.thinking_display} if self.thinking_display else {}
        if facts_of(model).adaptive_thinking:  # these models decide the budget themselves, and the API refuses one
            return {"type": "adaptive", **display}
        return {
            "type": "enabled",
            "budget_tokens": min(self.thinking_tokens, self.max_tokens(model) - 1),
            **display,
        }

    def child_environment(self) -> dict[str, str]:
        """The environment of processes that tools start, without API keys."""
        kept = {name: value for name, value in self.environment.items() if name not in _SECRETS}
        return {**kept, **self.loaded.environment, "CLAUDECODE": "1"}

    @property
    def folders(self) -> tuple[str, ...]:
        """The additional working folders."""
        return self.circumstances.anchors.additional

    @property
    def key_source(self) -> str:
        """The variable that holds the API key, or "none"."""
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
            if self.environment.get(name):
                return name
        return "none"


_SECRETS: Final = frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"})
