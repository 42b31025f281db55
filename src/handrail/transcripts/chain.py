"""Puts the entries of a transcript in the order of the conversation, oldest first. Pure.

Entries name their parent, so a file is a tree: rewinding and asking again grows a second branch, and parallel tool
calls leave one branch each. The conversation is the branch of the newest entry, with the other calls and results of the
same answers added.
"""

from collections.abc import Sequence

import msgspec

from handrail.transcripts.entry import SPOKEN


class Link(msgspec.Struct, frozen=True):
    """Position of an entry in the file, and its references to other entries, without its content."""

    offset: int
    length: int
    type: str
    uuid: str
    parent: str | None = None
    logical_parent: str | None = None
    sidechain: bool = False
    meta: bool = False
    agent_id: str | None = None
    timestamp: str | None = None
    message_id: str | None = None
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


class Chain(msgspec.Struct, frozen=True):
    """A conversation in order, and the damage found while following the parents."""

    links: list[Link]
    cycles: int = 0
    gaps: int = 0


def conversation(links: Sequence[Link], *, leaf: str | None = None, since_compaction: bool = False) -> Chain:
    """The chain that ends in `leaf`, or in the newest message."""
    links = [*{link.uuid: link for link in links}.values()]  # the last of duplicate entries counts
    by_uuid = {link.uuid: index for index, link in enumerate(links)}
    here = by_uuid.get(leaf) if leaf is not None else _newest_leaf(links)
    back: list[Link] = []
    seen: set[int] = set()
    cycles = gaps = 0
    while here is not None:
        if here in seen:
            cycles += 1
            break
        seen.add(here)
        link = links[here]
        back.append(link)
        above = by_uuid.get(link.parent or ("" if since_compaction else link.logical_parent) or "")
        if above is None and link.parent:
            # The parent's line was lost. The line before this one is the best guess.
            gaps += 1
            above = here - 1 if here else None
        here = above
    back.reverse()
    return Chain(_with_parallel_tools(links, back), cycles, gaps)


def _newest_leaf(links: Sequence[Link]) -> int | None:
    spoken = [index for index, link in enumerate(links) if link.type in SPOKEN]
    return next((index for index in reversed(spoken) if not links[index].meta), spoken[-1] if spoken else None)


def _with_parallel_tools(links: Sequence[Link], chain: list[Link]) -> list[Link]:
    """Insert the calls and results that the chain misses, each after the last entry of its answer.

    An answer has one entry per block, all with the same message id, and the parent of a tool result is its own call;
    following the parents of the newest entry reaches only one of them.
    """
    last_of = {link.message_id: link.uuid for link in chain if link.message_id}
    present = {link.uuid for link in chain}
    answered = {call for link in chain for call in link.answers}
    caller: dict[str, str] = {}
    calls: dict[str, list[Link]] = {}
    results: dict[str, list[Link]] = {}
    for link in links:
        if link.message_id in last_of:
            caller.update(dict.fromkeys(link.calls, last_of[link.message_id]))
            if link.uuid not in present:
                present.add(link.uuid)
                calls.setdefault(last_of[link.message_id], []).append(link)
    for link in links:
        anchor = next((caller[call] for call in link.answers if call in caller), None)
        if anchor is not None and link.uuid not in present and not answered.issuperset(link.answers):
            answered.update(link.answers)
            results.setdefault(anchor, []).append(link)
    whole: list[Link] = []
    for link in chain:
        whole += [link, *calls.get(link.uuid, ()), *results.get(link.uuid, ())]
    return whole


def threads(links: Sequence[Link]) -> list[list[Link]]:
    """Entries grouped by the first ancestor they share, in file order: one group per sidechain."""
    root: dict[str, str] = {}
    groups: dict[str, list[Link]] = {}
    for link in links:
        root[link.uuid] = root.get(link.parent or "", link.uuid)
        groups.setdefault(root[link.uuid], []).append(link)
    return list(groups.values())
