"""The script for when there is neither key nor address of an API. Out: a `Script`, and a model that plays it.

It says that it is a script. Asked for a tour, it calls one tool after the other on a folder of its own inside the
project. Where the tour stands is in the conversation itself, in what the model said last: so a resumed session goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from handrail.agent.models.prices import SCRIPT_MODEL
from handrail.agent.models.script import Block, Reply, Script, ToolUse, When, http_error, reply, text, thinking
from handrail.agent.models.scripted import ScriptedModel, new_label
from handrail.agent.models.tour_files import DOT_PNG, NOTEBOOK

__all__ = ["SCRIPT_MODEL", "builtin_model", "builtin_script", "builtin_stops"]

FOLDER = "handrail-tour"
FULL = 195_000
"""As many tokens as almost fill the window of a model that nobody knows: reason enough to compact."""
ASKED_FOR_IT = r"(?im)^[^\w\n]*(?:\w+[^\w\n]+){0,5}tour(?:[^\w\n]+please)?[^\w\n]*$"
SUBAGENT = "You are the subagent of the Handrail tour."
SUMMARY = (
    "Summary by a script, which cannot sum anything up: what was said before this is gone. If the tour of Handrail was "
    "under way, it goes on where it was."
)
SUMMARY_WANTED = r"(?is)\bsummary of\b.*</summary>"
DONE = "That was the tour: what you saw was really run. Say `tour` to see it again."
LEFT = f"That was the tour: what you saw was really run. Its folder `{FOLDER}` is still there; it may go."
HONEST = (
    "I am a scripted model: no AI is behind this, and I cannot think about what you wrote. I am here so that Handrail "
    "can be tried without a key and without a network.\n\n"
    "- Say `tour`, and I really run the tools, one after the other, in a folder of my own inside this project.\n"
    "- For a model that thinks, set `ANTHROPIC_API_KEY` (or `ANTHROPIC_BASE_URL`) and start again.\n"
    "- For a script of your own, set `HANDRAIL_SCRIPT` to its JSON file."
)


class Stop(Struct, frozen=True):
    """One stop of the tour: what is said, and the calls that are made.

    `full`: it claims to fill the window. `asks`: without somebody to answer it is passed by.
    """

    words: str
    calls: tuple[ToolUse, ...]
    before: tuple[Block, ...] = ()
    full: bool = False
    asks: bool = False

    @property
    def needs(self) -> str:
        """The tool that must be there. A plan that nobody approves would keep all later stops from working."""
        return "AskUserQuestion" if self.asks else self.calls[0].name


def builtin_model(*, label: str = "") -> ScriptedModel:
    """A model that plays the built-in script."""
    return ScriptedModel(builtin_script(), label=label or new_label())


def builtin_script() -> Script:
    """The script: the subagent's part, the tour, and for everything else the truth."""
    stops = builtin_stops()
    return Script(
        replies=(*_summaries(), *_subagent(), *_tour(stops)),
        afterwards=reply(text(HONEST)),
        helper=reply(text("Scripted session")),
    )


def _call(tool: str, **tool_input: Any) -> tuple[ToolUse, ...]:
    return (ToolUse(tool, tool_input),)


def builtin_stops() -> tuple[Stop, ...]:
    return (*_file_stops(), *_media_stops(), *_list_stops(), *_talk_stops(), *_outer_stops())


def _file_stops() -> tuple[Stop, ...]:
    notes = f"{FOLDER}/notes.txt"
    return (
        Stop(
            f"a folder for everything that follows. Making it needs your permission: `mkdir {FOLDER}`.",
            _call("Bash", command=f"mkdir {FOLDER}", description="Make the folder of the tour"),
            (thinking("A tour is wanted. I am a script, so this thought was written beforehand. First, a folder."),),
        ),
        Stop("Write makes a file.", _call("Write", file_path=notes, content="first line\nsecond line\n")),
        Stop("Read shows it.", _call("Read", file_path=notes)),
        Stop(
            "Edit changes one line of it.",
            _call("Edit", file_path=notes, old_string="second line", new_string="a changed line"),
        ),
        Stop("Glob finds files by name.", _call("Glob", pattern=f"{FOLDER}/*")),
        Stop("Grep finds text in files.", _call("Grep", pattern="changed", path=FOLDER, output_mode="content")),
        Stop(
            "two calls at once, of tools that only look; neither asks.",
            (*_call("Bash", command=f"ls {FOLDER}", description="List the folder"), *_call("Read", file_path=notes)),
        ),
    )


def _media_stops() -> tuple[Stop, ...]:
    image, notebook = f"{FOLDER}/dot.png", f"{FOLDER}/tour.ipynb"
    return (
        Stop(
            "an image, out of its bytes.",
            _call(
                "Bash", command=f"printf %s {DOT_PNG} | base64 -d > {image}", description="Write an image of one pixel"
            ),
        ),
        Stop("Read shows images as images.", _call("Read", file_path=image)),
        Stop("a notebook is written as a file.", _call("Write", file_path=notebook, content=NOTEBOOK)),
        Stop("Read shows a notebook cell by cell.", _call("Read", file_path=notebook)),
        Stop(
            "NotebookEdit changes one cell.",
            _call("NotebookEdit", notebook_path=notebook, cell_id="sum", new_source="print(2 + 2)"),
        ),
    )


