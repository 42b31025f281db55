"""Commands that only look. In: the words of a command. Out: may it run unasked, as far as its words go?

Which files it looks at is another question. Programs are listed with the options that make them do more; every option
that changes, executes, or shows secrets of the environment is among them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from handrail.permissions.bash_git import git_reads_only
from handrail.permissions.bash_hazards import hazard
from handrail.permissions.bash_options import Hazards, find_hazard, hazards, is_option
from handrail.permissions.bash_programs import sed_writes
from handrail.permissions.bash_words import HOLE, Word

__all__ = ["asks_for_version", "reads_only"]

_ANY: Final = hazards("", "")
_TABLE: Final[dict[str, Hazards]] = {
    **dict.fromkeys(
        "cat tac wc head tail nl od hexdump strings cmp comm md5sum sha1sum sha224sum sha256sum sha384sum"
        " sha512sum b2sum"
        " cksum sum rev expand unexpand fold fmt cut paste join column stat ls du df free uptime uname"
        " nproc whoami"
        " id groups logname pwd echo true false : basename dirname readlink realpath seq expr sleep which type tr"
        " factor cal lsblk lscpu getconf egrep fgrep grep zgrep zcat tty numfmt pathchk locale users".split(),
        _ANY,
    ),
    "base64": hazards("o", "output"),
    "tree": hazards("oR", ""),
    "file": hazards("Cmf", "compile magic-file files-from"),
    "sort": hazards("oT", "output compress-program temporary-directory files0-from"),
    "diff": hazards("", "output"),
    "rg": hazards("", "pre hostname-bin"),
    "fd": hazards("xX", "exec exec-batch"),
    "printf": hazards("v", ""),
    "jq": hazards("fL", "from-file library-path rawfile slurpfile"),
    "pgrep": hazards("F", "pidfile"),
    "cd": _ANY,
    "wait": hazards("p", ""),
    "exit": _ANY,
    "return": _ANY,
    "break": _ANY,
    "continue": _ANY,
    "shift": _ANY,
    "[[": _ANY,
    "((": _ANY,
}
_ASKS_FOR_VERSION: Final[dict[str, frozenset[str]]] = {
    "--version": frozenset(
        """
        node npm npx bun deno python python3 pip pip3 uv ruby gem perl php java javac cargo rustc rustup gcc g++ clang
        make cmake docker kubectl helm terraform git gh jq rg tsc eslint prettier jest pytest ruff mypy pyright black
        curl
        """.split()
    ),
    "-V": frozenset("python python3 pip pip3 uv cargo rustc rustup rg jq pytest ruff mypy black curl perl".split()),
    "-version": frozenset({"java", "javac"}),
    "version": frozenset("docker kubectl helm terraform git gh go cargo".split()),
}
"""Other programs take such a word for a file to run, or go on. What yarn and pnpm start for it is chosen
by the folder."""
_READS_ITS_FOLDER: Final = frozenset({"npm", "npx"})
"""Their settings come from the folder, even when they only tell their version."""
_DATE: Final = re.compile(r"\+.*|-u|-R|-I\w*|--utc|--rfc-\w+(?:=\w+)?|--iso-8601(?:=\w+)?|--date=.*", re.DOTALL)
_PS: Final = re.compile(r"[aAxufFlHjwT]+|-[eAafFlHjwTxuy]+|--sort=\S+|--no-headers?|--forest|\d+")
_PS_WITH_VALUE: Final = frozenset({"-o", "-eo", "-p", "-u", "-C", "--pid", "-axo"})
_HOSTNAME: Final = re.compile(r"-[AdfiIsy]+|--(?:fqdn|short|long|domain|ip-address)")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_SETTING: Final = re.compile(r"([A-Za-z_]\w*)=")
_SHELL_OPTIONS: Final = frozenset(
    "-e -u -x -eu -ex -eux -o +e +u +x -euo -exo -euxo pipefail errexit nounset xtrace".split()
)


def asks_for_version(words: tuple[Word, ...]) -> bool:
    """Does it only ask a known program which version it is?"""
    return len(words) == 2 and words[1].fixed and words[0].text in _ASKS_FOR_VERSION.get(words[1].text, ())


def reads_only(words: tuple[Word, ...]) -> bool:
    """Does a command with these words change nothing, and run nothing else?"""
    if not words or not words[0].fixed:
        return False
    name, special = words[0].text, _SPECIAL.get(words[0].text)
    if special is not None:
        return special(words)
    if asks_for_version(words) and name not in _READS_ITS_FOLDER:
        return True
    if name not in _TABLE:
        return False
    return find_hazard(_TABLE[name], words) is None and not _hides_option(words) and not _shows_environment(words)


def _hides_option(words: tuple[Word, ...]) -> bool:
    return any(word.source.startswith("\\") and word.text.startswith("-") for word in words)


def _shows_environment(words: tuple[Word, ...]) -> bool:
    """jq's `env` and `$ENV` are the environment, which may hold keys."""
    return words[0].text == "jq" and any(
        re.search(r"\benv\b|\$ENV|input_filename|\binclude\b|\bimport\b", word.text) for word in words
    )


