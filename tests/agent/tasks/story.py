"""Tasks in small repositories, played by a scripted model and checked at every step.

    async with task(tmp_path, {"total.py": "def total(): ..."}) as work:
        await work.turn(
            "The total is wrong.",
            shown(prompt("The total is wrong.")).calls(read("total.py")),
            shown(result("def total()")).calls(edit("total.py", "a - b", "a + b")),
            shown(result("has been updated")).says("Fixed."),
        )
        assert "a + b" in work.text("total.py")

A step names every block that its request adds to the conversation, in order: a missing, doubled or unexpected block
fails the task. `Conversation.check` holds what is true of every request of every task. Paths in calls are relative to
the project.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from handrail import Options, Session
from handrail.agent.models.player import PlayedReply, Player
from handrail.agent.models.script import Block, Hang, Reply, Script, Text, ToolUse, reply, text, tool_use
from handrail.conform.request_facts import keeps_prefix
from handrail.testing import Lab, ScriptedMessagesApi
from tests.agent.stage import StagedHost, assert_calls_are_answered, stage

JsonObject = dict[str, Any]
AGENT = Path(sys.executable).with_name("handrail-agent")
FREE = ("--dangerously-skip-permissions",)
GIT = ("git", "-c", "init.defaultBranch=main")
SUMMARY_REQUEST = "Write a summary of the conversation so far."
REMINDER = "<system-reminder>"
_PATHS = ("file_path", "notebook_path")

# What a request adds


class Shown(Struct, frozen=True):
    """One block. Each of `fragments` occurs in it exactly once, none of `absent` does."""

    kind: str
    fragments: tuple[str, ...]
    absent: tuple[str, ...] = ()

    def without(self, *absent: str) -> Shown:
        return replace(self, absent=absent)

    def problem(self, role: str, block: JsonObject) -> str:
        """Why a block is not this one, or ""."""
        kind, content = _kind(role, block), _text(block)
        if kind != self.kind:
            return f"expected {self.kind} {self.fragments}, found {kind}: {content[:600]}"
        counts = {fragment: content.count(fragment) for fragment in self.fragments}
        wrong = {fragment: count for fragment, count in counts.items() if count != 1}
        wrong |= {fragment: content.count(fragment) for fragment in self.absent if fragment in content}
        return f"occurrences {wrong} in {kind}: {content[:1500]}" if wrong else ""


def prompt(*fragments: str) -> Shown:
    """Words of the user, or of a program on their behalf."""
    return Shown("prompt", fragments)


def note(*fragments: str) -> Shown:
    """A reminder that the agent adds: memory files, notes of hooks, plan mode."""
    return Shown("note", fragments)


def result(*fragments: str) -> Shown:
    """The result of a call that succeeded."""
    return Shown("result", fragments)


def failure(*fragments: str) -> Shown:
    """The result of a call that failed or was refused."""
    return Shown("failure", fragments)


def earlier(*fragments: str) -> Shown:
    """An answer of the model that is still shown after a compaction."""
    return Shown("answer", fragments)


def _kind(role: str, block: JsonObject) -> str:
    if role == "assistant":
        return "answer"
    if block["type"] == "tool_result":
        return "failure" if block.get("is_error") else "result"
    return "note" if _text(block).startswith(REMINDER) else "prompt"


def _text(block: JsonObject) -> str:
    """The text of a block; for an image or document, its media type."""
    match block["type"]:
        case "text":
            return block["text"]
        case "tool_result":
            content = block["content"]
            return content if isinstance(content, str) else "\n".join(map(_text, content))
        case "tool_use":
            return f"{block['name']} {json.dumps(block['input'])}"
        case kind:
            return f"[{kind} {block.get('source', {}).get('media_type', '')}]"


# What the model does

Call = ToolUse | Callable[[str], ToolUse]
"""A call, or a function that makes one of the text that the step is shown."""


class Step:
    """A request with the blocks it adds, and the answer of the model."""

    def __init__(self, *blocks: Shown) -> None:
        self.shown, self._made = blocks, list[Block | Callable[[str], ToolUse]]()

    def says(self, words: str) -> Self:
        self._made.append(text(words))
        return self

    def calls(self, *calls: Call) -> Self:
        self._made += calls
        return self

    def hangs(self) -> Self:
        """Sends nothing more, until the turn is interrupted."""
        self._made.append(Hang())
        return self

    def answer(self, seen: str, project: Path) -> Reply:
        made = [block if isinstance(block, Block) else block(seen) for block in self._made]
        return reply(*(_placed(block, project) if isinstance(block, ToolUse) else block for block in made))


shown = Step


def _placed(call: ToolUse, project: Path) -> ToolUse:
    paths = {name: str(project / call.input[name]) for name in _PATHS if name in call.input}
    return replace(call, input=call.input | paths)


def read(path: str, **given: Any) -> ToolUse:
    return tool_use("Read", file_path=path, **given)


def edit(path: str, old: str, new: str, *, replace_all: bool = False) -> ToolUse:
    return tool_use("Edit", file_path=path, old_string=old, new_string=new, replace_all=replace_all)


def write(path: str, content: str) -> ToolUse:
    return tool_use("Write", file_path=path, content=content)


def bash(command: str, **given: Any) -> ToolUse:
    return tool_use("Bash", command=command, **given)


def with_found(pattern: str, make: Callable[[str], ToolUse]) -> Callable[[str], ToolUse]:
    """A call that uses the first group of a pattern found in what the step is shown."""

    def call(seen: str) -> ToolUse:
        found = re.search(pattern, seen)
        assert found, f"{pattern} not found in {seen}"
        return make(found[1])

    return call


# Checks


class Conversation:
    """The requests of one thread. `opening` is in the first prompt of a subagent; "" for the main thread."""

    def __init__(self, opening: str, project: Path) -> None:
        self.opening, self.steps, self.number = opening, deque[Step](), 0
        self._project = project
        self._last: JsonObject | None = None
        self._answered: list[JsonObject] = []

    def start_over(self) -> None:
        """The next request need not begin with the last one."""
        self._last = None

    def check(self, request: JsonObject) -> Reply:
        """Check a request against the next step, and return the answer of the model."""
        self.number += 1
        assert self.steps, f"unexpected request, which adds {self._added(request)}"
        step = self.steps.popleft()
        self.check_form(request)
        added = self._added(request)
        if self._last is not None:
            count = len(self._answered)
            mine = [block for _, block in added[:count]]
            assert mine == self._answered, f"the answer {self._answered} is sent back as {mine}"
            added = added[count:]
        assert len(added) == len(step.shown), f"{len(step.shown)} blocks expected, added: {_listed(added)}"
        for expected, (role, block) in zip(step.shown, added, strict=True):
            problem = expected.problem(role, block)
            assert not problem, problem
        answer = step.answer("\n".join(_text(block) for _, block in added), self._project)
        self._last, self._answered = request, _sent_back(answer, f"step_{self.number}")
        return _with_ids(answer, self._answered)

    def check_form(self, request: JsonObject) -> None:
        """Check a request: the API accepts it, its prefix is cached, and it has no duplicates."""
        messages = request["messages"]
        assert_calls_are_answered(messages)
        for message in messages:
            kinds = [block["type"] == "tool_result" for block in message["content"]]
            assert kinds == sorted(kinds, reverse=True), "results of calls come before everything else in a message"
        if self._last is not None:
            assert keeps_prefix(self._last, request), f"the beginning of the request differs: {_listed(_flat(request))}"
        texts = [_text(block) for role, block in _flat(request) if role == "user"]
        files = [path for each in texts for path in re.findall(r"^Contents of (\S+)", each, re.MULTILINE)]
        assert len(files) == len(set(files)), f"memory files are shown twice: {files}"

    def _added(self, request: JsonObject) -> list[tuple[str, JsonObject]]:
        return _flat(request)[len(_flat(self._last)) if self._last is not None else 0 :]


def _flat(request: JsonObject) -> list[tuple[str, JsonObject]]:
    blocks = [(message["role"], block) for message in request["messages"] for block in message["content"]]
    return [(role, {name: value for name, value in block.items() if name != "cache_control"}) for role, block in blocks]


def _listed(blocks: list[tuple[str, JsonObject]]) -> str:
    return "".join(f"\n  {_kind(role, block)}: {_text(block)[:300]!r}" for role, block in blocks)


def _sent_back(answer: Reply, label: str) -> list[JsonObject]:
    """The blocks of an answer as later requests contain them. Calls after a hang are never received."""
    blocks: list[JsonObject] = []
    for block in answer.blocks:
        if isinstance(block, Hang):
            break
        if isinstance(block, ToolUse):
            id = f"toolu_{label}_{len(blocks)}"
            blocks.append({"type": "tool_use", "id": id, "name": block.name, "input": block.input})
        elif isinstance(block, Text):
            blocks.append({"type": "text", "text": block.text})
    return blocks


def _with_ids(answer: Reply, sent_back: list[JsonObject]) -> Reply:
    ids = iter(block["id"] for block in sent_back if block["type"] == "tool_use")
    blocks = [replace(block, id=next(ids)) if isinstance(block, ToolUse) else block for block in answer.blocks]
    return replace(answer, blocks=tuple(blocks))


class Story(Player):
    """Plays the steps. The first failed check is kept, and raised at the end of the turn."""

    def __init__(self, project: Path) -> None:
        super().__init__(Script(helper=None), label="story")
        self._project = project
        self.main = Conversation("", project)
        self.subagents: list[Conversation] = []
        self.summary = ""
        self.failure: AssertionError | None = None
        self._count = 0

    def reply_to(self, request: JsonObject) -> PlayedReply:
        self._count += 1
        try:
            answer = self._answer(
                json.loads(json.dumps({**request, "messages": list(request["messages"])}, default=list))
            )
        except AssertionError as error:
            self.failure = self.failure or error
            answer = reply(text("The task has failed."))
        return PlayedReply(reply=answer, model=str(request["model"]), id=f"story_{self._count}")

    def _answer(self, request: JsonObject) -> Reply:
        newest = _text(request["messages"][-1]["content"][-1])
        if SUMMARY_REQUEST in newest:
            assert self.summary, "a summary is asked for"
            self.main.check_form(request)
            self.main.start_over()
            return reply(text(f"<summary>{self.summary}</summary>"))
        first = [_text(block) for block in request["messages"][0]["content"]]
        beginning = next((each for each in self.subagents if any(each.opening in words for words in first)), self.main)
        return beginning.check(request)

    def finish(self) -> None:
        """Raise the first failed check, or an error for steps that were not reached."""
        if self.failure is not None:
            raise self.failure
        left = {each.opening: len(each.steps) for each in (self.main, *self.subagents) if each.steps}
        assert not left, f"steps that were not reached: {left}"


# The repository and its user


def make_files(project: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


class Repository:
    """The project of a task on disk."""

    def __init__(self, project: Path) -> None:
        self.project = project

    def text(self, name: str) -> str:
        return (self.project / name).read_text()

    def git(self, *words: str) -> str:
        return subprocess.run([*GIT, *words], cwd=self.project, check=True, capture_output=True, text=True).stdout

    def commit(self, message: str, files: Mapping[str, str | bytes] = {}) -> None:
        """Commit everything, after these files were written."""
        if not (self.project / ".git").exists():
            self.git("init", "-q", ".")
            self.git("config", "user.name", "Ada")
            self.git("config", "user.email", "ada@example.com")
            (self.project / ".git/info/exclude").write_text("__pycache__/\n")
        make_files(self.project, files)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)


class Task(Repository):
    """A session in the agent's own process."""

    def __init__(self, project: Path, story: Story, host: StagedHost) -> None:
        super().__init__(project)
        self.story, self.host = story, host

    async def turn(self, words: Any, *steps: Step, **fields: Any) -> JsonObject:
        """Send a prompt, play the steps, and return the result. All steps must have been reached."""
        self.story.main.steps.extend(steps)
        found = await self.host.turn(words, **fields)
        self.story.finish()
        return found

    async def after(self, cause: Callable[[], object], *steps: Step) -> JsonObject:
        """The turn that something other than a prompt starts, such as the end of a background task."""
        count = len(self.host.of("result"))
        self.story.main.steps.extend(steps)
        cause()
        found = await self.host.result(count)
        self.story.finish()
        return found

    async def interrupted(self, words: str, when: Callable[[StagedHost], Any], *steps: Step) -> JsonObject:
        """A turn that the user interrupts as soon as `when` returns a true value."""
        count = len(self.host.of("result"))
        self.story.main.steps.extend(steps)
        await self.host.say(words)
        await self.host.until(lambda: when(self.host))
        await self.host.control("interrupt")
        found = await self.host.result(count)
        self.story.finish()
        return found

    def subagent(self, opening: str, *steps: Step) -> None:
        """The steps of a subagent whose prompt contains `opening`."""
        conversation = Conversation(opening, self.project)
        conversation.steps.extend(steps)
        self.story.subagents.append(conversation)


