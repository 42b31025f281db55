"""The shapes of known settings, and a check of a file against them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from handrail.settings.json_tree import Node

__all__ = ["MCP_SHAPES", "SETTINGS_SHAPES", "Shape", "misfits", "odd_rules"]


def _is_text(node: Node) -> bool:
    return isinstance(node.value, str)


def _is_object(node: Node) -> bool:
    return node.members is not None


def _is_list(node: Node) -> bool:
    return node.items is not None


def _is_list_of_texts(node: Node) -> bool:
    return node.items is not None and all(map(_is_text, node.items))


def _is_list_of_paths(node: Node) -> bool:
    return _is_list_of_texts(node) and not any("\x00" in str(item.value) for item in node.items or ())


def _is_scalars(node: Node) -> bool:
    return node.members is not None and all(
        below.members is None and below.items is None and below.value is not None for below in node.members.values()
    )


def _is_objects(node: Node) -> bool:
    return node.members is not None and all(map(_is_object, node.members.values()))


def _is_lists_of_objects(node: Node) -> bool:
    lists = None if node.members is None else [below.items for below in node.members.values()]
    return lists is not None and all(items is not None and all(map(_is_object, items)) for items in lists)


Shape = tuple[tuple[str, ...], Callable[[Node], bool], str]

_SERVERS: Shape = (("mcpServers",), _is_objects, "an object of servers, each an object")
SETTINGS_SHAPES: tuple[Shape, ...] = (
    ((), _is_object, "an object"),
    (("permissions",), _is_object, "an object"),
    # An entry of another kind allows nothing and is only reported. In the other lists it could have meant anything.
    (("permissions", "allow"), _is_list, "a list of rules in quotes"),
    (("permissions", "deny"), _is_list_of_texts, "a list of rules in quotes"),
    (("permissions", "ask"), _is_list_of_texts, "a list of rules in quotes"),
    (("permissions", "additionalDirectories"), _is_list_of_paths, "a list of paths in quotes"),
    (("permissions", "defaultMode"), _is_text, "the name of a mode"),
    (("env",), _is_scalars, "an object of texts and numbers"),
    (("hooks",), _is_lists_of_objects, "an object of events, each with a list of objects"),
    _SERVERS,
    (("enabledMcpjsonServers",), _is_list_of_texts, "a list of names"),
    (("disabledMcpjsonServers",), _is_list_of_texts, "a list of names"),
)
MCP_SHAPES: tuple[Shape, ...] = (SETTINGS_SHAPES[0], _SERVERS)


def misfits(tree: Node, shapes: Sequence[Shape]) -> list[tuple[Node, str]]:
    """Every value of the wrong kind, with the reason. `shapes` is one of the tables above."""
    return [
        (node, f"{_name(keys)} must be {wanted}")
        for keys, fits, wanted in shapes
        if (node := tree.at(*keys)) is not None and not fits(node)
    ]


def odd_rules(tree: Node) -> list[tuple[Node, str]]:
    """The entries of the list of allow rules that are not rules, with the reason."""
    allow = tree.at("permissions", "allow")
    items = () if allow is None else allow.items or ()
    return [(item, "this allow rule is ignored: write it in quotes") for item in items if not _is_text(item)]


def _name(keys: tuple[str, ...]) -> str:
    return f"`{'.'.join(keys)}`" if keys else "the file"
