"""Euclidean projection on rows whose entries are capped by a multiple of one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from provenmf.linalg.compiled import njit


@njit(cache=True)
def project_capped_rows_in_place(usage: Any, sizes: Any) -> None:
    """Replace row i of `usage` by the nearest v with 0 ≤ v_j ≤ (s_j / s_i) t and t = v_i ≤ 1.

    For every row i of the n × n matrix; u is the row as it was, s = `sizes` ≥ 0. With the caps
    a_j = s_j / s_i and t given, the best v_j is u_j clipped to [0, a_j t], so only t is to be
    found: it is the zero of
        g(t) = t − u_i + Σ_{j ≠ i, u_j > a_j t} a_j (a_j t − u_j)
    clipped to [0, 1]. g increases and is concave (fewer and fewer terms count as t grows), so
    Newton steps from t = 0 come from the left, never overshoot, and end at the exact zero after
    finitely many: each but the last drops a term. A row of size zero is used by none.
    """
    n = usage.shape[0]
    above = np.empty(n, np.int64)  # the terms that still count
    for i in range(n):
        row = usage[i]
        if sizes[i] <= 0.0:
            row[:] = 0.0
            continue
        own, unit = row[i], 1.0 / sizes[i]
        count = 0
        for j in range(n):
            if row[j] > 0.0 and j != i:
                above[count] = j
                count += 1
        t = 0.0
        while True:
            slope, value = 1.0, own
            for place in range(count):
                j = above[place]
                cap = sizes[j] * unit
                slope += cap * cap
                value += cap * row[j]
            t = max(t, value / slope)
            left = 0
            for place in range(count):
                j = above[place]
                if row[j] > sizes[j] * unit * t:
                    above[left] = j
                    left += 1
            if left == count or t >= 1.0:
                break
            count = left
        t = min(t, 1.0)
        for j in range(n):
            row[j] = min(max(row[j], 0.0), sizes[j] * unit * t)
        row[i] = t
