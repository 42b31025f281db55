"""Reads shell text with the parser alone, without the pre-filter.

Only the fuzzer uses this, to show that its sandbox detects the misses that the pre-filter prevents.
"""

from __future__ import annotations

import tree_sitter
import tree_sitter_bash

from handrail.permissions.shell.quotes import Unclear
from handrail.permissions.shell.reading import Notes, Reading
from handrail.permissions.shell.words import HOLE, Word

__all__ = ["read_raw"]

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
_WORDS = frozenset({"word", "number", "string", "raw_string", "concatenation", "command_name", "ansi_c_string"})
_HOLES = frozenset({"simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"})


def read_raw(text: str, notes: Notes) -> Reading:
    """The reading of a text by the parser alone."""
    if not text.isascii():
        raise Unclear("it is not plain ASCII")
    reading = Reading(text, text, scale=1)
    nodes = [_PARSER.parse(text.encode()).root_node]
    while nodes:
        node = nodes.pop()
        if node.type == "command":
            reading.sizes[node.start_byte] = len(node.children)
        if node.type in ("command_substitution", "process_substitution", "subshell"):
            nodes += node.children
        source = text[node.start_byte : node.end_byte]
        if node.type in _HOLES:
            reading.words[node.start_byte] = (Word(HOLE, source, ("",), splits=True),)
        elif node.type in _WORDS:
            reading.words[node.start_byte] = (Word(source.strip("'\""), source),)
        else:
            nodes += node.children
    return reading
