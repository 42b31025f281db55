"""Variables that commands set, and whether they may be set without a question.

A variable before a command is passed to it, so only a few are harmless there. An assignment without a command stays in
the shell unless the variable is exported, so there only names that programs act on are refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from handrail.permissions.shell.commands import Command
from handrail.permissions.shell.word_reader import VARIABLES_IN

__all__ = [
    "KEPT_IN_CAGE",
    "inherits",
    "is_harmless_alone",
    "is_harmless_before",
    "only_compared",
    "variables_set",
]

_EXPORTS: Final = frozenset({"export", "declare", "typeset", "readonly", "local"})

_HARMLESS: Final = frozenset(
    """
    LANG LANGUAGE TZ TERM COLORTERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI DEBUG VERBOSE QUIET
    NODE_ENV APP_ENV RAILS_ENV RACK_ENV FLASK_ENV FLASK_DEBUG DJANGO_DEBUG MIX_ENV ENVIRONMENT LOG_LEVEL LOGLEVEL PORT
    RUST_BACKTRACE RUST_LOG CARGO_TERM_COLOR CARGO_INCREMENTAL CARGO_NET_OFFLINE GOOS GOARCH GOARM CGO_ENABLED
    GO111MODULE
    GOMAXPROCS GOGC PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 PYTEST_TIMEOUT
    TOX_PARALLEL_NO_SPINNER DOCKER_BUILDKIT COMPOSE_DOCKER_CLI_BUILD BUILDKIT_PROGRESS GIT_TERMINAL_PROMPT
    GIT_OPTIONAL_LOCKS GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
    GIT_COMMITTER_DATE NPM_CONFIG_LOGLEVEL NPM_CONFIG_FUND NPM_CONFIG_AUDIT NEXT_TELEMETRY_DISABLED
    DO_NOT_TRACK HUSKY_SKIP_INSTALL SKIP_TESTS TEST_ENV V
    """.split()
)
_HARMLESS_FAMILY: Final = re.compile(r"LC_[A-Z]+")

_ACTED_ON: Final = re.compile(
    r"""
    (?:LD|DYLD|GIT|NODE|NPM|NVM|YARN|PNPM|BUN|DENO|JAVA|JDK|MAVEN|GRADLE|SBT|CARGO|DOCKER|BUILDKIT|COMPOSE|KUBE|HELM|AWS
      |AZURE|GCLOUD|CLOUDSDK|GOOGLE|SSH|GPG|RSYNC|GREP|PROMPT|CLAUDE|ANTHROPIC|HANDRAIL|XDG|DBUS|SYSTEMD|CMAKE|PKG|PIP
      |UV|POETRY|CONDA|VIRTUAL|GEM|BUNDLE|COMPOSER|PHP|LUA|TCL|R|JULIA|ELECTRON|CHROME|FZF|RIPGREP|BAT|DELTA|CURL|SUDO
      |MALLOC|TF|OPENSSL|SSL|LLVM|ASAN|UBSAN|TSAN|TS_NODE|BABEL|VAGRANT|ANSIBLE|JEST|ESLINT|COVERAGE|RES
      |RESOLV|NIX|VAULT|GCONV|SQLITE|PSQL|PG|MYSQL|TAR|COMP|LC)_.*
    | (?:BASH|PYTHON|PERL|RUBY|RUST|HIST|LESS|MAN|MAKE|GNUPG|EPOCH|LOC|NLS|TERM|TEXINPUTS|WGET|VIM|NVIM|EMACS).*
    | GO[A-Z]+ | RAKEOPT | PHPRC | ZDOTDIR | PG[A-Z]+
    | PS\d | FUNC(?:NAME|NEST) | DIRSTACK | OPT(?:ARG|IND|ERR) | COMPREPLY | XZ_OPT | GZIP | ZIPOPT
    | .*(?:PATH|CONFIG|COMMAND|PAGER|EDITOR|OPTIONS|OPTS|FLAGS|HOME|SHELL|PROXY|WRAPPER|ASKPASS|PRELOAD|PROGRAM
    |HOOK|PLUGIN
      |BROWSER|VISUAL|RCFILE|PREFIX|CACHE|REGISTRY|CERT|SSL|TLS|KEY|TOKEN|ALIASES|ENV|INIT|STARTUP|HOSTS)
    | IFS|CC|CXX|CPP|LD|AR|AS|RM|USER|LOGNAME|TMPDIR|TEMP|TMP|GLOBIGNORE|POSIXLY_CORRECT|EXECIGNORE|RANDOM
    |SECONDS|SRANDOM
    | LINENO|GROUPS|MAIL|MAILCHECK|TMOUT|INPUTRC|CHILD_MAX|FCEDIT|IGNOREEOF|TIMEFORMAT|UID|EUID|PPID|PWD|OLDPWD|EXINIT
    | SHELLOPTS|BASHOPTS|PSQLRC|_.*
    | (?:https?|ftp|all|no|rsync|socks)_proxy | npm_.* | gem_.* | pip_.* | auto_resume | histchars
    """,
    re.VERBOSE,
)
"""Names that shells and programs act on."""


_NO_PAGER: Final = frozenset(
    {"PAGER", "GIT_PAGER", "MANPAGER", "EDITOR", "GIT_EDITOR", "VISUAL", "GIT_SEQUENCE_EDITOR"}
)
_DOES_NOTHING: Final = frozenset({"", "cat", "true", ":"})


def is_harmless_before(name: str, value: str) -> bool:
    """May a command be given this variable with this value?"""
    if name in _NO_PAGER:
        return value in _DOES_NOTHING
    return name in _HARMLESS or bool(_HARMLESS_FAMILY.fullmatch(name))


def is_harmless_alone(name: str, value: str) -> bool:
    """May this variable be set in the shell itself?"""
    return is_harmless_before(name, value) or not _ACTED_ON.fullmatch(name)


def variables_set(command: Command) -> Iterator[tuple[str, str]]:
    """The variables that a command is given, or that it exports, each with its value."""
    yield from ((item.name, item.value.text) for item in command.assignments)
    if command.name in _EXPORTS:
        for word in command.words[1:]:
            name, equals, value = word.text.partition("=")
            if equals:
                yield name.removesuffix("+"), value
            elif command.name in ("export", "readonly"):
                yield name, ""


KEPT_IN_CAGE: Final = re.compile(
    r"""PATH|HOME|USER|LOGNAME|SHELL|PWD|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLORTERM|COLUMNS|LINES|NO_COLOR|CLICOLOR
    |FORCE_COLOR|CI|CLAUDECODE|HANDRAIL_AGENT_CHILD|HANDRAIL_AGENT_CALL
    |VIRTUAL_ENV|CONDA_PREFIX|CONDA_DEFAULT_ENV|PYENV_ROOT|PYENV_VERSION|NVM_DIR|NVM_BIN|NODE_VERSION|VOLTA_HOME
    |ASDF_DIR|ASDF_DATA_DIR|MISE_DATA_DIR|RBENV_ROOT|RBENV_VERSION|RUSTUP_HOME|RUSTUP_TOOLCHAIN|GOROOT|GOTOOLCHAIN
    |JAVA_HOME|SDKMAN_DIR|DOTNET_ROOT|NIX_PROFILES|LOCALE_ARCHIVE""",
    re.VERBOSE,
)
"""Variables that a command in the cage still has. All others are dropped: any of them may be a key, and many name
programs or files to load."""

_OF_THE_SHELL: Final = frozenset(
    """
    BASH BASHPID BASH_VERSION EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HOSTNAME HOSTTYPE IFS LINENO MACHTYPE
    OLDPWD OPTARG OPTIND OSTYPE PIPESTATUS PPID RANDOM REPLY SECONDS SHLVL SRANDOM UID
    """.split()
)


def inherits(used: Iterable[str], text: str) -> bool:
    """Whether a script uses a variable of its environment, other than the few that a command in the cage has too.

    It may be a key, and a here-document, a copy in another variable or an argument prints it as well as `echo` does.
    """
    foreign = {name for name in used if name not in _OF_THE_SHELL and not KEPT_IN_CAGE.fullmatch(name)}
    return bool(foreign) and not foreign <= _set_first(text)


_CONDITIONS: Final = frozenset({"test", "[", "[["})


def only_compared(commands: Iterable[Command]) -> Counter[str]:
    """How often conditions use each variable: they print nothing."""
    words = (word for command in commands if command.name in _CONDITIONS for word in command.words[1:])
    return Counter(name for word in words if not word.fixed for name in VARIABLES_IN.findall(word.source))


_SETTING: Final = re.compile(
    r"""(?:^|[\s;&|(){}])(\w+)\+?=(?:"[^"]*"|\$\([^)]*\)|`[^`]*`|[^\s;&|])*
    |\b(?:for|select)\s+(\w+)\b[^;\n]*
    |\bread\b([^;|&\n]*)""",
    re.VERBOSE,
)
_USE: Final = re.compile(r"\$\{?[#!]?(\w+)")


def _set_first(text: str) -> set[str]:
    """The variables that a script sets before it uses them, by an assignment, a loop or `read`."""
    used, found = dict[str, int](), dict[str, int]()
    for use in _USE.finditer(text):
        used.setdefault(use[1], use.start())
    for setting in _SETTING.finditer(text):
        for name in re.findall(r"\w+", setting[1] or setting[2] or setting[3]):
            found.setdefault(name, setting.end())
    return {name for name, end in found.items() if used.get(name, end) >= end}
