"""Programs that search files for patterns."""

from __future__ import annotations

from typing import Final

from handrail.permissions.programs.description import Program, program

__all__ = ["SEARCH_TOOLS"]

# `-R` is missing: it follows links out of the folders. `-f` reads patterns from a file.
_GREP: Final = program(
    "-# -A:number -a -B:number -b -C:number -c -E -e:pattern -F -f:pattern-file -G -H -h -I -i -L -l -m:number"
    " -n -o -P -q -r -s -T -U -V -v -w -x -y -Z -z --after-context:number --before-context:number"
    " --context:number --binary --binary-files:text --byte-offset --color[:text] --colour[:text] --count"
    " --exclude:text --exclude-dir:text --extended-regexp --file:pattern-file --files-with-matches"
    " --files-without-match --fixed-strings --ignore-case --no-ignore-case --include:text --initial-tab"
    " --invert-match --label:text --line-buffered --line-number --line-regexp --max-count:number --no-filename"
    " --no-messages --null --null-data --only-matching --perl-regexp --quiet --silent --recursive"
    " --regexp:pattern --basic-regexp --text --with-filename --word-regexp --group-separator:text"
    " --no-group-separator",
    "pattern path*",
    tree="-r --recursive",
)

SEARCH_TOOLS: Final[dict[str, Program]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep"), _GREP),
    "zgrep": program("-c -e:pattern -E -F -h -H -i -l -L -n -o -q -s -v -w -x", "pattern path*"),
    # `--follow`, `--pre`, `--search-zip` and `--hostname-bin` are missing: they leave the folders or run programs.
    "rg": program(
        "-# -A:number -B:number -C:number -a -c -e:pattern -E:text -F -g:text -H -I -i -j:number -l -M:number"
        " -m:number -N -n -o -P -p -q -r:text -S -s -t:text -T:text -U -u -V -v -w -x -0 -. -d:number"
        " --after-context:number --before-context:number --context:number --text --count --count-matches"
        " --regexp:pattern --encoding:text --fixed-strings --glob:text --iglob:text --with-filename"
        " --no-filename --ignore-case --threads:number --files-with-matches --files-without-match"
        " --max-columns:number --max-count:number --max-depth:number --max-filesize:text --no-line-number"
        " --line-number --only-matching --pcre2 --pretty --quiet --replace:text --smart-case --case-sensitive"
        " --type:text --type-not:text --type-list --multiline --multiline-dotall --invert-match --word-regexp"
        " --line-regexp --null --hidden --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent"
        " --no-ignore-global --no-heading --heading --color:text --colors:text --column --no-column --sort:text"
        " --sortr:text --stats --trim --vimgrep --json --files --debug --no-messages --passthru --crlf"
        " --block-buffered --line-buffered --byte-offset --no-config --one-file-system --context-separator:text",
        "pattern path*",
        tree="always",
        patternless="--files --type-list",
    ),
    **dict.fromkeys(
        ("fd", "fdfind"),
        program(
            "-H -I -u -s -i -g -F -a -l -p -0 -d:number -t:text -e:text -E:text -S:text -c:text -j:number -q -1"
            " -h -V --hidden --no-ignore --no-ignore-vcs --unrestricted --case-sensitive --ignore-case --glob"
            " --fixed-strings --absolute-path --list-details --full-path --print0 --max-depth:number"
            " --min-depth:number --exact-depth:number --type:text --extension:text --exclude:text --size:text"
            " --changed-within:text --changed-before:text --color:text --threads:number --max-results:number"
            " --quiet --prune --strip-cwd-prefix --one-file-system",
            "pattern path*",
        ),
    ),
}
