"""Programs that print, cut, sort, compare and count text."""

from __future__ import annotations

from typing import Final

from handrail.permissions.programs.description import Program, program

__all__ = ["TEXT_TOOLS"]

_CHECKSUM: Final = program(
    "-b -t -z --binary --text --tag --zero --ignore-missing --quiet --status --strict -w --warn", "path*"
)

TEXT_TOOLS: Final[dict[str, Program]] = {
    "cat": program(
        "-A -b -e -E -n -s -t -T -u -v --show-all --number-nonblank --show-ends --number --squeeze-blank"
        " --show-tabs --show-nonprinting",
        "path*",
    ),
    "tac": program("-b -r -s:text --before --regex --separator:text", "path*"),
    "nl": program(
        "-b:text -d:text -f:text -h:text -i:number -l:number -n:text -p -s:text -v:number -w:number"
        " --body-numbering:text --number-format:text --number-width:number --number-separator:text",
        "path*",
    ),
    "head": program(
        "-# -c:number -n:number -q -v -z --bytes:number --lines:number --quiet --silent --verbose --zero-terminated",
        "path*",
    ),
    "tail": program(
        "-# -c:number -n:number -q -v -z -f -F -r -s:number --bytes:number --lines:number --quiet --silent"
        " --verbose --zero-terminated --follow --retry --pid:number --sleep-interval:number",
        "path*",
    ),
    "wc": program("-c -m -l -L -w --bytes --chars --lines --max-line-length --words --total:text", "path*"),
    "od": program(
        "-A:text -j:number -N:number -S:number -t:text -v -w[:number] -a -b -c -d -f -i -l -o -s -x"
        " --address-radix:text --skip-bytes:number --read-bytes:number --format:text --output-duplicates"
        " --width[:number]",
        "path*",
    ),
    "hexdump": program("-b -c -C -d -n:number -o -s:number -v -x -e:text", "path*"),
    "strings": program(
        "-a -f -n:count -t:plain-text -w -s:plain-text --all --print-file-name --bytes:count --radix:plain-text",
        "plain-path*",
    ),
    "xxd": program(
        "-a -b -c:number -d -e -g:number -i -l:number -o:number -p -ps -s:number -u",
        "path",
        clusters=False,
        leading=True,
    ),
    "cmp": program(
        "-b -l -n:number -s -i:number --print-bytes --verbose --bytes:number --quiet --silent",
        "path path number number",
    ),
    "comm": program("-1 -2 -3 -z --check-order --nocheck-order --output-delimiter:text --total", "path path"),
    "diff": program(
        "-q -s -c -u -e -n -N -y -t -T -i -E -Z -b -w -B -a -d -p -C:number -U:number -W:number -F:text -I:text"
        " --brief --new-file --report-identical-files --context[:number] --unified[:number] --side-by-side"
        " --width:number --minimal --left-column --suppress-common-lines --show-c-function"
        " --show-function-line:text --label:text --ignore-case --ignore-tab-expansion --ignore-trailing-space"
        " --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines:text --text"
        " --strip-trailing-cr --color[:text] --normal",
        "path path",
        follows=True,
    ),
    "sort": program(
        "-b -d -f -g -h -i -M -n -R -r -V -c -C -k:text -m -s -S:number -t:text -u -z --ignore-leading-blanks"
        " --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort --ignore-nonprinting"
        " --month-sort --numeric-sort --random-sort --reverse --sort:text --version-sort --check[:text]"
        " --key:text --merge --stable --field-separator:text --unique --zero-terminated --parallel:number",
        "path*",
    ),
    "uniq": program(
        "-c -d -D -f:number -i -s:number -u -w:number -z --count --repeated --all-repeated[:text]"
        " --skip-fields:number --group[:text] --ignore-case --skip-chars:number --unique --check-chars:number"
        " --zero-terminated",
        "path",
        leading=True,
    ),
    "cut": program(
        "-b:text -c:text -d:text -f:text -n -s -z --bytes:text --characters:text --delimiter:text --fields:text"
        " --complement --only-delimited --output-delimiter:text --zero-terminated",
        "path*",
    ),
    "paste": program("-d:text -s -z --delimiters:text --serial --zero-terminated", "path*"),
    "join": program(
        "-a:number -e:text -i -j:number -o:text -t:text -v:number -1:number -2:number -z --ignore-case"
        " --check-order --nocheck-order --header --zero-terminated",
        "path path",
    ),
    "column": program(
        "-t -s:text -o:text -c:number -x -e -N:text -R:text -H:text -J --table --separator:text"
        " --output-separator:text --output-width:number --fillrows --json --table-columns:text"
        " --table-right:text",
        "path*",
    ),
    "fold": program("-b -s -w:number --bytes --spaces --width:number", "path*"),
    "fmt": program("-c -p:text -s -t -u -w:number -g:number --split-only --uniform-spacing --width:number", "path*"),
    "expand": program("-i -t:text --initial --tabs:text", "path*"),
    "unexpand": program("-a -t:text --all --first-only --tabs:text", "path*"),
    "rev": program("", "path*"),
    "tr": program("-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1", "text text"),
    "base64": program("-d -i -w:number -D --decode --ignore-garbage --wrap:number", "path"),
    "base32": program("-d -i -w:number --decode --ignore-garbage --wrap:number", "path"),
    **dict.fromkeys(
        ("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"),
        _CHECKSUM,
    ),
    "cksum": program("", "path*"),
    "sum": program("-r -s --sysv", "path*"),
    "shasum": program("-a:number -b -t --algorithm:number --binary --text", "path*"),
    "zcat": program("-f -q -v", "path*"),
    "iconv": program("-f:charset -t:charset -c -s -l --from-code:charset --to-code:charset --list", "path*"),
    "numfmt": program(
        "-d:text --delimiter:text --field:text --format:text --from:text --from-unit:number --grouping"
        " --header[:number] --padding:number --round:text --suffix:text --to:text --to-unit:number",
        "text*",
    ),
    "jq": program(
        "-c -r -j -a -s -n -e -S -C -M -R --compact-output --raw-output --join-output --ascii-output --slurp"
        " --null-input --exit-status --sort-keys --color-output --monochrome-output --raw-input --tab"
        " --indent:number --arg:text:text --argjson:text:text --unbuffered --seq --stream",
        "jq-filter path*",
    ),
    "seq": program("-f:text -s:text -w --format:text --separator:text --equal-width", "text text text"),
    "factor": program("-h", "text*"),
    "shuf": program(
        "-e -i:text -n:number -r -z --echo --input-range:text --head-count:number --repeat --zero-terminated", "path*"
    ),
    "expr": program("", "text*"),
}
