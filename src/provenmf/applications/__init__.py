"""Domain data in, typed answer out: topics, communities, signatures, endmembers, parts.

Names are resolved when first used: one application does not load the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provenmf.applications.communities import Communities, find_communities
    from provenmf.applications.parts import Parts, find_parts
    from provenmf.applications.signatures import Signatures, find_signatures
    from provenmf.applications.topics import Topics, count_words, find_topics
    from provenmf.applications.unmixing import Unmixing, unmix

# Module to public names.
HOMES = {
    "communities": ("Communities", "find_communities"),
    "parts": ("Parts", "find_parts"),
    "signatures": ("Signatures", "find_signatures"),
    "topics": ("Topics", "count_words", "find_topics"),
    "unmixing": ("Unmixing", "unmix"),
}

__all__ = [
    "Communities",
    "Parts",
    "Signatures",
    "Topics",
    "Unmixing",
    "count_words",
    "find_communities",
    "find_parts",
    "find_signatures",
    "find_topics",
    "unmix",
]


def __getattr__(name: str) -> object:
    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"provenmf.applications.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
