"""What slash commands and control requests do to the session: compact, clear, rename."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from handrail.agent.conversation.commands import LocalTurn
from handrail.agent.conversation.side_requests import SideRequests
from handrail.agent.conversation.tasks import Tasks
from handrail.agent.conversation.thread import Thread
from handrail.agent.conversation.turn_lines import TurnLines
from handrail.agent.extensions.extensions import Extensions
from handrail.agent.record.checkpoints import Checkpoints
from handrail.agent.record.transcript import Transcript
from handrail.agent.speaker import new_id
from handrail.schema.activity_messages import ConversationResetMessage
from handrail.schema.permission_types import PermissionUpdate
from handrail.schema.system_messages import SessionTitleChangedMessage

if TYPE_CHECKING:
    from handrail.agent.conversation.compaction import Compaction
    from handrail.agent.mcp.hub import McpHub

__all__ = ["SessionActions"]

JsonObject = dict[str, Any]


class SessionActions:
    """The actions of one session, on its main thread."""

    def __init__(
        self,
        thread: Thread,
        *,
        transcript: Transcript,
        checkpoints: Checkpoints,
        tasks: Tasks,
        extensions: Extensions,
        lines: TurnLines,
        local: LocalTurn,
        side_requests: SideRequests,
        compaction: Callable[[], Compaction],
        hub: Callable[[], McpHub],
        started: float,
    ) -> None:
        self._thread, self._transcript, self._checkpoints, self._tasks = thread, transcript, checkpoints, tasks
        self._extensions, self._lines, self._local, self._side_requests = extensions, lines, local, side_requests
        self._compaction, self._hub, self.started = compaction, hub, started
        self.session, self.ledger = thread.session, thread.ledger

    def output_style(self) -> str:
        """The name of the output style in force."""
        return self._extensions.output_style

    def servers(self) -> list[JsonObject]:
        """The status of each MCP server."""
        return self._hub().status()

    def server_errors(self) -> list[JsonObject]:
        """The MCP servers that could not be configured."""
        return self._hub().errors()

    async def context_parts(self) -> dict[str, int]:
        """The tokens of the context window by category."""
        from handrail.agent.conversation.context_usage import context_parts

        return await context_parts(self._thread, self._side_requests)

    def compacts_automatically(self) -> bool:
        """Whether a nearly full window is compacted without a command."""
        return self._compaction().is_automatic()

    def memory_tokens(self) -> list[tuple[str, str, int]]:
        """The memory files: kind, path and estimated tokens of each."""
        from handrail.agent.conversation.context_usage import memory_tokens

        return memory_tokens(self._thread)

    def tool_tokens(self) -> dict[str, int]:
        """The estimated tokens of each tool that the model is offered."""
        from handrail.agent.conversation.context_usage import tool_tokens

        return {name: tool_tokens(tool) for name, tool in self._thread.tools().items()}

    async def rename(self, title: str, *, source: str) -> None:
        """Write the title to the transcript and report it to the host."""
        self.session.title = title
        self._transcript.name(title)
        await self._thread.speaker.send(SessionTitleChangedMessage(title=title, source=source))

    async def generate_title(self, work: str, *, persist: bool) -> str:
        """A title for this work, written by the model; "" if there is none.

        With `persist` it becomes the title of the session, unless that has one, which is then returned instead.
        """
        if persist and (known := self.session.title or self._transcript.generated_title):
            return known
        title = await self._side_requests.title(work)
        if persist and title:
            self._transcript.name_automatically(title)
        return title

    async def add_folder(self, folder: str, *, source: str) -> None:
        """Add a working folder for this session, and run the DirectoryAdded hooks."""
        thread = self._thread
        self.session.apply(PermissionUpdate(type="addDirectories", directories=[folder], destination="session"))
        thread.desk.additional = self.session.folders
        await thread.hear("DirectoryAdded", thread.hook_input("DirectoryAdded", directory=folder, source=source))

    async def compact(self, instructions: str) -> None:
        """Compact the conversation in a turn without prompts."""
        from handrail.agent.conversation.compaction import BLOCKED, NOT_ENOUGH

        start = monotonic()
        self.ledger.begin_turn()
        if not self._thread.history.messages:
            await self._local.say("compact", "Error: No messages to compact", outcome="failed")
            return
        await self._local.ready()
        problem = await self._compaction().compact("manual", instructions)
        if problem.startswith((BLOCKED, NOT_ENOUGH)):
            await self._local.say("compact", problem.strip())
            return
        text = f"Compaction failed: {problem}" if problem else "Compacted"
        await self._thread.speaker.user(f"<local-command-stdout>{text}</local-command-stdout>", isReplay=True)
        await self._local.say_result("compact", "", start)

    async def clear(self) -> None:
        """Start a new conversation with a new session id, in a turn without prompts."""
        start, new, thread = monotonic(), str(uuid4()), self._thread
        await thread.hear("SessionEnd", thread.hook_input("SessionEnd", reason="clear"))
        await thread.speaker.send(ConversationResetMessage(new_conversation_id=new, uuid=new, trigger="clear"))
        await self._start_over()
        await thread.start_session("clear")
        await self._lines.say_init()
        await self._local.say_result("clear", "", start)

    async def _start_over(self) -> None:
        thread, transcript = self._thread, self._transcript
        await self._tasks.report_running()  # they continue, and the new conversation gets their notices
        self.session.id = new_id()
        transcript.move_to(self.session.id)
        self._checkpoints.start_over(transcript.checkpoints_folder)
        thread.desk.results_folder = str(transcript.folder / "tool-results")
        thread.desk.plans_folder = str(transcript.folder / "plans")
        thread.desk.state.start_over(self.session.id)
        thread.history.replace([])
        thread.forget_shown()
        self.ledger.start_over()
