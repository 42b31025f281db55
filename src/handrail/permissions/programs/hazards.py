"""Finds arguments with which a command would run another program.

Such an argument is not covered by a rule that only names the program: `Bash(tar:*)` means packing and unpacking, not
the programs that `--checkpoint-action` runs. A rule that spells the argument out covers it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from sys import stdlib_module_names
from typing import Final

from msgspec.structs import replace

from handrail.permissions.programs.awk import AWKS, awk_hazard
from handrail.permissions.programs.description import Undescribed, parse
from handrail.permissions.programs.git import git_hazard
from handrail.permissions.programs.options import Finding, Hazards, find_hazard, hazards
from handrail.permissions.programs.read_only import describe
from handrail.permissions.programs.sed import sed_hazard
from handrail.permissions.programs.tables.ruled_tools import RULED_TOOLS
from handrail.permissions.programs.wrappers import ADDED, base_name, is_shell
from handrail.permissions.shell.words import HOLE, Word, fixed_word, is_option

__all__ = ["hazard", "is_added", "is_known", "names_nothing"]

_TABLE: Final[dict[str, Hazards]] = {
    "bsdtar": hazards("I", "use-compress-program"),
    "rsync": hazards("eMLk", "rsh rsync-path remote-option daemon config copy-links copy-dirlinks password-file"),
    "split": hazards("", "filter"),
    "ag": hazards("", "pager"),
    "ack": hazards("", "pager output"),
    "man": hazards("PHCL", "pager html config-file preprocessor"),
    "less": hazards("oOkTD", "log-file LOG-FILE lesskey-file tag-file lesskey-src"),
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
    "pytest": hazards(
        "cpo",
        "pdbcls rootdir confcutdir basetemp override-ini config-file junit-xml junitxml log-file pyargs tx"
        " pastebin ds dc",
    ),
    "java": hazards("", "javaagent agentlib agentpath XX", single_dash=True),
    "kubectl": hazards("", "kubeconfig", words="exec cp plugin proxy edit debug"),
    "helm": hazards("", "post-renderer kubeconfig", words="plugin"),
    "cargo": hazards("Z", "config", words="rustc"),
    "go": hazards("", "exec toolexec vettool overlay modfile ldflags gcflags w", words="tool", single_dash=True),
    "npm": hazards(
        "C",
        "script-shell node-options prefix userconfig globalconfig git editor viewer browser shell init-module call",
        words="exec x explore config set edit adduser login publish",
    ),
    "pnpm": hazards("C", "script-shell node-options dir userconfig", words="exec dlx config set node env"),
    "yarn": hazards("", "use-yarnrc script-shell cwd", words="exec dlx config node set plugin"),
    "bun": hazards("ep", "eval print preload config cwd", words="x exec create repl -"),
    "npx": hazards("c", "call node-options shell", words=""),
    "uv": hazards("p", "with-editable python directory project config-file", words="tool python"),
    "pip": hazards("C", "log python config-settings global-option build-option keyring-provider", words="config"),
    "gh": hazards("", "", words="alias extension codespace config"),
    "jest": hazards(
        "c",
        "config globalSetup globalTeardown runner testRunner resolver transform setupFiles setupFilesAfterEnv filter"
        " testResultsProcessor testSequencer dependencyExtractor prettierPath testEnvironment reporters"
        " preset snapshotSerializers",
    ),
    "vitest": hazards("c", "config reporter environment globalSetup"),
    "prettier": hazards("", "plugin plugin-search-dir"),
    "just": hazards("ef", "shell shell-arg chooser choose edit justfile working-directory command cygpath"),
    "rake": hazards("fergRIpE", "rakefile require execute execute-print execute-continue libdir rakelibdir system"),
    "ninja": hazards("fCt", ""),
    "tox": hazards("xc", "override conf workdir root"),
    "nox": hazards("f", "noxfile"),
    "pre-commit": hazards("c", "config", words="try-repo"),
    "invoke": hazards("cfr", "collection search-root config"),
    "scons": hazards("fCDuU", "file sconstruct makefile directory site-dir"),
    "mypy": hazards("c", "python-executable install-types"),
    "pylint": hazards("", "load-plugins init-hook"),
    "deno": hazards("c", "config import-map preload require eval", words="eval repl - install jupyter"),
    "mocha": hazards("r", "require import config reporter ui"),
    "eslint": hazards("f", "format rulesdir resolve-plugins-relative-to parser plugin"),
    "gradle": hazards("IbcPD", "system-prop init-script build-file settings-file project-prop include-build"),
    "mvn": hazards("fgsDt", "file global-settings settings define"),
    "openssl": hazards("", "engine config provider", single_dash=True),
    "help": hazards("", ""),
    "zstd": hazards("", "patch-from"),
    "watch": hazards("", "exec"),
    "ctags": hazards("", "options _xcmd"),
    "install": hazards("s", "strip-program"),
    "dc": hazards("ef", "expression file"),
    "kill": hazards("", ""),
}
_SAME: Final = {
    **dict.fromkeys(("xelatex", "lualatex", "latex"), "pdflatex"),
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
    **dict.fromkeys("ed ex m4 socat telnet ftp gnuplot emacs nano pico".split(), "it can run any program"),
}
_GENERIC: Final = re.compile(r"--(?:[\w-]*-)?(?:exec|eval|command|askpass|pager|program)(?:=.*|)", re.DOTALL)
_INLINE: Final[dict[str, tuple[str, str]]] = {
    "python": ("ci", ""),
    "pypy": ("ci", ""),
    "node": (
        "epricC",
        (
            "eval print require import loader experimental-loader env-file interactive conditions run"
            " openssl-config icu-data-dir snapshot-blob build-snapshot experimental-sea-config"
        ),
    ),
    "nodejs": ("epricC", "eval print require import loader experimental-loader env-file interactive conditions run"),
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
    "erl": ("ers", ""),
    "iex": ("erS", "eval require"),
    "ghci": ("e", ""),
    "jshell": ("", ""),
    "octave": ("", "eval"),
    "racket": ("erltfuk", "eval require load"),
    "sbcl": ("", "eval load"),
    "clojure": ("eimMX", "eval init main"),
    "clj": ("eimMX", "eval init main"),
    "mongosh": ("f", "eval file"),
    "swift": ("e", ""),
    "gdb": ("x", "command"),
    "osascript": ("el", ""),
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
_MODULE: Final = re.compile(r"-[BbdEIOPqsSuvx]*m(.*)", re.DOTALL)
_VERSION: Final = re.compile(r"[\d.]+\Z")
_ASKS: Final = frozenset({"--version", "-V", "-v", "--help", "-h", "-version"})
_MODULES: Final = frozenset(
    "ast calendar compileall dis doctest ensurepip gzip http.server json.tool platform py_compile pydoc site sysconfig"
    " tarfile tokenize unittest venv zipapp zipfile".split()
)
"""Modules of the standard library that run no program from their arguments or input."""


def hazard(words: tuple[Word, ...]) -> Finding | None:
    """The first argument by which a command runs, loads or overwrites what its caller chose; None where none does."""
    if not words:
        return None
    name = base_name(words[0])
    special = _SPECIAL.get(name)
    if special is not None:
        return special(words)
    # A person who reads a rule for the command expects that `xargs` and `find` add files.
    named = (fixed_word(name), *(replace(word, values=(".",)) if is_added(word) else word for word in words[1:]))
    if name in ("tar", "gtar"):
        named, name = _dashed(named), "tar"
    found = parse(named, RULED_TOOLS[name]) if name in RULED_TOOLS else describe(named)
    if isinstance(found, Undescribed):
        at = found.index
        if at >= len(words):
            return Finding(at, f"{name} takes its program from the input")
        takes_next = words[at].text.startswith("-") and "=" not in words[at].text and at + 1 < len(words)
        return Finding(at + takes_next, f"{words[at].source} is not known to be safe for {name}")
    if found is not None:
        return None
    if at := _started_at(words):
        return _of_started(words, at)
    if name in _NEVER:
        return Finding(len(words) - 1, _NEVER[name])
    interpreter = name if name in _INLINE else _VERSION.sub("", name)
    if interpreter in _INLINE or is_shell(name):
        return _program(words, interpreter)
    return find_hazard(_TABLE.get(_SAME.get(name, name), _NONE), words) or _generic(words) or _hidden_option(words)


_NONE: Final = hazards("", "")


def is_known(name: str) -> bool:
    """Whether it is known by which arguments a program runs another one."""
    return name in _TABLE or name in _SAME or name in _SPECIAL or name in RULED_TOOLS or name in _INLINE


def is_added(word: Word) -> bool:
    """Whether `xargs` or `find -exec` puts files in the place of this word."""
    return bool(word.names) and set(word.names) == {ADDED}


_BUNDLE: Final = re.compile(r"[cxtruzjJavkpmhOw]+f?")


def _dashed(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The first word of tar is options, with or without a dash; without one, their values follow in order."""
    if len(words) == 1 or words[1].text.startswith("-"):
        return words
    known = words[1].fixed and _BUNDLE.fullmatch(words[1].text)
    return (words[0], fixed_word(f"-{words[1].text}" if known else "-?"), *words[2:])


