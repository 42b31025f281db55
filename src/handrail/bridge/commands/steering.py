"""Commands about how a session goes on: models, modes, tasks, files."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from handrail.bridge.commands.fields import Effort, Id, Mode, Model, Name, OfSession, Tokens
from handrail.bridge.commands.table import Call, command
from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.events import event

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__: list[str] = []

JsonObject = dict[str, Any]


class SetModel(OfSession, frozen=True, kw_only=True):
    """None is the default."""

    model: Model | None = None


@command("set_model", "prompt")
async def set_model(bridge: Bridge, call: Call, fields: SetModel) -> JsonObject:
    """Another model from now on, also after the process was ended and resumed."""
    host = await bridge.sessions.get(fields.session)
    answered = (await host.session.set_model(fields.model)).model if host.running else ""
    await host.update(options={**host.record.options, "model": fields.model}, model=fields.model or "")
    await host.record_events([event("changed", model=answered or fields.model or "")])
    return {"model": host.record.model}


class SetMode(OfSession, frozen=True, kw_only=True):
    """A permission mode."""

    mode: Mode


@command("set_permission_mode", "approve")
async def set_mode(bridge: Bridge, call: Call, fields: SetMode) -> JsonObject:
    """Another mode. That which asks for nothing is given to a process that runs, never to one that may come."""
    bridge.check_mode(fields.mode)
    host = await bridge.sessions.get(fields.session)
    if host.running or fields.mode == "bypassPermissions":
        await host.session.set_permission_mode(fields.mode)
    await host.update(mode=fields.mode)
    await host.record_events([event("changed", mode=fields.mode)])
    await bridge.audit(call, "set_permission_mode", session=fields.session, mode=fields.mode)
    return {"mode": fields.mode}


class SetThinking(OfSession, frozen=True, kw_only=True):
    """Tokens for thinking; None is the default."""

    tokens: Tokens | None = None


@command("set_thinking", "prompt")
async def set_thinking(bridge: Bridge, call: Call, fields: SetThinking) -> None:
    """How much the model may think, also after the process was ended and resumed."""
    host = await bridge.sessions.get(fields.session)
    if host.running:
        await host.session.set_max_thinking_tokens(fields.tokens)
    await host.update(options={**host.record.options, "max_thinking_tokens": fields.tokens})


class SetEffort(OfSession, frozen=True, kw_only=True):
    """None is the default of the model."""

    effort: Effort | None = None


@command("set_effort", "prompt")
async def set_effort(bridge: Bridge, call: Call, fields: SetEffort) -> JsonObject:
    """How much the model puts into an answer, also after the process was ended and resumed."""
    host = await bridge.sessions.get(fields.session)
    if host.running:
        await host.session.apply_flag_settings({"effortLevel": fields.effort})
    await host.update(options={**host.record.options, "effort": fields.effort})
    return {"effort": fields.effort}


class OfTask(OfSession, frozen=True, kw_only=True):
    """A task in the background."""

    task: Name


@command("stop_task", "prompt")
async def stop_task(bridge: Bridge, call: Call, fields: OfTask) -> None:
    """End it."""
    await (await bridge.sessions.get(fields.session)).session.stop_task(fields.task)


class Rewind(OfSession, frozen=True, kw_only=True):
    """Files back to what they were before a message. First dry: it tells what would change, and the hash of that."""

    message: Id
    dry_run: bool = True
    hash: Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?$")] = ""


@command("rewind", "approve")
async def rewind(bridge: Bridge, call: Call, fields: Rewind) -> JsonObject:
    """Put files back: what was shown by the dry run that came first, and nothing else."""
    session = (await bridge.sessions.get(fields.session)).session
    would: JsonObject = msgspec.to_builtins(await session.rewind_files(fields.message, dry_run=True))
    shown = hashlib.sha256(msgspec.json.encode(would, order="sorted")).hexdigest()
    if fields.dry_run:
        return {**would, "hash": shown}
    if fields.hash != shown:
        raise CommandRefused("changed", "what would be put back is not what was shown: look at it again, dry")
    answer = await session.rewind_files(fields.message)
    await bridge.audit(call, "rewind", session=fields.session, message=fields.message, files=answer.files_changed)
    return msgspec.to_builtins(answer)


@command("context_usage", "prompt", reads=True)
async def context_usage(bridge: Bridge, call: Call, fields: OfSession) -> JsonObject:
    """How full the window is, and of what: that names files of this machine."""
    answer = await (await bridge.sessions.get(fields.session)).session.get_context_usage()
    return msgspec.json.decode(answer.raw) if answer.raw else {}
