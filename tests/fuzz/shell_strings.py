"""Generates random shell commands, both valid and broken.

The rules allow the programs `ok` and `fine`. `evil` and `bad` must never run from a string that was judged harmless.
"""
# ruff: noqa: E501, RUF005 (one string a line reads best)

from __future__ import annotations

from random import Random

__all__ = ["shell_string"]

PROGRAMS = (
    "ok",
    "ok",
    "ok",
    "fine",
    "fine",
    "echo",
    "command ok",
    "env ok",
    "timeout 5 ok",
    "nice -n 3 fine",
    "time ok",
)
FORBIDDEN = ("evil", "bad", "evil x", "bad;", "$x", "./evil", "eval evil", "evil|ok")
WORDS = (
    "a", "b", "-n", "--", "a.c", "x=1", "'q q'", "'#'", "''", '""', '"d"', '"$x"', '"a $y b"', "$x", "${x}", "${x:-y}", "${#x}",
    "$((1+2))", '"$(ok s)"', "$(ok s)", "`ok t`", r"\;", r"\#", r"\ ", r"a\ b", r"\&", r"\|", r"\\", r"a\'b", '"a\\"b"', '"\\$z"',
    r"$'a\tb'", r"$'\x41'", r"$'it\'s'", "{a,b}", "{1..3}", "~", "~/f", "*.c", "[ab]", "a?", "#c", "a#b", "!", "=", "%", "@", "^",
    "if", "then", "do", "done", "esac", "in", "{", "}", "[[", "]]", "time", "é", "日本", "(", ")", "<(ok p)", "é\u00a0", "a\\\nb",
    '"multi\nline"', "'multi\nline'", "\\\n", "$", "$$", '"$"', "a=b", "-c", "evil", "'evil'", '";evil"', "';evil'",
)  # fmt: skip
REDIRECTS = (
    ">/dev/null",
    "2>/dev/null",
    "2>&1",
    "</dev/null",
    "<<<a",
    "&>/dev/null",
    ">out",
    ">>out",
    "3>&1",
    "<<< evil",
    ">&2",
)
JOINS = ("; ", " && ", " || ", " | ", "\n", " & ", ";\n", " |& ", " &&\n", "\n\n", ";", "&&", "|", "&")
ASSIGNMENTS = ("LANG=C ", "TZ=UTC ", "FOO=1 ", "PATH=/x ", "LANG=$(ok e) ", "x=1; ", "i=0; ")
SIGNS = tuple("\\\n#'\"`$(){};&|<>! =~*?[],\t-+:%^") + (
    "\\\n",
    "$(",
    "${",
    "((",
    "<<E",
    "#",
    "\\#",
    "\r",
    "\x0b",
    "\u00a0",
    "\\ ",
)
INSERTS = (
    "evil",
    ";evil;",
    "\nevil\n",
    "$(evil)",
    "`evil`",
    "|evil",
    "&&evil",
    "evil ",
    "<(evil)",
    "\\\nevil",
    "{ evil; }",
    "#\nevil",
)
LIMITERS = ("E", "'E'", '"E"', "\\E", 'E"F"', "E'F'", "-E", "E\\F", "$E", "E.F")


def shell_string(random: Random) -> str:
    """Generate one string."""
    text = _script(random, random.choice((1, 1, 2, 2, 3)))
    while random.random() < 0.45:
        text = _bent(text, random)
    return text


def _script(random: Random, depth: int) -> str:
    parts = [_statement(random, depth)]
    while random.random() < 0.4:
        parts.append(random.choice(JOINS) + _statement(random, depth))
    return "".join(parts)


def _statement(random: Random, depth: int) -> str:
    if depth <= 0 or random.random() < 0.55:
        return _command(random)
    return random.choice(_COMPOUNDS)(random, depth - 1)


def _command(random: Random) -> str:
    words = [random.choice(FORBIDDEN if random.random() < 0.04 else PROGRAMS)]
    words += [random.choice(WORDS) for _ in range(random.choice((0, 1, 1, 2, 3)))]
    if random.random() < 0.15:
        words.insert(random.randrange(len(words) + 1), random.choice(REDIRECTS))
    prefix = random.choice(ASSIGNMENTS) if random.random() < 0.08 else ""
    return prefix + " ".join(words)


def _document(random: Random, depth: int) -> str:
    limiter = random.choice(LIMITERS)
    end = "".join(sign for sign in limiter if sign not in "'\"\\").removeprefix("-")
    body = random.choice(("hi", "$(ok d)", "`ok d`", "$(evil)", "\\$(evil)", "evil", "it's", "E F", "\tE", "$x", "a\\"))
    return f"{_command(random)} <<{limiter}{random.choice(('', ' | ok', '; ok z', ' && fine'))}\n{body}\n{end}\n{_command(random)}"


_COMPOUNDS = (
    lambda random, depth: f"({_script(random, depth)})",
    lambda random, depth: f"{{ {_script(random, depth)}; }}",
    lambda random, depth: f"if {_script(random, depth)}; then {_script(random, depth)}; else ok; fi",
    lambda random, depth: f"while {_command(random)}; do {_script(random, depth)}; done",
    lambda random, depth: f"for i in a {random.choice(WORDS)}; do {_script(random, depth)}; done",
    lambda random, depth: f"for ((i=0;i<2;i++)); do {_script(random, depth)}; done",
    lambda random, depth: f"case {random.choice(WORDS)} in a|b) {_script(random, depth)};; *) ok;; esac",
    lambda random, depth: f"ok $({_script(random, depth)})",
    lambda random, depth: f'ok "$({_script(random, depth)})"',
    lambda random, depth: f"ok `{_command(random)}`",
    lambda random, depth: f"ok <({_script(random, depth)})",
    lambda random, depth: f"! {_command(random)}",
    lambda random, depth: f"[[ {random.choice(WORDS)} == {random.choice(WORDS)} ]] && {_command(random)}",
    lambda random, depth: f"[ {random.choice(WORDS)} -eq {random.choice(WORDS)} ]",
    lambda random, depth: f"f() {{ {_script(random, depth)}; }}; ok",
    lambda random, depth: f"(( i + {random.choice(('1', 'x', 'a[1]'))} )); {_command(random)}",
    lambda random, depth: f"bash -c '{_command(random)}'",
    lambda random, depth: f"eval {_command(random)}",
    lambda random, depth: f"{_command(random)} # {_command(random)}\n{_command(random)}",
    _document,
    _document,
)  # fmt: skip


def _bent(text: str, random: Random) -> str:
    """The string with one random change."""
    at = random.randrange(len(text) + 1)
    kind = random.random()
    if kind < 0.45:
        return text[:at] + random.choice(SIGNS) + text[at:]
    if kind < 0.6:
        return text[:at] + random.choice(INSERTS) + text[at:]
    if kind < 0.8:
        return text[:at] + text[at + 1 :]
    if kind < 0.9:
        other = random.randrange(len(text) + 1)
        first, last = min(at, other), max(at, other)
        return text[:first] + text[last:]
    return text[:at] + text[at : at + 4] + text[at:]
