"""The state of one session: its id, its folders, and the settings, rules and model in force.

Nothing here waits or writes to the host. Code that changes something a host is notified of does that with `Speaker`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from handrail.agent.arguments import Arguments
from handrail.agent.errors import Refused
from handrail.agent.known_models import DEMO_MODEL, default_model, facts_of, is_demo, resolve
from handrail.agent.model_options import (
    BUDGET_THINKING,
    TOOL_SEARCH,
    launch_effort,
    launch_thinking,
    output_limit,
    thinking_field,
)
from handrail.agent.setting_keys import without_effect
from handrail.agent.variables import check_variables, is_on
from handrail.files.resolve import Disk, OneFile, anchors_of, real_path
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.modes import class_of
from handrail.permissions.paths.matching import Anchors, Resolved
from handrail.permissions.rules.rule import Rule, SourcedRule, read_rules
from handrail.permissions.updates.apply import FILE_SCOPES, UpdateRefused, apply
from handrail.schema.permission_types import PermissionUpdate
from handrail.settings.files import Place, SettingsFile, cli_state_file, read_file
from handrail.settings.given_trust import VARIABLE, host_trusts_folder
from handrail.settings.load import Loaded, load, look
from handrail.settings.merge import PROJECT_SCOPES, Settings, merge

if TYPE_CHECKING:
    from handrail.cage.hidden import Hidden
    from handrail.settings.nested_git import NestedGit

__all__ = ["Lead", "Session"]

JsonObject = dict[str, Any]
PROMPT_LIMIT: Final = 1024 * 1024
TASK_BUDGETS: Final = "task-budgets-2026-03-13"
"""The beta feature of --task-budget."""
_PATTERN_CHARACTERS: Final = frozenset("*?[]{}!\\")
_OF_THE_SESSION: Final = frozenset({"session", "cliArg", "command"})
_SOURCES: Final = {"user": "userSettings", "project": "projectSettings", "local": "localSettings"}


class Lead(msgspec.Struct, frozen=True):
    """The prompt, the model and the tools of the agent that leads the session; `tools` is None for all tools."""

    prompt: str = ""
    model: str = ""
    tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()

    def offers(self, tool: str) -> bool:
        """Whether a tool is among those of the agent."""
        return tool not in self.disallowed_tools and (self.tools is None or tool in self.tools or "*" in self.tools)


class Session:
    """One session. `environment` is that of the process; child processes get it plus the variables of the settings."""

    def __init__(self, arguments: Arguments, environment: Mapping[str, str], cwd: str) -> None:
        if is_on(environment, "CLAUDE_CODE_SIMPLE"):
            arguments = replace(arguments, bare=True)
        self.arguments = arguments
        # The variable vouches for this folder only, so processes that the session starts elsewhere do not inherit it.
        self.environment = {name: value for name, value in environment.items() if name != VARIABLE}
        self._host_trusts = arguments.trust_folder or host_trusts_folder(environment)
        self.cwd = real_path(cwd)
        self._mirrored: list[SourcedRule] = []
        """Rules that were added because the session is in a worktree."""
        self.home = environment.get("HOME") or os.path.expanduser("~")
        self.config_home = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(self.home, ".claude")
        self.id = arguments.session_id or str(uuid4())
        self._policy: SettingsFile | None = None
        if arguments.managed_settings:
            self.use_policy(arguments.managed_settings, "--managed-settings")
        self._nested_git: NestedGit | None = None
        self.notices: list[str] = []
        """Lines for stderr about settings that are not in force."""
        self.loaded: Loaded = self._load()
        self._check_flag_settings()
        self.settings: Settings = self._settings(self.loaded)
        self.loaded = replace(self.loaded, settings=self.settings)
        self.environment |= self.settings.env
        self.circumstances = self._circumstances()
        self.is_demo = False
        """Whether the built-in script answers. Then the name of a model has no effect, and nothing costs anything."""
        self.chosen_model = self._launch_model()
        self.effort_level = self._launch_effort()
        self._efforts: JsonObject = self.settings.values.get("modelSettings") or {}
        self.thinking_tokens = self.launch_thinking()
        self.thinking_display = arguments.thinking_display
        self.lead = Lead()
        self._check_keys()
        self.mode_before_plan = "default"
        self.title = arguments.name
        self.system_prompt = self._text(arguments.system_prompt, arguments.system_prompt_file)
        self.append_system_prompt = self._text(arguments.append_system_prompt, arguments.append_system_prompt_file)
        self.turns = 0
        self.turn_model = ""
        """The model of the running slash command."""
        self.tool_aliases: dict[str, str] = {}
        """Tools that calls of the model are redirected to, by the name that the model uses."""
        self._mode_set = asyncio.Event()

    def _load(self) -> Loaded:
        root = os.path.join(self.cwd, self.arguments.project_config_root)
        loaded = load(
            root,
            home=self.config_home,
            user_home=self.home,
            flag=self.arguments.settings or None,
            state_file=self.state_file,
            host_trusts=self._host_trusts,
        )
        if not self._policy:
            return loaded
        files = (*loaded.files, self._policy)
        return replace(loaded, files=files, settings=merge(files, folder=root, home=self.home, trusted=loaded.trusted))

    def vouched_for(self, *, again: bool = False) -> bool:
        """Whether the user or the host trusts the folder. `again`: check its files again, as they may have changed."""
        vouched_for = self.loaded.standing.vouched_for
        if not vouched_for or not again:
            return vouched_for
        return look(self.cwd, self.config_home, state_file=self.state_file, host_trusts=self._host_trusts).vouched_for

    @property
    def state_file(self) -> str:
        """The file in which the CLI stores what the user accepted."""
        return cli_state_file(self.environment)

    def trust_notice(self) -> str:
        """What is left out of an untrusted folder and how to accept it, as one line; "" if nothing is."""
        sources = self.sources & {"project", "local"}
        if self.loaded.trusted or not sources:
            return ""
        from handrail.settings.trust_notice import notice_of  # few sessions need it

        return notice_of(self.loaded, sources)

    @property
    def sources(self) -> set[str]:
        """The settings sources that are read: user, project, local."""
        wanted = self.arguments.setting_source_names
        return set(_SOURCES if wanted is None else wanted)

    def _check_flag_settings(self) -> None:
        """Refuse to start with a --settings that cannot be read at all; one with invalid values is only reported."""
        for file in self.loaded.files:
            if file.place.scope != "flagSettings" or not file.problems:
                continue
            if file.data is None:
                raise Refused(f"Error: Settings file not found: {file.place.path}")
            try:
                msgspec.json.decode(file.data, type=dict[str, Any])
            except msgspec.MsgspecError:
                raise Refused(f"Error: --settings cannot be used: {file.problems[0]}") from None
            self.notices.append(
                f"handrail-agent: only the deny and ask rules of --settings are in force: {file.problems[0]}"
            )

    def _check_keys(self) -> None:
        """Note settings and variables without effect. Raises Refused for a variable that cannot be ignored."""
        for file in self._selected(self.loaded):
            if file.place.kind == "settings" and (names := without_effect(file.values.items())):
                self.notices.append(f"handrail-agent: ignored in {file.place.path}: {', '.join(names)}"[:1000])
        self.notices += check_variables(self.environment)
        if self.launch_thinking() == 0 and facts_of(self.model).always_thinks:
            self.notices.append(f"handrail-agent: thinking cannot be turned off: {self.model} always thinks")

    def use_policy(self, values: JsonObject | str, source: str) -> None:
        """Add policy settings of the host. Raises Refused if they cannot be read."""
        text = values if isinstance(values, str) else msgspec.json.encode(values).decode()
        file = read_file(Place("policySettings", source, text=text))
        if file.problems:
            raise Refused(f"Error: {source} cannot be used: {file.problems[0]}")
        self._policy = file

    def reload(self) -> None:
        """Read all settings again and apply them, as at the start."""
        self.loaded = self._load()
        self.settings = self._settings(self.loaded)
        self.environment |= self.settings.env
        self.circumstances = self._circumstances()
        self.chosen_model, self.effort_level = self._launch_model(), self._launch_effort()
        self.thinking_tokens = self.launch_thinking()

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
        return merge(self._selected(loaded), folder=self.cwd, home=self.home, trusted=loaded.trusted)

    def _selected(self, loaded: Loaded) -> list[SettingsFile]:
        """The files that --setting-sources selects."""
        wanted, files = self.arguments.setting_sources, list(loaded.files)
        if wanted is not None:
            names = {_SOURCES.get(name, name) for name in self.sources}
            files = [file for file in files if file.place.scope not in _SOURCES.values() or file.place.scope in names]
        return files

    @property
    def has_background(self) -> bool:
        """Whether commands and subagents may run beside the turns."""
        return not is_on(self.environment, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS")

    @property
    def key_helper(self) -> str:
        """The command of `apiKeyHelper`. It runs, so the one of a folder counts only where the folder is trusted."""
        for file in reversed(self._selected(self.loaded)):
            if self.loaded.trusted or file.place.scope not in PROJECT_SCOPES:
                command = file.values.get("apiKeyHelper")
                if isinstance(command, str) and command.strip():
                    return command
        return ""

    def reads(self, scope: str) -> bool:
        """Whether --setting-sources includes this source."""
        return scope in {_SOURCES.get(name, name) for name in self.sources}

    def _launch_model(self) -> str:
        return self.arguments.model or str(self.settings.values.get("model") or "")

    def _launch_effort(self) -> str | None:
        return launch_effort(self.arguments, self.environment, self.settings.values)

    def launch_thinking(self) -> int | None:
        """The thinking budget of the start: 0 is off, None leaves it to the model."""
        return launch_thinking(self.arguments, self.environment, self.settings.values)

    @property
    def agent_name(self) -> str:
        """The agent that leads the session, by --agent or the setting `agent`; "" for none."""
        return self.arguments.agent or str(self.settings.values.get("agent") or "")

    def _circumstances(self) -> Circumstances:
        arguments, settings = self.arguments, self.settings
        rules: list[SourcedRule] = list(settings.rules)
        rules += read_rules(arguments.allowed_tools, "allow", "cliArg")
        rules += read_rules(arguments.disallowed_tools, "deny", "cliArg")
        bypass = arguments.skip_permissions or arguments.permission_mode == "bypassPermissions"
        # If bypassing is available, plan mode asks for nothing: then an untrusted folder must not choose it.
        default = settings.own_mode if arguments.may_skip_permissions else settings.mode
        mode = "bypassPermissions" if arguments.skip_permissions else arguments.permission_mode or default
        mode = "default" if mode == "manual" else mode
        if settings.bypass_disabled and mode == "bypassPermissions":
            mode, bypass = "default", False
        available = (bypass or arguments.may_skip_permissions or mode == "bypassPermissions") and not (
            settings.bypass_disabled
        )
        return Circumstances(
            anchors=self._anchors((*settings.directories, *arguments.add_dir)),
            mode=mode,
            rules=tuple(rules),
            bypass_available=available,
            can_prompt=bool(arguments.permission_prompt_tool) and arguments.permission_prompts != "none",
            trusted=self.loaded.git_is_safe,
        )

    def _anchors(self, additional: Sequence[str]) -> Anchors:
        return anchors_of(self.cwd, home=self.home, additional=additional)

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
        """Apply settings from `with_flags`. `changed`: the keys to apply, null for those that were removed."""
        before = self.settings
        self.loaded, self.settings = loaded, settings
        self.environment |= settings.env
        if "model" in changed:
            self.chosen_model = changed["model"] or self._launch_model()
        if "effortLevel" in changed:
            self.effort_level = changed["effortLevel"] or self._launch_effort()
        if "alwaysThinkingEnabled" in changed:
            self.thinking_tokens = self.launch_thinking()
        if "permissions" in changed:
            self._use_rules(settings)
            self._use_directories(before)
            self._use_bypass()

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
        self._wake_mode_waiters()

    async def mode_switched(self) -> None:
        """Wait until the mode is set again."""
        await self._mode_set.wait()

    def _wake_mode_waiters(self) -> None:
        waiting, self._mode_set = self._mode_set, asyncio.Event()
        waiting.set()

    def apply(self, update: PermissionUpdate) -> None:
        """Apply a permission update, and write it to the file it names. Raises UpdateRefused."""
        self.circumstances = apply(self.circumstances, update, Disk(self.circumstances.anchors))
        if update.type == "setMode":
            self._wake_mode_waiters()
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
        self._use_rules(self._merged(self._fresh()))

    def _fresh(self) -> Loaded:
        """All settings files read again, with the flag layer in force."""
        flags = [file for file in self.loaded.files if file.place.scope == "flagSettings"]
        fresh = self._load()
        others = [file for file in fresh.files if file.place.scope != "flagSettings"]
        return replace(fresh, files=(*others, *flags))

    def read_settings_again(self) -> None:
        """Read all settings files again, after one of them was written."""
        loaded = self._fresh()
        self.settings = self._merged(loaded)
        self.loaded = replace(loaded, settings=self.settings)
        self._use_rules(self.settings)

    def _use_rules(self, settings: Settings) -> None:
        kept = [rule for rule in self.circumstances.rules if rule.scope in _OF_THE_SESSION]
        self.circumstances = replace(self.circumstances, rules=(*settings.rules, *kept))

    def _use_directories(self, before: Settings) -> None:
        """Replace the folders that the settings `before` granted; those of the command line and the session stay."""
        now = self.circumstances.anchors
        dropped = self._anchors(before.directories).additional
        kept = [folder for folder in now.additional if folder not in dropped]
        granted = self._anchors((*self.settings.directories, *self.arguments.add_dir)).additional
        anchors = replace(now, additional=tuple(dict.fromkeys([*granted, *kept])))
        self.circumstances = replace(self.circumstances, anchors=anchors)

    def _use_bypass(self) -> None:
        """Leave bypassPermissions if the settings disable it. It is available again once they no longer do."""
        available = self._circumstances().bypass_available
        self.circumstances = replace(self.circumstances, bypass_available=available)
        if self.mode == "bypassPermissions" and not available:
            self.set_mode("default")

    def circumstances_for(self, tool: str, input: Mapping[str, Any]) -> Circumstances:
        """The circumstances of a call. Before a command that may run git, the repositories in the folder are checked.

        One may have been added since the start. Few commands need that check, so the others skip it.
        """
        now = self.circumstances
        if class_of(tool) != "execute" or not now.trusted or self.loaded.standing.given_by == "host":
            return now
        from handrail.settings.nested_git import NestedGit, may_run_git

        if not may_run_git(input.get("command")):
            return now
        if self._nested_git is None:
            self._nested_git = NestedGit(self.config_home, state_file=cli_state_file(self.environment))
        accepted = self.loaded.standing.vouched_for
        unsafe = self._nested_git.unsafe(self.cwd, now.anchors.additional, accepted=accepted)
        return replace(now, trusted=False) if unsafe else now

    @property
    def worktrees_from_head(self) -> bool:
        """Whether the setting worktree.baseRef makes new worktrees begin at HEAD."""
        wanted = self.settings.values.get("worktree")
        return isinstance(wanted, dict) and cast("JsonObject", wanted).get("baseRef") == "head"

    def worktree_problem(self) -> str:
        """Why no worktree may be entered now, or ""."""
        if self.mode == "plan":
            return "Nothing is changed in plan mode, so no worktree can be entered."
        if set(self.cwd) & _PATTERN_CHARACTERS:
            return f"No worktree can be entered: the path {self.cwd} contains characters that rules read as patterns."
        if not self.loaded.trusted or not self.circumstances_for("Bash", {"command": "git worktree"}).trusted:
            return (
                f"The folder {self.cwd} is not trusted, or holds a repository that configures programs, so no worktree"
                " can be made. Use git worktree with Bash, which asks the user."
            )
        return ""

    def use_folder(self, folder: str, /) -> None:
        """Make another folder the working folder; "" for the original one.

        Both hold the same files, so what rules deny or ask about in one folder is added for both.
        """
        now = self.circumstances
        anchors = anchors_of(folder or self.cwd, project=self.cwd, home=self.home, additional=now.anchors.additional)
        own = [rule for rule in now.rules if rule not in self._mirrored]
        self._mirrored = [copy for rule in own for copy in _mirrored(rule, (self.cwd, folder))] if folder else []
        self.circumstances = replace(now, anchors=anchors, rules=(*own, *self._mirrored))

    def may_read(self, resolved: Resolved) -> bool:
        """Whether this file may be read without asking."""
        return self._read_decision(resolved) == "allow"

    def hidden_files(self) -> Hidden | None:
        """The files that rules deny reading."""
        from handrail.cage.hidden import hidden_files

        return hidden_files(self.circumstances)

    def denies_read(self, resolved: Resolved) -> bool:
        """Whether a rule denies reading this file."""
        return self._read_decision(resolved) == "deny"

    def _read_decision(self, resolved: Resolved) -> str:
        from handrail.permissions.decide import decide

        return decide("Read", {"file_path": resolved.asked}, self.circumstances, OneFile(resolved)).behavior

    @property
    def model(self) -> str:
        """The id of the model in force."""
        if self.is_demo:
            return DEMO_MODEL
        if chosen := self.chosen_model or self.lead.model:
            return resolve(chosen, self.environment)
        return DEMO_MODEL if self.lacks_model else default_model(self.environment)

    @property
    def lacks_model(self) -> bool:
        """Whether neither a script nor an API is configured, so that the built-in script answers."""
        return is_demo(self.environment) and not self.key_helper

    def model_for(self, name: str) -> str:
        """The id of a model by name or alias; the session's model for "" and `inherit`."""
        named = name and name != "inherit" and not self.is_demo
        found = resolve(name, self.environment) if named else self.model
        if found == "opusplan":  # plans with Opus, works with Sonnet
            return resolve("opus" if self.mode == "plan" else "sonnet", self.environment)
        return found

    @property
    def small_model(self) -> str:
        """The id of the model for requests without the conversation, such as titles."""
        return self.model_for(self.environment.get("ANTHROPIC_SMALL_FAST_MODEL", "").strip())

    def command_rules(self, grants: Sequence[str]) -> tuple[SourcedRule, ...]:
        """The allow rules that a command or skill brings; none if only rules of the organisation count."""
        if self.settings.values.get("allowManagedPermissionRulesOnly") is True:
            return ()
        return tuple(read_rules(grants, "allow", "command"))

    def subagent_model(self, name: str) -> str:
        """The id of a subagent's model. CLAUDE_CODE_SUBAGENT_MODEL is for one that no call and kind names."""
        return self.model_for(name or self.environment.get("CLAUDE_CODE_SUBAGENT_MODEL", ""))

    @property
    def fallback_models(self) -> list[str]:
        """The ids of the models that answer, in this order, while the model is overloaded."""
        # A repeated model would make an overloaded turn go round the list for ever; two names may mean one model.
        return list(dict.fromkeys(self.model_for(name) for name in self.arguments.fallback_models))

    def effort_for(self, model: str) -> str:
        """The effort level that a request to this model carries; "" where the model does not support it."""
        level = self.effort_level
        if level is None:
            level = self._saved_effort(model) or facts_of(model).usual_effort
        return level if level in facts_of(model).efforts else ""

    def _saved_effort(self, model: str) -> str:
        """The level that the user saved for a model, as `update_settings` writes it."""
        saved: Any = self._efforts.get(model)
        return str(cast("JsonObject", saved).get("effortLevel") or "") if isinstance(saved, dict) else ""

    def budget_fields(self) -> JsonObject:
        """The fields of a request that carry --task-budget."""
        if (total := self.arguments.task_budget) is None:
            return {}
        budget = {"task_budget": {"type": "tokens", "total": total}}
        return {"extra": {"output_config": budget}}

    def betas_for(self, model: str, *, main: bool, searches_tools: bool = False) -> tuple[str, ...]:
        """The beta features that a request to this model uses.

        `main`: it belongs to the main thread; `searches_tools`: tools are deferred.
        """
        thinking = self.thinking_for(model)
        wanted = (
            (BUDGET_THINKING, thinking is not None and thinking["type"] == "enabled"),
            (TASK_BUDGETS, main and self.arguments.task_budget is not None),
            (TOOL_SEARCH, searches_tools),
        )
        return tuple(name for name, used in wanted if used)

    def max_tokens(self, model: str) -> int:
        """The most tokens that one answer of this model may have."""
        return output_limit(model, self.environment)

    def thinking_for(self, model: str) -> JsonObject | None:
        """The `thinking` field of a request to this model; None leaves it out."""
        return thinking_field(model, self.thinking_tokens, self.thinking_display, self.max_tokens(model))

    def child_environment(self) -> dict[str, str]:
        """The environment of processes that tools start, without API keys."""
        left_out = {*_SECRETS, *(set(self.loaded.settings.env) - set(self.settings.env))}
        given = {**self.environment, **self.loaded.environment}
        return {**{name: value for name, value in given.items() if name not in left_out}, "CLAUDECODE": "1"}

    @property
    def folders(self) -> tuple[str, ...]:
        """The additional working folders."""
        return self.circumstances.anchors.additional

    @property
    def key_source(self) -> str:
        """The variable that holds the API key, "apiKeyHelper", or "none"."""
        if self.key_helper:
            return "apiKeyHelper"
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
            if self.environment.get(name):
                return name
        return "none"


_SECRETS: Final = frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"})


def _mirrored(rule: SourcedRule, folders: tuple[str, ...]) -> list[SourcedRule]:
    """Copies of a rule that refuses files by a relative path, for these folders."""
    content = rule.rule.content
    if rule.behavior == "allow" or content is None or content.startswith(("~", "//")):
        return []
    if class_of(rule.rule.tool) not in ("read", "edit"):
        return []
    text = content.removeprefix("./").lstrip("/")
    anywhere = "/" not in text.rstrip("/") and not content.startswith(("/", "./"))  # a single name, at any depth
    contents = [f"/{folder}/{'**/' if anywhere else ''}{text}" for folder in folders]
    return [replace(rule, rule=Rule(rule.rule.tool, content), scope="session") for content in contents]
