"""Writes a session to disk as JSON lines, in the layout of the CLI.

    <home>/projects/<project>/<session>.jsonl                          the conversation
    <home>/projects/<project>/<session>/subagents/agent-<id>.jsonl     a subagent's conversation, with a `.meta.json`
    <home>/projects/<project>/<session>/{tool-results,tasks,plans}/
    <home>/file-history/<session>/                                     files as they were before they were changed

Files are private (0600, in folders of 0700). A session without persistence writes none of them, and its folder is a
temporary one that is deleted when the session ends.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
from msgspec.structs import replace

from handrail.agent.arguments import VERSION
from handrail.agent.record.journal import Journal, make_private
from handrail.agent.speaker import new_id, now
from handrail.settings.git_branch import git_branch
from handrail.transcripts.entry import AGENT, decode, one_line
from handrail.transcripts.layout import SessionFile, project_name, projects_folder

if TYPE_CHECKING:
    from handrail.transcripts.subagents import Subagent

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
    "is_api_error_message",
)
"""Fields of a line on the wire that its entry keeps, besides those of every entry."""
_RENAMED: Final = {
    "tool_use_result": "toolUseResult",
    "request_id": "requestId",
    "is_api_error_message": "isApiErrorMessage",
}
_PROMPT_LIMIT: Final = 200
"""Characters of the last prompt that lists of sessions show."""
_TITLE_EVERY: Final = 32 * 1024
"""Readers look for notes near the end of a file, so the title is written again after this number of bytes."""
_SHARED: Final = (
    "Session {id} is in use by another process. Both continue and nothing is lost, but each sees only its own messages,"
    " and a later resume continues the one that wrote last. Use --fork-session to work on a copy."
)


class _Chain:
    """Makes entries of which each names the previous one as its parent."""

    def __init__(self) -> None:
        self.last: str | None = None
        """The uuid of the newest entry: the parent of the next one."""
        self._callers: dict[str, str] = {}
        """The uuid of the entry that made each tool call, until its result is written."""

    def entry(self, line: JsonObject, **fields: Any) -> JsonObject:
        """Make an entry of a line on the wire."""
        kept = {_RENAMED.get(name, name): line[name] for name in _KEPT if name in line}
        entry: JsonObject = {
            "parentUuid": self.last,
            **fields,
            "type": line["type"],
            **({"message": line["message"]} if "message" in line else {}),
            **kept,
            **self._caller(line),
            "uuid": line["uuid"],
            "timestamp": line.get("timestamp") or now(),
        }
        self.last = line["uuid"]
        return entry

    def _caller(self, line: JsonObject) -> JsonObject:
        """The `sourceToolAssistantUUID` of a tool result."""
        for block in _blocks(line):
            if block.get("type") == "tool_use":
                self._callers[str(block.get("id"))] = line["uuid"]
            elif block.get("type") == "tool_result" and (caller := self._callers.pop(str(block["tool_use_id"]), "")):
                return {"sourceToolAssistantUUID": caller}
        return {}


def _blocks(line: JsonObject) -> list[JsonObject]:
    content = line["message"].get("content") if "message" in line else None
    return cast("list[JsonObject]", content) if isinstance(content, list) else []


def _text(line: JsonObject) -> str:
    content = line["message"]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text") or "") for block in _blocks(line) if block.get("type") == "text")


def _is_prompt(line: JsonObject) -> bool:
    """Whether a user line is a prompt of the host, rather than a tool result or a note of the agent."""
    marked = any(line.get(name) for name in ("isSynthetic", "isMeta", "isCompactSummary", "origin"))
    return not marked and not any(block.get("type") == "tool_result" for block in _blocks(line))


class Transcript:
    """The transcript of one session. `place`: its files, if it already has some. `entrypoint`: which host runs it."""

    def __init__(
        self,
        home: str,
        cwd: str,
        session_id: str,
        *,
        enabled: bool = True,
        place: SessionFile | None = None,
        entrypoint: str = "sdk-cli",
    ) -> None:
        self._cwd, self.enabled, self._entrypoint = cwd, enabled, entrypoint
        self._place = place or SessionFile(projects_folder(Path(home)), project_name(cwd), session_id)
        self._chain = _Chain()
        self.report: Callable[[str], None] = lambda text: None
        """Called once for each kind of failure."""
        self.mirror: Mirror | None = None
        """Called with every entry, and the file it is written to."""
        self.prompt_id: Callable[[], str] = new_id
        """Returns the id of the running turn's prompt, which hooks receive as `prompt_id`."""
        self.mode: Callable[[], str] = lambda: "default"
        """Returns the permission mode."""
        self.title = self.generated_title = ""
        self._since_title = _TITLE_EVERY
        self._last_prompt = ""
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
        """The id of the session."""
        return self._place.session_id

    @property
    def folder(self) -> Path:
        """The folder of the session's other files; a temporary one if the session is not persisted."""
        if self.enabled:
            return self._place.folder
        if self._spare is None:
            import tempfile

            self._spare = Path(tempfile.gettempdir()) / f"handrail-{os.getuid()}-{self.session_id}"
        return self._spare

    @property
    def checkpoints_folder(self) -> Path | None:
        """The folder of the session's checkpoints; None if the session is not persisted."""
        return self.checkpoints_folder_of(self._place) if self.enabled else None

    @staticmethod
    def checkpoints_folder_of(place: SessionFile) -> Path:
        """The folder of a session's checkpoints, beside the projects folder."""
        return place.root.parent / "file-history" / place.session_id

    @property
    def last(self) -> str | None:
        """The uuid of the newest entry."""
        return self._chain.last

    def resume_after(self, uuid: str | None, *, last_prompt: str) -> None:
        """Continue the chain after this entry."""
        self._chain.last, self._last_prompt = uuid, last_prompt

    @property
    def failed(self) -> str:
        """Why nothing can be written now; empty if the last line was written."""
        return self._journal.failed

    def exists(self) -> bool:
        """Whether there is a session with this id already."""
        return self.path.exists()

    # Writing

    def add(self, line: JsonObject) -> None:
        """Write one line of the conversation, as sent to the host. Lines of subagents belong to a `Sidechain`."""
        if line.get("parent_tool_use_id") is not None:
            return
        if line["type"] == "user" and _is_prompt(line):
            self._branch = git_branch(self._cwd)
            self._last_prompt = one_line(_text(line), _PROMPT_LIMIT) or self._last_prompt
        entry = self._chain.entry(line, **self.common(line["type"]))
        if self._summary_next and line["type"] == "user":
            entry["isCompactSummary"], self._summary_next = True, False
        self.note(entry)
        if line["type"] == "user":
            self._note_leaf()

    def common(self, type: str) -> JsonObject:
        """The fields of every entry of this type."""
        return {
            "isSidechain": False,
            **({"promptId": self.prompt_id(), "permissionMode": self.mode()} if type == "user" else {}),
            "userType": "external",
            "entrypoint": self._entrypoint,
            "cwd": self._cwd,
            "sessionId": self.session_id,
            "version": VERSION,
            "gitBranch": self._branch,
            "writtenBy": AGENT,
        }

    def end_turn(self, total_cost: float, models: JsonObject) -> None:
        """Write the notes of a finished turn: its end, and the cost of the session."""
        self._note_leaf()
        self.note(
            {
                "type": "cost-state",
                "sessionId": self.session_id,
                "totalCostUSD": total_cost,
                "modelUsage": models,
            }
        )

    def _note_leaf(self) -> None:
        """Write the last prompt and the newest entry.

        The CLI resumes at `leafUuid` of the last such line and drops later entries, so one is written often enough that
        a killed process loses no prompt and no tool result.
        """
        if self._last_prompt and self.last:
            self.note(
                {
                    "type": "last-prompt",
                    "lastPrompt": self._last_prompt,
                    "leafUuid": self.last,
                    "sessionId": self.session_id,
                }
            )

    def boundary(self, trigger: str, tokens: int, kept: int) -> str:
        """Mark that a summary, which is written next, replaces all but the last `kept` messages. Returns the uuid."""
        before = self.last
        line = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "uuid": new_id()}
        self._chain.last = None
        metadata = {"trigger": trigger, "preTokens": tokens, "keptMessages": kept}
        self.note(
            {
                **self._chain.entry(line, **self.common("system")),
                "logicalParentUuid": before,
                "compactMetadata": metadata,
            }
        )
        self._summary_next = True
        return line["uuid"]

    def note(self, entry: JsonObject) -> None:
        """Write any line."""
        if self.enabled:
            data = msgspec.json.encode(entry) + b"\n"
            self._since_title += len(data)
            self._journal.append(data)
            if self.mirror:
                self.mirror(self.path, [entry])
            if (self.title or self.generated_title) and self._since_title >= _TITLE_EVERY:
                self._write_titles()

    def link_pull_request(self, link: JsonObject) -> None:
        """Link the session to a pull request, for --from-pr."""
        self.note({"type": "pr-link", "sessionId": self.session_id, **link, "timestamp": now()})

    def name(self, title: str) -> None:
        """Set the title of the session."""
        self.title = title
        self._write_titles()

    def name_automatically(self, title: str) -> None:
        """Set the title that the model wrote; one that the user gave is preferred to it."""
        self.generated_title = title
        self._write_titles()

    def _write_titles(self) -> None:
        self._since_title = 0
        if self.generated_title:
            self.note({"type": "ai-title", "aiTitle": self.generated_title, "sessionId": self.session_id})
        if self.title:
            self.note({"type": "custom-title", "customTitle": self.title, "sessionId": self.session_id})

    def copy(self, lines: Iterable[bytes]) -> None:
        """Begin with entries of another file; they become this session's, and this program's."""
        if not self.enabled:
            return
        changed = {
            "sessionId": msgspec.Raw(msgspec.json.encode(self.session_id)),
            "writtenBy": msgspec.Raw(msgspec.json.encode(AGENT)),
        }
        copied: list[bytes] = []
        for line in lines:
            with contextlib.suppress(ValueError):  # skip lines that cannot be decoded
                entry, _ = decode(line, dict[str, msgspec.Raw])
                copied.append(msgspec.json.encode({**entry, **changed}) + b"\n")
        if copied:
            self._journal.append(b"".join(copied))
            if self.mirror:
                self.mirror(self.path, [msgspec.json.decode(line) for line in copied])

    def sidechain(
        self, agent_id: str, *, agent_type: str, description: str, call_id: str, after: str | None = None
    ) -> Sidechain:
        """The transcript of a subagent, started by the tool call `call_id`; `after`: the last entry that it has."""
        meta = {"agentType": agent_type, "description": description, "toolUseId": call_id}
        return Sidechain(self, self._place, agent_id, meta, after)

    def earlier_subagent(self, agent_id: str) -> Subagent | None:
        """A subagent that an earlier process of this session ran; None if it left no transcript."""
        from handrail.transcripts.subagents import read_subagent  # few sessions need it

        return read_subagent(self._place, agent_id)

    # The end

    def move_to(self, session_id: str) -> None:
        """Continue under another id, in another file."""
        self.close()
        self._place = replace(self._place, session_id=session_id)
        self._chain, self._summary_next, self._last_prompt = _Chain(), False, ""
        self.title = self.generated_title = ""
        self._journal = self._open()

    def close(self) -> None:
        """Close the file."""
        self._journal.close()
        if self._spare is not None:
            import shutil

            shutil.rmtree(self._spare, ignore_errors=True)
            self._spare = None


