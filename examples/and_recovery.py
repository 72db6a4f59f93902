"""Recover topics exactly from documents whose topics are strongly mixed.

AND starts from rows that look pure and converges to the true topics, although every document mixes
several of them. The trace shows the threshold falling as the errors do.
"""

from __future__ import annotations

from provenmf import AND
from provenmf.datasets.and_descent import sample_dirichlet, topic_components
from provenmf.metrics.recovery import unit_distances


def run() -> float:
    """Fit, print what happened, and return the largest error of a topic."""
    topics = topic_components(n_components=15, n_columns=200, random_state=0)
    sample = sample_dirichlet(1000, topics, random_state=1)
    model = AND(15).fit(sample.data)
    print(f"{'stage':>5} {'threshold':>10} {'weights per row':>15} {'movement':>10}")
    trace = model.trace_
    for stage in range(len(trace)):
        print(
            f"{stage + 1:5d} {trace['alpha'][stage]:10.1e} {trace['support'][stage]:15.1f} "
            f"{trace['movement'][stage]:10.1e}"
        )
    largest = float(unit_distances(model.components_, topics).max())
    print(f"\nlargest distance of a found topic from the true one: {largest:.1e}\n")
    print(model.certificate_)
    return largest


if __name__ == "__main__":
    run()
