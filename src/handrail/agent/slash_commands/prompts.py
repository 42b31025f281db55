"""The built-in commands that are prompts: name, description, hint and text."""

from __future__ import annotations

from typing import Final

from handrail.agent.extensions.command import Command

__all__ = ["COMMANDS"]

_INIT: Final = """\
Write a CLAUDE.md for this folder: notes that an agent reads before it works here.

First read the README, the files that build and test, the folders, and notes for other tools. Then write
in plain sentences, and only what cannot be seen at a glance:
- the commands to build, test, lint and run it, and how to run a single test;
- how the parts fit together, for a developer who has to change one of them;
- conventions that the code follows and a newcomer would break.
Invent nothing. If there is a CLAUDE.md already, correct and complete it instead of replacing it."""

_REVIEW: Final = """\
Review a change as a colleague would who has to live with it. What to review: $ARGUMENTS

If that is the number or address of a pull request, read it with `gh pr view` and `gh pr diff`; if it is empty, see
whether this branch has a pull request, and otherwise review what differs from the main branch (`git diff`).

Read the code around each change before you judge it. Report what is wrong or risky, the most serious first, each with
file and line, what happens and what would be better: errors, cases that were forgotten, broken contracts, missing
tests, needless complexity. Leave matters of taste out. End with one sentence: can it go in?"""

_SECURITY: Final = """\
Look for holes that the changes on this branch open. Change nothing. More to mind: $ARGUMENTS

1. Learn the code: which input comes from outside, where trust begins and ends, how the code guards itself today.
2. Follow each change (`git diff` against the main branch, and files not yet committed) from such input to what it can
   do: commands, queries, paths, templates, deserialisation, network, secrets, permissions, cryptography.
3. Try to refute every finding. Keep those that you can explain with a concrete attack; drop what is only theoretical,
   what needs power the attacker has anyway, and holes that are older than the changes.

Report each as: file and line, kind, severity, the attack, the remedy. If nothing is left, say so."""

_PR_COMMENTS: Final = """\
Show the comments on a pull request, thread by thread. Pull request: $ARGUMENTS (without a name, that of this branch)

Find it with `gh pr view --json number,url,headRepository`. Read the remarks on the whole with
`gh api repos/{owner}/{repo}/issues/{number}/comments` and those on lines with
`gh api repos/{owner}/{repo}/pulls/{number}/comments`. List them by thread and in order: who, file and line, the lines
meant, what was said, and what was answered. Say nothing else. Without comments, say so."""

_RELEASE_NOTES: Final = """\
Write release notes from the history of this repository. Range: $ARGUMENTS

If no range is named, take what came after the latest tag (`git describe --tags --abbrev=0`), or all of it without a
tag. Read the commits, and the changes behind those that say too little. Write for people who use the software:
what is new, what is changed, what is fixed, what breaks and what to do about it; leave out what they cannot notice."""

_INSIGHTS: Final = """\
Tell a newcomer what is worth knowing about this code base. Mind especially: $ARGUMENTS

Look at its folders, its largest and most often changed files (`git log --format= --name-only`), its tests and what it
depends on. Then report: what it does and how it is cut into parts; where the complexity sits; what changes together;
what is well made; what is fragile, dead, doubled or untested. Support each point with files, and give the three
improvements that would pay most. Change nothing."""

_COMMIT_MESSAGE: Final = """\
Write a commit message for what is staged. Besides: $ARGUMENTS

Read `git diff --staged`, and `git log -10 --oneline` for the habits here. If nothing is staged, say so and stop. The
first line says in at most 72 characters what the commit does; after an empty line comes why, where that is not plain.
Answer with the message alone, and do not commit."""

COMMANDS: Final = (
    Command("init", "Write a CLAUDE.md for this folder", body=_INIT, builtin=True),
    Command("review", "Review a change", "[pull request]", body=_REVIEW, builtin=True, forks=True),
    Command("security-review", "Look for holes that changes open", "[what to mind]", body=_SECURITY, builtin=True),
    Command("pr-comments", "Show the remarks on a pull request", "[pull request]", body=_PR_COMMENTS, builtin=True),
    Command("release-notes", "Write release notes from the history", "[range]", body=_RELEASE_NOTES, builtin=True),
    Command("insights", "What is worth knowing about this code", "[what to mind]", body=_INSIGHTS, builtin=True),
    Command("commit-message", "A message for what is staged", "[what to mind]", body=_COMMIT_MESSAGE, builtin=True),
)
