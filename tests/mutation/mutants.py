"""Generates mutants of a module: small faults that its tests should detect.

A mutant changes one place: a comparison, a condition, a sum, a constant, a pattern, a slice or a return value, or it
removes a statement. Code that tests cannot check is not changed: docstrings, annotations and other types, imports,
decorators, options of classes, `__all__`, and prose (strings of two words or more), since a test of its wording would
only repeat it. Values inserted into prose are changed, and so are all other strings.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

Path = tuple[tuple[str, int | None], ...]
"""The path from the root of the tree to a node: fields, each with an index if the field is a list."""


@dataclass(frozen=True)
class Mutant:
    """One fault. `name` is `file:line:number` and changes only with the source."""

    name: str
    module: str
    line: int
    before: str
    after: str
    path: Path
    replacement: ast.AST


def mutants_of(source: str, module: str) -> list[Mutant]:
    """All mutants of a module, in source order."""
    tree = ast.parse(source)
    last = {id(node) for function in ast.walk(tree) if isinstance(function, _FUNCTION) for node in _last(function.body)}
    found: list[Mutant] = []
    numbers: Counter[int] = Counter()
    for node, path in sorted(_places(tree, ()), key=lambda place: place[0].lineno):
        before, seen = ast.unparse(node), set[str]()
        for replacement in _replacements(node):
            after = ast.unparse(ast.fix_missing_locations(ast.copy_location(replacement, node)))
            # At the end of a function, removing `return` and returning None are the same.
            same = isinstance(replacement, ast.Pass) and isinstance(node, ast.Return) and id(node) in last
            if not same and after not in seen | {before}:
                seen.add(after)
                numbers[node.lineno] += 1
                name = f"{module}:{node.lineno}:{numbers[node.lineno]}"
                found.append(Mutant(name, module, node.lineno, _shown(before), _shown(after), path, replacement))
    return found


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """The tree of a source with one mutant in it."""
    tree = ast.parse(source)
    node: Any = tree
    for field, index in mutant.path[:-1]:
        node = getattr(node, field) if index is None else getattr(node, field)[index]
    field, index = mutant.path[-1]
    if index is None:
        setattr(node, field, mutant.replacement)
    else:
        getattr(node, field)[index] = mutant.replacement
    return ast.fix_missing_locations(tree)


def _shown(code: str) -> str:
    """The first line of a statement, without its body."""
    return code.partition("\n")[0]


_FUNCTION: Final = ast.FunctionDef | ast.AsyncFunctionDef
_SKIPPED_FIELDS: Final = frozenset({"annotation", "returns", "decorator_list", "bases"})
_TYPES: Final = frozenset({"Literal", "Callable", "Final", "dict", "frozenset", "list", "set", "tuple", "type"})
_PROSE: Final = re.compile(r"[A-Za-z]{2}\S* \S*[A-Za-z]{2}")


def _places(node: ast.AST, path: Path) -> Iterator[tuple[Any, Path]]:
    """All nodes that may be changed, outermost first."""
    if _is_left_alone(node):
        return
    if hasattr(node, "lineno") and path:
        yield node, path
    for field, value in ast.iter_fields(node):
        if field in _SKIPPED_FIELDS or (isinstance(node, ast.ClassDef) and field == "keywords"):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            # _f_string and _pattern change these texts.
            if isinstance(child, ast.AST) and not (isinstance(child, ast.Constant) and _has_own_changes(node)):
                yield from _places(child, (*path, (field, index)))


def _has_own_changes(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."))


def _last(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements after which a function ends."""
    yield body[-1]
    match body[-1]:
        case ast.If(body=first, orelse=second):
            yield from _last(first)
            yield from _last(second) if second else ()
        case ast.Try(body=first, handlers=handlers, orelse=[], finalbody=[]):
            yield from _last(first)
            for handler in handlers:
                yield from _last(handler.body)
        case _:
            return


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.Subscript(value=ast.Name(id=name)):
            return name in _TYPES
        case ast.Constant(value=str(text)):
            return bool(_PROSE.search(text))
        case _:
            return False


def _replacements(node: Any) -> Iterator[ast.AST]:
    for kind, change in _CHANGES:
        if isinstance(node, kind):
            yield from change(node)


_COMPARISONS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_OPERATIONS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_OPPOSITES: Final = (("all", "any"), ("min", "max"), ("startswith", "endswith"), ("lstrip", "rstrip"))
_CALLED_INSTEAD: Final = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}
_PATTERN_CHANGES: Final = (
    (r"(?<!\\)\[\^", "["),
    (r"(?<!\\)\[(?!\^)", "[^"),
    (r"(?<!\\)\*(?=[^\]]*(?:\[|\Z))", "+"),
    (r"(?<!\\)\+(?=[^\]]*(?:\[|\Z))", "*"),
    (r"(?<![\\(])\?", ""),
    (r"\\Z", ""),
)
"""Changes of a regular expression: inverted classes, other repetitions, no end anchor."""


def _comparison(node: ast.Compare) -> Iterator[ast.AST]:
    for index, operator in enumerate(node.ops):
        for other in _COMPARISONS[type(operator)]:
            yield ast.Compare(node.left, [*node.ops[:index], other(), *node.ops[index + 1 :]], node.comparators)