_COMPILER: Final = re.compile(
    r"-(?:[cSEgvs]|o|O\w*|W[\w=+-]*|std=[\w+]+|f(?!plugin|use-ld|wrapper|pass-)[\w=-]+|m[\w=.-]+|D.+|U\w+|[IL].*|l(?!oad\b)\w+|pthread|shared|static"
    r"|pipe|g\w*|M[MDPGFTQ]*|x|isystem|ansi|pedantic[\w-]*|rdynamic|nostdlib|pie|no-pie|print-[\w-]+|dump\w+)"
    r"|--version|--help|[^-@].*",
    re.DOTALL,
)


def _compiler(words: tuple[Word, ...]) -> Finding | None:
    """An option that may load a plugin, or run a program around the compiler."""
    for index, word in enumerate(words[1:], 1):
        if word.may_be_option or not _COMPILER.fullmatch(word.text):
            return Finding(index, f"{word.source} is not known to be safe for a compiler")
    return None


def _pytest(words: tuple[Word, ...]) -> Finding | None:
    """`--co` is the whole name of an option, and not the beginning of a dangerous one."""
    kept = tuple(fixed_word("--collect-only") if word.text == "--co" else word for word in words)
    return find_hazard(_TABLE["pytest"], kept) or _generic(words)


_FORMATS: Final = frozenset(
    "checkstyle compact html json json-with-metadata junit stylish tap unix visualstudio".split()
)


