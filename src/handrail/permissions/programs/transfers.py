"""Finds the local files of downloads, uploads and containers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from handrail.permissions.programs.touches import LOOKS_LIKE_PATH, Touch, options_given, word_at
from handrail.permissions.shell.words import HOLE, Word, fixed_word

__all__ = ["files_of_container", "files_of_curl", "files_of_wget"]

_CURL_VALUED: Final = "AbcCdDeEFHKmoPQrtTuUwxXyYz"
_CURL_WRITES: Final = frozenset(
    "o output c cookie-jar D dump-header trace trace-ascii stderr libcurl hsts alt-svc etag-save output-dir"
    " ssl-sessions".split()
)
_CURL_READS: Final = frozenset("T upload-file cacert cert E key netrc-file b cookie".split())
_CURL_HERE: Final = frozenset("O remote-name remote-name-all J remote-header-name".split())
_CURL_FILE: Final = re.compile(r"[^=@]*=?[@<](.+?)(?:;.*)?|file:/*(/.*)", re.DOTALL | re.IGNORECASE)
_CURL_SENDS: Final = re.compile(r"|[dFH]|data.*|form|json|header|url|url-query|proxy-header", re.DOTALL)
_CURL_PRINTS: Final = re.compile(r"%output\{(?:>>)?([^}]*)")


def files_of_curl(words: tuple[Word, ...]) -> Iterator[Touch]:
    """Downloads go to the output unless an option says where; `@file` sends a file."""
    for option, value in options_given(words, _CURL_VALUED):
        if option in _CURL_WRITES:
            yield from () if value.text == "-" else (Touch(value, "write", extra=True),)
        elif option in _CURL_READS and not (option in ("b", "cookie") and "=" in value.text):
            yield Touch(value, "read", extra=True)
        elif option in _CURL_HERE:
            yield Touch(fixed_word("."), "write", extra=True)
        elif option in ("w", "write-out"):
            paths = _CURL_PRINTS.findall(value.text)
            yield from (Touch(replace(value, text=path, values=None), "write", extra=True) for path in paths)
        elif _CURL_SENDS.fullmatch(option) and (found := _CURL_FILE.fullmatch(value.text)):
            yield Touch(replace(value, text=found[1] or found[2], values=None), "read", extra=True)


_WGET_VALUED: Final = "oaeitTOPBUQwlADRIX"
_WGET_WRITES: Final = frozenset("o a output-file append-output save-cookies warc-file hsts-file rejected-log".split())
_WGET_READS: Final = frozenset("post-file body-file load-cookies ca-certificate certificate private-key".split())
_WGET_TARGETS: Final = frozenset("O output-document P directory-prefix".split())


def files_of_wget(words: tuple[Word, ...]) -> Iterator[Touch]:
    given = list(options_given(words, _WGET_VALUED))
    targets = [value for option, value in given if option in _WGET_TARGETS]
    writes = [value for option, value in given if option in _WGET_WRITES]
    for word in (*(targets or [fixed_word(".")]), *writes):
        yield from () if word.text == "-" else (Touch(word, "write", extra=True),)
    yield from (Touch(value, "read", extra=True) for option, value in given if option in _WGET_READS)


def files_of_container(words: tuple[Word, ...]) -> Iterator[Touch]:
    """Folders of this machine that a container gets, and files that the other subcommands write."""
    if not any(word.text in ("run", "create", "exec") for word in words):
        outputs = [value for option, value in options_given(words, "o") if option in ("o", "output")]
        yield from (Touch(value, "write", extra=True) for value in outputs)
        return
    for at, word in enumerate(words[1:], 1):
        option, equals, value = word.text.partition("=")
        following = word_at(words, at + 1)
        given = replace(word, text=value, values=None) if equals else following
        if option in ("-v", "--volume"):
            path = given.text.partition(":")[0]
        elif option == "--mount":
            found = re.search(r"(?:source|src)=([^,]*)", given.text if option == word.text else word.text)
            path = found[1] if found else ""
        else:
            continue
        if LOOKS_LIKE_PATH.match(path) or HOLE in path:
            yield Touch(replace(given, text=path, values=None), "write", extra=True)
