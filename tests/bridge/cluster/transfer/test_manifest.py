"""Validation of manifests from other machines, and merging of small chunks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.bridge.cluster.transfer.manifest import (
    Chunk,
    Manifest,
    StoredFile,
    decode,
    encode,
    is_valid_path,
    reusable_chunks,
)
from handrail.bridge.cluster.transfer.object_store import CHUNK_SIZE

DIGEST = "0" * 64


@pytest.mark.parametrize(
    "path",
    [
        "",
        "subagents/agent-1.jsonl",
        "subagents/a/b/agent-1.meta.json",
        "tool-results/toolu_1.txt",
        "tool-results/Grün 1",
        "file-history/0123456789abcdef@v1",
    ],
)
def test_files_of_a_conversation_have_valid_paths(path: str):
    assert is_valid_path(path)


@pytest.mark.parametrize(
    "path",
    [
        *("..", "../x", "/etc/passwd", "subagents", "subagents/", "subagents/..", "subagents/../../x", "subagents//x"),
        *("tool-results/a/b", "tool-results/.hidden", "tool-results/.", "other/x", "tool-results/a\0b", ".", "/"),
        *("tool-results/a\nb", "tool-results/a\\b", "tool-results/\ud800", "tool-results/" + "x" * 256),
        "subagents/" + "/".join("abcdefghi"),
        *("file-history", "file-history/", "file-history/a/b", "file-history/..", "file-history/.a"),
    ],
)
def test_paths_outside_the_conversation_are_invalid(path: str):
    assert not is_valid_path(path)


def stored(path: str, *chunks: tuple[str, int]) -> list[Any]:
    return [path, sum(size for _, size in chunks), DIGEST, [list(chunk) for chunk in chunks]]


def test_manifest_round_trip():
    file = StoredFile("", 3, DIGEST, (Chunk("aa", 1), Chunk("bb", 2)))
    manifest = Manifest(conversation="c", writer="w", files=(file,))
    assert decode(encode(manifest)) == manifest
    assert manifest.chunk_names() == {"aa", "bb"}


@pytest.mark.parametrize(
    "files",
    [
        [stored("../../x", ("aa", 1))],
        [stored("", ("aa", 1)), stored("", ("bb", 1))],
        [stored("", ("aa", 1), ("aa", 1))],
        [stored("", ("*", 1))],
        [stored("", ("a.b", 1))],
        [stored("", ("aa\n", 1))],
        [stored("", ("aa", CHUNK_SIZE + 1))],
        [stored("", ("aa", 0))],
        [["", 7, DIGEST, [["aa", 1]]]],
        [["", 1, "../x", [["aa", 1]]]],
        [["", 10**12, DIGEST, []]],
        [stored(f"tool-results/{n}") for n in range(5001)],
        "all",
        None,
    ],
)
def test_inconsistent_manifest_is_rejected(files: Any):
    with pytest.raises(ValueError, match=r"\w"):
        decode(json.dumps({"conversation": "c", "files": files}).encode())


LOGGED = b'{"conversation": "c", "writer": "a\\nSESSION DELETED"}'


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"[]", b"null", b'{"files": []}', b"[" * 100_000, LOGGED])
def test_malformed_manifest_is_rejected(data: bytes):
    with pytest.raises(ValueError, match=r"\w"):
        decode(data)


def test_file_that_grows_by_lines_has_few_chunks_and_is_rarely_resent():
    chunks: list[Chunk] = []
    sent, line, lines = 0, 2000, 5000
    for _ in range(lines):
        count = reusable_chunks(chunks, line)
        data = line + sum(chunk.size for chunk in chunks[count:])
        assert data <= CHUNK_SIZE
        sent += data
        chunks[count:] = [Chunk("aa", data)]
    assert sum(chunk.size for chunk in chunks) == line * lines
    assert len(chunks) < 60
    assert sent < 10 * line * lines


def test_large_chunks_are_reused():
    assert reusable_chunks([Chunk("aa", CHUNK_SIZE)], 10) == 1
    assert reusable_chunks([Chunk("aa", CHUNK_SIZE), Chunk("bb", 5)], 10) == 1
    assert reusable_chunks([Chunk("aa", 100)], 10) == 1
    assert reusable_chunks([], 10) == 0
