"""Why a method stopped."""

from __future__ import annotations

from enum import StrEnum


class StopReason(StrEnum):
    """Why a method stopped; a text that files and JSON keep, with a sentence for readers.

    Examples
    --------
    >>> from provenmf import StopReason
    >>> StopReason("max_iter") is StopReason.MAX_ITER
    True
    >>> StopReason.CALLBACK.sentence
    'The callback stopped the fit.'
    """

    UNKNOWN = ""
    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    INTERRUPTED = "interrupted"
    CALLBACK = "callback"
    ALL_CENTROIDS = "all centroids chosen"
    ALL_DIRECTIONS = "all directions found"
    NOTHING_TO_PROJECT = "nothing left to project"
    NOTHING_TO_SPAN = "nothing left to span"
    NOTHING_OUTSIDE = "nothing left outside the cone"
    NO_WEIGHTS = "no row has a weight above the threshold"
    DEPENDENT = "features_became_dependent"

    @property
    def sentence(self) -> str:
        """What happened, for readers; empty where that is not known."""
        return _SENTENCES[self]

    @classmethod
    def _missing_(cls, value: object) -> StopReason:
        """A reason that this version does not know, from a file of another one."""
        return cls.UNKNOWN


_SENTENCES = {
    StopReason.UNKNOWN: "",
    StopReason.CONVERGED: "The fit converged: the last iterations changed almost nothing.",
    StopReason.MAX_ITER: "The fit stopped at the maximum number of iterations; more might "
    "change the result.",
    StopReason.INTERRUPTED: "The fit was interrupted; this is the best result so far.",
    StopReason.CALLBACK: "The callback stopped the fit.",
    StopReason.ALL_CENTROIDS: "The fit found as many components as you asked for.",
    StopReason.ALL_DIRECTIONS: "The fit stopped because every direction of the data has a "
    "component.",
    StopReason.NOTHING_TO_PROJECT: "The fit stopped because the anchors explain every row.",
    StopReason.NOTHING_TO_SPAN: "The fit stopped because the anchors explain every row.",
    StopReason.NOTHING_OUTSIDE: "The fit stopped because the anchors explain every row.",
    StopReason.NO_WEIGHTS: "The fit stopped because no row has a weight above the threshold.",
    StopReason.DEPENDENT: "The fit stopped because the features became linearly dependent; those "
    "of the iteration before are kept.",
}
