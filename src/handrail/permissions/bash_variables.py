"""Variables that commands set. In: a name. Out: may it be set without anybody being asked?

A variable before a command is passed on to it; few are harmless. One that stands alone stays in the shell, unless it is
exported already, so there only names that programs act on are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from handrail.permissions.bash_commands import Command

__all__ = ["is_harmless_alone", "is_harmless_before", "variables_set"]

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
      |MALLOC|GCONV|SQLITE|PSQL|PG|MYSQL|TAR|COMP|LC)_.*
    | (?:BASH|PYTHON|PERL|RUBY|RUST|HIST|LESS|MAN|MAKE|GNUPG|EPOCH|LOC|NLS|TERM|TEXINPUTS|WGET|VIM|NVIM|EMACS).*
    | GO[A-Z]+ | PS\d | FUNC(?:NAME|NEST) | DIRSTACK | OPT(?:ARG|IND|ERR) | COMPREPLY | XZ_OPT | GZIP | ZIPOPT
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
