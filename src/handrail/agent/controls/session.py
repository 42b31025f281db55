"""Control requests about the session: model, mode, thinking, settings, title, end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from handrail.agent.arguments import VERSION
from handrail.agent.controls.initialize import models
from handrail.agent.controls.live_settings import LiveSettings
from handrail.agent.controls.table import INVALID, Answered, control
from handrail.agent.known_models import DEMO_MODEL, NO_MODEL
from handrail.agent.session import Session
from handrail.agent.speaker import Speaker
from handrail.connection.router import Refusal
from handrail.permissions.modes import MODES
from handrail.schema import agent_answers as answers
from handrail.schema.system_messages import StatusMessage

if TYPE_CHECKING:
    from handrail.agent.conversation.actions import SessionActions
    from handrail.agent.conversation.thread import Thread

__all__ = ["SessionControls", "settings_errors"]

JsonObject = dict[str, Any]
_EDITABILITY: Final = {
    "userSettings": "persistent",
    "projectSettings": "persistent",
    "localSettings": "persistent",
    "session": "session",
    "cliArg": "session",
}


def settings_errors(session: Session) -> list[answers.SettingsError]:
    """The settings files, and values in them, that are not used."""
    return [answers.SettingsError(file=one.path, message=one.text) for one in session.settings.problems]


class SessionControls:
    """Answers them.

    `has_conversation` says whether the conversation has messages, `end` ends the process, `switch_hooks` returns the
    thread that runs the hooks for a model switch, or None if there are none.
    """

    def __init__(
        self,
        session: Session,
        speaker: Speaker,
        *,
        live_settings: LiveSettings,
        actions: Callable[[], SessionActions],
        has_conversation: Callable[[], bool],
        end: Callable[[], None],
        switch_hooks: Callable[[], Thread | None],
    ) -> None:
        self._session, self._speaker, self._live, self._actions = session, speaker, live_settings, actions
        self._has_conversation, self._end, self._switch_hooks = has_conversation, end, switch_hooks

    @control("set_model")
    async def set_model(self, fields: JsonObject) -> answers.SetModelAnswer:
        model = fields.get("model")
        if model is not None and not isinstance(model, str):
            raise Refusal("set_model: model must be a string", INVALID)
        if model is not None and not model.strip():
            raise Refusal("set_model: model must not be empty; leave it out for the default model", INVALID)
        if self._session.is_demo and model not in (None, "default", DEMO_MODEL):
            raise Refusal(f"set_model: {NO_MODEL.format(model=model)}", INVALID)
        await self._switch_model("" if model in (None, "default") else model)
        return answers.SetModelAnswer(model=self._session.model)

    async def _switch_model(self, name: str) -> None:
        """Use another model, unless a hook blocks it."""
        session, before = self._session, self._session.model
        after, hooked = session.model_for(name or "default"), self._switch_hooks()
        if hooked is not None and before != after and (why := await hooked.before_switch(after)):
            raise Refusal(f"set_model: a hook blocked it: {why}", INVALID)
        session.chosen_model = name
        await self._report_switch(before)
        if hooked is not None and before != session.model:
            await hooked.after_switch(before)

    async def _report_switch(self, before: str) -> None:
        """Report another model in the conversation, once there is one."""
        if self._has_conversation() and before != self._session.model:
            text = f"<local-command-stdout>Set model to {self._session.model}</local-command-stdout>"
            await self._speaker.user(text, isReplay=True)

    @control("set_permission_mode")
    async def set_mode(self, fields: JsonObject) -> answers.SetPermissionModeAnswer:
        mode, session = fields.get("mode"), self._session
        if not isinstance(mode, str) or mode not in MODES or mode == "delegate":
            raise Refusal(f"Invalid permission mode: {mode!s:.60}", "invalid_mode")
        if mode == "bypassPermissions" and not session.circumstances.bypass_available:
            raise Refusal(
                "Cannot set permission mode to bypassPermissions because the session was not launched with"
                " --dangerously-skip-permissions",
                "bypass_not_launched",
            )
        session.set_mode(mode)
        await self._speaker.send(StatusMessage(permission_mode=session.mode))
        return answers.SetPermissionModeAnswer(mode=session.mode)

    @control("set_max_thinking_tokens")
    async def set_thinking(self, fields: JsonObject) -> None:
        self._live.set_thinking(fields)

    @control("get_settings")
    async def settings(self, fields: JsonObject) -> answers.SettingsAnswer:
        session = self._session
        return answers.SettingsAnswer(
            effective=dict(session.settings.values),
            sources=[
                {"source": file.place.scope, "settings": dict(file.values)}
                for file in session.loaded.files
                if file.values
            ],
            applied=self._live.applied(),
            errors=settings_errors(session),
        )

    @control("apply_flag_settings")
    async def apply_settings(self, fields: JsonObject) -> None:
        settings = fields.get("settings")
        if not isinstance(settings, dict):
            raise Refusal("apply_flag_settings: settings must be an object", INVALID)
        before = self._session.model
        self._live.apply(cast("JsonObject", settings))
        await self._report_switch(before)

    @control("update_settings")
    async def update_settings(self, fields: JsonObject) -> None:
        settings = fields.get("settings")
        if not isinstance(settings, dict) or not settings:
            raise Refusal("update_settings: settings must be an object with a key", INVALID)
        self._live.write(str(fields.get("source") or ""), cast("JsonObject", settings))

    @control("list_permission_rules")
    async def permission_rules(self, fields: JsonObject) -> answers.PermissionRulesAnswer:
        session = self._session
        rules = [
            answers.PermissionRuleEntry(
                behavior=rule.behavior,
                source=rule.scope,
                rule=str(rule.rule),
                editability=_EDITABILITY.get(rule.scope, "readonly"),
            )
            for rule in session.circumstances.rules
        ]
        return answers.PermissionRulesAnswer(
            state=answers.PermissionRulesState(
                rules=rules,
                workspace_directories=[
                    answers.WorkspaceDirectory(path=path, source=self._source_of(path)) for path in session.folders
                ],
                original_cwd=session.cwd,
                managed_only=session.settings.values.get("allowManagedPermissionRulesOnly") is True,
                errors=settings_errors(session),
            )
        )

    def _source_of(self, folder: str) -> str:
        """The source that granted an additional working folder."""
        for file in reversed(self._session.loaded.files):
            permissions: Any = file.values.get("permissions")
            listed: Any = cast("JsonObject", permissions).get("additionalDirectories") if permissions else None
            if isinstance(listed, list) and folder in listed:
                return file.place.scope
        return "cliArg" if folder in self._session.arguments.add_dir else "session"

    @control("get_binary_version")
    async def binary_version(self, fields: JsonObject) -> answers.BinaryVersionAnswer:
        return answers.BinaryVersionAnswer(version=VERSION)

    @control("list_models")
    async def list_models(self, fields: JsonObject) -> answers.ModelsAnswer:
        return answers.ModelsAnswer(models=models(demo=self._session.is_demo))

    @control("rename_session")
    async def rename(self, fields: JsonObject) -> None:
        given = fields.get("title")
        title = given.strip() if isinstance(given, str) else ""
        if not title:
            raise Refusal(f"rename_session: title must be a text, not {given!r:.60}", INVALID)
        if (other := fields.get("session_id")) and other != self._session.id:
            raise Refusal(f"rename_session: session {other!s:.60} is not the session of this process", INVALID)
        await self._actions().rename(title, source=str(fields.get("source") or "host"))

    @control("end_session")
    async def end_session(self, fields: JsonObject) -> Answered:
        return Answered(then=self._end)
