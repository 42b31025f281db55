"""Commands that give a session: a new one, an old one, a branch."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import NAMESPACE_OID, uuid5

from msgspec import Meta

from handrail.bridge.commands.fields import Effort, Fields, Id, Mode, Model, OfSession, Path
from handrail.bridge.commands.table import Call, command
from handrail.bridge.errors import CommandRefused
from handrail.bridge.session_index.base import SessionRecord
from handrail.bridge.session_lines import session_fields

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__: list[str] = []

JsonObject = dict[str, Any]
ASKING: Final = frozenset({"default", "manual", "plan"})
"""Modes that allow nothing which the settings do not."""


class Choices(Fields, frozen=True, kw_only=True):
    """What may be chosen for a session."""

    model: Model | None = None
    mode: Mode = "default"
    effort: Effort | None = None
    add_dirs: list[Path] = []
    plugin_dirs: list[Path] = []
    max_turns: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    max_budget_usd: Annotated[float, Meta(gt=0, le=100_000)] | None = None


class Start(Choices, frozen=True, kw_only=True):
    """A new session in a folder; with `prompt` it begins at once."""

    cwd: Path
    title: str = ""
    prompt: str = ""


@command("start", "prompt")
async def start(bridge: Bridge, call: Call, fields: Start) -> JsonObject:
    """A new session."""
    return await _new(bridge, call, fields, bridge.checked_folder(fields.cwd), title=fields.title, prompt=fields.prompt)


async def _new(
    bridge: Bridge,
    call: Call,
    fields: Choices,
    cwd: str,
    *,
    title: str = "",
    prompt: str = "",
    origin: JsonObject | None = None,
) -> JsonObject:
    """Its id comes from that of the command: the same command makes one session."""
    id = str(uuid5(NAMESPACE_OID, f"handrail session {call.key}"))
    if await bridge.sessions.index.get(id) is None:
        _check_scopes(call, fields)
        bridge.check_mode(fields.mode)
        options: JsonObject = {
            name: value
            for name in ("model", "effort", "max_turns", "max_budget_usd")
            if (value := getattr(fields, name)) is not None
        }
        options["add_dirs"] = [bridge.checked_folder(path) for path in fields.add_dirs]
        options["plugin_dirs"] = [bridge.checked_folder(path) for path in fields.plugin_dirs]
        now, standing = round(time.time() * 1000), bridge.standing(cwd)
        record = SessionRecord(
            id=id,
            cwd=cwd,
            created=now,
            changed=now,
            title=title,
            state="hibernated",
            mode=fields.mode,
            options={**options, **(origin or {}), "bypass": fields.mode == "bypassPermissions"},
            trusted=standing.trusted,
        )
        await bridge.sessions.add(record)
    host = await bridge.sessions.get(id)
    if prompt:
        await host.say(str(uuid5(NAMESPACE_OID, f"handrail prompt {call.key}")), prompt, call.by)
    else:
        await host.start()
    return {"session": session_fields(host.record), "trust": bridge.trust_question(host.record)}


def _check_scopes(call: Call, fields: Choices) -> None:
    """What would allow something without a question is for those who may allow it; what brings code, for the owner."""
    if fields.mode not in ASKING and "approve" not in call.scopes:
        raise CommandRefused(
            "forbidden", f"the mode {fields.mode} needs the scope 'approve', which this device has not"
        )
    if fields.plugin_dirs and "admin" not in call.scopes:
        raise CommandRefused("forbidden", "plugins run code: they need the scope 'admin', which this device has not")


class Resume(Fields, frozen=True, kw_only=True):
    """A session of ours, or one that a CLI has on this machine."""

    session: Id


@command("resume", "prompt")
async def resume(bridge: Bridge, call: Call, fields: Resume) -> JsonObject:
    """Have a process for it."""
    host = await bridge.session_or_import(fields.session)
    await host.start()
    return {"session": session_fields(host.record), "trust": bridge.trust_question(host.record)}


class Continue(Fields, frozen=True, kw_only=True):
    """The session of a folder that was used last."""

    cwd: Path


@command("continue", "prompt")
async def continue_(bridge: Bridge, call: Call, fields: Continue) -> JsonObject:
    """Go on with the newest session of a folder."""
    id = await bridge.newest_session(bridge.checked_folder(fields.cwd))
    if not id:
        raise CommandRefused("not_found", f"no session has been in {fields.cwd}")
    host = await bridge.session_or_import(id)
    await host.start()
    return {"session": session_fields(host.record)}


class Fork(OfSession, frozen=True, kw_only=True):
    """Another session with the same past, all of it or up to a message."""

    at: Id | None = None
    prompt: str = ""


@command("fork", "prompt")
async def fork(bridge: Bridge, call: Call, fields: Fork) -> JsonObject:
    """Branch off."""
    host = await bridge.session_or_import(fields.session)
    record = host.record
    if not record.conversation:
        raise CommandRefused("empty", "nothing was said in this session yet")
    origin = {"origin": record.conversation, "origin_message": fields.at}
    title = f"{record.title} (fork)" if record.title else ""
    return await _new(bridge, call, Choices(), record.cwd, title=title, prompt=fields.prompt, origin=origin)
