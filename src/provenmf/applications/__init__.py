"""Domain data in, typed answer out: topics, communities, endmembers, parts."""

from provenmf.applications.communities import Communities, find_communities
from provenmf.applications.parts import Parts, find_parts
from provenmf.applications.topic_answer import Topics
from provenmf.applications.topics import find_topics
from provenmf.applications.unmixing import Unmixing, unmix
from provenmf.applications.words import count_words

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
