"""What a CLI says of itself. In: a session, with or without a process. Out: commands, agents, models, hooks, account.

No question takes longer than two seconds, and one that the CLI does not answer leaves its field empty. Without a
process what was last told in that folder counts, else what was last told anywhere: it is the same CLI. Nothing of it is
a secret.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from handrail.bridge.session.launch import Cli
from handrail.client.errors import HandrailError
from handrail.client.session import Session
from handrail.settings.git_branch import git_branch
from handrail.transport.masking import mask_text

if TYPE_CHECKING:
    from handrail.bridge.session.host import SessionHost

__all__ = ["About", "listed_hooks"]

JsonObject = dict[str, Any]
PATIENCE: Final = 2.0
REMEMBERED: Final = 64
"""Of so many folders it is known what was last told there."""
LONGEST: Final = 2000
_TOLD: Final[Mapping[str, tuple[str, Any]]] = {
    "commands": ("commands", []),
    "agents": ("agents", []),
    "models": ("models", []),
    "output_style": ("output_style", ""),
    "output_styles": ("available_output_styles", []),
    "version": ("claude_code_version", ""),
    "fast_mode_state": ("fast_mode_state", ""),
}
"""Our names, and those of the handshake with what stands there where the CLI says nothing."""
_ACCOUNT: Final = ("email", "organization", "subscriptionType", "tokenSource", "apiKeySource", "apiProvider")


class About:
    """What is known of one CLI."""

    def __init__(self, cli: Cli) -> None:
        self._cli = cli
        self._known: dict[str, JsonObject] = {}

    async def of(self, host: SessionHost) -> JsonObject:
        """All that a page shows of a session's CLI."""
        record, options = host.record, host.record.options
        told = await self._asked(host.session, record.cwd) if host.running else self._last(record.cwd)
        chosen = {"output_style": options["output_style"]} if options.get("output_style") and not host.running else {}
        return {
            **told,
            **chosen,
            "running": host.running,
            "version": told["version"] or self._cli.version,
            "cli": self._cli.kind,
            "effort": told["effort"] or options.get("effort") or "",
            "thinking_tokens": options.get("max_thinking_tokens"),
            "branch": (await asyncio.to_thread(git_branch, record.cwd))[:200],
        }

    def _last(self, cwd: str) -> JsonObject:
        newest = next(reversed(self._known.values()), None)
        here = self._known.get(cwd)
        if here is None and newest is not None:  # hooks and the effort are those of another folder
            return {**newest, "hooks": [], "effort": ""}
        return {**(here or _told({})), "effort": ""}

    async def _asked(self, session: Session, cwd: str) -> JsonObject:
        info = session.server_info
        hooks, settings = await asyncio.gather(
            _patiently(session.control("get_hooks_listing", timeout=PATIENCE)),
            _patiently(session.control("get_settings", timeout=PATIENCE)),
        )
        applied: Any = settings.get("applied")
        effort: Any = cast("JsonObject", applied).get("effort") if isinstance(applied, dict) else ""
        told = _told(_decoded(info.raw if info is not None else b""))
        told |= {"hooks": listed_hooks(hooks.get("hooks")), "effort": effort if isinstance(effort, str) else ""}
        self._known.pop(cwd, None)
        self._known[cwd] = told
        if len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]
        return told


async def _patiently(asking: Awaitable[JsonObject]) -> JsonObject:
    try:
        return await asking
    except HandrailError:  # it does not know the question, takes too long, or has just gone
        return {}


def _decoded(raw: bytes) -> JsonObject:
    try:
        found: Any = msgspec.json.decode(raw) if raw else {}
    except msgspec.MsgspecError:
        return {}
    return cast("JsonObject", found) if isinstance(found, dict) else {}


def _told(info: JsonObject) -> JsonObject:
    """Of the handshake what is shown; what is of another kind than it should be counts as not said."""
    found: JsonObject = {"hooks": [], "effort": ""}
    for name, (theirs, empty) in _TOLD.items():
        value: Any = info.get(theirs)
        found[name] = value if type(value) is type(empty) else empty
    account: Any = info.get("account")
    told = cast("JsonObject", account) if isinstance(account, dict) else {}
    return {**found, "account": {name: told[name] for name in _ACCOUNT if isinstance(told.get(name), str)}}


def listed_hooks(given: Any) -> list[JsonObject]:
    """The hooks in force, however the CLI tells of them. Secrets in commands are masked. Pure."""
    entries = cast("list[Any]", given) if isinstance(given, list) else []
    hooks = [cast("JsonObject", one) for one in entries if isinstance(one, dict)]
    return [
        {
            "event": _text(one, "event"),
            "matcher": _text(one, "matcher"),
            "type": _text(one, "type") or "command",
            "command": mask_text(_text(one, "commandText", "displayText", "command")),
            "source": _text(one, "source"),
        }
        for one in hooks
    ]


def _text(fields: JsonObject, *names: str) -> str:
    found = (fields.get(name) for name in names)
    return next((one[:LONGEST] for one in found if isinstance(one, str) and one), "")
