"""The commands that a shell command runs. In: its text. Out: Script: every simple command in it, however deep.

The text is first read by the shell's own rules (`bash_prefilter`); tree-sitter then finds its structure: lists, pipes,
subshells, branches, loops, functions. Substitutions and here-documents are scripts of their own. Whatever is not
understood is a doubt, and a script with a doubt is for a person to judge.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from handrail.permissions.bash_prefilter import prefilter
from handrail.permissions.bash_quotes import Unclear
from handrail.permissions.bash_reading import OF_COMPOUND, Notes, Reading, Redirect
from handrail.permissions.bash_words import HOLE, HOME, Word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

__all__ = ["ANYWHERE", "Assignment", "Command", "Folder", "Script", "read_script"]

Folder = tuple[str, ...]
"""Where a command runs: the targets of each `cd` on the way, from the folder where the shell starts."""

ANYWHERE: Final[Folder] = (HOLE,)
MOST_FOLDERS: Final = 8
DEEPEST_TREE: Final = 120
_DECLARE: Final = frozenset({"export", "local", "declare", "readonly", "typeset"})


class Assignment(Struct, frozen=True, gc=False):
    """`NAME=value`, before a command or alone."""

    name: str
    value: Word


class Command(Struct, frozen=True):
    """One simple command: words, variables set for it, redirections, and the folders it may run in."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    folders: tuple[Folder, ...] = ((),)
    text: str = ""
    """As it was written."""
    feeds: str = ""
    """The command whose output it reads through a pipe, by name."""

    @property
    def name(self) -> str:
        """Its first word, where that is known."""
        return self.words[0].text if self.words and self.words[0].fixed else ""


class Script(Struct):
    """All that a shell command would run."""

    commands: list[Command] = field(default_factory=list[Command])
    doubts: list[str] = field(default_factory=list[str])
    notes: Notes = field(default_factory=Notes)


