"""Programs that list files and folders and say what they are."""

from __future__ import annotations

from typing import Final

from handrail.permissions.programs.description import Program, program

__all__ = ["FILE_TOOLS", "FIND"]

# `-L` of ls is missing: with `-R` it lists folders outside through links.
FILE_TOOLS: Final[dict[str, Program]] = {
    **dict.fromkeys(
        ("ls", "dir"),
        program(
            "-a -A -b -B -c -C -d -D -f -F -g -G -h -H -i -I:text -k -l -m -n -N -o -p -q -Q -r -R -s -S -t"
            " -T:number -u -U -v -w:number -x -X -Z -1 --all --almost-all --author --escape --block-size:text"
            " --ignore-backups --color[:text] --directory --classify[:text] --file-type --format:text"
            " --full-time --group-directories-first --no-group --human-readable --si --hide:text"
            " --hyperlink[:text] --indicator-style:text --inode --ignore:text --kibibytes"
            " --numeric-uid-gid --literal --hide-control-chars --show-control-chars --quote-name"
            " --quoting-style:text --reverse --recursive --size --sort:text --time:text --time-style:text"
            " --width:number --zero --context",
            "path*",
        ),
    ),
    "tree": program(
        "-a -d -f -x -L_:number -P_:text -I_:text -p -u -g -s -h -D -F -q -N -Q -r -t -c -U -v -n -C -A -S -i -J"
        " -X --noreport --dirsfirst --filesfirst --du --prune --gitignore --sort:text --matchdirs --ignore-case"
        " --filelimit:number --charset:text --timefmt:text --inodes --device --si",
        "path*",
    ),
    "du": program(
        "-0 -a -b -B:text -c -d:number -h -H -k -m -P -s -S -t:text -x --all --apparent-size --block-size:text"
        " --bytes --total --max-depth:number --human-readable --inodes --si --summarize --separate-dirs"
        " --threshold:text --time[:text] --time-style:text --exclude:text --one-file-system --no-dereference"
        " --null",
        "path*",
    ),
    "df": program(
        "-a -B:text -h -H -i -k -l -P -t:text -T -x:text --all --block-size:text --human-readable --si --inodes"
        " --local --portability --total --type:text --print-type --exclude-type:text --output[:text]",
        "path*",
    ),
    "stat": program("-L -f -c:text -t -x -s --dereference --file-system --format:text --printf:text --terse", "path*"),
    "file": program(
        "-b -i -k -L -h -N -n -r -s -v -0 -F:text --brief --mime --mime-type --mime-encoding --extension"
        " --keep-going --dereference --no-dereference --no-pad --separator:text --print0 --raw --apple",
        "path*",
    ),
    "readlink": program(
        "-f -e -m -n -q -s -v -z --canonicalize --canonicalize-existing --canonicalize-missing --no-newline"
        " --quiet --silent --verbose --zero",
        "path*",
    ),
    "realpath": program(
        "-e -m -L -P -q -s -z --canonicalize-existing --canonicalize-missing --logical --physical --quiet"
        " --relative-to:path --relative-base:path --strip --no-symlinks --zero",
        "path*",
    ),
    "basename": program("-a -s:text -z --multiple --suffix:text --zero", "text*"),
    "dirname": program("-z --zero", "text*"),
    "pathchk": program("-p -P --portability", "text*"),
    "which": program("-a -s --all", "text*"),
    "type": program("-a -f -p -P -t", "text*"),
    "pwd": program("-L -P"),
    "lsattr": program("-a -d -l -v", "path*"),
    "getfacl": program("-a -c -d -e -n -p", "path*"),
    "lsblk": program("-a -f -l -m -p -t -o:text -J --all --fs --json --list --output:text"),
}

FIND: Final = program(
    "-P -H -name:text -iname:text -path:text -ipath:text -wholename:text -iwholename:text -regex:text"
    " -iregex:text -regextype:text -type:text -xtype:text -size:text -mtime:text -atime:text -ctime:text"
    " -mmin:text -amin:text -cmin:text -newer:path -anewer:path -cnewer:path -newermt:text -samefile:path"
    " -maxdepth:number -mindepth:number -depth -d -mount -xdev -noleaf -daystart -empty -executable -readable"
    " -writable -perm:mode -user:text -group:text -uid:number -gid:number -nouser -nogroup -links:number"
    " -inum:number -lname:text -ilname:text -fstype:text -used:number -print -print0 -printf:text -ls -prune"
    " -quit -true -false -not -a -and -o -or -warn -nowarn -ignore_readdir_race -noignore_readdir_race",
    "path*",
    clusters=False,
)
"""Tests and actions of find. `-L` and `-follow` are missing because they leave the folders through links."""
