"""Subcommands of git that only read, with the options that keep them so.

Options that run a program, write a file or read one outside of the repository are missing: `--output`, `--ext-diff`,
`--no-index`, `--contents`, `-O`, `--open-files-in-pager`. A repository's own configuration can run programs too; that
is a question of trust, not of options.
"""

from __future__ import annotations

from typing import Final

from handrail.permissions.programs.description import Program, program

__all__ = ["GIT_COMMANDS"]

_DIFF: Final = (
    " -p -u -s -U[:number] -b -w -a -z -R -M[:text] -C[:text] -B[:text] -D -l:number -S:text -G:text -W --patch"
    " --no-patch --unified[:number] --raw --patch-with-raw --patch-with-stat --indent-heuristic"
    " --no-indent-heuristic --minimal --patience --histogram --anchored:text --diff-algorithm:text --stat[:text]"
    " --compact-summary --numstat --shortstat --dirstat[:text] --summary --name-only --name-status"
    " --submodule[:text] --color[:text] --no-color --color-moved[:text] --word-diff[:text]"
    " --word-diff-regex:text --color-words[:text] --no-renames --find-renames[:text] --find-copies[:text]"
    " --find-copies-harder --irreversible-delete --diff-filter:text --pickaxe-all --pickaxe-regex"
    " --relative[:text] --no-relative --text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change"
    " --ignore-all-space --ignore-blank-lines --ignore-matching-lines:text --inter-hunk-context:number"
    " --function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules[:text]"
    " --src-prefix:text --dst-prefix:text --no-prefix --full-index --binary --abbrev[:number] --check --cc"
    " --combined-all-paths --stat-width:number"
)
_LOG: Final = (
    " -# -n:number -i -E -F -P -g -c -m -t -r -L:text --max-count:number --skip:number --since:text --after:text"
    " --until:text --before:text --author:text --committer:text --grep:text --all-match --invert-grep"
    " --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --merges --no-merges"
    " --min-parents[:number] --max-parents[:number] --first-parent --not --all --branches[:text] --tags[:text]"
    " --remotes[:text] --glob:text --exclude:text --reflog --walk-reflogs --merge --boundary --cherry"
    " --cherry-mark --cherry-pick --left-only --right-only --left-right --simplify-by-decoration --full-history"
    " --dense --sparse --simplify-merges --ancestry-path[:text] --date-order --author-date-order --topo-order"
    " --reverse --pretty[:git-format] --format[:git-format] --abbrev-commit --no-abbrev-commit --oneline"
    " --encoding:text --expand-tabs[:number] --no-expand-tabs --notes[:text] --no-notes --relative-date"
    " --date:text --parents --children --graph --no-graph --show-linear-break[:text] --count --decorate[:text]"
    " --no-decorate --decorate-refs:text --decorate-refs-exclude:text --source --follow --log-size --no-walk[:text]"
    " --do-walk --mailmap --no-mailmap --use-mailmap --clear-decorations --show-pulls --root"
)
_REFS: Final = (
    " --sort:git-sort --format:git-format --contains[:text] --no-contains[:text] --merged[:text] --no-merged[:text]"
    " --points-at:text --color[:text] --no-color --column[:text] --no-column --ignore-case -i --omit-empty"
)

