"""Commands that control a session: model, permission mode, thinking, effort, background tasks, rewind."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from handrail.bridge.commands.table import AuditCall, Call, Effort, Fields, Id, Mode, Model, Name, Tokens, command
from handrail.bridge.commands.workspace import Workspace
from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.events import event
from handrail.bridge.session.sessions import Sessions

__all__ = ["ControlCommands"]

JsonObject = dict[str, Any]


class SetModel(Fields, frozen=True, kw_only=True):
    """`model`: null is the default."""

    session: Id
    model: Model | None = None


class SetMode(Fields, frozen=True, kw_only=True):
    """A permission mode."""

    session: Id
    mode: Mode


class SetThinking(Fields, frozen=True, kw_only=True):
    """The token budget for thinking; null is the default."""

    session: Id
    tokens: Tokens | None = None


class SetEffort(Fields, frozen=True, kw_only=True):
    """`effort`: null is the model's default."""

    session: Id
    effort: Effort | None = None


class OfTask(Fields, frozen=True, kw_only=True):
    """A background task."""

    session: Id
    task: Name


class Rewind(Fields, frozen=True, kw_only=True):
    """Restore files to their state before a message. A dry run lists the changes and returns their hash."""

    session: Id
    message: Id
    dry_run: bool = True
    hash: Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?$")] = ""


class ControlCommands:
    """Handlers that control a session. Settings survive a restart of the process."""

    def __init__(self, sessions: Sessions, workspace: Workspace, audit: AuditCall) -> None:
        self._sessions, self._workspace, self._audit = sessions, workspace, audit

    @command("set_model", "prompt")
    async def set_model(self, call: Call, fields: SetModel) -> JsonObject:
        """Choose another model."""
        host = await self._sessions.get(fields.session)
        answered = (await host.session.set_model(fields.model)).model if host.running else ""
        await host.update(options={**host.record.options, "model": fields.model}, model=fields.model or "")
        await host.record_events([event("changed", model=answered or fields.model or "")])
        return {"model": host.record.model}

    @command("set_permission_mode", "approve")
    async def set_mode(self, call: Call, fields: SetMode) -> JsonObject:
        """Choose another permission mode. bypassPermissions needs a running process and ends with it."""
        self._workspace.check_mode(fields.mode)
        host = await self._sessions.get(fields.session)
        if host.running or fields.mode == "bypassPermissions":
            await host.session.set_permission_mode(fields.mode)
        await host.update(mode=fields.mode)
        await host.record_events([event("changed", mode=fields.mode)])
        await self._audit(call, "set_permission_mode", session=fields.session, mode=fields.mode)
        return {"mode": fields.mode}

    @command("set_thinking", "prompt")
    async def set_thinking(self, call: Call, fields: SetThinking) -> None:
        """Choose how many tokens the model may think."""
        host = await self._sessions.get(fields.session)
        if host.running:
            await host.session.set_max_thinking_tokens(fields.tokens)
        await host.update(options={**host.record.options, "max_thinking_tokens": fields.tokens})

    @command("set_effort", "prompt")
    async def set_effort(self, call: Call, fields: SetEffort) -> JsonObject:
        """Choose the effort of the model."""
        host = await self._sessions.get(fields.session)
        if host.running:
            await host.session.apply_flag_settings({"effortLevel": fields.effort})
        await host.update(options={**host.record.options, "effort": fields.effort})
        return {"effort": fields.effort}

    @command("stop_task", "prompt")
    async def stop_task(self, call: Call, fields: OfTask) -> None:
        """Stop a background task."""
        await (await self._sessions.get(fields.session)).session.stop_task(fields.task)

    @command("rewind", "approve")
    async def rewind(self, call: Call, fields: Rewind) -> JsonObject:
        """Restore exactly the files that the dry run listed."""
        host = await self._sessions.get(fields.session)
        session = host.session
        planned: JsonObject = msgspec.to_builtins(await session.rewind_files(fields.message, dry_run=True))
        shown = hashlib.sha256(msgspec.json.encode(planned, order="sorted")).hexdigest()
        if fields.dry_run:
            return {**planned, "hash": shown}
        if fields.hash != shown:
            raise CommandRefused("changed", "the files to restore have changed since the dry run; run it again")
        answer = await session.rewind_files(fields.message)
        rewound = event("rewound", message=fields.message, files=answer.files_changed, by=call.by)
        await host.record_events([rewound])
        await self._audit(call, "rewind", session=fields.session, message=fields.message, files=answer.files_changed)
        return msgspec.to_builtins(answer)
