"""provenmf: nonnegative matrix factorization that you can trust.

Public names are resolved when first used, so that importing the package is quick. Type checkers and
editors read the imports below.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provenmf.advisor.automatic import factorize
    from provenmf.advisor.choose_rank import choose_rank
    from provenmf.advisor.diagnose import Diagnosis, diagnose
    from provenmf.advisor.new_rows import conformal_residual
    from provenmf.advisor.rank_choice import RankChoice
    from provenmf.advisor.stability import Stability, stability
    from provenmf.applications.communities import Communities, find_communities
    from provenmf.applications.parts import Parts, find_parts
    from provenmf.applications.topics import Topics, find_topics
    from provenmf.applications.unmixing import Unmixing, unmix
    from provenmf.budget import resources
    from provenmf.errors import (
        ClusterLost,
        DegenerateData,
        InvalidInput,
        MissingExtra,
        ProvenmfError,
        TooLarge,
        UnreadableFile,
    )
    from provenmf.estimators.and_descent import AND
    from provenmf.estimators.anls import ANLS
    from provenmf.estimators.certificate import certify
    from provenmf.estimators.component_errors import with_error_bars
    from provenmf.estimators.cones import ConeNMF
    from provenmf.estimators.fast_anchor import FastAnchor
    from provenmf.estimators.fast_gradient import FastGradient
    from provenmf.estimators.hals import HALS
    from provenmf.estimators.merit import MERIT
    from provenmf.estimators.poisson import PoissonNMF
    from provenmf.estimators.purification import Purification
    from provenmf.estimators.spa import SPA
    from provenmf.estimators.traits import Traits
    from provenmf.estimators.xray import XRAY
    from provenmf.io import load
    from provenmf.progress import Progress
    from provenmf.records import Certificate, Check, ErrorBars, Factorization, StopReason, Trace
    from provenmf.solvers.checkpoint import Checkpoint

__version__ = "0.1.0"

# name -> module that defines it; a test compares this with the imports above
_PUBLIC = {
    "AND": "estimators.and_descent",
    "Purification": "estimators.purification",
    "ConeNMF": "estimators.cones",
    "MERIT": "estimators.merit",
    "SPA": "estimators.spa",
    "XRAY": "estimators.xray",
    "FastAnchor": "estimators.fast_anchor",
    "FastGradient": "estimators.fast_gradient",
    "HALS": "estimators.hals",
    "ANLS": "estimators.anls",
    "PoissonNMF": "estimators.poisson",
    "factorize": "advisor.automatic",
    "certify": "estimators.certificate",
    "with_error_bars": "estimators.component_errors",
    "Traits": "estimators.traits",
    "Checkpoint": "solvers.checkpoint",
    "resources": "budget",
    "Progress": "progress",
    "load": "io",
    "diagnose": "advisor.diagnose",
    "Diagnosis": "advisor.diagnose",
    "conformal_residual": "advisor.new_rows",
    "choose_rank": "advisor.choose_rank",
    "RankChoice": "advisor.rank_choice",
    "stability": "advisor.stability",
    "Stability": "advisor.stability",
    "find_topics": "applications.topics",
    "Topics": "applications.topics",
    "find_communities": "applications.communities",
    "Communities": "applications.communities",
    "unmix": "applications.unmixing",
    "Unmixing": "applications.unmixing",
    "find_parts": "applications.parts",
    "Parts": "applications.parts",
    "Factorization": "records",
    "Certificate": "records",
    "Check": "records",
    "Trace": "records",
    "ErrorBars": "records",
    "StopReason": "records",
    "ProvenmfError": "errors",
    "ClusterLost": "errors",
    "InvalidInput": "errors",
    "UnreadableFile": "errors",
    "TooLarge": "errors",
    "MissingExtra": "errors",
    "DegenerateData": "errors",
}

__all__ = [
    "AND",
    "ANLS",
    "HALS",
    "MERIT",
    "SPA",
    "XRAY",
    "Certificate",
    "Check",
    "Checkpoint",
    "resources",
    "ClusterLost",
    "Communities",
    "ConeNMF",
    "DegenerateData",
    "Diagnosis",
    "ErrorBars",
    "Factorization",
    "FastAnchor",
    "FastGradient",
    "InvalidInput",
    "MissingExtra",
    "Parts",
    "PoissonNMF",
    "Progress",
    "ProvenmfError",
    "Purification",
    "RankChoice",
    "Stability",
    "StopReason",
    "TooLarge",
    "Topics",
    "Trace",
    "Traits",
    "Unmixing",
    "UnreadableFile",
    "__version__",
    "certify",
    "choose_rank",
    "conformal_residual",
    "diagnose",
    "factorize",
    "find_communities",
    "find_parts",
    "find_topics",
    "load",
    "stability",
    "unmix",
    "with_error_bars",
]


def __getattr__(name: str) -> object:
    if name in _PUBLIC:
        return getattr(import_module(f"provenmf.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'provenmf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
