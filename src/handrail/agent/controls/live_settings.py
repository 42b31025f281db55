"""Settings that a host changes while the session runs.

Each of them is in force from the next model request on. A key that could only take effect in a new process is refused,
and then nothing of the request is applied: an acknowledgement means that every value in it is in force.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import msgspec

from handrail.agent.extensions.extensions import Extensions
from handrail.agent.extensions.output_styles import DEFAULT
from handrail.agent.known_models import facts_of, resolve
from handrail.agent.session import Session
from handrail.connection.router import Refusal
from handrail.settings.files import Place, read_file

__all__ = ["LiveSettings"]

JsonObject = dict[str, Any]
_INVALID: Final = "invalid_request"
_TEXTS: Final = ("model", "effortLevel", "outputStyle")
_RULES: Final = ("allow", "deny", "ask")
_DISPLAYS: Final = ("summarized", "omitted")
"""Values of `thinking_display` that the API takes from every client; `highlights` is for hosted sessions."""
_WRITABLE: Final = {"localSettings": "outputStyle", "userSettings": "effortLevel"}
"""The one key of each settings file that `update_settings` may write."""
LEAST_BUDGET: Final = 1024
"""The API refuses smaller thinking budgets."""


class LiveSettings:
    """Changes settings of a running session. `given` returns the fields of `initialize`."""

    def __init__(self, session: Session, extensions: Extensions, given: Callable[[], JsonObject]) -> None:
        self._session, self._extensions, self._given = session, extensions, given

    def apply(self, given: JsonObject) -> None:
        """Merge `given` into the flag layer of the settings; null removes a key from it. Raises Refusal."""
        session = self._session
        _check_keys(given)
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
        model = resolve(given["model"], session.environment) if given.get("model") else session.model
        _check_effort(given, model, _refusal)
        self._check_style(given.get("outputStyle"), _refusal)
        session.use_flags(loaded, settings, changed=given)

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
        """Answer `set_max_thinking_tokens`: null restores the launch value, a missing field keeps what is set."""
        session, facts = self._session, facts_of(self._session.model)
        tokens = fields.get("max_thinking_tokens", session.thinking_tokens)
        display = fields.get("thinking_display", session.thinking_display or None)
        if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0):
            raise _no_thinking(f"max_thinking_tokens must be a number from 0 on, or null, not {tokens!r:.60}")
        if tokens == 0 and facts.always_thinks:
            raise _no_thinking(f"{facts.id} always thinks; max_thinking_tokens cannot be 0")
        most = session.max_tokens(facts.id) - 1
        if tokens and not facts.adaptive_thinking and not LEAST_BUDGET <= tokens <= most:
            raise _no_thinking(f"max_thinking_tokens of {facts.id} must be 0 or from {LEAST_BUDGET} to {most}")
        if display is not None and display not in _DISPLAYS:
            raise _no_thinking(
                f"thinking_display {display!r:.60} is not supported; it must be {' or '.join(_DISPLAYS)}"
            )
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


def _check_keys(given: JsonObject) -> None:
    permissions = given.get("permissions")
    unusable = [key for key in given if key not in (*_TEXTS, "permissions")]
    if isinstance(permissions, dict):
        unusable += [f"permissions.{key}" for key in cast("JsonObject", permissions) if key not in _RULES]
    if unusable:
        usable = ", ".join((*_TEXTS, *(f"permissions.{key}" for key in _RULES)))
        raise _refusal(f"{', '.join(unusable)} cannot change while the session runs; these can: {usable}")
    for key in _TEXTS:
        if given.get(key) is not None and (not isinstance(given[key], str) or not given[key]):
            raise _refusal(f"{key} must be a string or null, not {given[key]!r:.60}")


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
