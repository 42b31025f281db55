"""Finds out which program wrote a session: the CLI and handrail-agent share one folder, and continue each other's."""

import os
from pathlib import Path

import msgspec

from handrail.transcripts.entry import AGENT, SPOKEN, decode
from handrail.transcripts.layout import locate, open_below
from handrail.transcripts.read import Damage, lines


class _Entry(msgspec.Struct, frozen=True, rename="camel"):
    type: str = ""
    written_by: str = ""


def is_written_by_agent(session_id: str, *, config_home: Path | None = None) -> bool:
    """Whether handrail-agent alone wrote the messages of a session.

    False for a session that has a message of another program, or no message. Raises TranscriptError.
    """
    file = locate(session_id, config_home)
    found = False
    with os.fdopen(open_below(file.root, file.path), "rb") as stream:
        for _, line in lines(stream, Damage()):
            try:
                entry = decode(line, _Entry)[0]
            except ValueError:
                continue
            if entry.type in SPOKEN:
                if entry.written_by != AGENT:
                    return False
                found = True
    return found
