"""Files that commands name. In: a command. Out: which of its words are files, and what it does to them.

Only programs whose arguments are known are listed. Values of options that are no files are left out by a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from handrail.permissions.bash_git import folder_options
from handrail.permissions.bash_options import is_option
from handrail.permissions.bash_programs import awk_programs, sed_scripts, sed_writes
from handrail.permissions.bash_words import HERE, HOLE, HOME, Word, fixed_word
from handrail.permissions.bash_wrappers import base_name

__all__ = ["WRITES_FILES", "Access", "Touch", "files_of"]

Access = Literal["read", "write", "remove"]


class Touch(Struct, frozen=True):
    """A file that a command names, and what becomes of it."""

    word: Word
    access: Access
    extra: bool = False
    """It is not what the program is for: a download's target, say, needs more than leave to download."""


class _Use(Struct, frozen=True):
    access: Access = "read"
    last: Access | None = None
    skip: int = 0
    valued: str = ""
    """Letters of options whose value is no file."""
    names: frozenset[str] = frozenset()
    """Long options whose value, in the next word, is no file."""
    pattern_letters: str = ""
    """Options that give the pattern, so that no plain word is one."""


def _use(
    access: Access = "read",
    *,
    last: Access | None = None,
    skip: int = 0,
    valued: str = "",
    names: str = "",
    pattern: str = "",
) -> _Use:
    return _Use(access, last, skip, valued, frozenset(names.split()), pattern)


_GREP: Final = _use(skip=1, valued="ABCmdDe", names="--include --exclude --regexp --max-count --context", pattern="ef")
_RIPGREP: Final = _use(
    skip=1, valued="ABCmegtTjrEM", names="--glob --type --regexp --max-count --context", pattern="ef"
)
_READS: Final = {
    **dict.fromkeys(
        "cat tac wc nl od hexdump strings cmp comm md5sum sha1sum sha224sum sha256sum sha384sum sha512sum"
        " b2sum cksum sum"
        " base64 base32 rev expand unexpand zcat bzcat xzcat lsattr getfacl source . iconv".split(),
        _use(),
    ),
    "head": _use(valued="nc"),
    "tail": _use(valued="ncs", names="--pid --sleep-interval"),
    "ls": _use(valued="ITw"),
    "dir": _use(),
    "tree": _use(valued="LIP"),
    "du": _use(valued="dtB", names="--max-depth --exclude --threshold --time-style"),
    "stat": _use(valued="c", names="--format --printf"),
    "file": _use(valued="F"),
    "sort": _use(valued="ktSTo", names="--key --field-separator --parallel --buffer-size"),
    "uniq": _use(valued="fsw"),
    "cut": _use(valued="dfbc", names="--delimiter --fields --output-delimiter"),
    "paste": _use(valued="d"),
    "join": _use(valued="tjaeov12"),
    "column": _use(valued="sotcN"),
    "fold": _use(valued="w"),
    "fmt": _use(valued="wpg"),
    "diff": _use(valued="xIUCWD", names="--exclude --ignore-matching-lines --label --color"),
    "xxd": _use(valued="lcsg"),
    "jq": _use(skip=1, names="--arg --argjson --indent --tab", pattern="f"),
    "yq": _use(skip=1),
    "bat": _use(valued="lrH", names="--language --line-range --style --theme"),
    "less": _use(),
    "more": _use(),
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep"), _GREP),
    **dict.fromkeys(("rg", "ag", "ack"), _RIPGREP),
    **dict.fromkeys(("fd", "fdfind"), _use(skip=1, valued="etEdSxX")),
    "cd": _use(),
    "pushd": _use(),
    "tar": _use(names="--exclude --transform --strip-components"),
    "gzip": _use("write"),
    "gunzip": _use("write"),
    "zip": _use(valued="xi"),
    "unzip": _use(valued="xP"),
}
WRITES_FILES: Final = {
    "touch": _use("write", valued="dt", names="--date --time"),
    "mkdir": _use("write", valued="m", names="--mode"),
    "rmdir": _use("remove"),
    "rm": _use("remove"),
    "mv": _use("remove", last="write", valued="S", names="--suffix --backup"),
    "cp": _use(last="write", valued="S", names="--suffix --backup --preserve"),
    "tee": _use("write"),
}
"""What a person who accepts edits of files has accepted too."""
_CHANGES: Final = {
    **WRITES_FILES,
    "unlink": _use("remove"),
    "shred": _use("remove", valued="ns"),
    "srm": _use("remove"),
    "trash": _use("remove"),
    "ln": _use("write", valued="S"),
    "install": _use(last="write", valued="mogS"),
    "rsync": _use(last="write", valued="e"),
    "truncate": _use("write", valued="s", names="--size"),
    "chmod": _use("write", skip=1, names="--reference"),
    "chown": _use("write", skip=1),
    "chgrp": _use("write", skip=1),
    "patch": _use("write", valued="pF"),
    "mkfifo": _use("write"),
    "split": _use(last="write", valued="blnaC"),
    "csplit": _use(skip=0, valued="fbn"),
    "mktemp": _use("write"),
}
_TABLE: Final = {**_READS, **_CHANGES}
_TARGET: Final = ("-t", "--target-directory")
_PATH_IN_OPTION: Final = re.compile(rf"-[A-Za-z]*?([/~{HOME}{HERE}].*|\.\.(?:/.*)?)", re.DOTALL)
_LOOKS_LIKE_PATH: Final = re.compile(rf"[/~{HOME}]|\.\.?(?:/|\Z)|.*/\.\./", re.DOTALL)
_RUNS_FILES: Final = re.compile(
    r"(?:python|pypy|node|nodejs|deno|ruby|perl|php|lua|bash|sh|dash|zsh|ksh|Rscript|julia|tsx|ts-node)[\d.]*"
)


