"""What a machine says about files is checked before a path is made of it; what grows does not become many pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.bridge.cluster.travel.manifest import Manifest, Piece, StoredFile, decode, encode, stays, usable
from handrail.bridge.cluster.travel.pieces import PIECE

DIGEST = "0" * 64


@pytest.mark.parametrize(
    "path",
    [
        "",
        "subagents/agent-1.jsonl",
        "subagents/a/b/agent-1.meta.json",
        "tool-results/toolu_1.txt",
        "tool-results/Grün 1",
    ],
)
def test_files_of_a_conversation_are_taken_along(path: str):
    assert usable(path)


@pytest.mark.parametrize(
    "path",
    [
        *("..", "../x", "/etc/passwd", "subagents", "subagents/", "subagents/..", "subagents/../../x", "subagents//x"),
        *("tool-results/a/b", "tool-results/.hidden", "tool-results/.", "other/x", "tool-results/a\0b", ".", "/"),
        *("tool-results/a\nb", "tool-results/a\\b", "tool-results/\ud800", "tool-results/" + "x" * 256),
        "subagents/" + "/".join("abcdefghi"),
    ],
)
def test_what_leads_elsewhere_is_not_usable(path: str):
    assert not usable(path)


def stored(path: str, *pieces: tuple[str, int]) -> list[Any]:
    return [path, sum(size for _, size in pieces), DIGEST, [list(piece) for piece in pieces]]


def test_a_manifest_is_read_as_it_was_written():
    file = StoredFile("", 3, DIGEST, (Piece("aa", 1), Piece("bb", 2)))
    manifest = Manifest(conversation="c", writer="w", files=(file,))
    assert decode(encode(manifest)) == manifest
    assert manifest.pieces() == {"aa", "bb"}


@pytest.mark.parametrize(
    "files",
    [
        [stored("../../x", ("aa", 1))],
        [stored("", ("aa", 1)), stored("", ("bb", 1))],
        [stored("", ("aa", 1), ("aa", 1))],
        [stored("", ("*", 1))],
        [stored("", ("a.b", 1))],
        [stored("", ("aa\n", 1))],
        [stored("", ("aa", PIECE + 1))],
        [stored("", ("aa", 0))],
        [["", 7, DIGEST, [["aa", 1]]]],
        [["", 1, "../x", [["aa", 1]]]],
        [["", 10**12, DIGEST, []]],
        [stored(f"tool-results/{n}") for n in range(5001)],
        "all",
        None,
    ],
)
def test_a_manifest_that_says_what_cannot_be_is_refused_in_words(files: Any):
    with pytest.raises(ValueError, match=r"\w"):
        decode(json.dumps({"conversation": "c", "files": files}).encode())


LOGGED = b'{"conversation": "c", "writer": "a\\nSESSION DELETED"}'


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"[]", b"null", b'{"files": []}', b"[" * 100_000, LOGGED])
def test_what_is_no_manifest_is_refused_in_words(data: bytes):
    with pytest.raises(ValueError, match=r"\w"):
        decode(data)


def test_a_file_that_grows_line_by_line_has_few_pieces_and_is_not_sent_over_and_over():
    pieces: list[Piece] = []
    sent, line, lines = 0, 2000, 5000
    for _ in range(lines):
        count = stays(pieces, line)
        data = line + sum(piece.size for piece in pieces[count:])
        assert data <= PIECE
        sent += data
        pieces[count:] = [Piece("aa", data)]
    assert sum(piece.size for piece in pieces) == line * lines
    assert len(pieces) < 60
    assert sent < 10 * line * lines


def test_large_pieces_stay_as_they_are():
    assert stays([Piece("aa", PIECE)], 10) == 1
    assert stays([Piece("aa", PIECE), Piece("bb", 5)], 10) == 1
    assert stays([Piece("aa", 100)], 10) == 1
    assert stays([], 10) == 0
