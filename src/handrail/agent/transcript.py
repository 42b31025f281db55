"""The session on disk. In: what was said. Out: one JSON line each, in the layout of the CLI.

    <home>/projects/<project>/<session>.jsonl                          the conversation
    <home>/projects/<project>/<session>/subagents/agent-<id>.jsonl     that of a subagent, with a `.meta.json`
    <home>/projects/<project>/<session>/{tool-results,tasks,checkpoints}/

Files are for their owner alone (0600 in folders of 0700). Where nothing is to be kept nothing is written, and the
folder beside the session is one of the system's temporary ones, which goes when the session ends.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from handrail.agent.arguments import VERSION
from handrail.agent.events import new_id, now
from handrail.agent.journal import Journal, make_private
from handrail.settings.git_branch import git_branch
from handrail.transcripts.entry import decode
from handrail.transcripts.layout import SessionFile, project_name, projects_folder

__all__ = ["Sidechain", "Transcript"]

JsonObject = dict[str, Any]
Mirror = Callable[[Path, list[JsonObject]], None]
_KEPT: Final = (
    "isSynthetic",
    "isMeta",
    "isCompactSummary",
    "error",
    "origin",
    "subtype",
    "content",
    "attachment",
    "tool_use_result",
    "request_id",
)
"""What an entry takes over from a line of the wire, besides what every entry has."""
_RENAMED: Final = {"tool_use_result": "toolUseResult", "request_id": "requestId"}
_TITLE_EVERY: Final = 32 * 1024
"""A title is looked for near the end of a file: after so many bytes it is written again."""
_SHARED: Final = (
    "Session {id} is in use by another process. Both go on and nothing is lost, but each sees only what it said itself,"
    " and a resume goes on with the one that spoke last. Use --fork-session for a conversation of its own."
)


class _Chain:
    """Entries of which each names the one before."""

    def __init__(self) -> None:
        self.last: str | None = None
        """The id of the newest entry: the next one's parent."""

    def entry(self, line: JsonObject, **fields: Any) -> JsonObject:
        """A line of the wire as an entry."""
        kept = {_RENAMED.get(name, name): line[name] for name in _KEPT if name in line}
        entry: JsonObject = {
            "parentUuid": self.last,
            **fields,
            "type": line["type"],
            **({"message": line["message"]} if "message" in line else {}),
            **kept,
            "uuid": line["uuid"],
            "timestamp": line.get("timestamp") or now(),
        }
        self.last = line["uuid"]
        return entry


