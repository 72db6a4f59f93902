"""Sums over chunks that do not depend on which worker adds up which chunks.

Chunks are the leaves of one binary tree: neighbours are added up, then neighbouring sums, and so
on. Whoever holds some of the leaves adds up what it can and passes on the rest as it is, so every
order of the work rounds alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from provenmf.data.parts import added

# Level in the tree, 0 for the leaves, and place in that level.
Node = tuple[int, int]
Sums = dict[Node, Any]


def sums_of(values: Iterable[tuple[int, Any]], leaves: int) -> Sums:
    """What can be added up of the values of some leaves, given with their numbers."""
    return joined_sums([{(0, number): value for number, value in values}], leaves)


def joined_sums(several: Iterable[Mapping[Node, Any]], leaves: int) -> Sums:
    """What can be added up of several partial sums: siblings, and sums of siblings."""
    found: Sums = {}
    for sums in several:
        found.update(sums)
    level, width = 0, leaves
    while width > 1:
        for _, place in [node for node in found if node[0] == level and node[1] % 2 == 0]:
            node, sibling = (level, place), (level, place + 1)
            if place + 1 == width:  # the last of an odd number has no sibling
                found[level + 1, place // 2] = found.pop(node)
            elif sibling in found:
                found[level + 1, place // 2] = added((found.pop(node), found.pop(sibling)))
        level, width = level + 1, (width + 1) // 2
    return found


def total(several: Iterable[Mapping[Node, Any]], leaves: int) -> Any:
    """The sum over all leaves."""
    [whole] = joined_sums(several, leaves).values()
    return whole
