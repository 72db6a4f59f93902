"""Communities of a graph and every node's share in them.

Read `search.py` first: eigenvectors and pure nodes among them (`embedding.py`), corners averaged
over nodes and memberships (`corners.py`).
"""

from provenmf.applications.communities.answer import Communities
from provenmf.applications.communities.search import METHODS, find_communities

__all__ = ["METHODS", "Communities", "find_communities"]
