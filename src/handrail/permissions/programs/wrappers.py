"""Finds the commands that a command runs in turn.

`timeout 5 npm test` runs `npm test` and is allowed if that is. `sudo` does more, so it needs a separate rule, but deny
rules see the command that it runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from handrail.permissions.shell.commands import ANYWHERE, Assignment, Command
from handrail.permissions.shell.words import HOLE, Word

__all__ = ["Runs", "base_name", "is_shell", "passed_on", "unwrap"]


class Runs(Struct, frozen=True):
    """What a command runs."""

    commands: tuple[Command, ...] = ()
    scripts: tuple[str, ...] = ()
    hidden: str = ""
    """Why what it runs cannot be seen."""
    transparent: bool = False
    """It does nothing else, and so is allowed when all of this is."""
    begins: int = 0
    """The place of the first word that belongs to what it runs; a rule that spells it out knows what it allows."""


class _Wrapper(Struct, frozen=True):
    flags: str = ""
    valued: str = ""
    names: tuple[str, ...] = ()
    valued_names: tuple[str, ...] = ()
    skip: int = 0
    transparent: bool = True
    variables: bool = False


def _row(flags: str = "", valued: str = "", names: str = "", valued_names: str = "", skip: int = 0) -> _Wrapper:
    return _Wrapper(flags, valued, tuple(names.split()), tuple(valued_names.split()), skip)


def _more(row: _Wrapper) -> _Wrapper:
    """A wrapper that changes more than what is run."""
    return replace(row, transparent=False)


_WRAPPERS: Final[dict[str, _Wrapper]] = {
    "env": replace(_row("i0v", "u", "ignore-environment null debug", "unset"), variables=True),
    "nice": _row("0123456789", "n", "", "adjustment"),
    "nohup": _row(),
    "timeout": _row("v", "ks", "foreground preserve-status verbose", "kill-after signal", 1),
    "time": _row("p"),
    "stdbuf": _row("", "ioe", "", "input output error"),
    "setsid": _row("cfw", "", "ctty fork wait"),
    "ionice": _row("t", "cn", "ignore", "class classdata"),
    "chrt": _more(_row("abfiorRv", "TPD", "batch fifo idle other rr verbose", "", 1)),
    "taskset": _row("ac", "", "all-tasks cpu-list", "", 1),
    "command": _row("p"),
    "builtin": _row(),
    "exec": _row("cl", "a"),
    "xargs": _row(
        "0rtx",
        "dEILnPs",
        "null no-run-if-empty verbose exit max-lines replace",
        "delimiter max-args max-procs max-chars",
    ),
    "sudo": replace(
        _row("AbEHnPSkKB", "ugpCcrtTDRhU", "non-interactive preserve-env set-home", "user group chdir host"),
        transparent=False,
        variables=True,
    ),
    "doas": _more(_row("nL", "uC")),
    "chroot": _more(_row("", "", "skip-chdir", "groups userspec", 1)),
    "flock": _more(_row("sxeunoF", "wE", "shared exclusive nonblock unlock close", "timeout wait", 1)),
    "busybox": _more(_row()),
    "toybox": _more(_row()),
    "strace": _more(_row("fFqtTrvxyCc", "aeoOpPsSuE")),
    "ltrace": _more(_row("fCcrStT", "aelnopsuxF")),
    "unbuffer": _row("p"),
    "chronic": _row("ev"),
    "catchsegv": _more(_row()),
    "caffeinate": _row("disum", "tw"),
    "setarch": _more(_row("BFILRSTXZ3v", "", "", "", 1)),
    "fakeroot": _more(_row()),
    "dbus-run-session": _more(_row()),
    "xvfb-run": _more(_row("al", "efnpsw")),
}
_HIDDEN: Final = frozenset(
    """
    parallel script watch entr nodemon at batch crontab su runuser systemd-run nsenter unshare setpriv bwrap firejail
    proot expect tmux screen gdb lldb perf valgrind coproc trap rlwrap ssh-agent dtach abduco run-parts
    start-stop-daemon daemonize machinectl pkexec gosu su-exec tini dumb-init supervisord inotifywait watchexec
    cmd powershell pwsh wsl osascript linux32 linux64 i386 x86_64 uname26 numactl prlimit cpulimit choom eatmydata
    faketime torsocks torify proxychains proxychains4 ccache sshpass systemd-inhibit dbus-launch sg capsh envdir chpst
    nix-shell direnv dotenv arch
    """.split()
)
_LOADER: Final = re.compile(r"ld(?:-linux.*|-musl.*|64|)\.so(?:\.\d+)*")
_PLACES: Final = re.compile(r"(?:(?:/usr(?:/local)?|/opt/homebrew)?/s?bin/)?[^/]+")
"""Folders of the system's programs; a program of the same name elsewhere may be anything."""
_RUNNERS: Final = frozenset(
    """
    npx bunx pnpx uvx pipx uv poetry pipenv hatch pdm rye conda mamba bundle npm pnpm yarn bun mise rtx asdf devbox nix
    """.split()
)
"""Package managers: the words after their own may be a program that they run."""
_SHELLS: Final = frozenset({"bash", "sh", "dash", "ash"})
_OTHER_SHELLS: Final = frozenset({"zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash", "elvish", "nu", "xonsh"})
_SHELL_FLAGS: Final = frozenset("ceuxlnv")
_NOT_IN_SH: Final = re.compile(r"\$'|&>|<\(|>\(|\[\[|\|&|<<<|\{[^}]*[,.]|\(\(|\bfunction\b|\\")
"""What other shells than bash read differently."""
MOST_SIGNS: Final = 4
ADDED: Final = "{}"
"""Stands for a variable where `xargs` or `find -exec` adds files to a command."""


