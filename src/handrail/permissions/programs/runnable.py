"""Lists programs by the risk of a permanent permission for them. Used when rules are suggested."""

from __future__ import annotations

from typing import Final

__all__ = ["INTERPRETERS", "RISKY", "SCRIPT_RUNNERS", "SUBCOMMANDS"]

INTERPRETERS: Final = frozenset(
    """
    sh bash dash zsh ksh mksh fish csh tcsh ash busybox toybox pwsh powershell python pythonw pypy ipython node nodejs
    deno bun ruby irb perl php lua luajit rscript r julia java jshell groovy scala kotlin osascript tclsh wish expect
    awk gawk mawk nawk sed ed ex vi vim nvim emacs gdb lldb sqlite psql mysql
    env sudo doas su runuser nohup timeout time nice ionice chrt taskset setsid stdbuf script xargs parallel watch
    entr flock unshare nsenter chroot bwrap firejail strace ltrace ssh sshpass rsh mosh eval exec source . command
    builtin trap npx pnpx bunx uvx pipx uv poetry pipenv hatch nix-shell direnv
    """.split()
)
"""Whatever follows them may be any program: a rule that begins with one of them allows everything."""

RISKY: Final = frozenset(
    """
    rm rmdir dd mkfs shred wipefs fdisk parted mount umount shutdown reboot halt poweroff kill pkill killall chmod chown
    chgrp chattr setfacl crontab at batch systemctl service launchctl useradd usermod passwd visudo iptables nft
    sysctl insmod modprobe nc ncat netcat socat telnet ftp scp sftp rsync gpg openssl security
    """.split()
)

SUBCOMMANDS: Final[dict[str, frozenset[str]]] = {
    "git": frozenset(
        "add blame branch checkout commit diff fetch log merge restore show stash status switch tag".split()
    ),
    "npm": frozenset({"test", "ls", "outdated", "view"}),
    "pnpm": frozenset({"test", "ls", "outdated", "view"}),
    "yarn": frozenset({"test", "list", "outdated", "info"}),
    "cargo": frozenset("bench build check clippy doc fmt metadata test tree".split()),
    "go": frozenset("build doc fmt list test version vet".split()),
    "docker": frozenset({"images", "inspect", "logs", "ps", "compose config", "compose logs", "compose ps"}),
    "kubectl": frozenset({"describe", "explain", "get", "logs", "top", "version"}),
    "gh": frozenset({"issue list", "issue view", "pr checks", "pr diff", "pr list", "pr view", "run list", "run view"}),
    "pip": frozenset({"freeze", "list", "show"}),
    "terraform": frozenset({"fmt", "plan", "validate", "version"}),
    "dotnet": frozenset({"build", "format", "test"}),
    "swift": frozenset({"build", "test"}),
}
"""The words that say what a program does, after which any argument is still that."""

SCRIPT_RUNNERS: Final[dict[str, str]] = {"npm": "run", "pnpm": "run", "yarn": "run"}
"""Programs that run what the project calls by a name; a rule always holds that name."""
