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
    'It was stopped by the callback.'
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
    StopReason.CONVERGED: "It stopped by itself: the last iterations changed nothing that matters.",
    StopReason.MAX_ITER: "It stopped at the largest number of iterations allowed; more might "
    "change the result.",
    StopReason.INTERRUPTED: "It was interrupted; this is the best answer until then.",
    StopReason.CALLBACK: "It was stopped by the callback.",
    StopReason.ALL_CENTROIDS: "It found as many components as were asked for.",
    StopReason.ALL_DIRECTIONS: "It stopped because every direction of the data has a component.",
    StopReason.NOTHING_TO_PROJECT: "It stopped because the anchors explain every row.",
    StopReason.NOTHING_TO_SPAN: "It stopped because the anchors explain every row.",
    StopReason.NOTHING_OUTSIDE: "It stopped because the anchors explain every row.",
    StopReason.NO_WEIGHTS: "It stopped because no row has a weight above the threshold.",
    StopReason.DEPENDENT: "It stopped because the features became linearly dependent; those of "
    "the iteration before are kept.",
}