def _all_match(pattern: re.Pattern[str]) -> Callable[[tuple[Word, ...]], bool]:
    def check(words: tuple[Word, ...]) -> bool:
        return all(word.known and not word.globs and pattern.fullmatch(word.text) for word in words[1:])

    return check


def _without_values(words: tuple[Word, ...], valued: frozenset[str]) -> Iterator[Word]:
    """The arguments, without these options and the word after each."""
    rest = iter(words[1:])
    for word in rest:
        if word.text in valued:
            next(rest, None)
        else:
            yield word


def _date(words: tuple[Word, ...]) -> bool:
    """A plain word would set the clock, unless it belongs to `-d`."""
    others = _without_values(words, frozenset({"-d", "--date"}))
    return all(not word.splits and word.text[:1] != HOLE and _DATE.fullmatch(word.text) for word in others)


def _ps(words: tuple[Word, ...]) -> bool:
    """`e` without a dash would show the environment of every process."""
    return all(word.fixed and _PS.fullmatch(word.text) for word in _without_values(words, _PS_WITH_VALUE))


def _one_file(words: tuple[Word, ...]) -> bool:
    """A second file would be written."""
    plain = [word for word in words[1:] if not is_option(word)]
    return (
        len(plain) <= 1
        and all(word.text != "--" for word in words)
        and all(word.known and not word.splits and not word.globs for word in words[1:])
    )


def _xxd(words: tuple[Word, ...]) -> bool:
    return _one_file(words) and not any(is_option(word) and "r" in word.text for word in words[1:])


def _safe(words: tuple[Word, ...]) -> bool:
    """As far as its hazards are known it only looks."""
    return hazard(words) is None


def _sed(words: tuple[Word, ...]) -> bool:
    return not sed_writes(words) and hazard(words) is None


def _command(words: tuple[Word, ...]) -> bool:
    return len(words) == 3 and words[1].text in ("-v", "-V") and words[2].fixed


def _read(words: tuple[Word, ...]) -> bool:
    """`read` puts a line into variables; names that are worked out would be evaluated."""
    return all(
        word.fixed and (word.text in ("-r", "-s", "-d", "-p", "") or _NAME.fullmatch(word.text)) for word in words[1:]
    )


def _export(words: tuple[Word, ...]) -> bool:
    """`export` and its kin with plain names; what may be set is judged where variables are."""
    return len(words) > 1 and all(
        not word.splits and (_SETTING.match(word.text) or (word.fixed and _NAME.fullmatch(word.text)))
        for word in words[1:]
    )


def _set(words: tuple[Word, ...]) -> bool:
    return len(words) > 1 and all(word.fixed and word.text in _SHELL_OPTIONS for word in words[1:])


def _unset(words: tuple[Word, ...]) -> bool:
    return all(word.fixed and (word.text == "-v" or _NAME.fullmatch(word.text)) for word in words[1:])


_SPECIAL: Final[dict[str, Callable[[tuple[Word, ...]], bool]]] = {
    "git": git_reads_only,
    "date": _date,
    "hostname": _all_match(_HOSTNAME),
    "ps": _ps,
    "uniq": _one_file,
    "xxd": _xxd,
    "sed": _sed,
    **dict.fromkeys(("find", "awk", "gawk", "mawk", "test", "["), _safe),
    "command": _command,
    "read": _read,
    **dict.fromkeys(("export", "local", "declare", "readonly", "typeset"), _export),
    "set": _set,
    "unset": _unset,
}
