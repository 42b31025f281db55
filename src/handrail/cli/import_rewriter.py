"""Changes the imports of `claude_agent_sdk` in Python sources to `handrail.claude_agent_sdk`.

The syntax tree gives the position of each import; only the name there is replaced, so comments and layout stay.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from typing import Final, NamedTuple

from handrail.errors import CallerError

__all__ = ["OLD", "Note", "Rewritten", "SourceError", "rewrite"]

OLD: Final = "claude_agent_sdk"
NEW: Final = f"handrail.{OLD}"
SUBMODULES: Final = ("types",)
"""Submodules that Handrail has too."""

_FROM: Final = re.compile(rf"from(?:[ \t\f]|\\\r?\n|\\\r)+(?={OLD}\b)")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_MODULE_IN_TEXT: Final = re.compile(rf"{OLD}(\.\w+)*")
_DUNDER: Final = re.compile(r"__\w+__")


class SourceError(CallerError, ValueError):
    """The source cannot be read as Python. `line` is 0 if the problem is not about a line."""

    def __init__(self, problem: str, line: int = 0) -> None:
        self.line = line
        super().__init__(problem)


class Note(NamedTuple):
    """A place that was left as it is and needs a person."""

    line: int
    text: str


class Rewritten(NamedTuple):
    """The new source, equal to the old one if nothing had to be changed, and the places that need a person."""

    source: bytes
    notes: list[Note]


class _Edit(NamedTuple):
    start: int
    old: str
    new: str


def rewrite(source: bytes) -> Rewritten:
    """Change all imports in a source, which keeps its encoding and line ends. Raises SourceError."""
    text, encoding = _decoded(source)
    tree = _parsed(text)
    finder = _Finder(text)
    finder.visit(tree)
    after = text
    for edit in sorted(finder.edits, reverse=True):
        after = f"{after[: edit.start]}{edit.new}{after[edit.start + len(edit.old) :]}"
    return Rewritten(after.encode(encoding), sorted(finder.notes))


def _decoded(source: bytes) -> tuple[str, str]:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        text = source.decode(encoding)
        faithful = text.encode(encoding) == source
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise SourceError(f"cannot be decoded: {error}") from None
    if not faithful:
        raise SourceError(f"cannot be written back in its encoding, {encoding}")
    return text, encoding


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise SourceError(f"cannot be parsed: {error.msg}", error.lineno or 0) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"cannot be parsed: {str(error) or type(error).__name__}") from None


class _Finder(ast.NodeVisitor):
    """Collects the edits and the notes of one source."""

    def __init__(self, text: str) -> None:
        self.edits: list[_Edit] = []
        self.notes: list[Note] = []
        self._text = text
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or not _is_ours(node.module or ""):
            return
        if private := next(self._private_names(node), ""):
            self._leave(node.lineno, private)
        elif found := _FROM.match(self._text, self._offset(node.lineno, node.col_offset)):
            self.edits.append(_Edit(found.end(), OLD, NEW))

    def _private_names(self, node: ast.ImportFrom) -> Iterator[str]:
        if not _is_known(node.module or ""):
            yield node.module or ""
        yield from (f"{node.module}.{alias.name}" for alias in node.names if _is_private(alias.name))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if not _is_ours(alias.name):
                continue
            if not _is_known(alias.name):
                self._leave(alias.lineno, alias.name)
                continue
            start = self._offset(alias.lineno, alias.col_offset)
            if alias.asname is not None:
                self.edits.append(_Edit(start, OLD, NEW))
                continue
            # The statement binds the name `claude_agent_sdk`, so the rest of the file can go on using it.
            binding = f"{NEW} as {OLD}"
            whole = self._text[start : self._offset(alias.end_lineno or 0, alias.end_col_offset or 0)]
            also = "" if alias.name == OLD else f", handrail.{alias.name}"
            self.edits.append(_Edit(start, whole, binding + also))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.value.id == OLD and _is_private(node.attr):
            self._leave(node.lineno, f"{OLD}.{node.attr}")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and _MODULE_IN_TEXT.fullmatch(node.value):
            self.notes.append(Note(node.lineno, f"the text {node.value!r} names the module and was left as it is"))

    def _leave(self, line: int, name: str) -> None:
        self.notes.append(Note(line, f"{name} has no counterpart in {NEW}; it was left as it is"))

    def _offset(self, line: int, column: int) -> int:
        """A position in the text; the column of a syntax tree counts bytes of UTF-8."""
        start = self._starts[line - 1]
        end = self._starts[line] if line < len(self._starts) else len(self._text)
        return start + len(self._text[start:end].encode()[:column].decode())


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == OLD


def _is_known(module: str) -> bool:
    return module == OLD or module in {f"{OLD}.{name}" for name in SUBMODULES}


def _is_private(name: str) -> bool:
    return name.startswith("_") and not _DUNDER.fullmatch(name)
