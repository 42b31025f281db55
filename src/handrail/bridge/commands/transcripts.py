"""Deletes the transcript files of a session that is deleted from the bridge."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.launch import Cli
from handrail.bridge.store.base import SessionRecord
from handrail.transcripts import InvalidSessionId, SessionNotFound, TranscriptError, delete_session

__all__ = ["Deleted", "TranscriptFiles"]

Deleted = Literal["deleted", "kept", "none"]


class TranscriptFiles:
    """The transcripts on this machine. `homes` lists the folders in which CLIs keep them; None is the default one."""

    def __init__(
        self, homes: Callable[[], Sequence[Path | None]], cli: Cli, environment: Mapping[str, str] = os.environ
    ) -> None:
        self._homes = homes
        # With CLAUDE_CONFIG_DIR the embedded agent writes where the real CLI does.
        self._shared = cli.kind == "agent" and bool(environment.get("CLAUDE_CONFIG_DIR"))

    async def delete(self, record: SessionRecord, *, asked: bool) -> Deleted:
        """Delete the files of a session. Raises CommandRefused if one cannot be deleted.

        Transcripts of the embedded agent are useless without their session and always deleted. Those of the real
        CLI belong to the user's terminal too and are deleted only when `asked`.
        """
        return await asyncio.to_thread(self._delete, record, asked)

    def _delete(self, record: SessionRecord, asked: bool) -> Deleted:  # noqa: FBT001
        found: Deleted = "none"
        for home in self._homes():
            for id in dict.fromkeys(filter(None, (record.id, record.conversation))):
                if home is None and not asked and not self._shared:
                    found = "kept" if found == "none" and _exists(id, home) else found
                elif _deleted(id, home):
                    found = "deleted"
        return found


def _exists(id: str, home: Path | None) -> bool:
    from handrail.transcripts import locate

    try:
        return locate(id, home).path.exists()
    except TranscriptError:
        return False


def _deleted(id: str, home: Path | None) -> bool:
    try:
        delete_session(id, config_home=home)
    except (SessionNotFound, InvalidSessionId):
        return False
    except TranscriptError as error:
        raise CommandRefused("failed", f"the transcript was not deleted, so the session was kept: {error}") from None
    return True
