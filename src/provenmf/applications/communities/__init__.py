"""Communities of a graph and every node's share in them.

Read `search.py` first: eigenvectors (`embedding.py`), pure nodes among them (`nodes.py`), corners
averaged over nodes (`node_vertices.py`), memberships and their errors (`node_errors.py`).
"""

from provenmf.applications.communities.answer import Communities, CommunitySettings
from provenmf.applications.communities.search import METHODS, find_communities

__all__ = ["METHODS", "Communities", "CommunitySettings", "find_communities"]