def _and_or(node: ast.BoolOp) -> Iterator[ast.AST]:
    yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def _sum(node: ast.BinOp) -> Iterator[ast.AST]:
    if other := _OPERATIONS.get(type(node.op)):
        yield ast.BinOp(node.left, other(), node.right)


def _sign(node: ast.UnaryOp) -> Iterator[ast.AST]:
    yield node.operand


def _condition(node: ast.If | ast.IfExp | ast.While | ast.Assert) -> Iterator[ast.AST]:
    """Negate the condition, unless a change of its comparison or `not` does the same."""
    if not isinstance(node.test, ast.Compare | ast.UnaryOp):
        yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))


def _filter(node: ast.expr) -> Iterator[ast.AST]:
    """Remove the conditions of a comprehension, one at a time."""
    for at, clause in enumerate(node.generators):
        for index in range(len(clause.ifs)):
            fewer = _with(clause, ifs=clause.ifs[:index] + clause.ifs[index + 1 :])
            yield _with(node, generators=[*node.generators[:at], fewer, *node.generators[at + 1 :]])


def _constant(node: ast.Constant) -> Iterator[ast.AST]:
    match node.value:
        case bool(value):
            yield ast.Constant(not value)
        case int(value):
            yield ast.Constant(value + 1)
        case str(text):
            # A string that is not a word may be a set of characters, each of which matters.
            lost = range(1 if text.isidentifier() else len(text))
            yield from (ast.Constant(text[:at] + text[at + 1 :]) for at in lost)
            yield from () if text else [ast.Constant("~")]


def _f_string(node: ast.JoinedStr) -> Iterator[ast.AST]:
    """Remove a character. An inserted value counts as a word."""
    texts = [part.value if isinstance(part, ast.Constant) else "word" for part in node.values]
    if _PROSE.search("".join(texts)):
        return
    for index, part in enumerate(node.values):
        if isinstance(part, ast.Constant):
            yield ast.JoinedStr([*node.values[:index], ast.Constant(part.value[1:]), *node.values[index + 1 :]])


def _pattern(node: ast.Call) -> Iterator[ast.AST]:
    if not _has_own_changes(node) or not isinstance(node.args[0], ast.Constant):
        return
    text = node.args[0].value
    for sought, put in _PATTERN_CHANGES:
        for found in re.finditer(sought, text):
            changed = text[: found.start()] + put + text[found.end() :]
            yield _with(node, args=[ast.Constant(changed), *node.args[1:]])


def _call(node: ast.Call) -> Iterator[ast.AST]:
    match node.func:
        case ast.Name(id=name) if name in _CALLED_INSTEAD:
            yield _with(node, func=ast.Name(_CALLED_INSTEAD[name], ast.Load()))
        case ast.Attribute(attr=name) if name in _CALLED_INSTEAD:
            yield _with(node, func=_with(node.func, attr=_CALLED_INSTEAD[name]))
        case _:
            return


def _slice(node: ast.Slice) -> Iterator[ast.AST]:
    for end in ("lower", "upper"):
        if getattr(node, end) is not None:
            yield _with(node, **{end: None})


def _return(node: ast.Return) -> Iterator[ast.AST]:
    """Return None, or continue after the return. Not None for False: callers treat both the same."""
    none_or_false = isinstance(node.value, ast.Constant) and (node.value.value is None or node.value.value is False)
    if node.value is not None and not none_or_false:
        yield ast.Return(ast.Constant(None))
    yield ast.Pass()


def _added(node: ast.AugAssign) -> Iterator[ast.AST]:
    yield ast.Assign([node.target], node.value)
    yield ast.Pass()


def _assigned(node: ast.Assign) -> Iterator[ast.AST]:
    """Keep the old value of an attribute or item. Removing the assignment of a name would fail every test."""
    if any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
        yield ast.Pass()


def _removed(node: ast.stmt) -> Iterator[ast.AST]:
    yield ast.Pass()


def _break_or_continue(node: ast.Break | ast.Continue) -> Iterator[ast.AST]:
    yield ast.Continue() if isinstance(node, ast.Break) else ast.Break()
    yield ast.Pass()


def _with(node: Any, **fields: Any) -> Any:
    """A copy of the node with other fields."""
    return type(node)(**{**dict(ast.iter_fields(node)), **fields})


_CHANGES: Final[tuple[tuple[Any, Callable[[Any], Iterator[ast.AST]]], ...]] = (
    (ast.Compare, _comparison),
    (ast.BoolOp, _and_or),
    (ast.BinOp, _sum),
    (ast.UnaryOp, _sign),
    (ast.If | ast.IfExp | ast.While | ast.Assert, _condition),
    (ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, _filter),
    (ast.Constant, _constant),
    (ast.JoinedStr, _f_string),
    (ast.Call, _pattern),
    (ast.Call, _call),
    (ast.Slice, _slice),
    (ast.Return, _return),
    (ast.AugAssign, _added),
    (ast.Assign, _assigned),
    (ast.Expr | ast.Raise, _removed),
    (ast.Break | ast.Continue, _break_or_continue),
)
