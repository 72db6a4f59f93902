"""provenmf: nonnegative matrix factorization that you can trust.

Public names are resolved when first used, so that importing the package is quick. Type checkers and
editors read the imports below. Nothing else is imported here: until the command line can handle it,
Ctrl-C would end in a traceback.
"""

TYPE_CHECKING = False

if TYPE_CHECKING:
    from provenmf.advice.automatic import factorize as factorize
    from provenmf.advice.choose_rank import choose_rank as choose_rank
    from provenmf.advice.diagnose import diagnose as diagnose
    from provenmf.advice.stability import stability as stability
    from provenmf.applications.communities import (
        Communities as Communities,
        find_communities as find_communities,
    )
    from provenmf.applications.confirm import confirm as confirm
    from provenmf.applications.parts import Parts as Parts, find_parts as find_parts
    from provenmf.applications.signatures import (
        Signatures as Signatures,
        find_signatures as find_signatures,
    )
    from provenmf.applications.topics import Topics as Topics, find_topics as find_topics
    from provenmf.applications.unmixing import Unmixing as Unmixing, unmix as unmix
    from provenmf.budget import resources as resources
    from provenmf.errors import (
        DegenerateData as DegenerateData,
        InvalidInput as InvalidInput,
        ProvenmfError as ProvenmfError,
    )
    from provenmf.io.records import load as load
    from provenmf.methods.alternating.estimator import ANLS as ANLS, HALS as HALS
    from provenmf.methods.and_descent.estimator import AND as AND
    from provenmf.methods.certify import certify as certify
    from provenmf.methods.checkpoint import Checkpoint as Checkpoint
    from provenmf.methods.cones.estimator import ConeNMF as ConeNMF
    from provenmf.methods.error_bars import with_error_bars as with_error_bars
    from provenmf.methods.merit.estimator import MERIT as MERIT
    from provenmf.methods.min_vol.estimator import MinVol as MinVol
    from provenmf.methods.poisson.estimator import PoissonNMF as PoissonNMF
    from provenmf.methods.purification.estimator import Purification as Purification
    from provenmf.methods.separable.fast_gradient import FastGradient as FastGradient
    from provenmf.methods.separable.spa import SPA as SPA, FastAnchor as FastAnchor
    from provenmf.methods.separable.xray import XRAY as XRAY
    from provenmf.results import Certificate as Certificate, Factorization as Factorization

__version__ = "0.2.0.dev0"

# module -> public names that it defines; a test compares this with the imports above
_PUBLIC = {
    "advice.automatic": ("factorize",),
    "advice.choose_rank": ("choose_rank",),
    "advice.diagnose": ("diagnose",),
    "advice.stability": ("stability",),
    "applications.communities": ("Communities", "find_communities"),
    "applications.confirm": ("confirm",),
    "applications.parts": ("Parts", "find_parts"),
    "applications.signatures": ("Signatures", "find_signatures"),
    "applications.topics": ("Topics", "find_topics"),
    "applications.unmixing": ("Unmixing", "unmix"),
    "budget": ("resources",),
    "errors": ("DegenerateData", "InvalidInput", "ProvenmfError"),
    "io.records": ("load",),
    "methods.alternating.estimator": ("ANLS", "HALS"),
    "methods.and_descent.estimator": ("AND",),
    "methods.certify": ("certify",),
    "methods.checkpoint": ("Checkpoint",),
    "methods.cones.estimator": ("ConeNMF",),
    "methods.error_bars": ("with_error_bars",),
    "methods.merit.estimator": ("MERIT",),
    "methods.min_vol.estimator": ("MinVol",),
    "methods.poisson.estimator": ("PoissonNMF",),
    "methods.purification.estimator": ("Purification",),
    "methods.separable.fast_gradient": ("FastGradient",),
    "methods.separable.spa": ("SPA", "FastAnchor"),
    "methods.separable.xray": ("XRAY",),
    "results": ("Certificate", "Factorization"),
}

__all__ = ["__version__", *(name for names in _PUBLIC.values() for name in names)]


def __getattr__(name: str) -> object:
    from importlib import import_module

    for module, names in _PUBLIC.items():
        if name in names:
            return getattr(import_module(f"provenmf.{module}"), name)
    if name == "tl":
        return import_module("provenmf.tl")
    raise AttributeError(f"module 'provenmf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