def files_of(words: tuple[Word, ...]) -> list[Touch]:
    """The files that a command names. In: its words. Out: each with what is done to it."""
    if not words:
        return []
    name = base_name(words[0])
    special = _SPECIAL.get(name)
    if special is not None:
        return list(special(words))
    if name in _TABLE:
        return list(_by_table(words, _TABLE[name]))
    if _RUNS_FILES.fullmatch(name):
        return [Touch(word, "read") for word in words[1:] if not is_option(word)][:1]
    return []


def _plain_words(words: tuple[Word, ...], use: _Use) -> Iterator[tuple[Word, bool]]:
    """The words that are not options or their values; True with those that an option holds."""
    at, options = 1, True
    while at < len(words):
        word = words[at]
        if options and word.text == "--":
            options = False
        elif options and is_option(word):
            if _takes_next(word.text, use):
                at += 1
            elif found := _value_of(word):
                yield found, True
        else:
            yield word, False
        at += 1


def _takes_next(text: str, use: _Use) -> bool:
    if text.startswith("--"):
        return text in use.names
    return text[-1] in use.valued and not set(text[1:-1]) & set(use.valued)


def _value_of(word: Word) -> Word | None:
    """`--file=/x` and `-f/x`: the path that stands in an option itself."""
    if word.text.startswith("--"):
        value = word.text.partition("=")[2]
        return replace(word, text=value) if _LOOKS_LIKE_PATH.match(value) else None
    found = _PATH_IN_OPTION.match(word.text)
    return replace(word, text=found[1]) if found else None


def _by_table(words: tuple[Word, ...], use: _Use) -> Iterator[Touch]:
    found = list(_plain_words(words, use))
    plain = [word for word, of_option in found if not of_option]
    yield from (Touch(word, use.access) for word, of_option in found if of_option)
    given = any(_gives_pattern(word, use) for word in words[1:])
    plain = plain if given else plain[use.skip :]
    target = use.last is not None and not any(word.text.startswith(_TARGET) for word in words[1:])
    for index, word in enumerate(plain):
        is_last = target and index == len(plain) - 1 and index > 0
        yield Touch(word, use.last if is_last and use.last else use.access)


def _gives_pattern(word: Word, use: _Use) -> bool:
    text = word.text
    if text.startswith("--"):
        return bool(use.pattern_letters) and text.startswith(("--regexp", "--file", "--from-file"))
    return is_option(word) and bool(set(text[1:]) & set(use.pattern_letters))


def _sed(words: tuple[Word, ...]) -> Iterator[Touch]:
    access: Access = "write" if sed_writes(words) else "read"
    yield from (Touch(words[at], access) for at in sed_scripts(words)[1])


def _awk(words: tuple[Word, ...]) -> Iterator[Touch]:
    yield from (Touch(words[at], "read") for at in awk_programs(words)[1] if "=" not in words[at].text)