def _eslint(words: tuple[Word, ...]) -> Finding | None:
    """A format that ESLint does not have itself is a module that it loads."""
    kept = list(words)
    for index in range(len(kept) - 1, 0, -1):
        option, _, value = kept[index].text.partition("=")
        if option in ("-f", "--format"):
            following = kept[index + 1].text if index + 1 < len(kept) else ""
            if (value or following) in _FORMATS:
                kept[index] = fixed_word("--quiet")
    return find_hazard(_TABLE["eslint"], tuple(kept)) or _generic(words)


def _curl(words: tuple[Word, ...]) -> Finding | None:
    """A `file:` address reads a file, however it is spelled; brackets make curl send several files."""
    for index, word in enumerate(words[1:], 1):
        sends = words[index - 1].text in ("-T", "--upload-file") or word.text.startswith(("-T", "--upload-file="))
        if "file:" in word.text.casefold() or (sends and re.search(r"[\[{]", word.text)):
            return Finding(index, "curl would read a file of this machine")
    return find_hazard(_TABLE["curl"], words) or _generic(words)


def _pager(words: tuple[Word, ...]) -> Finding | None:
    """A word that begins with `+` is a command of the pager, which can run a program."""
    for index, word in enumerate(words[1:], 1):
        if word.text.startswith("+"):
            return Finding(index, f"{word.source} is a command for {base_name(words[0])}")
    return find_hazard(_TABLE["less"], words) or _generic(words)


_DATABASE: Final = hazards("foL", "file output log-file tee pager init-command")
_ASKS_DATABASE: Final = re.compile(r"-[a-zA-Z]*[cel].*|--(?:command|execute|list|version|help).*", re.DOTALL)


