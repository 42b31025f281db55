"""Takes prompts into the conversation with the files they mention."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from handrail.agent.base import Prompt
from handrail.agent.blocks import text_block
from handrail.agent.conversation.queue import ExpandedPrompt
from handrail.agent.conversation.thread import Thread
from handrail.agent.prompt.attached_pictures import attached_pictures
from handrail.agent.prompt.mentions import Mentions
from handrail.agent.prompt.plan_notes import PlanNotes
from handrail.agent.record.checkpoints import Checkpoints
from handrail.agent.speaker import new_id
from handrail.agent.tools.plan_mode import plan_file
from handrail.agent.tools.scaled_picture import fit_blocks
from handrail.agent.tools.todo_write import todo_note

__all__ = ["PromptTaker"]

JsonObject = dict[str, Any]


class PromptTaker:
    """Adds prompts to a thread.

    `mentions` is made when the first prompt comes. `plan_instructions` are those of the host for plan mode.
    """

    def __init__(
        self,
        thread: Thread,
        checkpoints: Checkpoints,
        mentions: Callable[[], Mentions],
        plan_notes: PlanNotes,
        plan_instructions: Callable[[], str],
    ) -> None:
        self._thread, self._checkpoints, self._mentions = thread, checkpoints, mentions
        self._plan_notes, self._plan_instructions = plan_notes, plan_instructions
        self._restarts = thread.restarts

    async def take(self, prompt: Prompt) -> None:
        """Add a prompt, and the files it mentions, to the conversation. Of a command in a subagent, only the call."""
        thread = self._thread
        if isinstance(prompt, ExpandedPrompt) and prompt.fork:
            fields = {"uuid": prompt.uuid or new_id()}
            self._checkpoints.begin(fields["uuid"])
            thread.history.add_user(prompt.call_text)
            await thread.speaker.user(prompt.call_text, aloud=False, **fields)
            return
        text = prompt.expansion.words if isinstance(prompt, ExpandedPrompt) else prompt.text
        content = prompt.content if isinstance(prompt.content, str) else await fit_blocks(prompt.content)
        files = [] if prompt.verbatim else await self._mentions().expand(text)
        if note := await self._saved_pictures(prompt):
            files.insert(0, text_block(note))
        if note := self._plan_note():
            files.append(text_block(note))
        origin = prompt.origin or prompt.stamp
        fields: JsonObject = {"uuid": prompt.uuid or new_id(), **({"origin": origin} if origin else {})}
        self._checkpoints.begin(fields["uuid"])
        blocks = [text_block(content)] if isinstance(content, str) else content
        if isinstance(prompt, ExpandedPrompt):
            thread.history.add_user([text_block(prompt.call_text), *blocks, *files])
            line = await thread.speaker.user(prompt.call_text, aloud=False, **fields)
            await thread.speaker.user(blocks, aloud=False, isMeta=True)
        else:
            thread.history.add_user([*blocks, *files])
            line = await thread.speaker.user(content, aloud=False, **fields)
        if files:
            thread.speaker.keep({"type": "attachment", "attachment": {"type": "files", "content": files}})
        if thread.session.arguments.replay_user_messages and not prompt.origin:
            await thread.speaker.say({**line, "isReplay": True})

    async def _saved_pictures(self, prompt: Prompt) -> str:
        folder = self._thread.desk.results_folder
        if isinstance(prompt.content, str) or not folder:
            return ""
        return await asyncio.to_thread(attached_pictures, prompt.content, folder)

    def state_notes(self) -> list[str]:
        """Notes about the state of the session that a summary may lack: plan mode and open todos."""
        notes = (self._plan_note(), todo_note(self._thread.desk.state.todos))
        return [note for note in notes if note]

    def _plan_note(self) -> str:
        if self._restarts != self._thread.restarts:
            self._restarts = self._thread.restarts
            self._plan_notes.start_over()
        mode = self._thread.session.mode
        file = plan_file(self._thread.desk) if mode == "plan" else ""
        return self._plan_notes.beside_prompt(mode, plan_file=file, instructions=self._plan_instructions())
