"""The files and folders that a command in the cage may read: its project, and what programs need to run.

Nothing here is taken from the project, which could name a folder of secrets as its interpreter.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import Final

from handrail.cage.base import CageError, Limits
from handrail.cage.hidden import Hidden
from handrail.files.resolve import real_path
from handrail.platform import is_macos

__all__ = ["reading_limits", "writing_limits"]

_DEVICES: Final = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))

_SYSTEM: Final = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/snap",
    "/run/current-system/sw",
    *(
        f"/etc/{name}"
        for name in """
        alternatives bash_completion.d ca-certificates crypto-policies debian_version environment.d fonts group hosts
        java java-11-openjdk java-17-openjdk java-21-openjdk ld.so.cache ld.so.conf ld.so.conf.d localtime
        locale.alias locale.conf lsb-release magic man_db.conf manpath.config mime.types nsswitch.conf os-release
        papersize passwd perl php
        pki/ca-trust pki/java pki/tls/certs pki/tls/openssl.cnf protocols python3 redhat-release resolv.conf services
        shells skel ssl/certs ssl/openssl.cnf static terminfo timezone vim
        """.split()
    ),
    *(
        f"/proc/{name}"
        for name in """
        cpuinfo filesystems loadavg meminfo stat uptime version sys/kernel/cap_last_cap sys/kernel/hostname
        sys/kernel/osrelease sys/kernel/ostype sys/kernel/pid_max sys/kernel/threads-max sys/kernel/version
        sys/vm/overcommit_memory sys/fs/pipe-max-size
        """.split()
    ),
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/kernel/mm/transparent_hugepage",
)
"""/proc is not among them: a folder of another process would give away its arguments and environment, and the folder of
a process does not exist before the cage is built."""

_MACOS: Final = (
    "/usr",
    "/bin",
    "/sbin",
    "/System",
    "/Library/Apple",
    "/Library/Developer",
    "/Library/Frameworks",
    "/Library/Perl",
    "/Library/Ruby",
    "/Applications/Xcode.app",
    "/opt/homebrew",
    "/opt/local",
    "/nix/store",
    "/private/etc/group",
    "/private/etc/localtime",
    "/private/etc/passwd",
    "/private/etc/ssl",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
    "/private/var/select",
)

_TOOLCHAINS: Final = tuple(
    """
    .asdf/bin .asdf/installs .asdf/lib .asdf/plugins .asdf/shims .bun/bin .bun/install/global .cargo/bin .deno/bin
    .dotnet .fnm .ghcup/bin .ghcup/ghc .ghcup/lib .goenv/libexec .goenv/shims .goenv/versions .jenv/libexec .jenv/shims
    .jenv/versions .juliaup/bin .krew/bin .linuxbrew .local/bin .local/lib .local/pipx/venvs .local/share/fnm
    .local/share/mise/installs .local/share/mise/shims .local/share/pipx/venvs .local/share/pnpm
    .local/share/rtx/installs .local/share/uv/python .local/share/uv/tools .nix-profile .nodenv/libexec .nodenv/shims
    .nodenv/versions .npm-global .nvm/versions .nvm/nvm.sh .nvm/alias .phpenv/shims .phpenv/versions .poetry/bin
    .pub-cache/bin .pyenv/bin .pyenv/libexec .pyenv/plugins .pyenv/pyenv.d .pyenv/shims .pyenv/version .pyenv/versions
    .rbenv/bin .rbenv/libexec .rbenv/shims .rbenv/version .rbenv/versions .rustup/settings.toml .rustup/toolchains .rvm
    .sdkman/candidates .tfenv/bin .tfenv/versions .virtualenvs .volta/bin .volta/tools anaconda3 bin go/bin miniconda3
    miniforge3
    """.split()
)
"""Places below HOME where interpreters and their libraries are installed. None of them holds credentials."""

_BESIDE_PROGRAMS: Final = ("lib", "lib64", "libexec", "include", "share", "conf", "jre", "jmods")
"""Folders beside a `bin` folder of PATH that programs in it load files from."""

_MOST_ENTRIES: Final = 50_000
_KEPT_FOR: Final = 60
"""Seconds for which the places of programs are not looked up again."""


def reading_limits(
    folders: Iterable[str],
    *,
    home: str,
    environment: Mapping[str, str],
    temporary: str,
    hidden: Hidden | None = None,
) -> Limits:
    """The limits of a command that only reads: these folders without hidden files, and a private temporary folder.

    Raises CageError if there are too many files to find the hidden ones.
    """
    read, names = _without_hidden([*folders, *_program_places(home, environment)], hidden)
    return Limits(read=tuple(read), names=tuple(names), write=(temporary,), devices=_DEVICES)


def writing_limits(folders: Iterable[str], *, temporary: str, network: bool) -> Limits:
    """The limits of a session whose commands may read everything but change only these folders."""
    return Limits(
        read=("/",),
        write=(*folders, temporary, "/dev/shm"),  # noqa: S108 - for shared memory
        devices=_DEVICES,
        network=network,
        builds=True,
    )


def _program_places(home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    return _existing_places(home, environment.get("PATH", ""), int(monotonic() / _KEPT_FOR))


@lru_cache(maxsize=8)
def _existing_places(home: str, path: str, period: int) -> tuple[str, ...]:
    """The system folders, the toolchains below HOME and the folders of PATH, without those that hold personal files.

    `period` changes once a minute: programs may be installed while a session runs.
    """
    system = _MACOS if is_macos() else _SYSTEM
    found = [*system, *(os.path.join(home, name) for name in _TOOLCHAINS)]
    real_home = real_path(home)
    for folder in dict.fromkeys(path.split(os.pathsep)):
        if not os.path.isabs(folder) or _holds(folder, real_home):
            continue
        found.append(folder)
        prefix, name = os.path.split(folder.rstrip("/"))
        if name in ("bin", "sbin") and not _is_personal(prefix, real_home):
            found += [os.path.join(prefix, beside) for beside in _BESIDE_PROGRAMS]
    return _distinct(found)


def _distinct(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths that exist, without those that lie in another one: a rule less for each command."""
    found = {real_path(path): path for path in paths if os.path.exists(path)}
    return tuple(path for real, path in found.items() if not any(str(above) in found for above in Path(real).parents))


