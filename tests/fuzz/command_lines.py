"""Generates command lines from the options of programs: those in the tables, and others in their documentation.

Half of the words fit the description, so that much is allowed; the others are what descriptions may get wrong: paths
outside, `@file`, `file=…`, substitutions, variables, patterns, clusters, abbreviations, values at the wrong place.
"""

# ruff: noqa: E501 (one table a paragraph reads best)

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from handrail.permissions.programs.awk import AWKS
from handrail.permissions.programs.description import Program
from handrail.permissions.programs.read_only import READERS
from handrail.permissions.programs.tables.file_tools import FIND
from handrail.permissions.programs.tables.git_commands import GIT_COMMANDS
from tests.fuzz.documented_options import documented_options

__all__ = ["CAGE_ONLY", "Grammar", "Tool", "tools"]

CAGE_ONLY = (
    "nm objdump readelf size addr2line ldd less more look pr tsort ptx bzcat xzcat zipinfo unzip yq xargs".split()
)
"""Programs without a description, which only run in the cage."""
INSIDE = (
    *"a.txt b.txt list.txt data.json x.c sub sub/one.txt other other/key . ./a.txt sub/../a.txt a=b a=b/c *.txt".split(),
    *"sub/* [ab].txt {a,b}.txt $PWD/a.txt - ./-o.txt .env run.sh".split(),
    "'two words.txt'",
)
NUMBERS = ("0", "1", "2", "3", "-1", "+2", "10", "1k", "0x4", "1,2", "1.5", "5%")
TEXTS = (
    "a", "o", "x*", "'a b'", "%s", "'%s\\n'", "-", ",", ":", "'\\t'", "yes", "always", "never", "name", "size", "iso", "full",
    "HEAD", "HEAD~1", "main", "..", "%H", "+%s", "UTF-8", "ASCII", "pid,comm", "user.name", "1d", "*.txt", "d", "x1", "+x",
    "--", "1p", ".a", "now", "upper", "'[a-z]'", "C", "root", "1-2", "PATH_MAX",
)  # fmt: skip
PATTERNS = ("o", "x*", "'a b'", "^one", "-e", "'-x'", "[a", "'\\(a\\)'", ".")
WILD = (
    "{out}", "{away}", "../outside/secret", "../outside", "key", "up", "up/secret", "sub/key", "s*/key", "k*", "*", ".*", "../*",
    "~", "~/.ssh/id_rsa", "~root", "$HOME/.ssh/id_rsa", "$HOME", "$UNSET", '"$UNSET"', "${{UNSET:-{out}}}", '"${{X:={out}}}"',
    "$(echo {out})", "`echo {out}`", '"$(echo key)"', "<(cat {out})", "<(cat a.txt)", "@args", "@{out}", "@a.txt", "file={out}",
    "a={out}", "x=key", "={out}", "./run.sh", "run.sh", "'sh run.sh'", "'|./run.sh'", "'!./run.sh'", "/dev/tcp/127.0.0.1/{port}",
    "http://127.0.0.1:{port}/", "127.0.0.1:{port}", "127.0.0.1:x", "new.txt", "./new.txt", "{away}/new", "sub/new", "--", "-", "''",
    "--output=new.txt", "--output", "-o", "-onew.txt", "-f", "-w", "-i", "-e", "-exec", "-delete", "-fprint", "--file={out}",
    "--help", "+x", "+1", "!", "'('", ",", "';'", "/etc/passwd", "/proc/self/environ", "/proc/$PPID/environ", "$((1+1))", "$1",
    "$@", "{{a.txt,{out}}}", "a.txt:{out}", "%G?", "%(signature)", "environ", "'e ./run.sh'", "'w new.txt'", "-u", "-L", "-R", "-U",
)  # fmt: skip
ADDRESSES = ("http://127.0.0.1:{port}/", "127.0.0.1:{port}")
AWK_PARTS = (
    "{{print $1}}", "{{print}}", "NR>1", "/o/", "BEGIN{{x=1}}", "END{{print NR}}", '{{print > "new.txt"}}', '{{print | "sh"}}',
    'BEGIN{{system("./run.sh")}}', 'BEGIN{{while((getline l < "{out}")>0) print l}}', '{{print "a" "b" > "new.txt"}}',
    'BEGIN{{for(print 1 > "new.txt"; 0;);}}', "{{n[$1]++}}", "1", '{{printf "%s\\n", $0}}', '$1 > "new.txt"', "(1)", "a=1/2",
    "{{print (1>2)}}", '{{print(1)>"new.txt"}}', '"./run.sh"|getline', "ENVIRON[1]", "; ", "\n", "#x", "/[/]/", "x++/2",
)  # fmt: skip
SED_PARTS = (
    "p", "d", "1p", "$!d", "s/a/b/", "s/a/b/g", "s/a/b/w new.txt", "s/.*/.\\/run.sh/e", "w new.txt", "r {out}", "R {out}", "e",
    "1e ./run.sh", "1,2p", "/o/p", "s|a|b|", "y/a/b/", "n", "=", "l", "q", ";", "\n", "{{p}}", "s/[/]/x/", "i\\", "a x", "}}", "#n",
    "W new.txt", "s/a/b/;w new.txt", "s,a,b,\nw new.txt", "s/[/]/; s/g;w new.txt;/x/", "v", "F", "z",
)  # fmt: skip
JQ_PARTS = (
    ".", ".a", "keys", "|", "length", "env", "$ENV", "input_filename", "input", "inputs", '"x"', "[.[]]", "@sh", "debug", "$__loc__",
    'include "a"', 'import "a" as b', "modulemeta", "get_search_list", "halt_error", "now", "ltrimstr(1)", "..", "?", "//", "1",
)  # fmt: skip


