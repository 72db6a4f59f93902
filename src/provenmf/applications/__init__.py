"""Domain data in, typed answer out: topics, communities, signatures, endmembers, parts."""

from provenmf.applications.communities import Communities, find_communities
from provenmf.applications.parts import Parts, find_parts
from provenmf.applications.signatures import Signatures, find_signatures
from provenmf.applications.topics import Topics, count_words, find_topics
from provenmf.applications.unmixing import Unmixing, unmix

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
