"""Resuming a session from its store, on a machine that does not have the transcript.

The transcript is written to a temporary configuration folder, and the CLI resumes it there. The folder has what the CLI
needs to run as it would without the store: the login, its state, and the user's settings. It is private, and is removed
after the session; the guardian removes it if this process dies.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Final, TypeVar, cast

import msgspec

from handrail.client.environment import child_environment
from handrail.client.options import Options
from handrail.platform import RAW
from handrail.session_store.base import SessionKey, SessionStore, SessionStoreEntry, SessionStoreError, implements
from handrail.session_store.files import project_key_for_directory, write_session
from handrail.session_store.sessions import load_entries
from handrail.transcripts.errors import TranscriptError
from handrail.transcripts.layout import SessionFile, check_session_id, config_home, locate

__all__ = ["StoredTranscript", "load_transcript", "write_config_home"]

log = logging.getLogger("handrail.client")

T = TypeVar("T")

_PLUGINS: Final = ("enabledPlugins", "extraKnownMarketplaces")
"""Settings that do not apply in the temporary folder: the plugins are installed in the user's own."""
_LINKED: Final = ("CLAUDE.md", "agents", "commands", "output-styles", "rules", "skills")
"""The user's settings source besides settings.json. The CLI only reads these, so links are enough."""
_LOADS_AT_ONCE: Final = 8


class StoredTranscript(msgspec.Struct, frozen=True):
    """A session as loaded from a store: its own entries, and those of its subagents by their subpath."""

    key: SessionKey
    entries: list[SessionStoreEntry]
    others: list[tuple[str, list[SessionStoreEntry]]]


async def load_transcript(options: Options) -> StoredTranscript | None:
    """The session to resume or continue. None if it is not in the store, so that the CLI looks for it on this machine.

    Raises SessionStoreError if the store fails, or if neither has the session.
    """
    store: SessionStore | None = options.session_store
    if store is None or not (options.resume or options.continue_conversation):
        return None
    project = project_key_for_directory(_directory(options))
    if options.resume:
        if not _is_session_id(options.resume):
            return None  # a title, which only the CLI can look up
        wanted = [options.resume]
    else:
        wanted = await _newest_first(store, project, options.session_store_load_timeout)
    for session_id in wanted:
        key: SessionKey = {"project_key": project, "session_id": session_id}
        found = await _loaded(store, key, options.session_store_load_timeout)
        if found:
            return StoredTranscript(key, found, await _load_others(store, key, options.session_store_load_timeout))
    if options.resume and not _is_on_this_machine(options):
        raise SessionStoreError(
            f"session {options.resume} is neither in the session store, for project {project}, nor on this machine;"
            " check resume=, and cwd=, because a store keeps sessions per directory"
        )
    return None


async def _newest_first(store: SessionStore, project: str, timeout: float) -> list[str]:
    async def listed() -> list[tuple[int, str]]:
        return sorted(((one["mtime"], one["session_id"]) for one in await store.list_sessions(project)), reverse=True)

    times = await _call(listed(), f"list_sessions() for project {project}", timeout)
    return [session_id for _, session_id in times if _is_session_id(session_id)]


async def _load_others(
    store: SessionStore, key: SessionKey, timeout: float
) -> list[tuple[str, list[SessionStoreEntry]]]:
    if not implements(store, "list_subkeys"):
        return []

    async def listed() -> list[str]:
        owner = key["project_key"], key["session_id"]
        return [*dict.fromkeys(await store.list_subkeys({"project_key": owner[0], "session_id": owner[1]}))]

    subpaths = await _call(listed(), f"list_subkeys() for session {key['session_id']}", timeout)
    limit = asyncio.Semaphore(_LOADS_AT_ONCE)

    async def load(subpath: str) -> tuple[str, list[SessionStoreEntry]]:
        async with limit:
            return subpath, await _loaded(store, {**key, "subpath": subpath}, timeout)

    return list(await asyncio.gather(*(load(subpath) for subpath in subpaths)))


async def _loaded(store: SessionStore, key: SessionKey, timeout: float) -> list[SessionStoreEntry]:
    about = f", {key['subpath']}" if "subpath" in key else ""
    return await _call(load_entries(store, key), f"load() for session {key['session_id']}{about}", timeout)


async def _call(work: Awaitable[T], what: str, timeout: float) -> T:
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return await work
    except SessionStoreError:
        raise
    except Exception as error:
        if isinstance(error, TimeoutError) and limit.expired():
            raise SessionStoreError(
                f"the session cannot be resumed: {what} of the session store did not finish within {timeout:g} s;"
                " session_store_load_timeout= changes that"
            ) from None
        raise SessionStoreError(
            f"the session cannot be resumed: {what} of the session store failed: {type(error).__name__}: {error}"
        ) from error


def _is_session_id(text: str) -> bool:
    try:
        return bool(check_session_id(text))
    except TranscriptError:
        return False


def _is_on_this_machine(options: Options) -> bool:
    try:
        return locate(str(options.resume), config_home(child_environment(options))).path.is_file()
    except TranscriptError:
        return False


def _directory(options: Options) -> Path:
    return Path(os.path.expanduser(options.cwd)) if options.cwd is not None else Path.cwd()


def write_config_home(transcript: StoredTranscript, options: Options, folder: Path) -> None:
    """Make a configuration folder with the transcript, and copies of the user's login, state and settings."""
    folder.mkdir(0o700)
    key = transcript.key
    file = SessionFile(folder / "projects", key["project_key"], key["session_id"])
    write_session(file, transcript.entries, transcript.others)
    env = child_environment(options)
    home = config_home(env)
    # The CLI keeps its state beside ~/.claude, but inside of a folder named by CLAUDE_CONFIG_DIR.
    state = home / ".claude.json" if env.get("CLAUDE_CONFIG_DIR") else home.parent / ".claude.json"
    _copy(state, folder / ".claude.json")
    _copy(home / ".credentials.json", folder / ".credentials.json", without=("refreshToken", "refresh_token"))
    if "user" in options.setting_sources:
        _copy(home / "settings.json", folder / "settings.json", without=_PLUGINS)
        for name in _LINKED:
            if (home / name).exists():
                (folder / name).symlink_to((home / name).resolve())


def _copy(source: Path, target: Path, *, without: tuple[str, ...] = ()) -> None:
    """Copy a JSON file with mode 0600, without some fields at any depth.

    A refresh token is good for one refresh: used by the CLI in the temporary folder, it would log the user out.
    """
    try:
        content: object = json.loads(source.read_bytes())
    except FileNotFoundError:
        return
    except (OSError, ValueError, RecursionError) as error:
        log.warning("%s is not used for the resumed session: %s", source, error)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | RAW
    with os.fdopen(os.open(target, flags, 0o600), "w", encoding="utf-8") as stream:
        json.dump(_stripped(content, without), stream)


def _stripped(value: object, without: tuple[str, ...]) -> object:
    if isinstance(value, dict):
        fields = cast("Mapping[str, object]", value)
        return {name: _stripped(inner, without) for name, inner in fields.items() if name not in without}
    if isinstance(value, list):
        return [_stripped(inner, without) for inner in cast("list[object]", value)]
    return value
