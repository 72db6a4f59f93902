"""Domain data in, typed answer out: topics, communities, endmembers, parts."""

from provenmf.applications.communities import Communities, find_communities
from provenmf.applications.parts import Parts, find_parts
from provenmf.applications.topics import Topics, count_words, find_topics
from provenmf.applications.unmixing import Unmixing, unmix

__all__ = [
    "Communities",
    "Parts",
    "Topics",
    "Unmixing",
    "count_words",
    "find_communities",
    "find_parts",
    "find_topics",
    "unmix",
]
