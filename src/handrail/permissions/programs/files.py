"""Finds the files that a command names, and how it uses them.

Only programs with known arguments are listed. A table leaves out the values of options that name something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from handrail.permissions.programs.awk import AWKS
from handrail.permissions.programs.description import PATH_KINDS, Parsed, values_of
from handrail.permissions.programs.git import folder_options
from handrail.permissions.programs.read_only import READERS, describe
from handrail.permissions.programs.sed import sed_scripts, sed_writes
from handrail.permissions.programs.touches import LOOKS_LIKE_PATH, Access, Touch, options_given, word_at
from handrail.permissions.programs.transfers import files_of_container, files_of_curl, files_of_wget
from handrail.permissions.programs.wrappers import base_name
from handrail.permissions.shell.words import HERE, HOME, Word, fixed_word, is_option

__all__ = ["WRITES_FILES", "Access", "Touch", "files_of", "hides_target", "merges_folders"]


class _Use(Struct, frozen=True):
    access: Access = "read"
    last: Access | None = None
    skip: int = 0
    valued: str = ""
    """Letters of options whose value is not a file."""
    names: frozenset[str] = frozenset()
    """Long options whose value, in the next word, is not a file."""
    pattern_letters: str = ""
    """Options that give the pattern, so that no plain word is one."""
    into: Literal["", "last", "option"] = ""
    """The last word may be a folder where files keep their names; `-t` may name it instead."""


def _use(
    access: Access = "read",
    *,
    last: Access | None = None,
    skip: int = 0,
    valued: str = "",
    names: str = "",
    pattern: str = "",
    into: Literal["", "last", "option"] = "",
) -> _Use:
    return _Use(access, last, skip, valued, frozenset(names.split()), pattern, into)


_TAR: Final = _use(names="--exclude --transform --strip-components")
_READS: Final = {
    **dict.fromkeys("xzcat bzcat source . less more dir".split(), _use()),
    "yq": _use(skip=1),
    "bat": _use(valued="lrH", names="--language --line-range --style --theme"),
    **dict.fromkeys(("ag", "ack"), _use(skip=1)),
    "pushd": _use(),
    "tar": _TAR,
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
    "mv": _use("remove", last="write", valued="S", names="--suffix", into="option"),
    "cp": _use(last="write", valued="S", names="--suffix", into="option"),
    "tee": _use("write"),
}
"""Programs that the mode acceptEdits allows."""
_CHANGES: Final = {
    **WRITES_FILES,
    "unlink": _use("remove"),
    "shred": _use("remove", valued="ns"),
    "srm": _use("remove"),
    "trash": _use("remove"),
    "ln": _use("write", last="write", valued="S", names="--suffix", into="option"),
    "install": _use(last="write", valued="mogS", into="option"),
    "rsync": _use(last="write", valued="e", into="last"),
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
_TARGET: Final = re.compile(r"-[^-Smogt]*t(.*)|--t[a-z-]*(?:=(.*))?", re.DOTALL)
MOST_TARGETS: Final = 4
"""One is allowed; with more of them the program gives up."""
_LINKS: Final = re.compile(r"-[a-zA-Z]*[ls]|--l|--sy")
_PATH_IN_OPTION: Final = re.compile(rf"-[A-Za-z]*?([/~{HOME}{HERE}].*|\.\.(?:/.*)?)", re.DOTALL)
_RUNS_FILES: Final = re.compile(
    r"(?:python|pypy|node|nodejs|deno|ruby|perl|php|lua|bash|sh|dash|zsh|ksh|Rscript|julia|tsx|ts-node)[\d.]*"
)


def files_of(words: tuple[Word, ...]) -> list[Touch]:
    """The files that a command names, each with its use."""
    if not words:
        return []
    name = base_name(words[0])
    found = describe((fixed_word(name), *words[1:]))
    if isinstance(found, Parsed):
        return [
            *_folders(words),
            *(Touch(word, "read", tree=found.tree, follows=found.follows) for word in _paths(name, found)),
        ]
    special = _SPECIAL.get(name)
    if special is not None:
        return list(special(words))
    if name in READERS and found is not None:
        # Words before the first one that is not described are certainly files, or harmless.
        sure, unsure = values_of(words[: found.index]), values_of(words[max(found.index - 1, 0) :])
        return [
            *(Touch(word, "read", tree=True) for word in sure),
            *(Touch(word, "read", tree=True, perhaps=True) for word in unsure),
        ]
    if name in _TABLE:
        return list(_by_table(words, _TABLE[name]))
    if name in _FOLDERS:
        outside = (Touch(word, "read", extra=True) for word in named_outside(words))
        return [*_elsewhere(words, _FOLDERS[name]), *outside]
    named = [] if name in _OTHER_WORLDS else [Touch(word, "read", extra=True) for word in named_outside(words)]
    if _RUNS_FILES.fullmatch(name):
        if any(word.text in ("pytest", "py.test") for word in words[1:4]):
            named += (Touch(word, "read", extra=True) for word in words[3:] if not is_option(word))
        files = [] if any(word.text == "-m" for word in words) else [word for word in words[1:] if not is_option(word)]
        return [*(Touch(word, "read") for word in files[:1]), *named]
    return named


_OTHER_WORLDS: Final = frozenset(
    "docker podman kubectl helm ssh gh glab aws gcloud az psql mysql redis-cli mongosh http https ab wrk hey k6 adb"
    " docker-compose minikube kind vagrant ansible true : printf echo logger say osascript systemctl journalctl".split()
)
"""Programs whose arguments may look like paths, but name things on another machine, in a container or in a text."""
_OUTSIDE: Final = re.compile(
    rf"(?:^|[=,;@\s\"'(]|^-[A-Za-z]|(?<!/):)((?:~?/(?!/)|\.\./|{HOME})[^=,;\s\"')]*|~|\.\.)(?=$|[=,;:\s\"')])",
    re.DOTALL,
)
MOST_NAMED: Final = 50


def named_outside(words: tuple[Word, ...]) -> list[Word]:
    """Parts of arguments that name files by an absolute path or by one that climbs."""
    found = [
        replace(word, text=part, names=(), values=None, globs=False)
        for word in words[1:]
        if "/" in word.text or word.text in ("~", "..")
        for part in _OUTSIDE.findall(word.text)
        if part != "/"
    ]
    return found[:MOST_NAMED]


def _paths(name: str, found: Parsed) -> list[Word]:
    """The files of a described command. A search without any reads the current folder, and `cd` goes home."""
    paths = found.of_kind(*PATH_KINDS)
    if paths:
        return paths
    return [fixed_word(HOME)] if name == "cd" else [fixed_word(".")] if found.tree else []


def _folders(words: tuple[Word, ...]) -> Iterator[Touch]:
    """The folders in which git works."""
    if base_name(words[0]) == "git":
        yield from (Touch(word, "read") for word in folder_options(words))


def hides_target(words: tuple[Word, ...]) -> bool:
    """Could a word turn out to be `-t`, which sends files somewhere else?"""
    options = takewhile(lambda word: word.text != "--", words)
    return any(word.may_be_option and not word.globs for word in options)


def merges_folders(words: tuple[Word, ...]) -> bool:
    """Whether a copy puts the content of a folder, with any names, into another one: `cp -r a/. b`, `cp -rT a b`."""
    if base_name(words[0]) not in ("cp", "mv"):
        return False
    whole = any(re.match(r"-[a-zA-Z]*T|--no-t", word.text) for word in words[1:])
    return whole or any(re.search(r"(?:^|/)\.{0,2}/*$", word.text) for word in words[1:-1] if not is_option(word))


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
            before = words[at - 1].text if options else ""
            if before.startswith("--") and "=" not in before and LOOKS_LIKE_PATH.match(word.text):
                yield word, True
            yield word, False
        at += 1


def _takes_next(text: str, use: _Use) -> bool:
    if text.startswith("--"):
        return text in use.names
    return text[-1] in use.valued and not set(text[1:-1]) & set(use.valued)


def _value_of(word: Word) -> Word | None:
    """`--file=/x` and `-f/x`: the path within an option."""
    if word.text.startswith("--"):
        value = word.text.partition("=")[2]
        return replace(word, text=value, values=None) if LOOKS_LIKE_PATH.match(value) else None
    found = _PATH_IN_OPTION.match(word.text)
    return replace(word, text=found[1], values=None) if found else None


def _by_table(words: tuple[Word, ...], use: _Use) -> Iterator[Touch]:
    found = list(_plain_words(words, use))
    plain = [word for word, of_option in found if not of_option]
    yield from (Touch(word, use.access) for word, of_option in found if of_option)
    given = any(_gives_pattern(word, use) for word in words[1:])
    plain = plain if given else plain[use.skip :]
    targets = list(islice(_named_targets(words), MOST_TARGETS)) if use.into == "option" else []
    if use.last is None or (len(plain) < 2 and not targets):
        yield from (Touch(word, use.access) for word in plain)
        return
    sources, targets = (plain, targets) if targets else (plain[:-1], plain[-1:])
    yield from (Touch(word, use.access) for word in sources)
    for target in targets:
        yield Touch(target, use.last)
        whole = any(word.text.startswith("--pa") for word in words[1:])
        yield from (Touch(_below(target, word, whole=whole), use.last) for word in sources if use.into and word.known)


def _named_targets(words: tuple[Word, ...]) -> Iterator[Word]:
    """What `-t` and `--target-directory` name."""
    for at, word in enumerate(words[1:], 1):
        if word.text == "--":
            return
        if found := _TARGET.fullmatch(word.text):
            value = found[1] or found[2]
            yield replace(word, text=value, values=None) if value else word_at(words, at + 1)


def _below(folder: Word, file: Word, *, whole: bool) -> Word:
    """A file of the same name in a folder, or with its whole path (`--parents`)."""
    name = file.text if whole else file.text.rstrip("/").rpartition("/")[2]
    return replace(folder, text=f"{folder.text}/{name}", globs=folder.globs or file.globs, values=None)


def _gives_pattern(word: Word, use: _Use) -> bool:
    text = word.text
    if text.startswith("--"):
        return bool(use.pattern_letters) and text.startswith(("--regexp", "--file", "--from-file"))
    return is_option(word) and bool(set(text[1:]) & set(use.pattern_letters))


def _tar(words: tuple[Word, ...]) -> Iterator[Touch]:
    """An archive is written, unless an option reads one. Its first letters may come without a dash."""
    yield from _by_table(words, _TAR)
    bundled = [replace(word, text=f"-{word.text}", values=None) for word in words[1:2] if not is_option(word)]
    dashed = (*words[:1], *(bundled or words[1:2]), *words[2:])
    given = list(options_given(dashed, "fCbHKLNTVX"))
    if {"c", "r", "u", "A", "create", "append", "update"} & {option for option, _ in given}:
        yield from (Touch(value, "write") for option, value in given if option in ("f", "file"))


def _cp(words: tuple[Word, ...]) -> Iterator[Touch]:
    """A link to a file gives write access to the file itself."""
    row = WRITES_FILES["cp"]
    links = any(_LINKS.match(word.text) for word in words[1:])
    yield from _by_table(words, replace(row, access="write") if links else row)


def _sed(words: tuple[Word, ...]) -> Iterator[Touch]:
    access: Access = "write" if sed_writes(words) else "read"
    yield from (Touch(words[at], access) for at in sed_scripts(words)[1])


def _undescribed(words: tuple[Word, ...]) -> Iterator[Touch]:
    yield from (Touch(word, "read", perhaps=True) for word in values_of(words))


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


_GIT_FILES: Final = tuple(
    "F file pathspec-from-file t template contents exclude-from X ignore-revs-file o output output-directory"
    " reference reference-if-able separate-git-dir S add-file add-virtual-file signature-file description-file"
    " index-output export-marks import-marks bundle-uri directory prefix".split()
)
"""Options with a file. Git accepts the beginning of a long name for the whole."""
_GIT_TEXTS: Final = frozenset({"log", "show", "diff", "grep", "shortlog"})
"""Subcommands in which `-F`, `-S` and `-o` take a text."""


_CLIMBS: Final = re.compile(rf"[/~{HOME}]|\.\.(?:/|\Z)")
"""An operand that is a path outside. `..main` is a range of commits."""


def _git(words: tuple[Word, ...]) -> Iterator[Touch]:
    yield from (Touch(word, "read") for word in folder_options(words))
    if not any(word.text in _GIT_TEXTS for word in words[1:3]):
        makes_folder = any(word.text in ("worktree", "clone") for word in words[1:3])
        for option, value in options_given(words[1:], "FtXoSm"):
            names = any(name == option or (len(option) > 1 and name.startswith(option)) for name in _GIT_FILES)
            if names or (not option and not makes_folder and _CLIMBS.match(value.text)):
                yield Touch(value, "read", extra=True)
    if any(word.text == "--no-index" for word in words):
        yield from (Touch(word, "read") for word in words[2:] if not is_option(word))
    elif any(word.text == "diff" for word in words):
        yield from (Touch(word, "read") for word in words[2:] if LOOKS_LIKE_PATH.match(word.text))


def _dd(words: tuple[Word, ...]) -> Iterator[Touch]:
    for word in words[1:]:
        kind, _, path = word.text.partition("=")
        if kind in ("if", "of"):
            yield Touch(replace(word, text=path, values=None), "read" if kind == "if" else "write")


_FOLDERS: Final[dict[str, frozenset[str]]] = {
    program: frozenset(options.split())
    for program, options in {
        "make": "C directory f file makefile",
        "gmake": "C directory f file makefile",
        "ninja": "C f",
        "go": "C",
        "cargo": "C manifest-path",
        "npm": "C prefix",
        "pnpm": "C dir",
        "yarn": "cwd",
        "uv": "directory project",
        "mvn": "f file",
        "gradle": "p project-dir b build-file",
        "just": "f justfile d working-directory",
        "pytest": "c rootdir",
        "tox": "c conf",
        "cmake": "S B P",
        "swift": "package-path",
        "dotnet": "project",
    }.items()
}
"""Options by which a program works in another folder, with what it finds there."""
_RUNS_PATHS: Final = frozenset({"pytest", "go", "dotnet"})


def _elsewhere(words: tuple[Word, ...], options: frozenset[str]) -> Iterator[Touch]:
    letters = "".join(option for option in options if len(option) == 1)
    runs = base_name(words[0]) in _RUNS_PATHS
    for option, value in options_given(words, letters):
        if option in options or (runs and not option):
            yield Touch(value, "read", extra=True)


_SPECIAL: Final[dict[str, Callable[[tuple[Word, ...]], Iterator[Touch]]]] = {
    "cp": _cp,
    "tar": _tar,
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(AWKS, _undescribed),
    "find": _find,
    "git": _git,
    "dd": _dd,
    "curl": files_of_curl,
    "wget": files_of_wget,
    **dict.fromkeys(("docker", "podman"), files_of_container),
}
