"""The built-in script, used when neither an API key nor a base URL is set.

It says that it is a script. On request it gives a tour that calls one tool after another in a folder of the project.
The progress of the tour is read from the model's last message, so it survives a resume.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from handrail.agent.known_models import DEMO_MODEL
from handrail.agent.models.base import ModelRequest
from handrail.agent.models.player import PlayedReply
from handrail.agent.models.script import Block, Reply, Script, Text, ToolUse, When, http_error, reply, text, thinking
from handrail.agent.models.scripted import ScriptedModel, new_label

__all__ = ["DEMO_MODEL", "builtin_model", "builtin_script", "builtin_stops"]

FOLDER = "handrail-tour"
FULL = 195_000
"""Tokens that nearly fill the context window of an unknown model, so that the agent compacts."""
TOUR_REQUESTED = r"(?im)^[^\w\n]*(?:\w+[^\w\n]+){0,5}tour(?:[^\w\n]+please)?[^\w\n]*$"
SUBAGENT = "You are the subagent of the Handrail tour."
SUMMARY = (
    "This summary comes from a script, which cannot summarize: the earlier conversation is lost. If the Handrail tour "
    "was running, it continues where it was."
)
SUMMARY_REQUESTED = r"(?is)\bsummary of\b.*</summary>"
DONE = (
    f"That was the tour. All tools were really run, and the folder `{FOLDER}` has been removed. Say `tour` to see it "
    "again."
)
INTRODUCTION = (
    "This is Demo mode. I am a script, not a model: I cannot understand what you write. I let you try Handrail without "
    "an account or a network.\n\n"
    "- Say `tour`, and I will really run the tools, one after another, in a new folder in this project.\n"
    "- To work with a model, choose **Connect a model** on the start page, run `handrail connect`, or set "
    "`ANTHROPIC_API_KEY`.\n"
    "- To play your own script, set `HANDRAIL_SCRIPT` to its JSON file."
)
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAPAAAACMBAMAAACwmzkbAAAAGFBMVEX29vQLXK1Vg3ocHR/ws1oAAAAAAAAAAAAajIQCAAACUUlE"
    "QVR42u2Z3Y2DMBCEsUUBcQfo+q8pSgdwDYQ83EEg2Nhezw5StH6JoyB9mdk/x+k6W7rLLRvP5YbbNeDQdQu5Z9p827zxbK6jKw6J"
    "LCNx54kLXsK7cknghTuSrV7CO5Jj/BleEvgYXg44ZjOjgYTUB7pgFw2vfud6V5GjglPh1QanbVYFJ6pIHRxpkhTwaXj1wDmbteq4"
    "hKuhOG+zjuIyLlxxkc0KitcTbI4LBi8/FKb8o14hvPNY8Gx/QXjB4GyTVAIXVhEaXGczLrnquRjFtTajwKFaLgQssBkCrqwiGDgX"
    "3p/Fjv9Nd8dkdWlauQBVvLtNIVq9ypV8Ac+tXoBiYRU1K27lShW32SwHh0a5QnCzzUKwtEm2gtvDKwMDwisBQ8IrAINsrm4gAXj4"
    "7wU2/6ZnwmH8AsBnl1b58SsHA8NbBUZVUSUYV0V1YEyTrAejw1sIVrC5qIEocbOKVWwuUKzGPVesZXNOcfmlFRZccWkFBddcWgFj"
    "rBneM3Bhkywfv4XgyipyAaNY3eZEclG4EcV6zeocHBhyj2COzUewxlGjBEwK7yGrmdyN4pZLK0QdjxMbPPNsPmb1PF1h9cTk7hSP"
    "zOTagOfsww3jt+1GoGH8QsCcnzAGNrDuHUi7vuH9jxNTsR/e7YcJ9sO28RHBw8crC+xjME8UvJP8zXXso9ueNH4lilvH7xDd25Aw"
    "sIEF6xHdf7PiZ3T71cn1iIWbAX5GnOZY/YjkNwX8/CPuzrcuMn6DQiqt5+p78iDggobmu/VqAxvYwLZs2bJ1/XoBZO2WX1N87lEA"
    "AAAASUVORK5CYII="
)
"""A picture of stairs with a handrail, as PNG in base64."""
NOTEBOOK = """{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "sum",
   "metadata": {},
   "outputs": [],
   "source": ["print(1 + 1)"]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"""


BEFORE = '''"""Counts the steps of stairs."""


def rise_of(steps):
    total = 0
    for step in steps:
        total = total + step["rise"]
    return total


def run_of(steps):
    total = 0
    for step in steps:
        total = total + step["run"]
    return total


def describe(steps):
    text = str(len(steps)) + " steps"
    text = text + ", rise " + str(rise_of(steps))
    text = text + ", run " + str(run_of(steps))
    if len(steps) > 3:
        text = text + ", needs a handrail"
    return text
'''
AFTER = '''"""Counts the steps of stairs."""


from dataclasses import dataclass

MOST_WITHOUT_RAIL = 3


@dataclass(frozen=True)
class Step:
    rise: int
    run: int


def rise_of(steps: list[Step]) -> int:
    return sum(step.rise for step in steps)


def run_of(steps: list[Step]) -> int:
    return sum(step.run for step in steps)


def needs_handrail(steps: list[Step]) -> bool:
    return len(steps) > MOST_WITHOUT_RAIL


def describe(steps: list[Step]) -> str:
    text = f"{len(steps)} steps, rise {rise_of(steps)}, run {run_of(steps)}"
    return f"{text}, needs a handrail" if needs_handrail(steps) else text
'''


class Stop(Struct, frozen=True):
    """One stop of the tour: a text and tool calls.

    `full` stops report a nearly full context window. `asks` stops are skipped if the user cannot be asked.
    """

    words: str
    calls: tuple[ToolUse, ...]
    before: tuple[Block, ...] = ()
    full: bool = False
    asks: bool = False

    @property
    def needs(self) -> str:
        """The tool required for this stop. A plan that no one can approve would block the rest of the tour."""
        return "AskUserQuestion" if self.asks else self.calls[0].name


def builtin_model(*, label: str = "", folder: str = "") -> ScriptedModel:
    """Make a model that plays the built-in script. `folder`: the project; default: the working folder."""
    return DemoModel(label=label or new_label(), folder=folder or os.getcwd())


class DemoModel(ScriptedModel):
    """Plays the built-in script, and removes the folder of its tour at the end or an interrupt of the tour or session.

    The folder exists only if the user allowed the tour to create it, so removing it needs no further permission; one
    that was there before is left alone.
    """

    def __init__(self, *, label: str, folder: str) -> None:
        super().__init__(builtin_script(), label=label)
        self._folder, self._made = os.path.join(folder, FOLDER), False

    def _ask(self, request: ModelRequest) -> PlayedReply:
        played = super()._ask(request)
        said = "".join(block.text for block in played.reply.blocks if isinstance(block, Text))
        if said.startswith("Tour ") and not said.startswith("Tour 1 of"):  # the second stop follows a created folder
            self._made = True
        elif said in (DONE, INTRODUCTION):
            self._clean()
        return played

    def interrupted(self) -> None:
        self._clean()

    async def close(self) -> None:
        self._clean()

    def _clean(self) -> None:
        if self._made:
            self._made = False
            shutil.rmtree(self._folder, ignore_errors=True)


def builtin_script() -> Script:
    """The script: summaries, the subagent of the tour, the tour, and an introduction for everything else."""
    stops = builtin_stops()
    return Script(
        replies=(*_summaries(), *_subagent(), *_tour(stops)),
        afterwards=reply(text(INTRODUCTION)),
        helper=reply(text("Scripted session")),
    )


def _body(program: str) -> str:
    """A program without its first line."""
    return program.partition("\n\n\n")[2]


def _call(tool: str, **tool_input: Any) -> tuple[ToolUse, ...]:
    return (ToolUse(tool, tool_input),)


def builtin_stops() -> tuple[Stop, ...]:
    """The stops of the tour, in order."""
    return (*_file_stops(), *_media_stops(), *_list_stops(), *_question_stops(), *_other_stops())


def _file_stops() -> tuple[Stop, ...]:
    notes, program = f"{FOLDER}/notes.txt", f"{FOLDER}/stairs.py"
    return (
        Stop(
            f"a folder for the tour. Creating it needs your permission: `mkdir {FOLDER}`.",
            _call("Bash", command=f"mkdir {FOLDER}", description="Create the folder of the tour"),
            (
                thinking(
                    "The user wants the tour. I am a script, so this thought was written in advance. First, a folder."
                ),
            ),
        ),
        Stop("Write creates a file.", _call("Write", file_path=notes, content="first line\nsecond line\n")),
        Stop("Read shows it.", _call("Read", file_path=notes)),
        Stop(
            "Edit changes one line of it.",
            _call("Edit", file_path=notes, old_string="second line", new_string="a changed line"),
        ),
        Stop(
            "Write creates a program, to have something to change.", _call("Write", file_path=program, content=BEFORE)
        ),
        Stop(
            "Edit changes much of it. Look at the diff before you allow it; you can also change it with Edit….",
            _call("Edit", file_path=program, old_string=_body(BEFORE), new_string=_body(AFTER)),
        ),
        Stop("Glob finds files by name.", _call("Glob", pattern=f"{FOLDER}/*")),
        Stop("Grep finds text in files.", _call("Grep", pattern="changed", path=FOLDER, output_mode="content")),
        Stop(
            "two calls at once. Both only read, so neither needs permission.",
            (*_call("Bash", command=f"ls {FOLDER}", description="List the folder"), *_call("Read", file_path=notes)),
        ),
    )


def _media_stops() -> tuple[Stop, ...]:
    image, notebook = f"{FOLDER}/stairs.png", f"{FOLDER}/tour.ipynb"
    return (
        Stop(
            "a picture, written from its bytes.",
            _call("Bash", command=f"printf %s {PICTURE} | base64 -d > {image}", description="Write a picture"),
        ),
        Stop("Read shows pictures as pictures.", _call("Read", file_path=image)),
        Stop("Write creates a notebook.", _call("Write", file_path=notebook, content=NOTEBOOK)),
        Stop("Read shows a notebook cell by cell.", _call("Read", file_path=notebook)),
        Stop(
            "NotebookEdit changes one cell.",
            _call("NotebookEdit", notebook_path=notebook, cell_id="sum", new_source="print(2 + 2)"),
        ),
    )


def _list_stops() -> tuple[Stop, ...]:
    todo = {"content": "See the tour", "status": "in_progress", "activeForm": "Seeing the tour"}
    return (
        Stop("TodoWrite keeps a to-do list.", _call("TodoWrite", todos=[todo])),
        Stop("TaskCreate creates a task.", _call("TaskCreate", subject="See the tour", description="All of its stops")),
        Stop("TaskUpdate marks it as in progress.", _call("TaskUpdate", taskId="1", status="in_progress")),
        Stop("TaskGet shows one task.", _call("TaskGet", taskId="1")),
        Stop("TaskList shows all tasks.", _call("TaskList")),
    )


def _question_stops() -> tuple[Stop, ...]:
    question = {
        "question": "Which part of the tour do you like best so far?",
        "header": "Favourite",
        "multiSelect": False,
        "options": [
            {"label": "Files", "description": "Write, Read, Edit"},
            {"label": "Pictures", "description": "The image and the notebook"},
        ],
    }
    plan = f"1. Start a subagent.\n2. Call an MCP tool, if there is one.\n3. Delete a file in `{FOLDER}`."
    return (
        Stop("AskUserQuestion asks you a question with options.", _call("AskUserQuestion", questions=[question])),
        Stop("EnterPlanMode: from now on I only read and plan.", _call("EnterPlanMode"), asks=True),
        Stop("ExitPlanMode shows the plan for approval.", _call("ExitPlanMode", plan=plan), asks=True),
    )


def _other_stops() -> tuple[Stop, ...]:
    agent = {"description": "Read the notes", "subagent_type": "general-purpose", "run_in_background": False}
    read_only = "|".join(
        f"mcp__*__{word}*" for word in ("echo", "ping", "list", "get", "read", "search", "time", "now")
    )
    return (
        Stop("a subagent, which has a separate conversation.", _call("Task|Agent", prompt=SUBAGENT, **agent)),
        Stop("a tool of an MCP server whose name suggests that it only reads.", _call(read_only)),
        Stop(
            "WebFetch with an address on this machine: it is refused, and nothing is sent.",
            _call("WebFetch", url="http://127.0.0.1/", prompt="What does it say?"),
        ),
        Stop("an error: this file does not exist.", _call("Read", file_path=f"{FOLDER}/no-such-file.txt")),
        Stop(
            "this answer reports a nearly full context window, so the conversation is compacted.",
            _call("Bash", command=f"cat {FOLDER}/notes.txt", description="Show the notes"),
            full=True,
        ),
        Stop(
            "finally, a deletion: the prompt says what it removes. The tour removes its folder whatever you answer.",
            _call("Bash", command=f"rm {FOLDER}/notes.txt", description="Delete the notes"),
        ),
    )


def _tour(stops: tuple[Stop, ...]) -> Iterator[Reply]:
    """Each stop leads to the next one whose tool is offered; an interrupt ends the tour."""
    yield _reply_at(stops, 0, When(matches=TOUR_REQUESTED))
    yield reply(text(INTRODUCTION), when=When(said="Tour ", matches=r"\[Request interrupted by user"))
    yield reply(text(_no_folder()), when=When(said=_name(stops, 0), failed=True))
    full = next(number for number, stop in enumerate(stops) if stop.full)
    overload = "Overloaded (scripted, once, to show a retry)"
    yield http_error(529, message=overload, when=When(said=_name(stops, full - 1)), times=1)
    for here in range(len(stops)):
        yield from _next_stop(stops, here, said=_name(stops, here))


def _next_stop(stops: tuple[Stop, ...], here: int, **condition: Any) -> Iterator[Reply]:
    for number in range(here + 1, len(stops)):
        yield _reply_at(stops, number, When(**condition, offers=stops[number].needs))
    yield reply(text(DONE), when=When(**condition))


def _reply_at(stops: tuple[Stop, ...], number: int, when: When) -> Reply:
    stop = stops[number]
    words = text(f"{_name(stops, number)}: {stop.words}")
    usage = {"input_tokens": FULL} if stop.full else {}
    return reply(*stop.before, words, *stop.calls, usage=usage, when=when)


def _name(stops: tuple[Stop, ...], number: int) -> str:
    return f"Tour {number + 1} of {len(stops)}"


def _no_folder() -> str:
    return (
        f"The folder `{FOLDER}` could not be created: either it already exists, and then I leave it alone, or you did "
        "not allow it. The tour ends here. Say `tour` to start again. If permission prompts are not possible, run with "
        "`--permission-mode acceptEdits`."
    )


def _subagent() -> Iterator[Reply]:
    begun = "I am the scripted subagent of the tour. I am reading the notes."
    yield reply(text(begun), *_call("Read", file_path=f"{FOLDER}/notes.txt"), when=When(prompt=SUBAGENT, offers="Read"))
    yield reply(text("The subagent has read the notes and is done."), when=When(said=begun))
    yield reply(text("The subagent cannot read without the Read tool and is done."), when=When(prompt=SUBAGENT))


def _summaries() -> Iterator[Reply]:
    """Requests for a summary. They are checked first, because they may quote the tour."""
    yield reply(text(f"<summary>{SUMMARY}</summary>"), when=When(matches=SUMMARY_REQUESTED))
    yield reply(text(SUMMARY), when=When(tools=False, matches=r"(?i)\bsummar"))