def base_name(word: Word) -> str:
    """The name of a program without its folder."""
    return word.text.rpartition("/")[2]


def is_shell(name: str) -> bool:
    """Does a program of this name run shell scripts?"""
    return name in _SHELLS or name in _OTHER_SHELLS


def unwrap(command: Command) -> Runs | None:
    """What a command runs in turn; None where it runs nothing but itself."""
    if not command.words or not command.words[0].fixed:
        return None
    found = _unwrapped(command)
    return found if found is None or _PLACES.fullmatch(command.words[0].text) else replace(found, transparent=False)


def passed_on(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """What a package manager may run: every command that could begin with one of its words."""
    if base_name(words[0]) in _RUNNERS:
        yield from (words[at:] for at in range(1, min(len(words), 12)) if not words[at].text.startswith("-"))


def _unwrapped(command: Command) -> Runs | None:
    name = base_name(command.words[0])
    name = name[1:] if name[:1] == "g" and name[1:] in (*_WRAPPERS, "find") else name
    special = _SPECIAL.get(name)
    if special is not None:
        return special(command)
    if name in _HIDDEN or name in _OTHER_SHELLS or _LOADER.fullmatch(name):
        return Runs(hidden=f"{name} runs programs that cannot be seen here") if len(command.words) > 1 else None
    return _wrapped(command, _WRAPPERS[name]) if name in _WRAPPERS else None


def _inner_at(words: tuple[Word, ...], row: _Wrapper) -> int:
    """The place of the inner command; 0 if it is missing, and -1 if an option is unknown."""
    at, skip, options = 1, row.skip, True
    while at < len(words):
        text = words[at].text
        if not words[at].fixed and (words[at].may_be_option or options):
            return -1 if words[at].may_be_option else at
        if options and text == "--":
            options = False
        elif options and text.startswith("-") and len(text) > 1:
            taken = _option(text, row)
            if taken < 0:
                return -1
            at += taken
        elif row.variables and ("=" in text or (options and text == "-")):
            options = options and text == "-"
        elif skip:
            skip -= 1
        else:
            return at
        at += 1
    return 0


def _option(text: str, row: _Wrapper) -> int:
    """How many words after this option are its value; -1 where it is not known."""
    if text.startswith("--"):
        name, equals, _ = text[2:].partition("=")
        return (
            0 if name in row.names or (equals and name in row.valued_names) else 1 if name in row.valued_names else -1
        )
    for index, letter in enumerate(text[1:], 1):
        if letter in row.valued:
            return 0 if index + 1 < len(text) else 1
        if letter not in row.flags:
            return -1
    return 0


def _wrapped(command: Command, row: _Wrapper) -> Runs | None:
    words = command.words
    if words[0].text == "time":
        # The keyword of the shell can be followed by `!`.
        leading = list(takewhile(lambda word: word.text in ("-p", "--", "!"), words[1:]))
        words = (words[0], *(word for word in leading if word.text != "!"), *words[1 + len(leading) :])
    at = _inner_at(words, row)
    name = base_name(words[0])
    if at < 0:
        return Runs(hidden=f"an option of {name} is not known here")
    variables = tuple(
        _as_assignment(word) for word in words[1 : at or None] if row.variables and _is_assignment(word.text)
    )
    if at == 0:
        return None if name != "exec" else Runs(transparent=True)
    inner = replace(command, words=words[at:], assignments=command.assignments + variables, redirects=())
    return Runs((inner,), transparent=row.transparent, begins=at)


def _is_assignment(text: str) -> bool:
    """Whether env takes it for a variable, whose name can be any text."""
    return "=" in text and not text.startswith("-")


def _as_assignment(word: Word) -> Assignment:
    name, _, value = word.text.partition("=")
    return Assignment(name, replace(word, text=value, values=None))


def _env(command: Command) -> Runs | None:
    """`env -S 'a b'` splits a text into a command; the rest of env is a plain wrapper."""
    words = command.words
    for index, word in enumerate(words[1:], 1):
        text = word.text
        if not text.startswith("-") or text == "-":
            break
        cluster = "" if text.startswith("--") else text[1:].partition("S")[0] if "S" in text else ""
        attached: str | None = None
        if text.startswith("--s") and "--split-string".startswith(text.partition("=")[0]):
            attached = text.partition("=")[2]
        elif "S" in text and set(cluster) <= set("iv0"):
            attached = text.partition("S")[2]
        if attached is not None:
            script = " ".join([attached, *(item.text for item in words[index + 1 :])])
            why = "env may split this text in another way than a shell" if _NOT_IN_ENV.search(script) else ""
            return Runs(scripts=(script.strip(),), hidden=why, begins=len(words))
    return _wrapped(command, _WRAPPERS["env"])


_NOT_IN_ENV: Final = re.compile(r"""[\\$'"#;&|<>()`]""")
"""What `env -S` reads differently than a shell."""


def _text_at(words: tuple[Word, ...], index: int) -> str:
    return words[index].text if index < len(words) else ""


def _command(command: Command) -> Runs | None:
    """`command -v x` only asks where x is."""
    asks = len(command.words) > 1 and command.words[1].text in ("-v", "-V", "-pv", "-pV")
    return None if asks else _wrapped(command, _WRAPPERS["command"])


def _xargs(command: Command) -> Runs | None:
    """It adds words of its input to what it runs, or puts them where `-I` says."""
    found = _wrapped(command, _WRAPPERS["xargs"])
    if found is None or not found.commands:
        return found
    inner, given = found.commands[0], list(_values(command.words[: found.begins], _WRAPPERS["xargs"]))
    signs = [value or "{}" for option, value in given if option in ("I", "replace")]
    if len(signs) > MOST_SIGNS:
        return Runs(hidden="which words xargs puts where is not clear")
    words = inner.words
    for sign in signs:
        words = tuple(_with_holes(word, sign) for word in words)
    if len(signs) != 1 or any(option in ("n", "L", "max-args", "max-lines") for option, _ in given):
        words = (*words, Word(HOLE, "…", (ADDED,), splits=True))
    return replace(found, commands=(replace(inner, words=words),))


def _values(words: tuple[Word, ...], row: _Wrapper) -> Iterator[tuple[str, str]]:
    """The options before the inner command, each with its value: the last letter of a cluster, or the long name."""
    at = 1
    while at < len(words) and words[at].text != "--":
        text = words[at].text
        taken = _option(text, row)
        following = _text_at(words, at + 1) if taken else ""
        if text.startswith("--"):
            name, _, value = text[2:].partition("=")
            yield name, value or following
        else:
            end = next((index for index, letter in enumerate(text) if letter in row.valued), len(text) - 1)
            yield text[end], text[end + 1 :] or following
        at += 1 + taken


def _with_holes(word: Word, sign: str) -> Word:
    count = word.text.count(sign)
    return replace(word, text=word.text.replace(sign, HOLE), names=(ADDED,) * count, values=None) if count else word


def _eval(command: Command) -> Runs:
    if not all(word.fixed for word in command.words):
        return Runs(hidden="what eval runs is not known before it runs")
    return Runs(
        scripts=(" ".join(word.text for word in command.words[1:]),), transparent=True, begins=len(command.words)
    )


def _shell(command: Command) -> Runs | None:
    """`bash -c 'text'`. A shell with a file runs that file; one without reads its program from its input."""
    words, name = command.words, base_name(command.words[0])
    for index, word in enumerate(words[1:], 1):
        text = word.text
        if not word.fixed or text in ("-", "-s", "-i") or text.startswith("--"):
            break
        if not text.startswith(("-", "+")):
            return None
        if not set(text[1:]) <= _SHELL_FLAGS:
            break
        if "c" in text:
            return _shell_text(words, index + 1, name)
    if len(words) == 2 and words[1].text in ("--version", "--help"):
        return None
    return Runs(hidden=f"{name} reads its program from somewhere else")


def _shell_text(words: tuple[Word, ...], at: int, name: str) -> Runs:
    if at >= len(words) or not words[at].fixed or words[at].text.startswith(("-", "+")):
        return Runs(hidden=f"the program of {name} is not known before it runs")
    text = words[at].text
    if name != "bash" and _NOT_IN_SH.search(text):
        return Runs(scripts=(text,), hidden=f"{name} may read this program in another way")
    return Runs(scripts=(text,), transparent=True, begins=at + 1)


def _find(command: Command) -> Runs | None:
    """`find … -exec a {} \\; -exec b {} +`: each is a separate command."""
    words, found, begins, at = command.words, list[Command](), 0, 1
    while at < len(words):
        if words[at].text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((stop for stop in range(at + 1, len(words)) if _ends_exec(words, stop)), 0)
            if end <= at + 1:
                return Runs(hidden="what find runs is not clear")
            inner = tuple(_with_holes(word, "{}") for word in words[at + 1 : end])
            text = " ".join(word.source for word in inner)
            folders = (*command.folders, ANYWHERE) if words[at].text.endswith("dir") else command.folders
            found.append(replace(command, words=inner, redirects=(), folders=folders, text=text))
            begins, at = begins or at + 2, end
        at += 1
    return Runs(tuple(found), begins=begins) if found else None


def _ends_exec(words: tuple[Word, ...], at: int) -> bool:
    return words[at].text == ";" or (words[at].text == "+" and words[at - 1].text == "{}")


_FD_EXECUTES: Final = re.compile(r"--exec|-[HIaLsilgFp0uqv1]*[xX]")


def _fd(command: Command) -> Runs | None:
    """`fd x -x cmd`: all that follows is the command."""
    for at, word in enumerate(command.words):
        if word.text in ("-x", "-X", "--exec", "--exec-batch"):
            words = tuple(_with_holes(item, "{}") for item in command.words[at + 1 :])
            more = Word(HOLE, "…", (ADDED,), splits=True)
            inner = replace(command, words=(*words, more), redirects=())
            return Runs((inner,), begins=at + 2) if words else Runs(hidden="what fd runs is not clear")
        if _FD_EXECUTES.match(word.text):
            return Runs(hidden="what fd runs is not clear")
    return None


_SPECIAL: Final[dict[str, Callable[[Command], Runs | None]]] = {
    "env": _env,
    "command": _command,
    "xargs": _xargs,
    "eval": _eval,
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
    **dict.fromkeys(_SHELLS, _shell),
}