GIT_COMMANDS: Final[dict[str, Program]] = {
    "status": program(
        "-s -b -v -u[:text] -z --short --branch --show-stash --porcelain[:text] --long --verbose"
        " --untracked-files[:text] --ignore-submodules[:text] --ignored[:text] --column[:text] --no-column"
        " --ahead-behind --no-ahead-behind --renames --no-renames --find-renames[:text] --null",
        "text*",
    ),
    # Two paths outside of the repository would be compared as plain files.
    "diff": program(_DIFF + " --cached --staged --merge-base -1 -2 -3 -0 --base --ours --theirs", "path*"),
    "log": program(_DIFF + _LOG, "text*"),
    "show": program(_DIFF + _LOG, "text*"),
    "whatchanged": program(_DIFF + _LOG, "text*"),
    "diff-tree": program(_DIFF + " -r -t -m -c --root --no-commit-id --merge-base -v --pretty[:git-format]", "text*"),
    "shortlog": program(_LOG + " -n -s -e -c -w[:text] --numbered --summary --email --group:text --committer", "text*"),
    "rev-list": program(
        _LOG + " --objects --use-bitmap-index --disk-usage[:text] --timestamp --header --quiet", "text*"
    ),
    "rev-parse": program(
        "-q --verify --short[:number] --abbrev-ref[:text] --symbolic --symbolic-full-name --all"
        " --branches[:text] --tags[:text] --remotes[:text] --show-toplevel --show-prefix --show-cdup --git-dir"
        " --absolute-git-dir --git-common-dir --is-inside-git-dir --is-inside-work-tree --is-bare-repository"
        " --is-shallow-repository --show-superproject-working-tree --show-object-format[:text] --quiet"
        " --revs-only --no-revs --flags --no-flags --default:text --since[:text] --until[:text] --git-path:text"
        " --path-format[:text] --local-env-vars",
        "text*",
    ),
    "blame": program(
        "-L:text -b -l -t -s -e -f -n -p -w -c -M[:number] -C[:number] -h --root --show-stats --porcelain"
        " --line-porcelain --show-name --show-number --show-email --date:text --abbrev[:number] --since:text"
        " --first-parent --color-lines --color-by-age --ignore-rev:text --no-progress --progress --reverse",
        "text*",
    ),
    "grep": program(
        "-# -a -I -i -w -v -h -H -E -G -P -F -n -l -L -z -o -c -p -W -q -e:pattern -A:number -B:number"
        " -C:number -m:number --cached --text --ignore-case --word-regexp --invert-match --full-name"
        " --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column"
        " --files-with-matches --name-only --files-without-match --null --only-matching --count --color[:text]"
        " --no-color --break --heading --show-function --context:number --after-context:number"
        " --before-context:number --function-context --max-depth:number --and --or --not --all-match --quiet"
        " --max-count:number --threads:number",
        "pattern text*",
        tree="always",
    ),
    "ls-files": program(
        "-z -t -v -f -c -d -o -i -s -u -k -m -x:text --cached --deleted --others --ignored --stage --unmerged"
        " --killed --modified --resolve-undo --directory --no-empty-directory --eol --deduplicate --exclude:text"
        " --exclude-standard --error-unmatch --full-name --recurse-submodules --abbrev[:number] --format:text",
        "text*",
    ),
    "ls-tree": program(
        "-d -r -t -l -z --long --name-only --name-status --object-only --full-name --full-tree"
        " --abbrev[:number] --format:text",
        "text*",
    ),
    "cat-file": program("-t -e -p -s", "text*"),
    "describe": program(
        "--all --tags --contains --abbrev[:number] --candidates:number --exact-match --debug --long --match:text"
        " --exclude:text --always --first-parent --dirty[:text] --broken[:text]",
        "text*",
    ),
    "for-each-ref": program("--count:number --exclude:text --include-root-refs" + _REFS, "text*"),
    "merge-base": program("-a --all --octopus --independent --is-ancestor --fork-point", "text*"),
    "name-rev": program("--tags --refs:text --exclude:text --all --name-only --no-undefined --always", "text*"),
    "show-ref": program(
        "-h -d -q -s[:number] --head --tags --heads --branches --dereference --hash[:number] --verify --exists"
        " --abbrev[:number] --quiet",
        "text*",
    ),
    "count-objects": program("-v -H --verbose --human-readable"),
    "cherry": program("-v --abbrev[:number]", "text*"),
    "range-diff": program(_DIFF + " --creation-factor:number --no-dual-color --left-only --right-only", "text*"),
    "check-ignore": program("-q -v -z -n --quiet --verbose --non-matching --no-index", "text*"),
    "check-attr": program("-a -z --all --cached --source:text", "text*"),
    "var": program("-l", "text*"),
    "symbolic-ref": program("-q --short --quiet", "text"),
    "version": program("--build-options"),
    "branch": program(
        "-a -r -v -vv -l --all --remotes --verbose --list --show-current --abbrev[:number] --no-abbrev" + _REFS,
        "name*",
    ),
    "tag": program("-l -n[:number] --list" + _REFS, "name*"),
    "remote": program("-v --verbose"),
    "remote get-url": program("--push --all", "text"),
    "stash list": program(_LOG + _DIFF),
    "stash show": program(_DIFF + " --include-untracked --only-untracked", "text"),
    "worktree list": program("-v -z --verbose --porcelain"),
    "reflog": program(_LOG, "reflog"),
    "reflog show": program(_LOG + _DIFF, "text"),
    "config list": program("--show-origin --show-scope --local --name-only -z --null"),
    "config get": program("--all --show-origin --show-scope --local", "text"),
    "config": program(
        "-l --list --get --get-all --get-regexp --show-origin --show-scope --local --name-only -z --null",
        "name text",
        leading=True,
    ),
    "notes list": program("", "text"),
    "notes show": program("", "text"),
    "bisect log": program(),
}
"""By subcommand; two words where the second one decides."""
