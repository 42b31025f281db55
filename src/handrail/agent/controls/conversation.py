"""Control requests about the conversation: interrupt, queued messages, usage, side questions, tasks, files."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import msgspec

from handrail.agent.controls.table import INVALID, Answered, Asked, control
from handrail.agent.conversation.queue import PromptQueue
from handrail.agent.conversation.turn_lines import TurnLines
from handrail.agent.known_models import facts_of
from handrail.agent.record.usage import Ledger
from handrail.agent.session import Session
from handrail.agent.speaker import Speaker
from handrail.connection.router import Refusal
from handrail.files.resolve import real_path
from handrail.permissions.paths.names import is_below
from handrail.schema import agent_answers as answers
from handrail.schema.system_messages import ControlRequestProgressMessage
from handrail.schema.usage import ModelUsage

if TYPE_CHECKING:  # not needed for the handshake, which hosts wait for
    from handrail.agent.conversation.actions import SessionActions
    from handrail.agent.conversation.side_requests import SideRequests
    from handrail.agent.conversation.tasks import Tasks
    from handrail.agent.record.checkpoints import Checkpoints
    from handrail.agent.tools.desk import Desk

__all__ = ["ConversationControls"]

JsonObject = dict[str, Any]
MOST_FILES: Final = 50
_UNUSED: Final = {"Free space": "free", "Autocompact buffer": "buffer"}
"""Categories of the context window that are not used, and their kind."""
MOST_OUTPUT: Final = 8 * 1024
"""Bytes of a task's output that one answer has at most."""