def _database(words: tuple[Word, ...]) -> Finding | None:
    """A client of a database: a backslash begins a command of the client, and so does `system`."""
    for index, word in enumerate(words[1:], 1):
        if not word.known or re.search(r"\\|\b(?:program|system|source)\b", word.text, re.IGNORECASE):
            return Finding(index, f"{word.source} may be a command for {base_name(words[0])}")
    if found := find_hazard(_DATABASE, words):
        return found
    asks = any(_ASKS_DATABASE.fullmatch(word.text) for word in words[1:])
    return None if asks else Finding(len(words), "the statements come from the input")


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
        if name in ("python", "pypy") and (found := _MODULE.fullmatch(word.text)):
            attached = found[1]
            named = (*words[:index], replace(word, text=attached), *words[index + 1 :]) if attached else words
            return _module(named, index if attached else index + 1)
        if word.text == "--test" and name in ("node", "nodejs"):
            return find_hazard(table, words)
        if found := find_hazard(table, words[index - 1 : index + 2]):
            last = min(found.index + index - 1, len(words) - 1)
            return Finding(last, f"{name} gets its program as an argument")
    return Finding(len(words), "the program comes from the input")


def _module(words: tuple[Word, ...], at: int) -> Finding | None:
    name = words[at].text if at < len(words) else HOLE
    if HOLE in name or (name.partition(".")[0] in stdlib_module_names and name not in _MODULES) or name == "IPython":
        return Finding(len(words), f"the module {name} runs what its arguments or its input say")
    return None if name in stdlib_module_names else _of_started(words, at)


def _of_started(words: tuple[Word, ...], at: int) -> Finding | None:
    """The hazard of a program that another one starts with all of the words from a place on."""
    name = _SAME.get(words[at].text, words[at].text)
    found = hazard((fixed_word(name), *words[at + 1 :]))
    return Finding(found.index + at, found.why) if found else None


_STARTERS: Final[dict[str, str]] = {"npx": "", "bunx": "", "pnpx": "", "uvx": "", "uv": "run", "poetry": "run"}
"""Programs that start another one, each with the word before it."""
_STARTS_WITH: Final = frozenset(
    {"-y", "--yes", "--no", "--no-install", "-q", "--quiet", "--silent", "--frozen", "--locked"}
)


def _started_at(words: tuple[Word, ...]) -> int:
    """The place of the program that is started, if only harmless options come before it; else 0."""
    before = _STARTERS.get(base_name(words[0]))
    at = 1 if before == "" else 2 if before and len(words) > 1 and words[1].text == before else len(words)
    while at < len(words) and words[at].text in _STARTS_WITH:
        at += 1
    return at if at < len(words) and words[at].fixed and not is_option(words[at]) else 0


_CONTAINER: Final = hazards("", "privileged pid ipc cap-add device security-opt userns config host root runtime")


def _container(words: tuple[Word, ...]) -> Finding | None:
    """A container that is started can be given the whole machine; the other subcommands only manage them."""
    starts = words[1:] and (
        words[1].may_be_option or any(word.text in ("run", "create", "exec") for word in words[1:4])
    )
    return find_hazard(_CONTAINER, words) if starts or any(is_option(word) for word in words[1:2]) else None


_SPECIAL: Final[dict[str, Callable[[tuple[Word, ...]], Finding | None]]] = {
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang", "clang++"), _compiler),
    "curl": _curl,
    "eslint": _eslint,
    **dict.fromkeys(("pytest", "py.test"), _pytest),
    **dict.fromkeys(("less", "more", "most"), _pager),
    **dict.fromkeys(("psql", "mysql", "mariadb"), _database),
    "git": git_hazard,
    "docker": _container,
    "podman": _container,
    "sed": sed_hazard,
    "gsed": sed_hazard,
    **dict.fromkeys(AWKS, awk_hazard),
}


_RUNS_THE_NEXT: Final = {"npm": frozenset({"exec", "x"})}


def names_nothing(words: tuple[Word, ...]) -> bool:
    """Whether it ends with the word before the program to run."""
    return len(words) == 2 and words[1].text in _RUNS_THE_NEXT.get(words[0].text, ())
