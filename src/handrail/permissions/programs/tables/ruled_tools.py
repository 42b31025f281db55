"""Programs that a rule may allow: the arguments that a person who reads `Bash(make:*)` would expect.

An argument that names a program, a plugin, an editor or a script is missing, so that it is asked for even if a rule
allows the program. A rule that spells the argument out covers it.
"""

from __future__ import annotations

from typing import Final

from handrail.permissions.programs.description import Program, program

__all__ = ["RULED_TOOLS"]

_VIM: Final = program(
    "-R -n -N -b -d -o[:number] -O[:number] -p[:number] -m -M -y -Z --version --help --clean", "plain-path*"
)
_MAKE: Final = program(
    "-B -d -e -i -j[:number] -k -l[:number] -n -o:text -p -q -r -R -s -S -t -v -w -O[:text] -C:path -W:text"
    " --always-make --directory:path --debug[:text] --ignore-errors --jobs[:number] --keep-going"
    " --load-average[:number] --max-load[:number] --just-print --dry-run --recon --no-keep-going"
    " --no-print-directory --print-data-base --print-directory --question --quiet --silent --touch --trace"
    " --version --output-sync[:text] --no-silent --no-builtin-rules --no-builtin-variables"
    " --warn-undefined-variables --help",
    "make-goal*",
)

RULED_TOOLS: Final[dict[str, Program]] = {
    **dict.fromkeys(("vim", "nvim", "vi", "view", "gvim", "vimdiff"), _VIM),
    **dict.fromkeys(("make", "gmake"), _MAKE),
    # A statement may call writefile(), edit() or load_extension(); a plain query that only reads is described.
    **dict.fromkeys(
        ("sqlite3", "duckdb"),
        program(
            "-readonly -json -csv -column -header -noheader -line -list -html -markdown -box -table -tabs -ascii"
            " -quote -batch -bail -separator:text -nullvalue:text -newline:text --readonly --json --csv --column"
            " --header",
            "path sql-query",
            clusters=False,
            needs=2,
        ),
    ),
    "cmake": program(
        "-S:path -B:path -G:text -A:text -T:text -D:cmake-setting -U:text -L -LA -LAH -N -Wno-dev -Wdev --fresh"
        " --preset:text --build:path --target:text --config:text -t:text -j[:number] --parallel[:number]"
        " --clean-first -v --verbose --install:path --component:text --list-presets[:text] --version"
        " --log-level:text --workflow",
        "path*",
    ),
    "zip": program(
        "-r -q -9 -8 -7 -6 -5 -4 -3 -2 -1 -0 -u -f -d -m -j -l -x:text -i:text -v -y -X -D -g -o -e -n:text",
        "path*",
        leading=False,
    ),
    "apt-get": program(
        "-y -q -qq -s -d -m -u --yes --assume-yes --quiet --dry-run --simulate --no-install-recommends"
        " --download-only --fix-broken --fix-missing --only-upgrade --reinstall --purge --no-upgrade"
        " --allow-downgrades",
        "text*",
    ),
    "tar": program(
        "-c -x -t -r -u -z -j -J -a -v -k -p -m -O -w -f:archive -C:path -b:number -X:path --create --extract"
        " --get --list --append --update --gzip --bzip2 --xz --zstd --auto-compress --verbose --keep-old-files"
        " --preserve-permissions --touch --file:archive --directory:path --exclude:text --exclude-vcs"
        " --exclude-from:path --strip-components:number --strip:number --wildcards"
        " --no-wildcards --owner:text --group:text --mode:text --mtime:text --sort:text --numeric-owner --totals"
        " --no-same-owner --same-permissions --to-stdout --overwrite --anchored --no-recursion --format:text",
        "path*",
    ),
}
"""By program. `-E` of cmake runs any program, and so does `-TT` of zip."""
