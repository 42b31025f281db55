"""Files that a person confirms each time, with the reasons.

Other programs run, load or trust these files without asking, so write access to them is as good as running programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from handrail.permissions.paths.names import bare_name

__all__ = ["PACKAGE_FOLDERS", "protection_of"]

_FOLDERS = {
    ".git": "git runs what its folder configures",
    ".claude": "it holds the agent's own settings, hooks and permissions",
    ".vscode": "the editor runs tasks from there",
    ".idea": "the editor runs tasks from there",
    ".cursor": "the editor reads servers and rules from there",
    ".zed": "the editor runs tasks from there",
    ".devcontainer": "the editor builds and runs containers from there",
    ".husky": "git runs the hooks in it",
    ".githooks": "git may run the hooks in it",
    ".ssh": "it holds keys, and who may log in",
    ".gnupg": "it holds keys",
    ".aws": "it holds credentials",
    ".kube": "it holds credentials",
    ".handrail": "it holds Handrail's own state",
}
_STARTS_WITH_A_SHELL = "a shell runs it when it starts"
_TOOL_SETTINGS = "a tool runs or trusts what it configures"
_SHELL_FILES = """
.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc
.cshrc .tcshrc .login .logout .envrc .inputrc .pam_environment .xinitrc .xprofile .xsession .xsessionrc
"""
_TOOL_FILES = """
.gitconfig .gitmodules .git-credentials .mcp.json .claude.json .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnp.cjs .pypirc
.netrc .curlrc .wgetrc .ripgreprc .vimrc .gvimrc .nvimrc .exrc .emacs .tmux.conf .screenrc .gdbinit .lldbinit .pythonrc
.pre-commit-config.yaml .lefthook.yml
"""
_FILES = {
    **dict.fromkeys(_SHELL_FILES.split(), _STARTS_WITH_A_SHELL),
    **dict.fromkeys(_TOOL_FILES.split(), _TOOL_SETTINGS),
    "head": "a folder with a HEAD may pass for a git repository",
}
_PLACES = {
    (".config", "git"): "git runs what it configures",
    (".config", "fish"): _STARTS_WITH_A_SHELL,
    (".config", "systemd"): "the system starts what it names",
    (".config", "autostart"): "the desktop starts what it names",
    (".config", "environment.d"): "it changes what every program is started with",
    (".config", "gh"): "it holds credentials",
    (".config", "gcloud"): "it holds credentials",
    (".config", "handrail"): "it holds Handrail's own settings",
    (".local", "bin"): "programs in it are found by name",
    (".docker", "config.json"): "it holds credentials",
    (".cargo", "config.toml"): _TOOL_SETTINGS,
    (".cargo", "config"): _TOOL_SETTINGS,
}
_UNPROTECTED = {(".claude", "worktrees")}
"""Whole checkouts live there; what is protected inside them is found by its own name."""

PACKAGE_FOLDERS = frozenset({"node_modules", "site-packages", "dist-packages", ".venv", "venv", ".pnpm-store", ".git"})
"""Package managers and git fill these with hard links, so a second name of a file is normal there."""


def protection_of(names: Sequence[str]) -> str:
    """Why a path with these names is protected, in any case and with look-alikes; empty for other paths."""
    bare = [bare_name(name) for name in names]
    for name, below in pairwise([*bare, ""]):
        why = _FOLDERS.get(name) or _PLACES.get((name, below), "")
        if why and (name, below) not in _UNPROTECTED:
            return why
    return "".join(_FILES.get(name, "") for name in bare[-1:])
