"""provenmf: nonnegative matrix factorization that you can trust.

Public names are resolved when first used, so that importing the package is quick. Type checkers and
editors read the imports below.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provenmf.advice.automatic import factorize
    from provenmf.advice.choose_rank import RankChoice, choose_rank
    from provenmf.advice.diagnose import Diagnosis, diagnose
    from provenmf.advice.stability import Stability, conformal_residual, stability
    from provenmf.applications.communities import Communities, find_communities
    from provenmf.applications.confirm import confirm
    from provenmf.applications.parts import Parts, find_parts
    from provenmf.applications.signatures import Signatures, find_signatures
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
    from provenmf.io import load
    from provenmf.methods.alternating.estimator import ANLS, HALS
    from provenmf.methods.and_descent.estimator import AND
    from provenmf.methods.certify import certify
    from provenmf.methods.checkpoint import Checkpoint
    from provenmf.methods.cones.estimator import ConeNMF
    from provenmf.methods.error_bars import with_error_bars
    from provenmf.methods.merit.estimator import MERIT
    from provenmf.methods.poisson.estimator import PoissonNMF
    from provenmf.methods.purification.estimator import Purification
    from provenmf.methods.separable.fast_anchor import FastAnchor
    from provenmf.methods.separable.fast_gradient import FastGradient
    from provenmf.methods.separable.spa import SPA
    from provenmf.methods.separable.xray import XRAY
    from provenmf.methods.traits import Traits
    from provenmf.progress import Progress
    from provenmf.results import Certificate, Check, ErrorBars, Factorization, StopReason, Trace

__version__ = "0.1.0"

# name -> module that defines it; a test compares this with the imports above
_PUBLIC = {
    "AND": "methods.and_descent.estimator",
    "Purification": "methods.purification.estimator",
    "ConeNMF": "methods.cones.estimator",
    "MERIT": "methods.merit.estimator",
    "SPA": "methods.separable.spa",
    "XRAY": "methods.separable.xray",
    "FastAnchor": "methods.separable.fast_anchor",
    "FastGradient": "methods.separable.fast_gradient",
    "HALS": "methods.alternating.estimator",
    "ANLS": "methods.alternating.estimator",
    "PoissonNMF": "methods.poisson.estimator",
    "factorize": "advice.automatic",
    "confirm": "applications.confirm",
    "certify": "methods.certify",
    "with_error_bars": "methods.error_bars",
    "Traits": "methods.traits",
    "Checkpoint": "methods.checkpoint",
    "resources": "budget",
    "Progress": "progress",
    "load": "io",
    "diagnose": "advice.diagnose",
    "Diagnosis": "advice.diagnose",
    "conformal_residual": "advice.stability",
    "choose_rank": "advice.choose_rank",
    "RankChoice": "advice.choose_rank",
    "stability": "advice.stability",
    "Stability": "advice.stability",
    "find_topics": "applications.topics",
    "Topics": "applications.topics",
    "find_communities": "applications.communities",
    "Communities": "applications.communities",
    "unmix": "applications.unmixing",
    "Unmixing": "applications.unmixing",
    "find_parts": "applications.parts",
    "find_signatures": "applications.signatures",
    "Signatures": "applications.signatures",
    "Parts": "applications.parts",
    "Factorization": "results",
    "Certificate": "results",
    "Check": "results",
    "Trace": "results",
    "ErrorBars": "results",
    "StopReason": "results",
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
    "Signatures",
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
    "confirm",
    "conformal_residual",
    "diagnose",
    "factorize",
    "find_communities",
    "find_parts",
    "find_signatures",
    "find_topics",
    "load",
    "stability",
    "unmix",
    "with_error_bars",
]


def __getattr__(name: str) -> object:
    if name in _PUBLIC:
        return getattr(import_module(f"provenmf.{_PUBLIC[name]}"), name)
    if name == "tl":
        return import_module("provenmf.tl")
    raise AttributeError(f"module 'provenmf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