@asynccontextmanager
async def task(
    folder: Path, files: Mapping[str, str | bytes], *flags: str, story: Story | None = None, **options: Any
) -> AsyncGenerator[Task]:
    """A session in a new repository, which asks the user for no permission unless `asks` is given."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    make_files(project, files)
    story = story or Story(project)
    free = () if options.get("asks") else FREE
    async with stage(folder, story, *free, *flags, **options) as host:
        yield Task(project, story, host)
    story.finish()


class ProcessTask(Repository):
    """A session in a process of the real executable, with a Messages API on loopback."""

    def __init__(self, project: Path, story: Story, session: Session) -> None:
        super().__init__(project)
        self.story, self.session = story, session

    async def turn(self, words: str, *steps: Step) -> str:
        """Send a prompt, play the steps, and return the text of the result."""
        self.story.main.steps.extend(steps)
        found = await self.session.ask(words)
        self.story.finish()
        return found.text


@asynccontextmanager
async def process_task(
    folder: Path, files: Mapping[str, str | bytes], story: Story | None = None, **options: Any
) -> AsyncGenerator[ProcessTask]:
    """The same as `task` with `handrail-agent`. `options` are those of the SDK."""
    lab = Lab(folder)
    make_files(lab.project, files)
    story = story or Story(lab.project)
    async with ScriptedMessagesApi() as api:
        environment = lab.environment(api.session(story))
        given = {"setting_sources": ["user", "project", "local"], "dangerously_skip_permissions": True, **options}
        async with Session(Options(cli_path=AGENT, cwd=lab.project, env=environment, **given)) as session:
            yield ProcessTask(lab.project, story, session)
    story.finish()