class Tool(NamedTuple):
    """A program or subcommand, its description, and options that only its documentation names."""

    name: str
    described: Program
    documented: tuple[str, ...]


def tools(names: Sequence[str] = ()) -> list[Tool]:
    """The programs of the tables that are installed here; with names, those only."""
    described = {
        **READERS,
        "find": FIND,
        **{f"git {name}": program for name, program in GIT_COMMANDS.items()},
        **dict.fromkeys(("sed", *AWKS, *CAGE_ONLY), Program()),
    }
    found = [Tool(name, described.get(name, Program()), documented_options(name)) for name in names or described]
    return [tool for tool in found if tool.documented or tool.name in names]


class Grammar:
    """Makes command lines, for places outside and a port of this machine."""

    def __init__(self, random: Random, known: Sequence[Tool], *, out: str, away: str, port: int) -> None:
        self.random, self.tools = random, known
        self.places = {"out": out, "away": away, "port": port}

    def line(self) -> str:
        """One command line."""
        random, text = self.random, self.command()
        kind = random.random()
        if kind < 0.72:
            return text
        return random.choice(_COMPOUNDS)(self, text)

    def command(self) -> str:
        """One simple command."""
        random, tool = self.random, self.random.choice(self.tools)
        tame = random.random() < 0.6
        words = [word for _ in range(random.choice((0, 1, 1, 2, 3))) for word in self._option(tool, tame=tame)]
        operands = list(self._operands(tool, tame=tame))
        for word in operands if random.random() < 0.85 else reversed(operands):
            words.insert(random.randrange(len(words) + 1) if random.random() < 0.1 else len(words), word)
        return " ".join([tool.name, *words])

    def value(self, kind: str = "", *, tame: bool = False) -> str:
        """A value for a kind, or anything."""
        random = self.random
        if not tame and random.random() < 0.5:
            return random.choice(WILD).format(**self.places)
        if kind.endswith("path") or kind in ("file", "archive", "pattern-file"):
            return random.choice(INSIDE)
        if kind in ("number", "count", "duration"):
            return random.choice(NUMBERS)
        if kind == "pattern":
            return random.choice(PATTERNS)
        if kind in _SCRIPTS:
            parts = [random.choice(_SCRIPTS[kind]).format(**self.places) for _ in range(random.choice((1, 1, 2, 3)))]
            return "'" + "".join(parts).replace("'", "'\\''") + "'"
        return random.choice(TEXTS)

    def _option(self, tool: Tool, *, tame: bool) -> Iterator[str]:
        random, kinds = self.random, tool.described.kinds
        known = [name for name in kinds if name != "-#"]
        if not known or (tool.documented and random.random() < (0.1 if tame else 0.5)):
            option = random.choice(tool.documented or ("-x",))
            values = [self.value(tame=tame)] if random.random() < 0.4 else []
        else:
            option = random.choice(known)
            values = [self.value(kind, tame=tame) for kind in kinds[option]]
            if not tame and random.random() < 0.2:
                values = values[1:] if values else [self.value()]
        long = option.startswith("--")
        if not tame and long and random.random() < 0.2:
            option = option[: -random.randrange(1, max(2, len(option) - 3))]
        if not long and not tame and random.random() < 0.25:
            letters = "".join(name[1] for name in random.choices(known or ["-x"], k=random.choice((1, 2))))
            option = f"-{letters}{option[1:]}" if random.random() < 0.7 else f"{option}{letters}"
        attached = option in tool.described.attached or random.random() < 0.35
        if len(values) == 1 and attached:
            yield f"{option}{'=' if long else ''}{values[0]}"
        else:
            yield from (option, *values)

    def _operands(self, tool: Tool, *, tame: bool) -> Iterator[str]:
        random = self.random
        kinds = _OPERANDS.get(tool.name, tool.described.operands).split() or ([] if tame else ["path"])
        for kind in kinds:
            repeats = random.choice((0, 1, 1, 2)) if kind.endswith("*") else 1
            yield from (self.value(kind.rstrip("*"), tame=tame) for _ in range(repeats))
        if not tame and random.random() < 0.15:
            yield self.value()


