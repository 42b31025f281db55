"""Lists the simple commands that a shell command runs, at any depth.

The text is first read by the shell's own rules (`prefilter`); tree-sitter then finds its structure: lists, pipes,
subshells, branches, loops, functions. Substitutions and here-documents are read as separate scripts. Anything that is
not understood is a doubt, and a script with a doubt is left to a person.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import dropwhile
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from handrail.permissions.shell.prefilter import prefilter
from handrail.permissions.shell.quotes import Unclear
from handrail.permissions.shell.reading import OF_COMPOUND, Notes, Reading, Redirect
from handrail.permissions.shell.words import HOLE, HOME, Word, is_option

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

__all__ = ["ANYWHERE", "Assignment", "Command", "Folder", "Script", "read_script"]

Folder = tuple[str, ...]
"""Where a command runs: the targets of each `cd` on the way, from the folder where the shell starts."""

ANYWHERE: Final[Folder] = (HOLE,)
MOST_FOLDERS: Final = 8
DEEPEST_FOLDER: Final = 20
DEEPEST_TREE: Final = 120
_MOVERS: Final = frozenset({"cd", "pushd", "popd", "eval", "source", "."})
_SEEN_THROUGH: Final = frozenset({"command", "builtin", "time"})
_SETTERS: Final = frozenset({"read", "unset", "mapfile", "readarray", "getopts", "printf"})
_OPTIONS_OF_CD: Final = re.compile(r"-[PLe@]+|--")
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
    """Read a shell command that may run in these folders."""
    script = Script(notes=notes or Notes())
    try:
        reading = prefilter(text, script.notes)
    except Unclear as unclear:
        script.doubts.append(str(unclear))
    else:
        Walk(script, reading, folders).run()
        script.doubts += dict.fromkeys(script.notes.doubts)
        script.doubts += [why] if (why := script.notes.uncountable()) else []
    return script


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class Walk:
    """Visits the tree of one reading, in the order in which the shell would run it."""

    def __init__(self, script: Script, reading: Reading, folders: tuple[Folder, ...]) -> None:
        self.script, self.reading = script, reading
        self.folders = self.everywhere = folders
        self.moved: tuple[Folder, ...] = ()
        """The folders that the last command moved to, if it was a `cd`."""
        self.first = len(script.commands)
        self.begins: list[int] = []
        self.ends: list[int] = []
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
            Walk(self.script, inner, self._folders_at(at)).run()

    def _redirects_of_compounds(self) -> None:
        """Redirections of loops and blocks: in which folder they take place is not followed."""
        self.script.commands += [
            Command((), (), (redirect,), self.everywhere, redirect.operator + redirect.target.source)
            for redirect in self.reading.redirects.get(OF_COMPOUND, ())
        ]

    def _folders_at(self, at: int) -> tuple[Folder, ...]:
        """Where a script within runs: with its command; outside of commands, wherever the shell has been."""
        place = bisect_right(self.begins, at) - 1
        within = place >= 0 and at < self.ends[place]
        return self.script.commands[self.first + place].folders if within else self.everywhere

    def visit(self, node: Node) -> None:
        """Visit one statement."""
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
            self.script.notes.detached |= child.type == "&"
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
            self._join((*before, ANYWHERE))

    def visit_apart(self, node: Node) -> None:
        before = self.folders
        self.visit_statements(node)
        self.folders = before

    def visit_function(self, node: Node) -> None:
        """It runs when it is called, wherever the shell is then."""
        before, count = self.folders, len(self.script.commands)
        names = {word.text for word in self._taken(node.children[0]) or ()}
        self.visit_statements(node)
        self.script.notes.functions.update(names)
        if self.folders != before or names & (_MOVERS | _SEEN_THROUGH):
            self.script.doubts.append("a function changes where commands run")
        self._may_run_anywhere(count)

    def visit_pipeline(self, node: Node) -> None:
        """Each part runs in a separate shell."""
        before = self.folders
        for child in node.children:
            if child.is_named:
                self.visit(child)
                self.folders = before

    def visit_list(self, node: Node) -> None:
        """`a && b || c`, which the tree holds nested to the left; what follows `cd x &&` runs in x or not at all."""
        chain: list[Node] = []
        while node.type == "list":
            chain += reversed(node.children)
            node = chain.pop()
        chain.append(node)
        chain.reverse()
        skipped: tuple[Folder, ...] = ()
        for index, part in enumerate(chain):
            if part.is_named:
                self.moved, before = (), self.folders
                self.visit(part)
                joined = chain[index + 1].type if index + 1 < len(chain) else ""
                if joined == "&&" and part.type == "command" and self.moved:
                    skipped, self.folders = _few((*skipped, *before)), _few(self.moved)
                elif joined == "||":
                    self._join(skipped)
        self._join(skipped)

    def visit_command(self, node: Node) -> None:
        words: list[Word] = []
        assignments: list[Assignment] = []
        parts = [node] if node.type == "variable_assignment" else node.children
        begin, end = node.start_byte // self.reading.scale, -(-node.end_byte // self.reading.scale)
        if self.reading.sizes.get(begin) != len(parts):
            self.script.doubts.append("parser and shell may read this differently")
        for part in parts:
            found = self._taken(part)
            if found is None:
                return
            if part.type == "variable_assignment":
                assignments.append(self._assignment(found[0]))
            else:
                words += found
        redirects = self.reading.redirects.get(begin, ())
        text = self.reading.text[begin:end]
        command = Command(tuple(words), tuple(assignments), tuple(redirects), self.folders, text)
        self.begins.append(begin)
        self.ends.append(end)
        self.script.commands.append(command)
        self._note_variables(command)
        self._move(command)

    def _taken(self, part: Node) -> tuple[Word, ...] | None:
        """The words that the reader found at the place of this node; reader and parser must agree."""
        found = self.reading.words.get(part.start_byte // self.reading.scale)
        self.taken += 1
        if found is None:
            self.script.doubts.append("a keyword is out of place")
        return found

    def _assignment(self, word: Word) -> Assignment:
        name, _, value = word.text.partition("=")
        assigned = Word(value, word.source.partition("=")[2], word.names)
        plain = not name.endswith("+")
        self.script.notes.give(name.removesuffix("+"), assigned if plain else None)
        return Assignment(name.removesuffix("+"), assigned)

    def _note_variables(self, command: Command) -> None:
        """Variables that a builtin sets."""
        words = _seen_through(command.words)
        name = words[0].text if words else ""
        if name in _DECLARE:
            for word in words[1:]:
                name, equals, value = word.text.partition("=")
                known = equals and not name.endswith("+")
                self.script.notes.give(name.removesuffix("+"), Word(value, word.source, word.names) if known else None)
        elif name in _SETTERS:
            for word in words[1:]:
                self.script.notes.give(word.text, None)

    def _move(self, command: Command) -> None:
        """Follow `cd`. It may fail, so the folder before stays possible."""
        words = _seen_through(command.words)
        if not words or (words[0].fixed and words[0].text not in _MOVERS):
            return
        targets = [word for word in words[1:] if not _OPTIONS_OF_CD.fullmatch(word.text)]
        if words[0].text != "cd" or any(word.globs or word.text == "-" for word in targets):
            self._go(HOLE)
        else:
            self._go(targets[0].text if targets else HOME)

    def _go(self, target: str) -> None:
        if HOLE in target:
            self.moved = (ANYWHERE,)
        elif target.startswith(("/", HOME)):
            self.moved = ((target,),)
        else:
            self.moved = tuple(_below(folder, target) for folder in self.folders)
        self._join(self.moved)

    def _join(self, others: tuple[Folder, ...]) -> None:
        self.folders = _few((*self.folders, *others))
        self.everywhere = _few((*self.everywhere, *others))

    def _may_run_anywhere(self, count: int) -> None:
        commands, self.everywhere = self.script.commands, _few((*self.everywhere, ANYWHERE))
        commands[count:] = [
            replace(command, folders=tuple(dict.fromkeys((*command.folders, ANYWHERE)))) for command in commands[count:]
        ]


def _below(folder: Folder, target: str) -> Folder:
    return (*folder, target) if len(folder) < DEEPEST_FOLDER and folder != ANYWHERE else ANYWHERE


def _few(folders: Iterable[Folder]) -> tuple[Folder, ...]:
    """Each of them once; where there are too many, it may be anywhere."""
    found = tuple(dict.fromkeys(folders))
    return found if len(found) <= MOST_FOLDERS else (*found[: MOST_FOLDERS - 1], ANYWHERE)


_PARTS: Final = frozenset({"word", "variable_name", "extglob_pattern"})
"""Names and patterns of loops and branches; commands in them are read as separate scripts."""

_VISITS: Final[dict[str, Callable[[Walk, Node], None]]] = {
    "command": Walk.visit_command,
    "variable_assignment": Walk.visit_command,
    "variable_assignments": Walk.visit_command,
    "list": Walk.visit_list,
    "pipeline": Walk.visit_pipeline,
    "negated_command": Walk.visit_statements,
    "compound_statement": Walk.visit_statements,
    "subshell": Walk.visit_apart,
    "if_statement": Walk.visit_branches,
    "elif_clause": Walk.visit_branches,
    "else_clause": Walk.visit_branches,
    "case_statement": Walk.visit_branches,
    "case_item": Walk.visit_branches,
    "while_statement": Walk.visit_loop,
    "for_statement": Walk.visit_loop,
    "do_group": Walk.visit_statements,
    "function_definition": Walk.visit_function,
}


def _seen_through(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """A builtin is the same behind `command` and `builtin`."""
    while words and words[0].text in _SEEN_THROUGH:
        words = tuple(dropwhile(is_option, words[1:]))
    return words
