"""Commands that give a session: a new one, an old one, a branch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import NAMESPACE_OID, uuid5

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from handrail.bridge.commands.defaults import ASKING, NAMES
from handrail.bridge.commands.fields import Effort, Fields, Id, Mode, Model, OfSession, Path, Style, Text, Tokens
from handrail.bridge.commands.table import Call, command
from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.delivery import Prompt
from handrail.bridge.session.grants import BYPASS
from handrail.bridge.session.launch import CHOICES
from handrail.bridge.session.session_lines import session_line, title_of
from handrail.bridge.store.base import NewEvent, SessionRecord
from handrail.bridge.store.clock import latest_now

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge
    from handrail.bridge.session.host import SessionHost

__all__: list[str] = []

JsonObject = dict[str, Any]
FOLDERS: Final = ("add_dirs", "plugin_dirs")


class Choices(Fields, frozen=True, kw_only=True):
    """What may be chosen for a session. What is not named is as the server's defaults say; null is the CLI's own."""

    model: Model | UnsetType | None = UNSET
    mode: Mode | UnsetType = UNSET
    effort: Effort | UnsetType | None = UNSET
    thinking_tokens: Tokens | UnsetType | None = UNSET
    output_style: Style | UnsetType | None = UNSET
    add_dirs: list[Path] = []
    plugin_dirs: list[Path] = []
    max_turns: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    max_budget_usd: Annotated[float, Meta(gt=0, le=100_000)] | None = None


class Start(Choices, frozen=True, kw_only=True):
    """A new session in a folder; with `prompt` it begins at once.

    Where there are many machines: `runner` is one by its name, `labels` are words that it must have.
    """

    cwd: Path
    runner: Annotated[str, Meta(max_length=64)] = ""
    labels: Annotated[list[Annotated[str, Meta(max_length=64)]], Meta(max_length=20)] = []
    title: Annotated[str, Meta(max_length=200)] = ""
    prompt: Text = ""


@command("start", "prompt")
async def start(bridge: Bridge, call: Call, fields: Start) -> JsonObject:
    """A new session."""
    chosen = await _chosen(bridge, call, fields)
    mode: Mode = chosen.pop("mode")
    _check_scopes(call, mode, fields)
    bridge.check_mode(mode)
    options = {name: value for name, value in chosen.items() if value is not None}
    options |= {name: [bridge.checked_folder(path) for path in getattr(fields, name)] for name in FOLDERS}
    bypass = dict.fromkeys(("bypass", "may_bypass"), mode == BYPASS)
    options |= {"labels": fields.labels} if fields.labels else {}
    made = _made(bridge, call, bridge.checked_folder(fields.cwd), mode=mode, options={**options, **bypass})
    return await _begun(bridge, call, replace(made, title=fields.title), fields.prompt)


async def _chosen(bridge: Bridge, call: Call, fields: Choices) -> JsonObject:
    """What was chosen, and for the rest the defaults. Nobody gets by a default what he may not choose himself."""
    defaults = await bridge.defaults.get()
    given: JsonObject = {name: getattr(fields, name) for name in (*NAMES, "max_turns", "max_budget_usd")}
    chosen = {name: getattr(defaults, name) if value is UNSET else value for name, value in given.items()}
    allowed = chosen["mode"] in ASKING or "approve" in call.scopes or fields.mode is not UNSET
    chosen["mode"] = (chosen["mode"] if allowed else None) or "default"
    chosen["max_thinking_tokens"] = chosen.pop("thinking_tokens")
    return chosen


def _made(bridge: Bridge, call: Call, cwd: str, **fields: Any) -> SessionRecord:
    """The record of a new session. Its id comes from that of the command: the same command makes one session."""
    now, trusted = round(latest_now() * 1000), bridge.standing(cwd).trusted
    told: JsonObject = {"runner": bridge.name, "trusted": trusted, "state": "hibernated", **fields}
    return SessionRecord(id=call.session, cwd=cwd, created=now, changed=now, **told)


async def _begun(
    bridge: Bridge, call: Call, made: SessionRecord, prompt: str, past: Sequence[NewEvent] = ()
) -> JsonObject:
    """A session that is there, unless it was before; and something is said in it, or it has a process."""
    if await bridge.sessions.index.get(made.id) is None:
        await bridge.begin(replace(made, title=made.title or title_of(prompt)), past)
        if made.mode not in ASKING or made.options.get("plugin_dirs"):
            told = {"mode": made.mode, "plugin_dirs": made.options.get("plugin_dirs", [])}
            await bridge.audit(call, "start", session=made.id, cwd=made.cwd, **told)
    host = await bridge.sessions.get(made.id)
    if not prompt:
        await host.start()
        return _opened(bridge, host)
    answer = _opened(bridge, host)
    uuid = str(uuid5(NAMESPACE_OID, f"handrail prompt {call.key}"))
    await host.say(uuid, Prompt(prompt), call.by, call.receipt(answer))
    return answer


def _opened(bridge: Bridge, host: SessionHost) -> JsonObject:
    return {"session": session_line(host.record), "trust": bridge.trust_question(host.record)}


def _check_scopes(call: Call, mode: Mode, fields: Choices) -> None:
    """What would allow something without a question is for those who may allow it; what brings code, for the owner."""
    if mode not in ASKING and "approve" not in call.scopes:
        raise CommandRefused("forbidden", f"the mode {mode} needs the scope 'approve', which this device has not")
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
    return _opened(bridge, host)


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
    return _opened(bridge, host)


class Fork(OfSession, frozen=True, kw_only=True):
    """Another session with the same past, all of it or up to a message."""

    at: Id | None = None
    prompt: Text = ""


@command("fork", "prompt")
async def fork(bridge: Bridge, call: Call, fields: Fork) -> JsonObject:
    """Branch off, with what was chosen for the session; but what allows something is not taken along."""
    origin = (await bridge.session_or_import(fields.session)).record
    if not origin.conversation:
        raise CommandRefused("empty", "nothing was said in this session yet")
    chosen = {name: origin.options[name] for name in (*CHOICES, "output_style", *FOLDERS) if name in origin.options}
    made = _made(
        bridge,
        call,
        origin.cwd,
        title=f"{origin.title} (fork)" if origin.title else "",
        mode=origin.mode if origin.mode in ASKING else "default",
        options={**chosen, "origin": origin.conversation, "origin_message": fields.at},
        forked_from=origin.id,
        forked_at=fields.at or "",
    )
    past = await bridge.terminal.past(origin.conversation, through=fields.at)
    return await _begun(bridge, call, made, fields.prompt, past)
