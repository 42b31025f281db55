"""Subagents: a conversation of its own for a part of the work. In: a call of Task. Out: its report.

In the foreground the call waits for the report; in the background it returns at once, and a turn tells the end later.
"""

from __future__ import annotations

import os
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

from msgspec import Meta, Struct

from handrail.agent.agents import AgentKind
from handrail.agent.desk import Desk
from handrail.agent.events import Speaker
from handrail.agent.history import History, text_block
from handrail.agent.loop import End, Loop
from handrail.agent.tasks import TaskRun
from handrail.agent.thread import Thread
from handrail.agent.tools.base import Outcome, Tool, ToolFailed

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["Task"]

JsonObject = dict[str, Any]
MOST_ROUNDS: Final = 200


class TaskInput(Struct):
    """What a subagent is to do."""

    description: Annotated[str, Meta(description="The work in three to five words")]
    prompt: Annotated[str, Meta(description="Everything the subagent needs to know")]
    subagent_type: Annotated[str, Meta(description="Which kind of subagent")] = "general-purpose"
    run_in_background: Annotated[bool | None, Meta(description="Do not wait for the report")] = None
    model: str | None = None


class Task(Tool[TaskInput]):
    """Hands a part of the work to a subagent."""

    name = "Task"
    aliases = ("Agent",)
    Input = TaskInput
    concurrent: ClassVar[bool] = True
    description = "Hands work to a subagent with a conversation of its own, and returns its report."

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def describe(self, given: TaskInput) -> str:
        return given.description

    async def run(self, given: TaskInput, desk: Desk) -> Outcome:
        kind = self._engine.agents.kinds.get(given.subagent_type)
        if kind is None:
            known = ", ".join(self._engine.agents.kinds)
            raise ToolFailed(f"Agent type '{given.subagent_type}' not found. Available agents: {known}")
        run = _Run(self._engine, given, kind, desk)
        return await (run.behind() if run.is_behind() else run.ahead())


class _Run:
    """One subagent at work."""

    def __init__(self, engine: Engine, given: TaskInput, kind: AgentKind, desk: Desk) -> None:
        self._engine, self._given, self._kind = engine, given, kind
        self.id = f"a{os.urandom(8).hex()}"
        self._call_id = desk.call_id
        self._begun = monotonic()
        self._sidechain = engine.transcript.sidechain(
            self.id, agent_type=given.subagent_type, description=given.description, call_id=desk.call_id
        )
        self._thread = self._make_thread(desk)

    def _make_thread(self, desk: Desk) -> Thread:
        engine = self._engine
        background = self.is_behind()
        speaker = Speaker(
            engine.output,
            lambda: engine.session.id,
            record=self._sidechain.add,
            parent=self._call_id,
            extra={
                "agent_id": self.id,
                "subagent_type": self._given.subagent_type,
                "task_description": self._given.description,
            },
            texts=background
            or engine.arguments.forward_subagent_text
            or engine.initialized.get("forwardSubagentText") is True,
        )
        return Thread(
            engine.session,
            speaker=speaker,
            history=History(),
            desk=desk.for_subagent(),
            model=engine.model,
            ledger=engine.ledger,
            hooks=engine.hooks,
            permission=engine.permission_for(speaker),
            transcript=engine.transcript,
            tools=self._tools,
            system=lambda: [text_block(self._kind.prompt)],
            model_name=lambda: engine.model_for(self._given.model or self._kind.model),
            agent_id=self.id,
            agent_type=self._given.subagent_type,
            max_turns=self._kind.max_turns or MOST_ROUNDS,
        )

    def is_behind(self) -> bool:
        """In the background, unless somebody says otherwise."""
        background = self._given.run_in_background
        return (background if background is not None else self._kind.background) is not False

    def _tools(self) -> dict[str, Tool[Any]]:
        """Those of the kind; never another subagent, a question or a plan."""
        offered = self._engine.toolbox.offered()
        wanted = self._kind.tools
        return {
            name: tool
            for name, tool in offered.items()
            if name not in _NOT_FOR_SUBAGENTS
            and name not in self._kind.disallowed_tools
            and (wanted is None or name in wanted or "*" in wanted)
        }

    async def ahead(self) -> Outcome:
        """In the foreground: the report is the result."""
        engine = self._engine
        told = {"task_id": self.id, "tool_use_id": self._call_id, "task_type": "local_agent"}
        about = {"description": self._given.description, "is_backgrounded": False, **self._told()}
        await engine.speaker.system("task_started", **told, **about)
        end = await self._converse()
        status = "failed" if end.failure else "completed"
        await engine.speaker.system(
            "task_notification", **told, status=status, summary=self._given.description, output_file=""
        )
        if end.failure is not None:
            raise ToolFailed(f"The subagent failed: {end.failure.text}")
        text = end.text or "(the subagent ended without a report)"
        return Outcome([text_block(text)], {"status": "completed", "prompt": self._given.prompt, **self._figures(text)})

    def _told(self) -> JsonObject:
        """What the host is told of it at its start."""
        return {"subagent_type": self._given.subagent_type, "spawn_depth": 1, "prompt": self._given.prompt}

    async def behind(self) -> Outcome:
        """In the background: a task whose end is told later."""
        task = self._engine.tasks.start(
            kind="local_agent",
            description=self._given.description,
            call_id=self._call_id,
            work=self._as_task,
            id=self.id,
            **self._told(),
        )
        text = (
            f"Async agent launched successfully.\nagentId: {self.id}\nIt works in the background; you are told when it"
            f" is done. Its output: {task.output_file}"
        )
        detail = {
            "isAsync": True,
            "status": "async_launched",
            "agentId": self.id,
            "description": self._given.description,
            "prompt": self._given.prompt,
            "outputFile": task.output_file,
        }
        return Outcome([text_block(text)], detail)

    async def _as_task(self, run: TaskRun) -> tuple[str, str]:
        end = await self._converse()
        text = end.failure.text if end.failure else end.text
        run.write(text.encode())
        word = "failed" if end.failure else "completed"
        return word, f'Agent "{self._given.description}" {word}. Its report:\n{text}'

    async def _converse(self) -> End:
        thread = self._thread
        fields = thread.hook_input("SubagentStart", agent_id=self.id, agent_type=self._given.subagent_type)
        await thread.hear("SubagentStart", fields)
        thread.history.add_user(self._given.prompt)
        await thread.speaker.user([text_block(self._given.prompt)])
        try:
            return await Loop(thread).run()
        finally:
            self._sidechain.close()

    def _figures(self, text: str) -> JsonObject:
        return {
            "agentId": self.id,
            "agentType": self._given.subagent_type,
            "content": [text_block(text)],
            "totalDurationMs": round((monotonic() - self._begun) * 1000),
            "totalTokens": self._thread.history.tokens,
            "totalToolUseCount": self._thread.tool_uses,
            "usage": self._engine.ledger.usage(),
        }


_NOT_FOR_SUBAGENTS: Final = frozenset({"Task", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "StructuredOutput"})