class ConversationControls:
    """Answers them.

    `interrupt` interrupts the running turn, if there is one; `reload` reads plugins, commands, skills and agents again.
    """

    def __init__(
        self,
        session: Session,
        speaker: Speaker,
        ledger: Ledger,
        queue: PromptQueue,
        lines: TurnLines,
        *,
        started: float,
        interrupt: Callable[[], None],
        actions: Callable[[], SessionActions],
        side_requests: Callable[[], SideRequests],
        tasks: Callable[[], Tasks],
        checkpoints: Callable[[], Checkpoints],
        desk: Callable[[], Desk],
        reload: Callable[[], None],
    ) -> None:
        self._session, self._speaker, self._ledger, self._queue, self._lines = session, speaker, ledger, queue, lines
        self._started, self._interrupt, self._actions, self._side_requests = started, interrupt, actions, side_requests
        self._tasks, self._checkpoints, self._desk, self._reload = tasks, checkpoints, desk, reload

    @control("interrupt")
    async def interrupt(self, fields: JsonObject) -> Answered:
        cancelled: list[str] = []
        if fields.get("cancel_queued") is True:
            cancelled = self._queue.clear()
            for uuid in cancelled:
                await self._lines.tell_lifecycle(uuid, "cancelled")
        answer = answers.InterruptAnswer(still_queued=self._queue.uuids(), cancelled=cancelled)
        return Answered(answer, then=self._interrupt)

    @control("cancel_async_message")
    async def cancel_message(self, fields: JsonObject) -> answers.CancelAsyncMessageAnswer:
        uuid = str(fields.get("message_uuid") or fields.get("uuid") or "")
        cancelled = self._queue.cancel(uuid)
        if cancelled:
            await self._lines.tell_lifecycle(uuid, "cancelled")
        return answers.CancelAsyncMessageAnswer(cancelled=cancelled)

    # Usage

    @control("get_context_usage")
    async def context_usage(self, fields: JsonObject) -> answers.ContextUsageAnswer:
        if (detail := fields.get("detail")) not in (None, "summary", "full"):
            raise Refusal(f"get_context_usage: detail must be summary or full, not {detail!r:.60}", INVALID)
        model, parts = self._session.model, await self._actions().context_parts()
        window = facts_of(model).context_window
        used = sum(parts.values()) - parts["Free space"] - parts["Autocompact buffer"]
        categories = [
            answers.ContextCategory(
                id=name.lower().replace(" ", "_"),
                name=name,
                tokens=tokens,
                color="gray" if name in _UNUSED else "blue",
                kind=_UNUSED.get(name, "used"),
            )
            for name, tokens in parts.items()
        ]
        answer = answers.ContextUsageAnswer(
            categories=categories,
            total_tokens=used,
            max_tokens=window,
            raw_max_tokens=window,
            percentage=round(100 * used / window),
            model=model,
            is_auto_compact_enabled=self._actions().compacts_automatically(),
            auto_compact_threshold=window - parts["Autocompact buffer"],
        )
        answer.memory_files = [
            {"path": path, "type": kind, "tokens": tokens} for kind, path, tokens in self._actions().memory_tokens()
        ]
        if detail != "summary":
            for name, tokens in self._actions().tool_tokens().items():
                row = answers.ToolTokens(name=name, tokens=tokens)
                if name.startswith("mcp__"):
                    row.server_name = name.split("__")[1]
                (answer.mcp_tools if row.server_name else answer.system_tools).append(row)
        return answer

    @control("get_session_cost")
    async def session_cost(self, fields: JsonObject) -> answers.SessionCostAnswer:
        from handrail.agent.slash_commands.local import cost_text

        return answers.SessionCostAnswer(text=cost_text(self._ledger, self._started))

    @control("get_usage")
    async def usage(self, fields: JsonObject) -> answers.UsageAnswer:
        if not isinstance(skip := fields.get("skip_behaviors"), bool | None):
            raise Refusal(f"get_usage: skip_behaviors must be true or false, not {skip!r:.60}", INVALID)
        ledger = self._ledger
        session = answers.SessionUsage(
            total_cost_usd=ledger.total_cost,
            total_api_duration_ms=round(ledger.api_ms),
            total_duration_ms=round((monotonic() - self._started) * 1000),
            total_lines_added=ledger.lines_added,
            total_lines_removed=ledger.lines_removed,
            model_usage=msgspec.convert(ledger.models(), dict[str, ModelUsage]),
        )
        return answers.UsageAnswer(session=session)

    # Questions to the model outside the conversation

    @control("side_question")
    async def side_question(self, fields: Asked) -> answers.SideQuestionAnswer:
        question = fields.get("question")
        await self._speaker.send(ControlRequestProgressMessage(request_id=fields.id, status="started"))
        if not isinstance(question, str):  # the CLI reports it as the answer too
            text = f"(side_question: question must be a string, not {question!r:.60})"
            return answers.SideQuestionAnswer(response=text, synthetic=True)
        text, synthetic = await self._side_requests().side_question(question)
        return answers.SideQuestionAnswer(response=text, synthetic=synthetic)

    @control("generate_session_title")
    async def generate_title(self, fields: JsonObject) -> answers.SessionTitleAnswer:
        work = _text(fields, "description", "generate_session_title")
        title = await self._actions().generate_title(work, persist=fields.get("persist") is True)
        return answers.SessionTitleAnswer(title=title or None)

    # Tasks

    @control("stop_task")
    async def stop_task(self, fields: JsonObject) -> answers.AnswerView:
        await self._tasks().stop(_text(fields, "task_id", "stop_task"))
        return answers.AnswerView()

    @control("background_tasks")
    async def background_tasks(self, fields: JsonObject) -> answers.BackgroundTasksAnswer:
        """Move one foreground call, or all of them. The answer leaves out `backgrounded` if nothing was moved."""
        if not self._session.has_background:
            raise Refusal("background_tasks: CLAUDE_CODE_DISABLE_BACKGROUND_TASKS is set")
        if not isinstance(id := fields.get("tool_use_id"), str | None):
            raise Refusal(f"background_tasks: tool_use_id must be a string, not {id!r:.60}", INVALID)
        moved = self._desk().foreground.move(id or None)
        return answers.BackgroundTasksAnswer(backgrounded=True if moved else False if id else None)

    @control("get_task_output")
    async def task_output(self, fields: JsonObject) -> answers.TaskOutputAnswer:
        """The end of the output of a shell task; subagents report their output in their notification."""
        task = self._tasks().known.get(str(fields.get("task_id")))
        if task is None or task.kind != "local_bash":
            raise Refusal(f"get_task_output: no shell task with id {fields.get('task_id')!s:.60}", INVALID)
        data, size = _tail(task.output_file)
        return answers.TaskOutputAnswer(
            output=data.decode("utf-8", "replace"), total_bytes=size, truncated=len(data) < size
        )

    # Files

    @control("rewind_files")
    async def rewind(self, fields: JsonObject) -> answers.RewindFilesAnswer:
        id, dry_run = str(fields.get("user_message_id")), fields.get("dry_run") is True
        try:
            return self._checkpoints().rewind(id, dry_run=dry_run)
        except (ValueError, OSError) as error:
            if dry_run:
                return answers.RewindFilesAnswer(can_rewind=False, error=str(error))
            raise Refusal(str(error)) from None

    @control("read_file")
    async def read_file(self, fields: JsonObject) -> answers.ReadFileAnswer:
        from handrail.files.errors import FileError
        from handrail.files.open import read_resolved

        path, encoding, most = str(fields.get("path")), fields.get("encoding") or "utf-8", fields.get("max_bytes")
        if encoding not in ("utf-8", "base64"):
            raise Refusal(f"read_file: encoding must be utf-8 or base64, not {encoding!r:.60}", INVALID)
        if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 0):
            raise Refusal(f"read_file: max_bytes must be a number from 0 on, not {most!r:.60}", INVALID)
        resolved = self._desk().resolve(path)
        if not self._session.may_read(resolved):
            raise Refusal(f"read_file: reading {path[:200]} is not allowed by the folders and rules of the session")
        try:
            data = read_resolved(resolved)
        except FileError as error:
            raise Refusal(str(error)) from None
        shown = data if most is None else data[:most]
        answer = answers.ReadFileAnswer(
            abs_path=resolved.lexical, requested_path=path, truncated=len(shown) < len(data)
        )
        if encoding == "base64":
            answer.encoding, answer.contents = "base64", b64encode(shown).decode()
        else:
            answer.contents = shown.decode("utf-8", "replace")
            answer.lossy = answer.contents.encode() != shown
        return answer

    @control("file_suggestions")
    async def file_suggestions(self, fields: JsonObject) -> answers.FileSuggestionsAnswer:
        found = _find_files(self._session.cwd, str(fields.get("query") or "").lower())
        suggestions = [{"path": path, "displayText": path} for path in found]
        return answers.FileSuggestionsAnswer(suggestions=suggestions, cwd=self._session.cwd)

    @control("seed_read_state")
    async def seed_read_state(self, fields: JsonObject) -> None:
        """Mark a file as read at a modification time, in milliseconds, so that Edit and Write accept it.

        Like in the CLI, a request that names no file is acknowledged and has no effect: then a write is refused as if
        nothing had been seeded.
        """
        from handrail.agent.tools.text_file import mark_as_read

        path, modified = fields.get("path"), fields.get("mtime")
        if isinstance(path, str) and isinstance(modified, int | float):
            mark_as_read(path, modified, self._desk())

    @control("register_repo_root")
    async def register_root(self, fields: JsonObject) -> answers.RegisterRepoRootAnswer:
        """Add a working folder below one that the session was started with.

        Memory files are read for every request, so `reload_claude_md` needs no work.
        """
        folder = self._new_root(fields.get("directory"))
        await self._actions().add_folder(folder, source="register_repo_root")
        if fields.get("reload_plugins") is True or fields.get("reload_skills") is True:
            self._reload()
        return answers.RegisterRepoRootAnswer(directory=folder)

    def _new_root(self, given: Any) -> str:
        """The real path of a folder to register. Raises Refusal."""
        session = self._session
        if not isinstance(given, str) or not given or "\0" in given:
            raise Refusal("register_repo_root: directory must be a path", INVALID)
        folder = real_path(os.path.join(session.cwd, given))
        if not os.path.isdir(folder):
            raise Refusal(f"register_repo_root: {given[:200]} is not a folder", INVALID)
        roots = [real_path(os.path.join(session.cwd, root)) for root in (".", *session.arguments.add_dir)]
        if folder in (*roots, *session.folders):
            raise Refusal(f"register_repo_root: {given[:200]} is already a working folder", INVALID)
        if not any(is_below(folder, root) for root in roots):
            raise Refusal(f"register_repo_root: {given[:200]} is not below a working folder of the launch", INVALID)
        return folder


def _text(fields: Mapping[str, Any], name: str, subtype: str) -> str:
    """A field that must be a string."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise Refusal(f"{subtype}: {name} must be a string", INVALID)
    return value


def _tail(path: str) -> tuple[bytes, int]:
    """The last bytes of a file, and its size."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - MOST_OUTPUT, 0))
            return file.read(MOST_OUTPUT), size
    except OSError:
        return b"", 0


def _find_files(folder: str, query: str) -> list[str]:
    from handrail.files.errors import FileError
    from handrail.files.open import Root
    from handrail.files.project_files import project_files

    try:
        with Root(folder) as root:
            return [path for path in sorted(project_files(root)) if query in path.lower()][:MOST_FILES]
    except FileError:
        return []
