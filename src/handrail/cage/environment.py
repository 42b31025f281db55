"""The environment of a command in the cage: no keys, no hooks for other programs, and a git that runs nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Final

from handrail.permissions.programs.variables import KEPT_IN_CAGE

__all__ = ["caged_environment"]

_GIT: Final = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_ASKPASS": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_PROXY_COMMAND": "false",
    "GIT_MAN_VIEWER": "man",
}

_GIT_CONFIGURATION: Final = {
    "safe.directory": "*",  # any owner: the configuration of a repository does no harm here
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "false",
    "core.sshCommand": "false",
    "core.alternateRefsCommand": "false",
    "credential.helper": "",
    "diff.trustExitCode": "false",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "gpg.ssh.defaultKeyCommand": "false",
    "help.autoCorrect": "never",
    "help.browser": "false",
    "interactive.diffFilter": "cat",
    "man.viewer": "man",
    "maintenance.auto": "false",
    "gc.auto": "0",
    "protocol.allow": "never",
    "sequence.editor": "false",
    "submodule.recurse": "false",
    "uploadpack.packObjectsHook": "",
    "web.browser": "false",
}

_PLAIN_DIFF: Final = 'shown() { diff -u "$2" "$5"; :; }; shown'
"""Git cannot switch off a program for differences by configuration, so it gets one that compares the two files."""

_NEUTRAL: Final = {
    "filter.*.clean": "",
    "filter.*.smudge": "",
    "filter.*.process": "",
    "filter.*.required": "false",
    "diff.*.command": _PLAIN_DIFF,
    "diff.*.textconv": "cat",
    "diff.external": _PLAIN_DIFF,
    "merge.*.driver": "false",
    "man.*.cmd": "false",
    "man.*.path": "false",
    "browser.*.cmd": "false",
    "browser.*.path": "false",
    "pager.*": "false",
    "alias.*": "version",
    "trailer.*.cmd": "false",
    "trailer.*.command": "false",
    "tar.*.command": "false",
    "remote.*.promisor": "false",
    "hook.*.command": "true",
}
"""Values for entries whose names a repository chooses."""

_OTHER_PROGRAMS: Final = {
    "PAGER": "cat",
    "MANPAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "BROWSER": "false",
    "PIP_CONFIG_FILE": os.devnull,
    "PYTHONDONTWRITEBYTECODE": "1",
    "NPM_CONFIG_UPDATE_NOTIFIER": "false",
    "NODE_COMPILE_CACHE": "",
}
"""The configuration of these programs lies in HOME, which they may not read: without this they would fail."""

_OWN_FOLDERS: Final = {
    "TMPDIR": "",
    "TMP": "",
    "TEMP": "",
    "XDG_CONFIG_HOME": "config",
    "XDG_CACHE_HOME": "cache",
    "XDG_STATE_HOME": "state",
    "XDG_RUNTIME_DIR": "run",
    "NPM_CONFIG_USERCONFIG": "npmrc",
    "NPM_CONFIG_CACHE": "npm",
}
"""Variables for places in the command's own temporary folder."""


def caged_environment(environment: Mapping[str, str], temporary: str, git_keys: Iterable[str] = ()) -> dict[str, str]:
    """The environment for a command in the cage. `git_keys`: the configuration keys that its repository sets."""
    kept = {name: value for name, value in environment.items() if KEPT_IN_CAGE.fullmatch(name)}
    own = {name: os.path.join(temporary, below) if below else temporary for name, below in _OWN_FOLDERS.items()}
    return {**kept, **_OTHER_PROGRAMS, **own, **_GIT, **_git_configuration(git_keys)}


def _git_configuration(keys: Iterable[str]) -> dict[str, str]:
    pairs = dict(_GIT_CONFIGURATION)
    for key in keys:
        section, *middle, name = key.split(".")
        starred = f"{section}.*.{name}" if middle else f"{section}.*"
        value = _NEUTRAL.get(key.lower(), _NEUTRAL.get(starred.lower()))
        if value is not None:
            pairs[key] = value
    variables = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (key, value) in enumerate(pairs.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables
