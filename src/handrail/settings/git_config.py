"""What a repository's git configuration would run. In: a folder. Out: the entries and hook scripts that execute.

Git starts programs that its configuration names, also for `git status`: a file system monitor, hooks, filters, pagers.
A clone does not bring them along, but an archive of a repository, or a repository inside of another, does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from handrail.settings.files import Problem
from handrail.settings.git_config_text import GitEntry, read_git_config
from handrail.settings.git_folders import git_directories, inside_git
from handrail.settings.plain_file import Unreadable, read_bytes

__all__ = ["GitEntry", "git_entries", "git_guard", "hook_folders", "read_git_config"]

_HELPER = re.compile(r"[\w+-]+::")
"""An address that names a program to talk through: ext::sh -c …"""

RUNS = frozenset(
    """core.fsmonitor core.hookspath core.sshcommand core.pager core.editor core.askpass core.gitproxy core.worktree
    core.alternaterefscommand core.attributesfile sequence.editor gpg.program gpg.*.program gpg.ssh.defaultkeycommand
    alias.* pager.* diff.external diff.*.command diff.*.textconv filter.*.clean filter.*.smudge filter.*.process
    merge.*.driver mergetool.*.cmd mergetool.*.path difftool.*.cmd difftool.*.path credential.helper
    credential.*.helper remote.*.uploadpack remote.*.receivepack remote.*.vcs remote.*.proxy submodule.*.update
    include.path includeif.*.path uploadpack.packobjectshook browser.*.cmd browser.*.path man.*.cmd
    interactive.difffilter trailer.*.command trailer.*.cmd init.templatedir sendemail.smtpserver
    sendemail.*.smtpserver sendemail.sendmailcmd sendemail.tocmd sendemail.cccmd sendemail.headercmd sendemail.*.tocmd
    sendemail.*.cccmd tar.*.command guitool.*.cmd instaweb.httpd web.browser imap.tunnel lfs.*.path lfs.*.clean
    lfs.*.smudge lfs.url remote.*.lfsurl
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


MOST_FILES = 32
"""How many configuration files are read, those that others include among them."""


def git_entries(folder: str) -> tuple[list[GitEntry], list[Problem]]:
    """The entries that would run something, also of files that are included. Out: those, and what could not be read."""
    entries: list[GitEntry] = []
    problems: list[Problem] = []
    names = ("config", "config.worktree")
    waiting = [os.path.join(directory, name) for directory in git_directories(folder) for name in names]
    for path in waiting:  # it grows while we go through it
        try:
            text = (read_bytes(path) or b"").decode("utf-8", "replace")
        except Unreadable as error:
            problems.append(Problem(path, str(error)))
            continue
        found = [entry for entry in read_git_config(text, path) if _runs(entry)]
        entries += found
        included = [_included(entry) for entry in found if entry.name.startswith("include") and entry.value]
        waiting += [file for file in dict.fromkeys(included) if file not in waiting][: MOST_FILES - len(waiting)]
    return entries, problems


def _included(entry: GitEntry) -> str:
    """The file that an entry includes: from where its own file lies."""
    return os.path.normpath(os.path.join(os.path.dirname(entry.path), os.path.expanduser(entry.value)))


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
