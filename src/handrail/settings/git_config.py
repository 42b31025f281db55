"""What a repository's git configuration would run. In: a folder. Out: the entries and hook scripts that execute.

Git starts programs that its configuration names, also for `git status`: a file system monitor, hooks, filters, pagers.
A clone does not bring them along, but an archive of a repository, or a repository inside of another, does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from handrail.settings.files import Problem
from handrail.settings.git_folders import git_directories, inside_git
from handrail.settings.plain_file import Unreadable, read_bytes

__all__ = ["GitEntry", "git_entries", "git_guard", "hook_folders", "read_git_config"]


class GitEntry(msgspec.Struct, frozen=True):
    """One entry that makes git run something. `name` as git prints it, such as `core.fsmonitor`."""

    name: str
    value: str
    path: str
    line: int


_SECTION = re.compile(r'^\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_ENTRY = re.compile(r"^([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$")
_HELPER = re.compile(r"[\w+-]+::")
"""An address that names a program to talk through: ext::sh -c …"""
_ESCAPED = re.compile(r"\\(.)")

RUNS = frozenset(
    """core.fsmonitor core.hookspath core.sshcommand core.pager core.editor core.askpass core.gitproxy core.worktree
    core.alternaterefscommand core.attributesfile sequence.editor gpg.program gpg.*.program gpg.ssh.defaultkeycommand
    alias.* pager.* diff.external diff.*.command diff.*.textconv filter.*.clean filter.*.smudge filter.*.process
    merge.*.driver mergetool.*.cmd mergetool.*.path difftool.*.cmd difftool.*.path credential.helper
    credential.*.helper remote.*.uploadpack remote.*.receivepack remote.*.vcs remote.*.proxy submodule.*.update
    include.path includeif.*.path uploadpack.packobjectshook browser.*.cmd browser.*.path man.*.cmd
    interactive.difffilter trailer.*.command trailer.*.cmd init.templatedir sendemail.smtpserver
    http.proxy http.*.proxy protocol.ext.allow url.*.insteadof url.*.pushinsteadof hook.*.command""".split()
)
"""Entries that name a program or a further file, or send what travels elsewhere. A * is any subsection or key."""

_HARMLESS = {
    "core.fsmonitor": {"true", "false", "yes", "no", "on", "off", "1", "0", ""},
    "submodule.*.update": {"checkout", "rebase", "merge", "none", ""},
}

_NEUTRAL = {
    "core.fsmonitor": "false",
    "core.hookspath": os.devnull,
    "core.sshcommand": "ssh",
    "core.pager": "cat",
    "core.editor": "false",
    "core.askpass": "false",
    "core.gitproxy": "",
    "core.alternaterefscommand": "false",
    "core.attributesfile": os.devnull,
    "sequence.editor": "false",
    "gpg.program": "false",
    "diff.external": "",
    "credential.helper": "",
    "interactive.difffilter": "cat",
    "uploadpack.packobjectshook": "",
    "protocol.ext.allow": "never",
}


def git_entries(folder: str) -> tuple[list[GitEntry], list[Problem]]:
    """The entries that would run something. Out: those, and what could not be read."""
    entries: list[GitEntry] = []
    problems: list[Problem] = []
    for directory in git_directories(folder):
        for name in ("config", "config.worktree"):
            path = os.path.join(directory, name)
            try:
                text = (read_bytes(path) or b"").decode("utf-8", "replace")
            except Unreadable as error:
                problems.append(Problem(path, str(error)))
                continue
            entries += [entry for entry in read_git_config(text, path) if _runs(entry)]
    return entries, problems


def _runs(entry: GitEntry) -> bool:
    kind = _kind(entry.name)
    if kind in ("remote.*.url", "remote.*.pushurl"):
        return _HELPER.match(entry.value) is not None
    if kind == "alias.*":
        return entry.value.startswith("!")
    return kind in RUNS and entry.value.lower() not in _HARMLESS.get(kind, ())


def _kind(name: str) -> str:
    """The row of the table that a name belongs to. In: `filter.lfs.clean`. Out: `filter.*.clean`."""
    section, *middle, key = name.split(".")
    starred = f"{section}.*.{key}" if middle else f"{section}.*"
    return name if name in RUNS or not (middle or starred in RUNS) else starred


def hook_folders(folder: str, entries: Iterable[GitEntry]) -> list[str]:
    """Where git looks for hook scripts: its own folder, and those that the configuration names."""
    top = inside_git(folder)[-1]
    named = [entry.value for entry in entries if entry.name == "core.hookspath" and entry.value]
    own = [os.path.join(directory, "hooks") for directory in git_directories(folder)]
    return own + [os.path.normpath(os.path.join(top, os.path.expanduser(path))) for path in named]


def git_guard(entries: Iterable[GitEntry], *, has_hooks: bool) -> Mapping[str, str]:
    """Variables under which git does not run what its configuration names, as far as one value can undo another."""
    names = {entry.name for entry in entries}
    included = any(name.startswith("include") for name in names)  # what such a file says is not known here
    pairs = {name: value for name, value in _NEUTRAL.items() if included or name in names}
    pairs |= {name: "" for name in sorted(names) if _kind(name).startswith("filter.")}
    if has_hooks:
        pairs["core.hookspath"] = os.devnull
    guard = {key: text for i, (name, value) in enumerate(pairs.items()) for key, text in _pair(i, name, value)}
    return {"GIT_CONFIG_COUNT": str(len(pairs)), **guard} if pairs else {}


def _pair(index: int, name: str, value: str) -> Iterator[tuple[str, str]]:
    yield f"GIT_CONFIG_KEY_{index}", name
    yield f"GIT_CONFIG_VALUE_{index}", value


def read_git_config(text: str, path: str) -> Iterator[GitEntry]:
    """Every entry of a configuration file. In: its text. Out: names in git's own spelling, values, lines."""
    section = ""
    for line, logical in _logical_lines(text):
        rest = logical.strip()
        if found := _SECTION.match(rest):
            section = found[1].lower()
            if found[2] is not None:
                section = f"{section}.{_ESCAPED.sub(lambda sign: sign[1], found[2])}"
            rest = rest[found.end() :].strip()
        if not rest or rest[0] in "#;":
            continue
        if section and (found := _ENTRY.match(rest)):
            value = "true" if found[2] is None else _value(found[2])
            yield GitEntry(f"{section}.{found[1].lower()}", value, path, line)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their continuations, and the number of the first."""
    start, joined = 1, ""
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not joined:
            start = number
        if line.endswith("\\") and not line.endswith("\\\\"):
            joined += line[:-1]
            continue
        yield start, joined + line
        joined = ""
    if joined:
        yield start, joined


def _value(raw: str) -> str:
    """A value without its quotes, escapes and comment."""
    out: list[str] = []
    quoted = False
    signs = iter(raw)
    for sign in signs:
        if sign == "\\":
            escaped = next(signs, "")
            out.append({"n": "\n", "t": "\t", "b": "\b"}.get(escaped, escaped))
        elif sign == '"':
            quoted = not quoted
        elif sign in "#;" and not quoted:
            break
        else:
            out.append(sign)
    return "".join(out).strip()