class Sidechain:
    """The transcript of a subagent, in a separate file below the session's folder."""

    def __init__(
        self, transcript: Transcript, place: SessionFile, agent_id: str, meta: JsonObject, after: str | None = None
    ) -> None:
        self._transcript, self._agent_id, self._meta = transcript, agent_id, meta
        self._chain = _Chain()
        self._chain.last = after
        self.path = place.subagents / f"agent-{agent_id}.jsonl"
        self._journal = Journal(place.root, self.path, report=transcript.report)

    def add(self, line: JsonObject) -> None:
        """Write one line, as sent to the host."""
        if not self._transcript.enabled:
            return
        if self._chain.last is None:
            self._describe()
        common = {
            **self._transcript.common(line["type"]),
            "isSidechain": True,
            "agentId": self._agent_id,
            "parentToolUseID": self._meta["toolUseId"],
        }
        entry = self._chain.entry(line, **common)
        self._journal.append(msgspec.json.encode(entry) + b"\n")
        if self._transcript.mirror:
            self._transcript.mirror(self.path, [entry])

    def _describe(self) -> None:
        """Write the metadata beside the file, and mirror it as an entry. A subagent without it can still be read."""
        if self._transcript.mirror:
            self._transcript.mirror(self.path, [{"type": "agent_metadata", **self._meta}])
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with contextlib.suppress(OSError):
            make_private(self.path.parent)
            with os.fdopen(os.open(self.path.with_suffix(".meta.json"), flags, 0o600), "wb") as file:
                file.write(msgspec.json.encode(self._meta))

    def close(self) -> None:
        """Close the file."""
        self._journal.close()