def _holds(folder: str, home: str) -> bool:
    """Whether HOME is this folder or lies in it."""
    real = real_path(folder)
    return real == "/" or home == real or home.startswith(f"{real}/")


def _is_personal(prefix: str, home: str) -> bool:
    """Whether a prefix holds more than programs: / and HOME, and what lies in HOME, such as ~/.local with its keyrings.

    The toolchains below HOME are listed one by one.
    """
    real = real_path(prefix)
    return _holds(real, home) or real.startswith(f"{home}/")


def _without_hidden(folders: Iterable[str], hidden: Hidden | None) -> tuple[list[str], list[str]]:
    """The parts of some folders that may be read, and the folders of which only the names are listed.

    Landlock grants whole trees, so a folder that holds a hidden file is granted entry by entry. Raises CageError if
    that takes too long.
    """
    folders = list(folders)
    if hidden is None:
        return folders, []
    walk = _Walk(hidden)
    read = [path for folder in folders for path in walk.visible(folder)]
    return read, walk.split


class _Walk:
    """A search for hidden files in some folders."""

    def __init__(self, hidden: Hidden) -> None:
        self._hidden = hidden
        self._left = _MOST_ENTRIES
        self.split: list[str] = []

    def visible(self, path: str) -> list[str]:
        """The largest trees at or below a path that hold no hidden file."""
        if not self._hidden.concerns(path):
            return [path]
        path = real_path(path)
        return self._visible(path, is_folder=os.path.isdir(path))

    def _visible(self, path: str, *, is_folder: bool) -> list[str]:
        if is_folder and not self._hidden.concerns(path):
            return [path]
        if self._hidden.covers(path):
            return []
        if not is_folder:
            return [path]
        whole, parts = True, list[str]()
        for entry in self._entries(path):
            if entry.is_symlink():  # its target counts where it lies
                continue
            found = self._visible(entry.path, is_folder=entry.is_dir(follow_symlinks=False))
            whole = whole and found == [entry.path]
            parts += found
        if whole:
            return [path]
        self.split.append(path)
        return parts

    def _entries(self, path: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    self._left -= 1
                    if self._left < 0:
                        raise CageError(
                            f"more than {_MOST_ENTRIES:,} files have to be compared with the rules that deny reading"
                        )
                    yield entry
        except OSError:
            return
