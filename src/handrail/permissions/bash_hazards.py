"""Arguments that execute. In: the words of a command. Out: the first by which it would run something else.

Such an argument never rides on a rule that only names the program: `Bash(tar:*)` means packing and unpacking, not
whatever `--checkpoint-action` may run. A rule that spells the argument out covers it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Final

from handrail.permissions.bash_git import git_hazard
from handrail.permissions.bash_options import Finding, Hazards, find_hazard, hazards, is_option
from handrail.permissions.bash_programs import awk_hazard, sed_hazard
from handrail.permissions.bash_words import HOLE, Word
from handrail.permissions.bash_wrappers import base_name, is_shell

__all__ = ["hazard", "names_nothing"]

_TABLE: Final[dict[str, Hazards]] = {
    "tar": hazards(
        "IF",
        "checkpoint-action to-command use-compress-program info-script new-volume-script rmt-command rsh-command",
    ),
    "bsdtar": hazards("I", "use-compress-program"),
    "rsync": hazards("e", "rsh rsync-path"),
    "zip": hazards("", "unzip-command", words="-TT"),
    "sort": hazards("o", "compress-program output"),
    "split": hazards("", "filter"),
    **dict.fromkeys(("declare", "typeset", "local", "readonly", "export"), hazards("aAfin", "")),
    "rg": hazards("", "pre hostname-bin"),
    "ag": hazards("", "pager"),
    "ack": hazards("", "pager output"),
    "man": hazards("PHCL", "pager html config-file preprocessor"),
    "less": hazards("oOkTD", "log-file LOG-FILE lesskey-file tag-file lesskey-src"),
    "tree": hazards("oR", ""),
    "file": hazards("Cmz", "compile magic-file"),
    "date": hazards("sf", "set file"),
    "hostname": hazards("Fb", "file boot"),
    "curl": hazards("K", "config engine proxy-config unix-socket abstract-unix-socket variable"),
    "wget": hazards("ei", "execute use-askpass input-file config"),
    "ssh": hazards("oFEISWwDRL", ""),
    "scp": hazards("oSFDJ", ""),
    "sftp": hazards("oSFDb", ""),
    "nc": hazards("ec", "exec sh-exec"),
    "ncat": hazards("ec", "exec sh-exec lua-exec"),
    "nmap": hazards("", "script script-args script-file datadir", single_dash=False),
    "tcpdump": hazards("zwrF", ""),
    "pandoc": hazards("FL", "filter lua-filter pdf-engine template extract-media"),
    "pdflatex": hazards("", "shell-escape enable-write18 output-directory", single_dash=True),
    "gcc": hazards("B", "wrapper specs fplugin"),
    "java": hazards("", "javaagent agentlib agentpath XX", single_dash=True),
    "kubectl": hazards("", "kubeconfig", words="exec cp plugin proxy edit debug"),
    "helm": hazards("", "post-renderer kubeconfig", words="plugin"),
    "cargo": hazards("Z", "config", words="rustc"),
    "go": hazards("", "exec toolexec vettool overlay modfile ldflags gcflags w", words="tool", single_dash=True),
    "npm": hazards(
        "C",
        "script-shell node-options prefix userconfig globalconfig git editor viewer shell init-module call",
        words="exec x explore config set edit adduser login publish",
    ),
    "pnpm": hazards("C", "script-shell node-options dir userconfig", words="exec dlx config set node env"),
    "yarn": hazards("", "use-yarnrc script-shell cwd", words="exec dlx config node set plugin"),
    "bun": hazards("ep", "eval print preload config cwd", words="x exec create"),
    "npx": hazards("c", "call node-options shell", words=""),
    "uv": hazards("", "with-editable python directory project config-file", words="tool python"),
    "pip": hazards("", "log python config-settings global-option build-option", words="config"),
    "gh": hazards("", "", words="alias extension codespace config"),
    "jest": hazards("c", "config globalSetup globalTeardown runner testRunner"),
    "mocha": hazards("r", "require import config reporter ui"),
    "eslint": hazards("", "rulesdir resolve-plugins-relative-to parser plugin format"),
    "gradle": hazards("IbcP", "init-script build-file settings-file project-prop include-build"),
    "mvn": hazards("fgsD", "file global-settings settings define"),
    "openssl": hazards("", "engine config provider", single_dash=True),
    "xxd": hazards("r", "revert", single_dash=False),
    "printf": hazards("v", ""),
    "read": hazards("", "", words="-a -N"),
    "wait": hazards("p", ""),
    "help": hazards("", ""),
    "zstd": hazards("", "patch-from"),
    "ps": hazards("", "", words="e ae eww axe auxe auxeww eaux"),
    "vim": hazards("cSsuU", "cmd"),
    "watch": hazards("", "exec"),
    "ctags": hazards("", "options _xcmd"),
    "install": hazards("s", "strip-program"),
    "dc": hazards("ef", "expression file"),
    "kill": hazards("", ""),
}
_SAME: Final = {
    **dict.fromkeys(("clang", "cc", "c++", "g++", "clang++"), "gcc"),
    **dict.fromkeys(("xelatex", "lualatex", "latex"), "pdflatex"),
    **dict.fromkeys(("nvim", "vi", "view", "ex", "gvim"), "vim"),
    **dict.fromkeys(("pip3",), "pip"),
    **dict.fromkeys(("gradlew",), "gradle"),
    **dict.fromkeys(("mvnw",), "mvn"),
}
_NEVER: Final[dict[str, str]] = {
    **dict.fromkeys(
        "alias unalias shopt enable hash bind complete compgen compopt history fc mapfile readarray let getopts"
        " ulimit disown suspend logout".split(),
        "it changes how the shell itself works",
    ),
    **dict.fromkeys("ed m4 socat telnet ftp gnuplot emacs nano pico".split(), "it can run any program"),
}
_GENERIC: Final = re.compile(r"--(?:[\w-]*-)?(?:exec|eval|command|askpass|pager|program)(?:=.*|)", re.DOTALL)
_INLINE: Final[dict[str, tuple[str, str]]] = {
    "python": ("ci", ""),
    "pypy": ("ci", ""),
    "node": ("epricC", "eval print require import loader experimental-loader env-file interactive conditions run"),
    "nodejs": ("epricC", "eval print require import loader experimental-loader env-file interactive conditions run"),
    "deno": ("", "eval"),
    "tsx": ("ep", "eval print require import"),
    "ts-node": ("epr", "eval print require"),
    "ruby": ("eErIxnpiW", "encoding"),
    "perl": ("eEMmIxdnpi0lFaV", ""),
    "php": ("rRBEFdcz", "run process-begin process-code process-end process-file define php-ini"),
    "lua": ("eli", ""),
    "luajit": ("elibj", ""),
    "Rscript": ("e", "verbose"),
    "R": ("ef", "file args"),
    "julia": ("eELi", "eval print load"),
    "groovy": ("epn", ""),
    "scala": ("ei", ""),
    "swipl": ("gtl", ""),
    "guile": ("cel", ""),
    "erl": ("", "eval run s"),
    "elixir": ("eErS", "eval rpc-eval require"),
    "tclsh": ("", ""),
    "irb": ("r", ""),
    "ipython": ("cim", ""),
    "bash": ("cioOs", "rcfile init-file"),
    "sh": ("cios", ""),
    "dash": ("cios", ""),
    "source": ("", ""),
    ".": ("", ""),
}
_INTERPRETER_VALUES: Final = {
    **dict.fromkeys(("python", "pypy"), ("-W", "-X", "--check-hash-based-pycs")),
    **dict.fromkeys(("bash", "sh", "dash"), ("-o", "+o", "+O")),
}
"""Options whose value is the next word, and no program."""
_INPUT: Final = re.compile(r"-|/dev/(?:stdin|fd/\d+)|/proc/.*")
_VERSION: Final = re.compile(r"[\d.]+\Z")
_ASKS: Final = frozenset({"--version", "-V", "-v", "--help", "-h", "-version"})
_INLINE_MODULES: Final = frozenset({"timeit", "pdb", "code", "cProfile", "profile", "trace", "runpy", "IPython"})


def hazard(words: tuple[Word, ...]) -> Finding | None:
    """The first argument by which a command runs, loads or overwrites what its caller chose; None where none does."""
    if not words:
        return None
    name = base_name(words[0])
    special = _SPECIAL.get(name)
    if special is not None:
        return special(words)
    if name in _NEVER:
        return Finding(len(words) - 1, _NEVER[name])
    interpreter = name if name in _INLINE else _VERSION.sub("", name)
    if interpreter in _INLINE or is_shell(name):
        return _program(words, interpreter)
    return find_hazard(_TABLE.get(_SAME.get(name, name), _NONE), words) or _generic(words) or _hidden_option(words)


_NONE: Final = hazards("", "")


def _generic(words: tuple[Word, ...]) -> Finding | None:
    """Options of programs not listed here whose very name says that they execute."""
    for index, word in enumerate(words):
        if _GENERIC.fullmatch(word.text):
            return Finding(index + ("=" not in word.text and index + 1 < len(words)), f"{word.text} executes")
    return None


def _hidden_option(words: tuple[Word, ...]) -> Finding | None:
    for index, word in enumerate(words):
        if word.text.startswith("-") and word.source.startswith("\\"):
            return Finding(index, "an option is written so that it does not look like one")
    return None


def _program(words: tuple[Word, ...], name: str) -> Finding | None:
    """An interpreter: with a file it runs that file; otherwise its program is in its arguments or its input."""
    letters, names = _INLINE.get(name, ("", ""))
    table = hazards(letters, names)
    values = {at + 1 for at, word in enumerate(words) if word.text in _INTERPRETER_VALUES.get(name, ())}
    for index, word in enumerate(words[1:], 1):
        if word.text in _ASKS and len(words) == 2:
            return None
        if not word.known or word.globs:
            return Finding(index, f"what {name} runs is not known before it runs")
        if index in values:
            continue
        if not is_option(word):
            return Finding(index, "the program comes from the input") if _INPUT.fullmatch(word.text) else None
        if word.text == "-m" and name in ("python", "pypy"):
            return _module(words, index + 1)
        if found := find_hazard(table, words[index - 1 : index + 2]):
            last = min(found.index + index - 1, len(words) - 1)
            return Finding(last, f"{name} gets its program as an argument")
    return Finding(len(words) - 1, "the program comes from the input")


def _module(words: tuple[Word, ...], at: int) -> Finding | None:
    name = words[at].text if at < len(words) else HOLE
    known = name not in _INLINE_MODULES and HOLE not in name
    return None if known else Finding(len(words) - 1, f"the module {name} runs what its arguments say")


def _find(words: tuple[Word, ...]) -> Finding | None:
    acts = ("-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-ok", "-okdir", "-files0-from")
    for index, word in enumerate(words[1:], 1):
        if word.text in acts:
            return Finding(min(index + 1, len(words) - 1), f"{word.text} changes files, or asks")
        if word.may_be_option and (not word.globs or any(fnmatchcase(act, word.text) for act in acts)):
            return Finding(index, f"what {word.source} stands for could be an option that executes or overwrites")
    return None


_MAKE_VARIABLE: Final = re.compile(r"([A-Za-z_.][\w.]*)(?::{0,3}|\?|\+|!)=(.*)", re.DOTALL)
_MAKE_RISKY: Final = re.compile(r".*SHELL.*|MAKE\w*|CC|CXX|CPP|LD|AR|AS|RM|INSTALL|.*(?:CMD|COMMAND|PROG|EXE|BIN|TOOL)")
_MAKE: Final = hazards("fIE", "file makefile eval include-dir")


def _make(words: tuple[Word, ...]) -> Finding | None:
    """Make passes what is set on its command line to the shell."""
    for index, word in enumerate(words[1:], 1):
        if HOLE in word.text:
            return Finding(index, "make may take this for something to run")
        found = _MAKE_VARIABLE.fullmatch(word.text)
        if found and (_MAKE_RISKY.fullmatch(found[1]) or re.search(r"[$`;|&<>()\n]", found[2])):
            return Finding(index, f"make may run what {found[1]} is set to")
    return find_hazard(_MAKE, words)


def _test(words: tuple[Word, ...]) -> Finding | None:
    """`[ -v 'a[$(x)]' ]` runs x, and so would a word that turns out to be `-v`."""
    part: list[Word] = []
    for index, word in enumerate((*words[1:], Word("-a", "-a")), 1):
        if word.splits:
            return Finding(index, f"what {word.source} stands for could be a test of its own")
        if word.fixed and word.text in ("-a", "-o", "!", "(", ")", "]"):
            operator = part[-2] if len(part) > 1 else None
            if len(part) > 3 or (operator and (not operator.fixed or operator.text in ("-v", "-R"))):
                return Finding(min(index, len(words) - 1), "a test looks up a variable by a name that is worked out")
            part = []
        else:
            part.append(word)
    return None


def _sqlite(words: tuple[Word, ...]) -> Finding | None:
    """Commands with a dot can run programs and write files."""
    for index, word in enumerate(words[1:], 1):
        if word.text.lstrip()[:1] in (".", HOLE) or word.text in ("-cmd", "-init") or "\n." in word.text:
            return Finding(index, "this may be a command that executes")
    return None


_CONTAINER: Final = hazards("", "privileged pid ipc cap-add device security-opt userns config host root runtime")


def _container(words: tuple[Word, ...]) -> Finding | None:
    """A container that is started can be given the whole machine; the other subcommands only manage them."""
    starts = words[1:] and (
        words[1].may_be_option or any(word.text in ("run", "create", "exec") for word in words[1:4])
    )
    return find_hazard(_CONTAINER, words) if starts or any(is_option(word) for word in words[1:2]) else None


def _tar(words: tuple[Word, ...]) -> Finding | None:
    """Its letters may come without a dash, and then their values follow in their order."""
    if len(words) > 1 and not is_option(words[1]) and set("IF") & set(words[1].text):
        return Finding(len(words) - 1, "this makes tar run a program")
    return find_hazard(_TABLE["tar"], words)


_SPECIAL: Final[dict[str, Callable[[tuple[Word, ...]], Finding | None]]] = {
    "git": git_hazard,
    "test": _test,
    "[": _test,
    "sqlite3": _sqlite,
    "docker": _container,
    "podman": _container,
    "tar": _tar,
    "gtar": _tar,
    "find": _find,
    "make": _make,
    "gmake": _make,
    "sed": sed_hazard,
    "gsed": sed_hazard,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), awk_hazard),
}


_RUNS_THE_NEXT: Final = {"npm": frozenset({"exec", "x"})}


def names_nothing(words: tuple[Word, ...]) -> bool:
    """Does it end with the word behind which the program to run would stand?"""
    return len(words) == 2 and words[1].text in _RUNS_THE_NEXT.get(words[0].text, ())
