"""Commands that only read: which descriptions they match, and which files they read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from handrail.permissions.programs.awk import AWKS, describe_awk
from handrail.permissions.programs.conditions import condition_hazard
from handrail.permissions.programs.description import Parsed, Program, Undescribed, parse, program
from handrail.permissions.programs.git import asks_for_identity, describe_git, reads_with_git
from handrail.permissions.programs.sed import sed_hazard, sed_scripts, sed_writes
from handrail.permissions.programs.tables.file_tools import FILE_TOOLS, FIND
from handrail.permissions.programs.tables.ruled_tools import RULED_TOOLS
from handrail.permissions.programs.tables.search_tools import SEARCH_TOOLS
from handrail.permissions.programs.tables.system_tools import BUILTINS, SYSTEM_TOOLS
from handrail.permissions.programs.tables.text_tools import TEXT_TOOLS
from handrail.permissions.shell.words import Word

__all__ = ["READERS", "asks_for_version", "describe", "reads_in_cage", "runs_outside"]

READERS: Final[dict[str, Program]] = {**TEXT_TOOLS, **FILE_TOOLS, **SEARCH_TOOLS, **SYSTEM_TOOLS, **BUILTINS}

_READS_IN_CAGE: Final = frozenset(
    "nm objdump readelf size addr2line ldd pdftotext exiftool mediainfo tokei cloc scc shellcheck hadolint yamllint"
    " xmllint yq bat less more ag ack look pr tsort ptx zless bzcat xzcat zstdcat lz4cat zipinfo dot sed find sdiff bc"
    " yes test [ xargs man help".split()
)
"""Programs that are mostly used to read, but are not described here, or only in part. Interpreters are not among them:
a person who is asked for other tools expects to be asked for a program too."""

_QUERIES: Final = frozenset(
    query.strip()
    for query in """
    bunzip2 -c, bzip2 -dc, cargo --list, cargo metadata, cargo tree, composer show, dotnet --info, dotnet --list-sdks,
    gem list, go doc, go env, go list, go mod graph, go mod why, gradle --version, gunzip -c, gzip -cd, gzip -dc,
    gzip -l, kubectl version --client, mvn --version, mvn -version, npm config get, npm config list, npm explain,
    npm la, npm list, npm ll, npm ls, npm pkg get, npm prefix, npm root, npm why, pip check, pip freeze, pip list,
    pip show, pip3 check, pip3 freeze, pip3 list, pip3 show, rustup show, rustup toolchain list, tar --list, tar -tf,
    tar -tjf, tar -tvf, tar -tzf, tar -tzvf, tar -xOf, tar -xOzf, tar tf, tar tvf, tar tzf, tar tzvf, tar xOf,
    unzip -Z, unzip -l, unzip -p, unzip -t, unzip -v, uv pip freeze, uv pip list, uv pip show, uv tree, xz -dc, xz -l,
    zstd -dc, zstd -l
    """.split(",")
)
"""Commands that only report, by their first words. Other commands of these programs change or run something."""

_READS_THE_SYSTEM: Final = frozenset({"ps", "pgrep", "df", "lsblk"})
"""Described programs that report processes or mounts. The cage hides both, so that they would fail or show nothing."""

_LEAVES_CAGE: Final[dict[str, frozenset[str]]] = {
    "sort": frozenset({"-o", "--output"}),
    "xmllint": frozenset({"-o", "--output"}),
    "yq": frozenset({"-i", "--inplace"}),
    **dict.fromkeys(("pip", "pip3"), frozenset({"-o", "--outdated", "-u", "--uptodate"})),
}
"""Options with which a reading program writes or connects. In the cage it would only fail."""

_ASKS_FOR_VERSION: Final[dict[str, frozenset[str]]] = {
    "--version": frozenset(
        """
        node npm npx bun deno python python3 pip pip3 uv ruby gem perl php java javac cargo rustc rustup gcc g++ clang
        make cmake docker kubectl helm terraform git gh jq rg tsc eslint prettier jest pytest ruff mypy pyright black
        curl
        """.split()
    ),
    "-V": frozenset("python python3 pip pip3 uv cargo rustc rustup rg jq pytest ruff mypy black curl perl".split()),
    "-v": frozenset({"node", "npm"}),
    "-version": frozenset({"java", "javac"}),
    "version": frozenset("docker kubectl helm terraform git gh go cargo".split()),
}
"""Other programs take such a word for a file to run, or go on. The folder chooses what yarn and pnpm start for it."""

_READS_ITS_FOLDER: Final = frozenset({"npm", "npx", "git", "cargo", "rustc", "rustup", "pytest"})
"""Programs that load settings or code of the folder, even when they only print their version: a toolchain file can name
any folder as the toolchain, and some versions of pytest import `conftest.py` first."""

_VERSION_IS_ASKED: Final = frozenset({"npm", "npx", "git"})
"""Programs whose version the CLI asks about, so that hosts expect the question."""


def asks_for_version(words: tuple[Word, ...]) -> bool:
    """Whether it only asks a known program for its version."""
    return len(words) == 2 and words[1].fixed and words[0].text in _ASKS_FOR_VERSION.get(words[1].text, ())


def reads_in_cage(words: tuple[Word, ...]) -> bool:
    """Whether a command of this form usually reads, so that it is worth running in the cage without a question."""
    name = words[0].text
    if not words[0].fixed or any(word.text in _LEAVES_CAGE.get(name, ()) for word in words):
        return False
    if asks_for_version(words):
        return name not in _VERSION_IS_ASKED
    if name == "git":
        return reads_with_git(words)
    usually = name in _READS_IN_CAGE or name in READERS or name in AWKS
    return (usually and not (name == "sed" and sed_writes(words))) or _is_query(words)


def runs_outside(words: tuple[Word, ...]) -> bool:
    """Whether a described command gives its true answer outside of the cage only."""
    return words[0].text in _READS_THE_SYSTEM or asks_for_identity(words)


def _is_query(words: tuple[Word, ...]) -> bool:
    first = [word.text if word.fixed else "" for word in words[:3]]
    queries_database = first[0] == "sqlite3" and isinstance(parse(words, RULED_TOOLS["sqlite3"]), Parsed)
    return queries_database or " ".join(first[:2]) in _QUERIES or " ".join(first) in _QUERIES


def describe(words: tuple[Word, ...]) -> Parsed | Undescribed | None:
    """Read a command by the description of its program; None without a description."""
    if not words or not words[0].fixed:
        return None
    name, special = words[0].text, _SPECIAL.get(words[0].text)
    if asks_for_version(words) and name not in _READS_ITS_FOLDER:
        return Parsed()
    if special is not None:
        return special(words)
    return parse(words, READERS[name]) if name in READERS else None


def _find(words: tuple[Word, ...]) -> Parsed | Undescribed:
    """Read the tests of find; its brackets and commands are left out."""
    kept, places, executes, values = [words[0]], [0], False, 0
    for at, word in enumerate(words[1:], 1):
        if values == 0 and word.fixed and word.text in ("-exec", "-execdir"):
            executes = True
        if values or (not executes and not (word.fixed and word.text in ("(", ")", "!", ","))):
            kept.append(word)
            places.append(at)
            # The value of a test may be written like a bracket or an action, and is still a value.
            values = values - 1 if values else len(FIND.kinds.get(word.text, ()))
        if executes and (word.text == ";" or (word.text == "+" and words[at - 1].text == "{}")):
            executes = False
    found = parse(tuple(kept), FIND)
    return Undescribed(places[found.index]) if isinstance(found, Undescribed) else found


def _ps(words: tuple[Word, ...]) -> Parsed | Undescribed:
    """Read ps. Options that it cannot read in one style it reads in the other, where `e` prints environments.

    So an option with an `e` is only described beside those that are right in both styles.
    """
    found = parse(words, READERS["ps"])
    if isinstance(found, Undescribed):
        return found
    letters = {option for option in found.options if not option.startswith("--")}
    everyone = {option for option in letters if "e" in option}
    if everyone and (found.of_kind("process-list") or letters - _PS_NEUTRAL not in _PS_EVERYONE):
        return Undescribed(len(words) - 1)
    named = any("e" in word.text or not word.known for kind, word in found.arguments if kind == "text")
    if named and letters - _PS_NEUTRAL - {"-o", "-f"} != {"-C"}:
        return Undescribed(len(words) - 1)
    return found


_PS_NEUTRAL: Final = frozenset({"-w", "-ww"})
_PS_EVERYONE: Final = [
    {"-e"}, {"-ef"}, {"-eF"}, {"-efl"}, {"-ely"}, {"-eLf"}, {"-eo"}, {"-e", "-f"}, {"-e", "-F"}, {"-e", "-o"}
]  # fmt: skip


def _sed(words: tuple[Word, ...]) -> Parsed | Undescribed:
    if found := sed_hazard(words):
        return Undescribed(found.index)
    if sed_writes(words):
        return Undescribed(0)
    return Parsed(tuple(("path", words[at]) for at in sed_scripts(words)[1]))


def _test(words: tuple[Word, ...]) -> Parsed | Undescribed:
    found = condition_hazard(words)
    return Undescribed(found.index) if found else Parsed()


def _command(words: tuple[Word, ...]) -> Parsed | Undescribed:
    """Read `command -v`; without the option it is a wrapper."""
    found = parse(words, _WHERE)
    return found if isinstance(found, Undescribed) or found.options else Undescribed(0)


def _nothing(words: tuple[Word, ...]) -> Parsed:
    """Read `[[ … ]]` and `(( … ))`, which the reader of the shell has checked."""
    return Parsed()


_WHERE: Final = program("-v -V", "text*")
_SPECIAL: Final[dict[str, Callable[[tuple[Word, ...]], Parsed | Undescribed]]] = {
    "git": describe_git,
    "find": _find,
    "ps": _ps,
    "sed": _sed,
    "command": _command,
    **dict.fromkeys(AWKS, describe_awk),
    **dict.fromkeys(("test", "["), _test),
    **dict.fromkeys(("[[", "(("), _nothing),
}