def read_script(text: str, folders: tuple[Folder, ...] = ((),), notes: Notes | None = None) -> Script:
    """Read a shell command. In: its text, and the folders it may run in. Out: its commands, and every doubt."""
    script = Script(notes=notes or Notes())
    try:
        reading = prefilter(text, script.notes)
    except Unclear as unclear:
        script.doubts.append(str(unclear))
    else:
        _Walk(script, reading, folders).run()
        script.doubts += dict.fromkeys(script.notes.doubts)
        script.doubts += [why] if (why := script.notes.uncountable()) else []
    return script


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class _Walk:
    """Visits the tree of one reading, in the order in which the shell would run it."""

    def __init__(self, script: Script, reading: Reading, folders: tuple[Folder, ...]) -> None:
        self.script, self.reading = script, reading
        self.folders = folders
        self.seen: list[tuple[int, tuple[Folder, ...]]] = [(0, folders)]
        self.feeds = ""
        self.depth = self.taken = 0

    def run(self) -> None:
        """Visit everything, and then the scripts within."""
        plain = self.reading.plain
        root = _parser().parse(plain.encode("ascii")).root_node
        if root.has_error:
            self.script.doubts.append("its structure is not that of a shell command")
            return
        self.visit_statements(root)
        if self.taken != len(self.reading.words):
            self.script.doubts.append("parser and shell may read this differently")
        self._redirects_of_compounds()
        for at, inner in self.reading.inner:
            place = bisect_right(self.seen, at, key=lambda item: item[0]) - 1
            _Walk(self.script, inner, self.seen[place][1]).run()

    def _redirects_of_compounds(self) -> None:
        """Redirections of loops and blocks: in which folder they take place is not followed."""
        redirects = self.reading.redirects.get(OF_COMPOUND)
        if redirects:
            everywhere = dict.fromkeys(folder for _, folders in self.seen for folder in folders)
            folders = (
                tuple(everywhere) if len(everywhere) <= MOST_FOLDERS else (*list(everywhere)[:MOST_FOLDERS], ANYWHERE)
            )
            text = self.reading.text
            self.script.commands += [Command((), (), (redirect,), folders, text) for redirect in redirects]

    def visit(self, node: Node) -> None:
        """One statement, whatever its kind."""
        visit = _VISITS.get(node.type)
        if visit is None:
            self.script.doubts.append(f"`{node.type}` is not understood")
            return
        self.depth += 1
        if self.depth > DEEPEST_TREE:
            self.script.doubts.append("it is nested too deeply")
        else:
            visit(self, node)
        self.depth -= 1

    def visit_statements(self, node: Node) -> None:
        for child in node.children:
            if child.is_named and child.type not in _PARTS:
                self.visit(child)

    def visit_branches(self, node: Node) -> None:
        """Parts of which some may not run: what follows may find itself in any of the folders."""
        before = self.folders
        self.visit_statements(node)
        self._join(before)

    def visit_loop(self, node: Node) -> None:
        """A body that may run again, in the folder where its last round ended."""
        before, count = self.folders, len(self.script.commands)
        self.visit_statements(node)
        if self.folders != before:
            self._may_run_anywhere(count)
        self._join(before)

    def visit_apart(self, node: Node) -> None:
        before = self.folders
        self.visit_statements(node)
        self.folders = before

    def visit_function(self, node: Node) -> None:
        """It runs when it is called, wherever the shell is then."""
        before, count = self.folders, len(self.script.commands)
        self._taken(node.children[0])
        self.visit_statements(node)
        self._may_run_anywhere(count)
        self._join(before)

    def visit_pipeline(self, node: Node) -> None:
        before, outer = self.folders, self.feeds
        for child in node.children:
            if child.is_named:
                self.folders = before
                count = len(self.script.commands)
                self.visit(child)
                self.feeds = self.script.commands[-1].name if len(self.script.commands) == count + 1 else HOLE
        self.folders, self.feeds = before, outer

    def visit_list(self, node: Node) -> None:
        """`a && b || c`, which the tree holds nested to the left."""
        chain: list[Node] = []
        while node.type == "list":
            chain += reversed(node.children)
            node = chain.pop()
        chain.append(node)
        chain.reverse()
        skipped: tuple[Folder, ...] = ()
        for index, part in enumerate(chain):
            if part.is_named:
                before = self.folders
                self.visit(part)
                joined = chain[index + 1].type if index + 1 < len(chain) else ""
                if joined == "&&" and part.type == "command" and self.folders != before:
                    skipped, self.folders = skipped + before, self._without(before)
        self._join(skipped)

    def _without(self, before: tuple[Folder, ...]) -> tuple[Folder, ...]:
        return tuple(folder for folder in self.folders if folder not in before) or self.folders

    def visit_command(self, node: Node) -> None:
        words: list[Word] = []
        assignments: list[Assignment] = []
        parts = [node] if node.type == "variable_assignment" else node.children
        if self.reading.sizes.get(node.start_byte) != len(parts):
            self.script.doubts.append("parser and shell may read this differently")
        for part in parts:
            found = self._taken(part)
            if found is None:
                return
            if part.type == "variable_assignment":
                assignments.append(self._assignment(found[0]))
            else:
                words += found
        redirects = self.reading.redirects.get(node.start_byte, ())
        text = self.reading.text[node.start_byte : node.end_byte]
        command = Command(tuple(words), tuple(assignments), tuple(redirects), self.folders, text, self.feeds)
        self.seen.append((node.start_byte, self.folders))
        self.script.commands.append(command)
        self._note_variables(command)
        self._move(command)

    def _taken(self, part: Node) -> tuple[Word, ...] | None:
        """What the reader found where the parser has this word; the two must agree."""
        found = self.reading.words.get(part.start_byte)
        self.taken += 1
        if found is None:
            self.script.doubts.append("a keyword stands where none can")
        return found

    def _assignment(self, word: Word) -> Assignment:
        name, _, value = word.text.partition("=")
        assigned = Word(value, word.source.partition("=")[2], word.names)
        plain = not name.endswith("+")
        self.script.notes.give(name.removesuffix("+"), assigned if plain else None)
        return Assignment(name.removesuffix("+"), assigned)

    def _note_variables(self, command: Command) -> None:
        """Variables that a builtin sets."""
        if command.name in _DECLARE:
            for word in command.words[1:]:
                name, equals, value = word.text.partition("=")
                self.script.notes.give(name.removesuffix("+"), Word(value, word.source, word.names) if equals else None)
        elif command.name in ("read", "unset", "mapfile", "readarray", "getopts", "printf"):
            for word in command.words[1:]:
                self.script.notes.give(word.text, None)

    def _move(self, command: Command) -> None:
        """Follow `cd`. It may fail, so the folder before stays possible."""
        name, words = command.name, command.words
        if name in ("command", "builtin") and len(words) > 1:
            name, words = words[1].text, words[1:]
        if name == "cd":
            targets = [word for word in words[1:] if word.text not in ("--", "-P", "-L", "-e", "-@")]
            target = targets[0].text if targets and not targets[0].globs else HOLE if targets else HOME
            self._go(HOLE if target == "-" else target)
        elif name in ("pushd", "popd"):
            self._go(HOLE)

    def _go(self, target: str) -> None:
        from_anywhere = target.startswith(("/", HOME, HOLE))
        self._join(tuple((target,) if from_anywhere else (*folder, target) for folder in self.folders))

    def _join(self, others: tuple[Folder, ...]) -> None:
        both = tuple(dict.fromkeys((*self.folders, *others)))
        self.folders = both if len(both) <= MOST_FOLDERS else (*both[: MOST_FOLDERS - 1], ANYWHERE)

    def _may_run_anywhere(self, count: int) -> None:
        commands = self.script.commands
        commands[count:] = [
            replace(command, folders=tuple(dict.fromkeys((*command.folders, ANYWHERE)))) for command in commands[count:]
        ]


_PARTS: Final = frozenset({"word", "variable_name", "extglob_pattern", "comment"})
"""Names and patterns of loops and branches; what the shell would run in them is a script of its own."""

_VISITS: Final[dict[str, Callable[[_Walk, Node], None]]] = {
    "command": _Walk.visit_command,
    "variable_assignment": _Walk.visit_command,
    "variable_assignments": _Walk.visit_command,
    "list": _Walk.visit_list,
    "pipeline": _Walk.visit_pipeline,
    "negated_command": _Walk.visit_statements,
    "compound_statement": _Walk.visit_statements,
    "subshell": _Walk.visit_apart,
    "if_statement": _Walk.visit_branches,
    "elif_clause": _Walk.visit_branches,
    "else_clause": _Walk.visit_branches,
    "case_statement": _Walk.visit_branches,
    "case_item": _Walk.visit_branches,
    "while_statement": _Walk.visit_loop,
    "for_statement": _Walk.visit_loop,
    "do_group": _Walk.visit_statements,
    "function_definition": _Walk.visit_function,
}