def _find(words: tuple[Word, ...]) -> Iterator[Touch]:
    removes = any(word.text == "-delete" for word in words)
    for word in words[1:]:
        if word.text in ("-H", "-L", "-P"):
            continue
        if word.text.startswith(("-", "(", "!")):
            break
        yield Touch(word, "remove" if removes else "read")
    for at, word in enumerate(words[:-1]):
        if word.text in ("-newer", "-samefile", "-anewer", "-cnewer"):
            yield Touch(words[at + 1], "read")
        elif word.text.startswith(("-fprint", "-fls")):
            yield Touch(words[at + 1], "write", extra=True)


def _git(words: tuple[Word, ...]) -> Iterator[Touch]:
    yield from (Touch(word, "read") for word in folder_options(words))
    if any(word.text == "--no-index" for word in words):
        yield from (Touch(word, "read") for word in words[2:] if not is_option(word))


def _dd(words: tuple[Word, ...]) -> Iterator[Touch]:
    for word in words[1:]:
        kind, _, path = word.text.partition("=")
        if kind in ("if", "of"):
            yield Touch(replace(word, text=path), "read" if kind == "if" else "write")


_CURL_WRITES: Final = frozenset(
    "-o --output -c --cookie-jar -D --dump-header --trace --trace-ascii --stderr --libcurl --hsts --alt-svc --etag-save"
    " --output-dir".split()
)
_CURL_READS: Final = frozenset("-T --upload-file --cacert --cert -E --key --netrc-file -b --cookie".split())


def _curl(words: tuple[Word, ...]) -> Iterator[Touch]:
    """Downloads go to the output unless an option says where; `@file` sends a file."""
    for at, word in enumerate(words[1:], 1):
        text = word.text
        option, equals, value = text.partition("=")
        following = words[at + 1] if at + 1 < len(words) else fixed_word(HOLE)
        path = replace(word, text=value) if equals else following
        if option in _CURL_WRITES:
            yield Touch(path, "write", extra=True)
        elif option in _CURL_READS and not (option in ("-b", "--cookie") and "=" in path.text):
            yield Touch(path, "read", extra=True)
        elif text in ("-O", "--remote-name", "--remote-name-all", "-J", "--remote-header-name"):
            yield Touch(fixed_word("."), "write", extra=True)
        elif re.match(r"-[a-zA-Z]*o", text) and not text.startswith("--"):
            attached = text.partition("o")[2]
            yield Touch(replace(word, text=attached) if attached else following, "write", extra=True)
        elif re.match(r"-[a-zA-Z]*O", text) and not text.startswith("--"):
            yield Touch(fixed_word("."), "write", extra=True)
        elif "@" in text[:1] or re.match(r"-[dF]@|\w+=[@<]", text) or ("@" in option and text.startswith("-F")):
            yield Touch(replace(word, text=text.partition("@")[2].partition("<")[0] or HOLE), "read", extra=True)
        elif option.startswith("--data") and value.startswith("@"):
            yield Touch(replace(word, text=value[1:]), "read", extra=True)


def _wget(words: tuple[Word, ...]) -> Iterator[Touch]:
    target = fixed_word(".")
    for at, word in enumerate(words[1:], 1):
        text, following = word.text, words[at + 1] if at + 1 < len(words) else fixed_word(HOLE)
        if text in ("-O", "--output-document", "-P", "--directory-prefix", "-o", "-a"):
            target = following
        elif text.startswith(("-O", "--output-document=", "-P", "--directory-prefix=")):
            target = replace(word, text=text.partition("=")[2] or text[2:])
    if target.text != "-":
        yield Touch(target, "write", extra=True)


def _docker(words: tuple[Word, ...]) -> Iterator[Touch]:
    """Folders of this machine that a container gets."""
    if not any(word.text in ("run", "create", "exec") for word in words):
        return
    for at, word in enumerate(words[1:], 1):
        option, equals, value = word.text.partition("=")
        following = words[at + 1] if at + 1 < len(words) else fixed_word(HOLE)
        given = replace(word, text=value) if equals else following
        if option in ("-v", "--volume"):
            path = given.text.partition(":")[0]
        elif option == "--mount":
            found = re.search(r"(?:source|src)=([^,]*)", given.text if option == word.text else word.text)
            path = found[1] if found else ""
        else:
            continue
        if _LOOKS_LIKE_PATH.match(path) or HOLE in path:
            yield Touch(replace(given, text=path), "write", extra=True)


_SPECIAL: Final[dict[str, Callable[[tuple[Word, ...]], Iterator[Touch]]]] = {
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    "find": _find,
    "git": _git,
    "dd": _dd,
    "curl": _curl,
    "wget": _wget,
    **dict.fromkeys(("docker", "podman"), _docker),
}
