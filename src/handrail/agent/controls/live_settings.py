"""Settings that a host changes while the session runs.

Each of them is in force from the next model request or call on. As in the CLI, a key or value without effect is left
out, and the rest is applied; stderr names it. A value of the wrong kind refuses the whole request, and so does a
restriction that could not be enforced: an invalid deny or ask rule, or a sandbox.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, cast

import msgspec

from handrail.agent.extensions.extensions import Extensions
from handrail.agent.extensions.output_styles import DEFAULT
from handrail.agent.known_models import facts_of, resolve
from handrail.agent.session import Session
from handrail.agent.setting_keys import without_effect
from handrail.connection.router import Refusal
from handrail.permissions.rules.rule import RuleError, parse_rule
from handrail.settings.files import Place, read_file

__all__ = ["LiveSettings"]

JsonObject = dict[str, Any]
_INVALID: Final = "invalid_request"
_TEXTS: Final = ("model", "effortLevel", "outputStyle")
_KINDS: Final[dict[str, tuple[type | tuple[type, ...], str]]] = {
    "model": (str, "a string"),
    "outputStyle": (str, "a string"),
    "language": (str, "a string"),
    "alwaysThinkingEnabled": (bool, "true or false"),
    "autoCompactEnabled": (bool, "true or false"),
    "autoMemoryEnabled": (bool, "true or false"),
    "disableAllHooks": (bool, "true or false"),
    "cleanupPeriodDays": ((int, float), "a number"),
}
"""The kinds of values that the CLI checks."""
_AT_START: Final = (
    "agent",
    "apiKeyHelper",
    "mcpServers",
    "enableAllProjectMcpServers",
    "enabledMcpjsonServers",
    "disabledMcpjsonServers",
)
"""Keys that are read only when a session starts."""
_DISPLAYS: Final = ("summarized", "omitted", "highlights")
_WRITABLE: Final = {"localSettings": "outputStyle", "userSettings": "effortLevel"}
"""The one key of each settings file that `update_settings` may write."""


class LiveSettings:
    """Changes settings of a running session.

    `given` returns the fields of `initialize`; `applied` is called after settings were applied.
    """

    def __init__(
        self,
        session: Session,
        extensions: Extensions,
        given: Callable[[], JsonObject],
        applied: Callable[[], None],
    ) -> None:
        self._session, self._extensions, self._given, self._applied = session, extensions, given, applied

    def apply(self, given: JsonObject) -> None:
        """Merge `given` into the flag layer of the settings; null removes a key from it. Raises Refusal."""
        session = self._session
        _check_kinds(given)
        given, ignored = self._usable(given)
        merged = {**session.flag_values(), **given}
        place = Place(
            "flagSettings",
            "apply_flag_settings",
            text=msgspec.json.encode({key: value for key, value in merged.items() if value is not None}).decode(),
        )
        file = read_file(place)
        if file.problems:
            raise _refusal(str(file.problems[0]))
        loaded, settings = session.with_flags(file)
        if found := [problem for problem in settings.problems if problem.path == place.path]:
            raise _refusal(str(found[0]))
        if any(rule.scope == "flagSettings" for rule in settings.withheld):
            raise _refusal("permissions.allow is managed by policySettings, which ignore rules from elsewhere")
        for key in _TEXTS:
            if given.get(key) is not None and settings.values.get(key) != given[key]:
                raise _refusal(f"{key} is managed by policySettings, which set it to {settings.values.get(key)!r}")
        session.use_flags(loaded, settings, changed=given)
        self._applied()
        for text in ignored:
            print(f"apply_flag_settings: {text}; it was ignored", file=sys.stderr, flush=True)

    def _usable(self, given: JsonObject) -> tuple[JsonObject, list[str]]:
        """The part of `given` that has an effect, and why the rest has none."""
        usable = dict(given)
        ignored = [f"{name} is not used" for name in without_effect(given.items())]
        ignored += [f"{key} is read only at the start of a session" for key in _AT_START if key in given]
        if usable.get("model") == "":
            usable["model"] = None
        if usable.get("hooks") is not None and not isinstance(usable["hooks"], dict):
            ignored.append("hooks must be an object")
            del usable["hooks"]
        model = resolve(str(usable["model"]), self._session.environment) if usable.get("model") else self._session.model
        checks = (
            ("effortLevel", lambda: _check_effort(usable, model, Refusal)),
            ("outputStyle", lambda: self._check_style(usable.get("outputStyle"), Refusal)),
        )
        for key, check in checks:
            try:
                check()
            except Refusal as problem:
                ignored.append(str(problem))
                del usable[key]
        permissions: Any = usable.get("permissions")
        allow: Any = cast("JsonObject", permissions).get("allow") if isinstance(permissions, dict) else None
        if isinstance(allow, list):
            rules = cast("list[Any]", allow)
            valid = [rule for rule in rules if _is_rule(rule)]
            ignored += [f"permissions.allow: {rule!r:.60} is not a rule" for rule in rules if not _is_rule(rule)]
            usable["permissions"] = {**permissions, "allow": valid}
        return usable, ignored

    def write(self, source: str, given: JsonObject) -> None:
        """Answer `update_settings`: write a key to a settings file.

        Settings files also hold hooks and permission rules, so only the keys that the CLI accepts here are written.
        """
        from handrail.settings.write import WriteRefused, write_value

        session = self._session
        allowed = _WRITABLE.get(source)
        if allowed is None:
            raise _not_written(f"source must be {' or '.join(_WRITABLE)}, not {source!r:.60}")
        if not session.reads(source):
            raise _not_written(f"--setting-sources excludes {source}")
        for key, value in given.items():
            if key != allowed:
                raise _not_written(f"{key[:60]} cannot be written to {source}; only {allowed} can")
            if not isinstance(value, str) or not value:
                raise _not_written(f"{key} must be a string, not {value!r:.60}")
        value, keys = str(given[allowed]), (allowed,)
        if allowed == "outputStyle":
            self._check_style(value, _not_written)
        else:
            keys = ("modelSettings", session.model, allowed)
            _check_effort(given, session.model, _not_written)
            if value == "max":
                raise _not_written("effortLevel max is for one session; use apply_flag_settings")
        try:
            write_value(source, keys, value, folder=session.cwd, home=session.config_home)
        except (WriteRefused, ValueError) as error:
            raise _not_written(str(error)) from None
        session.read_settings_again()

    def _check_style(self, style: str | None, refuse: Callable[[str], Refusal]) -> None:
        if style is None:
            return
        names = self._extensions.styles.names()
        if style not in names:
            raise refuse(f"outputStyle {style!r:.60} not found; the styles are {', '.join(names)}")
        from handrail.agent.prompt.system import custom_prompt  # loaded by the first turn anyway

        if style != DEFAULT and custom_prompt(self._session, self._given()) is not None:
            raise refuse("outputStyle is not used in a session with a custom system prompt")

    def set_thinking(self, fields: JsonObject) -> None:
        """Answer `set_max_thinking_tokens`: null restores the launch value, a missing field keeps what is set.

        A budget out of the model's range is accepted; requests carry the nearest one that the API accepts.
        """
        session = self._session
        tokens = fields.get("max_thinking_tokens", session.thinking_tokens)
        display = fields.get("thinking_display", session.thinking_display or None)
        if isinstance(tokens, float) and tokens.is_integer():
            tokens = int(tokens)
        if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool)):
            raise _no_thinking(f"max_thinking_tokens must be an integer or null, not {tokens!r:.60}")
        if display is not None and display not in _DISPLAYS:
            raise _no_thinking(f"thinking_display must be {', '.join(_DISPLAYS)} or null, not {display!r:.60}")
        session.thinking_tokens = session.launch_thinking() if tokens is None else tokens
        session.thinking_display = display or ""

    def applied(self) -> JsonObject:
        """The values that the next model request carries, for the answer to `get_settings`."""
        session = self._session
        return {
            "model": session.model,
            "effort": session.effort_for(session.model) or None,
            "outputStyle": self._extensions.output_style,
            "permissionMode": session.mode,
            "thinking": session.thinking_for(session.model),
        }


def _check_kinds(given: JsonObject) -> None:
    if given.get("sandbox") is not None:
        raise _refusal("sandbox cannot change while the session runs")
    for key, (kind, name) in _KINDS.items():
        value = given.get(key)
        if value is not None and (not isinstance(value, kind) or (kind is not bool and isinstance(value, bool))):
            raise _refusal(f"{key} must be {name} or null, not {value!r:.60}")


def _is_rule(text: Any) -> bool:
    try:
        return isinstance(text, str) and bool(parse_rule(text))
    except RuleError:
        return False


def _check_effort(given: JsonObject, model: str, refuse: Callable[[str], Refusal]) -> None:
    level, levels = given.get("effortLevel"), facts_of(model).efforts
    if level is None or level in levels:
        return
    supported = f"one of {', '.join(levels)}" if levels else "null, because the model does not take effort levels"
    raise refuse(f"effortLevel {level!r:.60} is not supported by {model}; it must be {supported}")


def _refusal(reason: str) -> Refusal:
    return Refusal(f"apply_flag_settings: {reason}. Nothing in this request was applied.", _INVALID)


def _not_written(reason: str) -> Refusal:
    return Refusal(f"update_settings: {reason}", _INVALID)


def _no_thinking(reason: str) -> Refusal:
    return Refusal(f"set_max_thinking_tokens: {reason}", _INVALID)
