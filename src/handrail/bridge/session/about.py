"""Information that a CLI reports about itself: commands, agents, models, hooks, account.

A request that the CLI does not answer within two seconds leaves its field empty. Without a process the answer is the
last one of the same CLI or ACP agent from the same folder, or else from any folder. No field contains a secret.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, Final, cast

import msgspec

from handrail.bridge.session.host import SessionHost
from handrail.client.errors import HandrailError
from handrail.model_access.choice import Cli, CliChoice
from handrail.settings.git_branch import git_branch
from handrail.transport.masking import mask_text

__all__ = ["About", "listed_hooks"]

JsonObject = dict[str, Any]
TIMEOUT: Final = 2.0
MOST_FOLDERS: Final = 64
"""Folders whose last answer is remembered."""
MOST_TEXT: Final = 2000
_FIELDS: Final[Mapping[str, tuple[str, Any]]] = {
    "commands": ("commands", []),
    "agents": ("agents", []),
    "models": ("models", []),
    "output_style": ("output_style", ""),
    "output_styles": ("available_output_styles", []),
    "version": ("claude_code_version", ""),
    "fast_mode_state": ("fast_mode_state", ""),
}
"""Our field names, with the handshake's name and the default."""
_ACCOUNT: Final = ("email", "organization", "subscriptionType", "tokenSource", "apiKeySource", "apiProvider")


class About:
    """The answers of one CLI."""

    def __init__(self, cli: CliChoice) -> None:
        self._choice, self._answered_by = cli, cli.current()
        self._answers: dict[tuple[str, str], JsonObject] = {}
        """The last answer by ACP agent and folder, oldest first."""

    async def of(self, host: SessionHost) -> JsonObject:
        """Everything a page shows about the CLI of a session."""
        record, options = host.record, host.record.options
        cli = self._current_cli()
        agent = record.agent or cli.agent
        answer = await self._ask(host) if host.running else self._last(record.agent, record.cwd)
        chosen = {"output_style": options["output_style"]} if options.get("output_style") and not host.running else {}
        return {
            **answer,
            **chosen,
            "running": host.running,
            "version": "" if agent else answer["version"] or cli.version,  # handrail-acp reports its own
            "cli": agent or cli.kind,
            "effort": answer["effort"] or options.get("effort") or "",
            "thinking_tokens": options.get("max_thinking_tokens"),
            "branch": (await asyncio.to_thread(git_branch, record.cwd))[:200],
        }

    def _current_cli(self) -> Cli:
        """The CLI of the next process. Answers of another one, or with another model, are dropped."""
        cli = self._choice.current()
        if cli != self._answered_by:
            self._answered_by = cli
            self._answers.clear()
        return cli

    def _last(self, agent: str, cwd: str) -> JsonObject:
        newest = next((self._answers[key] for key in reversed(self._answers) if key[0] == agent), None)
        here = self._answers.get((agent, cwd))
        if here is None and newest is not None:  # hooks and effort come from the other folder's settings
            return {**newest, "hooks": [], "effort": ""}
        return {**(here or _from_handshake({})), "effort": ""}

    async def _ask(self, host: SessionHost) -> JsonObject:
        session, key = host.session, (host.record.agent, host.record.cwd)
        info = session.server_info
        hooks, settings = await asyncio.gather(
            _or_nothing(session.control("get_hooks_listing", timeout=TIMEOUT)),
            _or_nothing(session.control("get_settings", timeout=TIMEOUT)),
        )
        applied: Any = settings.get("applied")
        effort: Any = cast("JsonObject", applied).get("effort") if isinstance(applied, dict) else ""
        answer = _from_handshake(_decoded(info.raw if info is not None else b""))
        answer |= {
            "commands": _with_names(
                [msgspec.to_builtins(one) for one in session.commands] or answer["commands"], host.slash_commands
            ),
            "hooks": listed_hooks(hooks.get("hooks")),
            "effort": effort if isinstance(effort, str) else "",
        }
        self._answers.pop(key, None)
        self._answers[key] = answer
        if len(self._answers) > MOST_FOLDERS:
            del self._answers[next(iter(self._answers))]
        return answer


async def _or_nothing(request: Awaitable[JsonObject]) -> JsonObject:
    try:
        return await request
    except HandrailError:  # the CLI does not know the request, is too slow, or has just exited
        return {}


def _decoded(raw: bytes) -> JsonObject:
    try:
        found: Any = msgspec.json.decode(raw) if raw else {}
    except msgspec.MsgspecError:
        return {}
    return cast("JsonObject", found) if isinstance(found, dict) else {}


def _from_handshake(info: JsonObject) -> JsonObject:
    """The fields of the handshake that are shown; a value of the wrong type counts as missing."""
    found: JsonObject = {"hooks": [], "effort": ""}
    for name, (theirs, default) in _FIELDS.items():
        value: Any = info.get(theirs)
        found[name] = value if type(value) is type(default) else default
    reported: Any = info.get("account")
    account = cast("JsonObject", reported) if isinstance(reported, dict) else {}
    return {**found, "account": {name: account[name] for name in _ACCOUNT if isinstance(account.get(name), str)}}


def _with_names(described: Iterable[Any], names: Iterable[str]) -> list[JsonObject]:
    """The described commands, and those that only `system/init` names: MCP prompts, once their server is connected."""
    objects = [cast("JsonObject", entry) for entry in described if isinstance(entry, dict)]
    commands = [command for command in objects if isinstance(command.get("name"), str)]
    known = {command["name"] for command in commands}
    missing = [name for name in dict.fromkeys(names) if name not in known]
    return [*commands, *({"name": name, "description": "", "argumentHint": ""} for name in missing)]


def listed_hooks(given: Any) -> list[JsonObject]:
    """The active hooks, with the field names of any CLI version. Secrets in commands are masked."""
    entries = cast("list[Any]", given) if isinstance(given, list) else []
    hooks = [cast("JsonObject", entry) for entry in entries if isinstance(entry, dict)]
    return [
        {
            "event": _text(hook, "event"),
            "matcher": _text(hook, "matcher"),
            "type": _text(hook, "type") or "command",
            "command": mask_text(_text(hook, "commandText", "displayText", "command")),
            "source": _text(hook, "source"),
        }
        for hook in hooks
    ]


def _text(fields: JsonObject, *names: str) -> str:
    found = (fields.get(name) for name in names)
    return next((value[:MOST_TEXT] for value in found if isinstance(value, str) and value), "")
