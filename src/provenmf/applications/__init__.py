"""Domain data in, domain answer out: topics, communities, endmembers, parts."""

from provenmf.applications.again import matrix_again
from provenmf.applications.communities import CommunityResult, find_communities
from provenmf.applications.parts import PartsResult, find_parts
from provenmf.applications.topics import TopicResult, find_topics
from provenmf.applications.unmixing import UnmixingResult, unmix
from provenmf.applications.words import count_words

__all__ = [
    "CommunityResult",
    "PartsResult",
    "TopicResult",
    "UnmixingResult",
    "count_words",
    "find_communities",
    "find_parts",
    "find_topics",
    "matrix_again",
    "unmix",
]
