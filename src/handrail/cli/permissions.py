"""`handrail permissions`: explains decisions, checks cases, lists the rules in force."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, NoReturn, cast

import typer

from handrail.cli.terminal import Terminal, closed_pipe_ends_quietly
from handrail.cli.trust import flat, no_folder, print_json

if TYPE_CHECKING:
    from handrail.permissions.decide import Circumstances, Decision
    from handrail.permissions.rules.rule import Scope, SourcedRule
    from handrail.settings import Loaded

__all__ = ["app"]

app = typer.Typer(
    help="Explain whether a tool may run and why, check cases, list the rules in force.",
    epilog='Example: handrail permissions explain Bash "git push --force"',
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

STYLES = {"allow": "green", "ask": "yellow", "deny": "red"}
SCOPES: dict[Scope, str] = {
    "policySettings": "the organisation's policy",
    "flagSettings": "--settings",
    "cliArg": "this command line",
    "command": "a command",
    "session": "this session",
    "localSettings": "this folder, for you",
    "projectSettings": "this folder, for everyone",
    "userSettings": "all your folders",
}

Cwd = Annotated[Path, typer.Option("--cwd", metavar="DIR", help="The working folder of the session.", file_okay=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Settings = Annotated[str | None, typer.Option("--settings", metavar="FILE", help="More settings: a file or JSON.")]
Trust = Annotated[bool, typer.Option("--trust-folder", help="Decide as in a session that trusts the folder.")]
Rules = Annotated[list[str] | None, typer.Option(metavar="RULE", help="Another rule; can be repeated.")]


@app.command()
def explain(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool, such as Bash, Read or mcp__server__tool.")],
    given: Annotated[str, typer.Argument(metavar="INPUT", help="Its input: JSON, or the command, path or URL.")],
    cwd: Cwd = Path(),
    mode: Annotated[
        str, typer.Option("--mode", metavar="MODE", help="The permission mode. Default: that of the settings.")
    ] = "",
    settings: Settings = None,
    allow: Rules = None,
    deny: Rules = None,
    ask: Rules = None,
    trust_folder: Trust = False,  # noqa: FBT002
    as_json: AsJson = False,  # noqa: FBT002 - typer's way to declare a flag
) -> None:
    """Decide one tool call as a session in this folder would, and print each step, the rule, its file and line.

    \b
    Example:
      handrail permissions explain Bash "git push --force" --mode acceptEdits
      handrail permissions explain Read '{"file_path": ".env"}' --json
    """
    from handrail.cli.permission_cases import BadRow, input_of
    from handrail.files.resolve import Disk
    from handrail.permissions.decide import decide

    with closed_pipe_ends_quietly():
        loaded = _load(cwd, settings, trust_folder=trust_folder)
        circumstances = _circumstances(loaded, mode, {"allow": allow, "deny": deny, "ask": ask})
        try:
            wanted = input_of(tool, given)
        except BadRow as error:
            _fail(str(error), code=2)
        decision = decide(tool, wanted, circumstances, Disk(circumstances.anchors))
        if as_json:
            print_json(_as_data(decision, circumstances, loaded))
        else:
            _print_decision(Terminal(), decision, circumstances, loaded)


@app.command()
def check(
    cases: Annotated[
        str, typer.Argument(metavar="CASES.jsonl", help="A file with one case per line; - reads standard input.")
    ],
    cwd: Cwd = Path(),
) -> None:
    """Decide cases by the rules that each contains. Prints one JSON object per line: id, decision, rule, source.

    Exits with 0 if every case with an expectation was decided as expected, else with 1.

    \b
    Example:
      handrail permissions check cases.jsonl
    """
    from handrail.cli.permission_cases import BadRow, decide_case, read_cases

    folder = _folder(cwd)
    rows, expected, wrong = 0, 0, 0
    with closed_pipe_ends_quietly(), _opened(cases) as stream:
        for line, case in read_cases(stream):
            rows += 1
            try:
                if isinstance(case, BadRow):
                    raise case
                verdict, _ = decide_case(case, folder, cases, line)
            except BadRow as error:
                wrong += 1
                _tell(f"{cases}:{line}: {error}")
                continue
            print_json(verdict, indent=None)
            expected += case.expect is not None
            if case.expect not in (None, verdict.decision):
                wrong += 1
                _tell(f"{cases}:{line}: {verdict.id}: expected {case.expect}, decided {verdict.decision}")
    _tell(f"{rows} rows, {expected} with an expectation, {wrong} wrong")
    raise typer.Exit(1 if wrong else 0)


@app.command("list")
def list_command(
    cwd: Cwd = Path(),
    settings: Settings = None,
    trust_folder: Trust = False,  # noqa: FBT002
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """List the rules in force in a folder by their source, and what each means.

    \b
    Example:
      handrail permissions list --cwd ~/project
    """
    with closed_pipe_ends_quietly():
        loaded = _load(cwd, settings, trust_folder=trust_folder)
        if as_json:
            print_json(_list_as_data(loaded))
        else:
            _print_list(Terminal(), loaded)


def _folder(cwd: Path) -> str:
    if why := no_folder(cwd):
        _fail(f"{cwd}: {why}", code=2)
    return os.path.abspath(cwd)


def _load(cwd: Path, settings: str | None, *, trust_folder: bool) -> Loaded:
    from handrail.settings import host_trusts_folder, load

    return load(_folder(cwd), flag=settings, host_trusts=trust_folder or host_trusts_folder(os.environ))


def _circumstances(loaded: Loaded, mode: str, more: dict[Any, list[str] | None]) -> Circumstances:
    from handrail.files.resolve import anchors_of
    from handrail.permissions.decide import Circumstances
    from handrail.permissions.rules.rule import read_rules
    from handrail.permissions.updates.apply import MODES

    if mode and mode not in MODES:
        _fail(f"{mode!r} is not a mode; it must be one of {', '.join(sorted(MODES))}", code=2)
    settings = loaded.settings
    given = [rule for behavior, texts in more.items() for rule in read_rules(texts or [], behavior, "cliArg")]
    for rule in given:
        if rule.broken:
            _fail(f"--{rule.behavior}: {rule.broken}", code=2)
    return Circumstances(
        mode=mode or settings.mode,
        rules=(*given, *settings.rules),
        anchors=anchors_of(loaded.folder, additional=settings.directories),
        bypass_available=(mode or settings.mode) == "bypassPermissions" and not settings.bypass_disabled,
        trusted=loaded.git_is_safe and not _unsafe_git(loaded),
    )


def _unsafe_git(loaded: Loaded) -> str:
    """A repository below the folder that would run something unaccepted."""
    from handrail.settings.nested_git import NestedGit

    standing = loaded.standing
    if standing.given_by == "host":
        return ""
    return NestedGit().unsafe(loaded.folder, loaded.settings.directories, accepted=standing.vouched_for)


def _as_data(decision: Decision, circumstances: Circumstances, loaded: Loaded) -> dict[str, Any]:
    from handrail.cli.permission_cases import verdict_of

    row = verdict_of(decision, "")
    return {
        "decision": row.decision,
        "reason": decision.reason,
        "reason_type": decision.reason_type,
        "rule": row.rule,
        "source": row.source,
        "scope": None if decision.rule is None else decision.rule.scope,
        "mode": circumstances.mode,
        "trusted": loaded.trusted,
        "steps": decision.steps,
        "suggestions": [update.to_wire() for update in decision.suggestions],
        "blocked_path": decision.blocked_path,
        "problems": [*map(str, loaded.settings.problems)],
    }


def _print_decision(terminal: Terminal, decision: Decision, circumstances: Circumstances, loaded: Loaded) -> None:
    from handrail.cli.permission_cases import place_of_rule
    from handrail.permissions.explain import decision_in_words, rule_in_words
    from handrail.permissions.updates.breadth import update_breadth

    _print_problems(loaded)
    terminal.line(decision.behavior, "bold", STYLES[decision.behavior])
    for line in decision_in_words(decision):
        terminal.line(f"  {flat(line)}")
    if decision.rule is not None:
        terminal.line(f"  the rule: {flat(str(decision.rule.rule))}  ({flat(place_of_rule(decision.rule))})")
        terminal.line(f"  it means: {flat(rule_in_words(decision.rule))}")
    for update in decision.suggestions:
        if words := update_breadth(update):
            scope = "" if update.type == "setMode" else f"; {SCOPES.get(cast('Scope', update.destination), '')}"
            terminal.line(f"  could be allowed for next time: {flat(words)}{scope}", "dim")
    taken = circumstances.mode == "bypassPermissions" and not circumstances.bypass_available
    held = " is disabled by the settings, so default applies" if taken else ""
    terminal.line(f"  mode {circumstances.mode}{held}{'' if loaded.trusted else '; the folder is not trusted'}", "dim")


def _print_problems(loaded: Loaded) -> None:
    for problem in loaded.settings.problems:
        _tell(str(problem))


def _by_scope(rules: tuple[SourcedRule, ...]) -> Iterator[tuple[str, str, list[SourcedRule]]]:
    for scope, words in SCOPES.items():
        sources = dict.fromkeys(rule.source for rule in rules if rule.scope == scope)
        for source in sources:
            yield words, source, [rule for rule in rules if (rule.scope, rule.source) == (scope, source)]


def _print_list(terminal: Terminal, loaded: Loaded) -> None:
    from handrail.permissions.explain import rule_in_words

    settings = loaded.settings
    _print_problems(loaded)
    withheld = set(map(id, settings.withheld))
    for words, source, rules in _by_scope((*settings.rules, *settings.withheld)):
        terminal.line(f"{words}: {flat(source)}", "bold")
        for rule in rules:
            note = f"  (not in force: {_why_withheld(rule, loaded)})" if id(rule) in withheld else ""
            terminal.line(f"  {rule.behavior:<5} {flat(str(rule.rule))}  line {rule.line}{note}", STYLES[rule.behavior])
            terminal.line(f"        {flat(rule_in_words(rule))}", "dim")
    if not settings.rules and not settings.withheld:
        terminal.line("no rules; the mode decides", "dim")
    terminal.line(f"mode: {settings.mode}{f'  ({flat(settings.mode_source)})' if settings.mode_source else ''}")
    for directory in settings.directories:
        terminal.line(f"works in {flat(directory)} too")
    if not loaded.trusted:
        terminal.line("The folder is not trusted; `handrail trust show DIR` lists what it would run.", "yellow")


def _why_withheld(rule: SourcedRule, loaded: Loaded) -> str:
    of_the_folder = rule.scope in ("localSettings", "projectSettings")
    if of_the_folder and not loaded.trusted:
        return "the folder is not trusted"
    return "the settings of the organisation ignore other allow rules, or cannot be read"


def _list_as_data(loaded: Loaded) -> dict[str, Any]:
    settings = loaded.settings
    rows = [(rule, True) for rule in settings.rules] + [(rule, False) for rule in settings.withheld]
    return {
        "rules": [
            {
                "rule": str(rule.rule),
                "behavior": rule.behavior,
                "scope": rule.scope,
                "source": rule.source,
                "line": rule.line,
                "in_force": in_force and not (rule.broken and rule.behavior == "allow"),
                "broken": rule.broken,
            }
            for rule, in_force in rows
        ],
        "mode": settings.mode,
        "directories": settings.directories,
        "trusted": loaded.trusted,
        "problems": [*map(str, settings.problems)],
    }


def _opened(path: str) -> AbstractContextManager[BinaryIO]:
    if path == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return open(path, "rb")
    except OSError as error:
        _fail(f"{path}: {error.strerror}", code=2)


def _tell(text: str) -> None:
    typer.echo(flat(text), err=True)


def _fail(text: str, *, code: int = 1) -> NoReturn:
    _tell(f"handrail permissions: {text}")
    raise typer.Exit(code)