_OPERANDS = {
    "sed": "sed-script path*",
    **dict.fromkeys(AWKS, "awk-program path*"),
    **dict.fromkeys(CAGE_ONLY, "path*"),
    "curl": "address",
    "setsid -f sleep": "duration",
}
_SCRIPTS = {
    "awk-program": AWK_PARTS,
    "sed-script": SED_PARTS,
    "jq-filter": JQ_PARTS,
    "outside": WILD[:3],
    "address": ADDRESSES,
}

_COMPOUNDS = (
    lambda grammar, text: f"{text} | {grammar.command()}",
    lambda grammar, text: f"{text}; {grammar.command()}",
    lambda grammar, text: f"{text} && {grammar.command()}",
    lambda grammar, text: f"{text} < {grammar.value('path')}",
    lambda grammar, text: f"{text} <<< {grammar.value()}",
    lambda grammar, text: f"{text} <({grammar.command()})",
    lambda grammar, text: f"x={grammar.value('path')}; {text} $x",
    lambda grammar, text: f'x={grammar.value("path")}; {text} "$x"',
    lambda grammar, text: f"for f in {grammar.value('path')}; do {text} $f; done",
    lambda grammar, text: f"for f in {grammar.value('path')}; do {text} \"$f\"; done",
    lambda grammar, text: f"while read -r f; do {text} \"$f\"; done < list.txt",
    lambda grammar, text: f"cd {grammar.value('path')} && {text}",
    lambda grammar, text: f"(cd sub; {text})",
    lambda grammar, text: f"find . -name {grammar.value('pattern')} -exec {text} {{}} +",
    lambda grammar, text: f"{grammar.command()} | xargs {text}",
    lambda grammar, text: f"xargs {text} < list.txt",
    lambda grammar, text: f"timeout 1 {text}",
    lambda grammar, text: f"env {text}",
    lambda grammar, text: f"LC_ALL=C {text}",
    lambda grammar, text: f"X={grammar.value()} {text}",
    lambda grammar, text: f"bash -c '{text}'",
    lambda grammar, text: f"echo $({text})",
    lambda grammar, text: f"{text} 2>/dev/null",
    lambda grammar, text: f"{text} > {grammar.value()}",
)  # fmt: skip