def _list_stops() -> tuple[Stop, ...]:
    todo = {"content": "See the tour", "status": "in_progress", "activeForm": "Seeing the tour"}
    return (
        Stop("TodoWrite keeps a list of what is to be done.", _call("TodoWrite", todos=[todo])),
        Stop("TaskCreate makes a task.", _call("TaskCreate", subject="See the tour", description="All of its stops")),
        Stop("TaskUpdate says that it is begun.", _call("TaskUpdate", taskId="1", status="in_progress")),
        Stop("TaskGet shows one task.", _call("TaskGet", taskId="1")),
        Stop("TaskList shows them all.", _call("TaskList")),
    )


def _talk_stops() -> tuple[Stop, ...]:
    question = {
        "question": "Which part of the tour do you like best so far?",
        "header": "Favourite",
        "multiSelect": False,
        "options": [
            {"label": "Files", "description": "Write, Read, Edit"},
            {"label": "Pictures", "description": "The image and the notebook"},
        ],
    }
    plan = f"1. Start a subagent.\n2. Call an MCP tool, if there is one.\n3. Tidy up `{FOLDER}`."
    return (
        Stop("a question to you, with options.", _call("AskUserQuestion", questions=[question])),
        Stop("EnterPlanMode: from now on only looking and planning.", _call("EnterPlanMode"), asks=True),
        Stop("ExitPlanMode shows the plan and asks whether to go on.", _call("ExitPlanMode", plan=plan), asks=True),
    )


def _outer_stops() -> tuple[Stop, ...]:
    agent = {"description": "Read the notes", "subagent_type": "general-purpose", "run_in_background": False}
    looking = "|".join(f"mcp__*__{word}*" for word in ("echo", "ping", "list", "get", "read", "search", "time", "now"))
    return (
        Stop("a subagent, with a conversation of its own.", _call("Task|Agent", prompt=SUBAGENT, **agent)),
        Stop("a tool of an MCP server, one that by its name only looks.", _call(looking)),
        Stop(
            "WebFetch, of an address on this machine: it is refused, and nothing leaves.",
            _call("WebFetch", url="http://127.0.0.1/", prompt="What is there?"),
        ),
        Stop("an error: this file does not exist.", _call("Read", file_path=f"{FOLDER}/no-such-file.txt")),
        Stop(
            "this answer claims to fill the window, so that the conversation is compacted.",
            _call("Bash", command=f"cat {FOLDER}/notes.txt", description="Show the notes"),
            full=True,
        ),
        Stop(
            f"the folder goes again, if you permit it: `rm -r {FOLDER}`.",
            _call("Bash", command=f"rm -r {FOLDER}", description="Remove the folder of the tour"),
        ),
    )


def _tour(stops: tuple[Stop, ...]) -> Iterator[Reply]:
    """From each stop to the first later one whose tool is there; who interrupts ends it."""
    yield _arrive(stops, 0, When(matches=ASKED_FOR_IT))
    yield reply(text(HONEST), when=When(said="Tour ", matches=r"\[Request interrupted by user"))
    yield reply(text(_no_folder()), when=When(said=_name(stops, 0), failed=True))
    yield reply(text(LEFT), when=When(said=_name(stops, len(stops) - 1), failed=True))
    full = next(number for number, stop in enumerate(stops) if stop.full)
    overload = "Overloaded, says the script: once, to show how a request is repeated"
    yield http_error(529, message=overload, when=When(said=_name(stops, full - 1)), times=1)
    for here in range(len(stops)):
        yield from _onward(stops, here, said=_name(stops, here))


def _onward(stops: tuple[Stop, ...], here: int, **condition: Any) -> Iterator[Reply]:
    for number in range(here + 1, len(stops)):
        yield _arrive(stops, number, When(**condition, offers=stops[number].needs))
    yield reply(text(DONE), when=When(**condition))


def _arrive(stops: tuple[Stop, ...], number: int, when: When) -> Reply:
    stop = stops[number]
    words = text(f"{_name(stops, number)}: {stop.words}")
    usage = {"input_tokens": FULL} if stop.full else {}
    return reply(*stop.before, words, *stop.calls, usage=usage, when=when)


def _name(stops: tuple[Stop, ...], number: int) -> str:
    return f"Tour {number + 1} of {len(stops)}"


def _no_folder() -> str:
    return (
        f"There is no new folder `{FOLDER}`: either it was there before, and then I leave it alone, or it was not "
        "permitted. So the tour ends here. Say `tour` to begin again; where nobody can be asked, start with "
        "`--permission-mode acceptEdits`."
    )


def _subagent() -> Iterator[Reply]:
    begun = "I am the scripted subagent of the tour, and read the notes."
    yield reply(text(begun), *_call("Read", file_path=f"{FOLDER}/notes.txt"), when=When(prompt=SUBAGENT, offers="Read"))
    yield reply(text("The subagent has read the notes and is done."), when=When(said=begun))
    yield reply(text("The subagent has no tool to read with, and is done."), when=When(prompt=SUBAGENT))


def _summaries() -> Iterator[Reply]:
    """Before everything else: where a summary is wanted, the tour waits."""
    yield reply(text(f"<summary>{SUMMARY}</summary>"), when=When(matches=SUMMARY_WANTED))
    yield reply(text(SUMMARY), when=When(tools=False, matches=r"(?i)\bsummar"))
