"""Figures of Nguyen22 as printed and of its authors' programs, from published.toml."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

_TEXT = resources.files("provenmf.reproduce").joinpath("published.toml").read_text("utf-8")
_FOUND: dict[str, Any] = tomllib.loads(_TEXT)

AUTHORS_METHODS = ("SPA", "FastGradient", "MERIT")
# SNR -> success rates of these methods by the authors' programs.
AUTHORS_FIG2 = {int(snr): tuple(rates) for snr, rates in _FOUND["authors_fig2"].items()}
AUTHORS_FIG4 = {int(snr): tuple(rates) for snr, rates in _FOUND["authors_fig4"].items()}
# K -> success rates, MRSA and RAE of these methods.
PRINTED_TABLE1 = {int(k): measures for k, measures in _FOUND["table1"].items()}
TOPIC_SIZES = (3, 4, 5, 6, 7, 8, 9, 10)
# measure -> corpus -> method -> values by K.
PRINTED_TOPICS: dict[str, dict[str, dict[str, list[float]]]] = _FOUND["table2"]
# Number of communities of each network; method -> network -> SRC.
NETWORK_SIZES = {1: 6, 2: 3, 3: 3, 4: 3}
PRINTED_SPEARMAN = {
    method: dict(zip(NETWORK_SIZES, scores)) for method, scores in _FOUND["table4"].items()
}
