"""How much each member of a club belongs to its two camps."""

import networkx as nx

from provenmf.applications import find_communities


def run():
    """Memberships in Zachary's karate club, which split around nodes 0 and 33."""
    graph = nx.karate_club_graph()
    result = find_communities(graph, 2)
    for node in (0, 33, 2, 8, 16):
        shares = ", ".join(f"{share:.2f}" for share in result.memberships[node])
        print(f"node {node}: {shares}")
    for note in result.notes:
        print("note:", note)
    return result


if __name__ == "__main__":
    run()