class Transcript:
    """Writes one session down. `place` is where it is already, if anywhere."""

    def __init__(
        self, home: str, cwd: str, session_id: str, *, enabled: bool = True, place: SessionFile | None = None
    ) -> None:
        self._cwd, self.enabled = cwd, enabled
        self._place = place or SessionFile(projects_folder(Path(home)), project_name(cwd), session_id)
        self._chain = _Chain()
        self.report: Callable[[str], None] = lambda text: None
        """Is told, once each, what goes wrong."""
        self.mirror: Mirror | None = None
        """Is told every entry, and the file that it stands in."""
        self.title = ""
        self._since_title = _TITLE_EVERY
        self._summary_next = False
        self._branch = ""
        self._spare: Path | None = None
        self._journal = self._open()

    def _open(self) -> Journal:
        self.path = self._place.path
        shared = _SHARED.format(id=self.session_id)
        return Journal(self._place.root, self.path, report=lambda text: self.report(text), shared=shared)

    @property
    def session_id(self) -> str:
        """Whose it is."""
        return self._place.session_id

    @property
    def folder(self) -> Path:
        """What belongs to the session besides; a temporary folder where nothing is kept."""
        if self.enabled:
            return self._place.folder
        if self._spare is None:
            import tempfile

            self._spare = Path(tempfile.gettempdir()) / f"handrail-{os.getuid()}-{self.session_id}"
        return self._spare

    @property
    def checkpoints_folder(self) -> Path | None:
        """What files were before they were changed; none where nothing is kept."""
        return self.folder / "checkpoints" if self.enabled else None

    @property
    def last(self) -> str | None:
        """The id of the newest entry."""
        return self._chain.last

    @last.setter
    def last(self, uuid: str | None) -> None:
        self._chain.last = uuid

    @property
    def failed(self) -> str:
        """Why nothing can be written now; empty where all is well."""
        return self._journal.failed

    def exists(self) -> bool:
        """Is there a session of this id already?"""
        return self.path.exists()

    # Writing

    def add(self, line: JsonObject) -> None:
        """One line of the conversation, as it went over the wire. Those of subagents have files of their own."""
        if line.get("parent_tool_use_id") is not None:
            return
        if line["type"] == "user" and "tool_use_result" not in line:
            self._branch = git_branch(self._cwd)
        entry = self._chain.entry(line, **self.common())
        if self._summary_next and line["type"] == "user":
            entry["isCompactSummary"], self._summary_next = True, False
        self.note(entry)

    def common(self) -> JsonObject:
        """What every entry says."""
        return {
            "isSidechain": False,
            "userType": "external",
            "cwd": self._cwd,
            "sessionId": self.session_id,
            "version": VERSION,
            "gitBranch": self._branch,
        }

    def boundary(self, trigger: str, tokens: int, kept: int) -> str:
        """What was said so far is replaced by a summary, which comes next. In: how many messages stay. Out: its id."""
        before = self.last
        line = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "uuid": new_id()}
        self.last = None
        metadata = {"trigger": trigger, "preTokens": tokens, "keptMessages": kept}
        self.note(
            {**self._chain.entry(line, **self.common()), "logicalParentUuid": before, "compactMetadata": metadata}
        )
        self._summary_next = True
        return line["uuid"]

    def note(self, entry: JsonObject) -> None:
        """Any line."""
        if self.enabled:
            data = msgspec.json.encode(entry) + b"\n"
            self._since_title += len(data)
            self._journal.append(data)
            if self.mirror:
                self.mirror(self.path, [entry])
            if self.title and self._since_title >= _TITLE_EVERY:
                self.name(self.title)

    def name(self, title: str) -> None:
        """Give the session a title."""
        self.title, self._since_title = title, 0
        self.note({"type": "custom-title", "customTitle": title, "sessionId": self.session_id})

    def copy(self, lines: Iterable[bytes]) -> None:
        """Begin with the entries of another session."""
        if not self.enabled:
            return
        owner = msgspec.Raw(msgspec.json.encode(self.session_id))
        copied: list[bytes] = []
        for line in lines:
            with contextlib.suppress(ValueError):  # a line that cannot be read is no entry
                entry, _ = decode(line, dict[str, msgspec.Raw])
                copied.append(msgspec.json.encode({**entry, "sessionId": owner}) + b"\n")
        if copied:
            self._journal.append(b"".join(copied))
            if self.mirror:
                self.mirror(self.path, [msgspec.json.decode(line) for line in copied])

    def sidechain(self, agent_id: str, *, agent_type: str, description: str, call_id: str) -> Sidechain:
        """The file of a subagent."""
        meta = {"agentType": agent_type, "description": description, "toolUseId": call_id}
        return Sidechain(self, self._place, agent_id, meta)

    # The end

    def move_to(self, session_id: str) -> None:
        """Go on under another id, in a file of its own."""
        self.close()
        self._place = replace(self._place, session_id=session_id)
        self._chain, self._summary_next, self.title = _Chain(), False, ""
        self._journal = self._open()

    def close(self) -> None:
        """Let go of the file."""
        self._journal.close()
        if self._spare is not None:
            import shutil

            shutil.rmtree(self._spare, ignore_errors=True)
            self._spare = None


class Sidechain:
    """The conversation of a subagent, in a file of its own beside that of its session."""

    def __init__(self, transcript: Transcript, place: SessionFile, agent_id: str, meta: JsonObject) -> None:
        self._transcript, self._agent_id, self._meta = transcript, agent_id, meta
        self._chain = _Chain()
        self.path = place.subagents / f"agent-{agent_id}.jsonl"
        self._journal = Journal(place.root, self.path, report=transcript.report)

    def add(self, line: JsonObject) -> None:
        """One line, as it went over the wire."""
        if not self._transcript.enabled:
            return
        if self._chain.last is None:
            self._describe()
        common = {**self._transcript.common(), "isSidechain": True, "agentId": self._agent_id}
        entry = self._chain.entry(line, **common)
        self._journal.append(msgspec.json.encode(entry) + b"\n")
        if self._transcript.mirror:
            self._transcript.mirror(self.path, [entry])

    def _describe(self) -> None:
        """Say beside the file whose it is. A session without that is still read."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with contextlib.suppress(OSError):
            make_private(self.path.parent)
            with os.fdopen(os.open(self.path.with_suffix(".meta.json"), flags, 0o600), "wb") as file:
                file.write(msgspec.json.encode(self._meta))

    def close(self) -> None:
        """Let go of the file."""
        self._journal.close()
