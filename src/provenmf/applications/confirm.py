"""Confirm an answer on unseen rows: find it again in one half of them, judge it by the other."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from provenmf.arguments import checked
from provenmf.budget import blas_limited_to
from provenmf.certificate.evidence import (
    SPLITS,
    Halves,
    combine,
    confirm_components,
    split_units,
    without_judgement,
)
from provenmf.errors import InvalidInput
from provenmf.methods.certify import estimator_of
from provenmf.methods.unseen_rows import evidence_on_rows
from provenmf.results import Answer, Certificate, Factorization
from provenmf.results.estimates import Evidence

Result = TypeVar("Result", bound=Factorization | Answer)
Floats = NDArray[np.float64]

# Rare words make topics of two halves differ. Of pairs in drawn corpora that are nearest to each
# other, those from .6 to .8 are of one true topic as often as those beyond ("Confirmed also means
# found again" in docs/decisions.md).
ALIKE_TOPICS = 0.6
TILES = 200  # of an image: pixels beside each other are no independent rows


@checked()
def confirm(
    X: Any,
    result: Result,
    *,
    groups: ArrayLike | None = None,
    random_state: int = 0,
) -> Result:
    """Judge every component of a result on rows that were not used to find it.

    The answer is found again in two halves of the rows, which takes about as long as the fit. Each
    half judges what the other one found: does a component help to predict entries of new rows that
    the others cannot explain? The result's certificate then says for each component whether it is
    confirmed, with the probability of error, and how far the halves differ.

    Of a matrix with more than 20 000 rows, also on disk or on Dask, a random sample of 20 000 is
    read into this process and judged; the certificate says so.

    Parameters
    ----------
    X : object
        What the result was found in: a matrix, documents, graph, cube, images.
    result : Factorization or answer
        From `factorize`, an estimator's `factorization_`, `find_topics`, …
    groups : array (n_rows,), optional
        Group of each row (patient, author, image): rows of a group are kept together. Needed where
        they depend on each other. Pixels of a cube are grouped in tiles without it.
    random_state : int, default=0
        Seed of the splits.

    Returns
    -------
    Factorization or answer
        The same with `certificate.evidence`, which the verdict begins with.

    Examples
    --------
    >>> import numpy as np
    >>> from provenmf import confirm, factorize
    >>> rng = np.random.default_rng(0)
    >>> X = rng.dirichlet([0.3] * 3, 200) @ rng.random((3, 12)) + 0.01 * rng.random((200, 12))
    >>> confirm(X, factorize(X, 3, random_state=0)).certificate.evidence.judgements
    ('confirmed', 'confirmed', 'confirmed')
    """
    kind = result.kind if isinstance(result, Answer) else "matrix"
    judges = {"topics": _topics, "unmixing": _pixels, "communities": _nodes}
    judge = (judges | {"signatures": _tumors}).get(kind, _rows)
    with blas_limited_to(1):  # halves and a sample of rows are small; see `blas_threads_for`
        evidence = judge(X, result, groups, random_state)
    return with_evidence(result, evidence)


def with_evidence(result: Result, evidence: Evidence) -> Result:
    """Return the result with the evidence in its certificate.

    Error bars of components that are not confirmed get a note: they take them for real.
    """
    fit = result.factorization if isinstance(result, Answer) else result
    certificate = fit.certificate or Certificate(fit.method)
    fit = replace(fit, certificate=replace(certificate, evidence=evidence))
    rest = [str(j + 1) for j, word in enumerate(evidence.judgements) if word == "not confirmed"]
    notes = result.notes
    if rest and result.error_bars is not None:
        notes += (
            f"error bars assume that every {evidence.noun} is real, but unseen {evidence.row}s do "
            f"not confirm {evidence.noun} {', '.join(rest)}",
        )
    if isinstance(result, Answer):
        return replace(result, factorization=fit, notes=notes)
    return replace(fit, notes=notes)  # type: ignore[return-value]


def _rows(X: Any, result: Any, groups: Any, seed: int) -> Evidence:
    """Judge a factorization by its own method."""
    words = result.words if isinstance(result, Answer) else Answer.words
    if isinstance(result, Answer):
        X, result = result.matrix_of(X), result.factorization
    blocks = estimator_of(result)._blocks(X, reset=True)
    return evidence_on_rows(blocks, result, groups, seed, noun=words.component, row=words.row)


def _topics(documents: Any, result: Any, groups: Any, seed: int) -> Evidence:
    """Judge topics by documents whose words they did not see."""
    from provenmf.applications.topics.corpus import as_word_counts
    from provenmf.applications.topics.find import topics_again

    if result.corpus is not None:
        counts = result.corpus.matrix
    else:
        counts = as_word_counts(documents, None).matrix[:, result.word_columns]
    counts = sp.csr_array(counts.everything() if hasattr(counts, "everything") else counts)
    settings = replace(result.settings, n_topics=len(result.topics))
    return confirm_components(
        counts,
        lambda rows: topics_again(counts[rows], settings),
        result.topics,
        groups=groups,
        ways=2,  # anchor words or groups of documents
        alike=ALIKE_TOPICS,
        counts=True,
        distance=lambda a, b: 50.0 * float(np.abs(a / a.sum() - b / b.sum()).sum()),
        measure="%",
        entries="word probabilities",
        noun="topic",
        row="document",
        random_state=seed,
    )


def _pixels(cube: Any, result: Any, groups: Any, seed: int) -> Evidence:
    """Judge materials by pixels of other tiles of the image."""
    from provenmf.applications.unmixing.search import spectra_again
    from provenmf.io.images import as_cube

    pixels, tiles = as_cube(cube, shape=result.image_shape).pixels, groups is None
    if tiles:
        places = np.flatnonzero(result.pixel_mask)
        side = max(1, int(np.sqrt(len(places) / TILES)))
        line, column = np.divmod(places, result.image_shape[1])
        groups = (line // side) * result.image_shape[1] + column // side
    return confirm_components(
        pixels,
        lambda rows: spectra_again(pixels[rows], result),
        result.endmembers,
        groups=groups,
        ways=3,  # pixels or groups of them, means of the purest, corners of a simplex
        counts=False,
        entries="spectra",
        noun="material",
        row="pixel",
        unit="tile" if tiles else "group",
        splits=SPLITS,  # spectra are found in less time than they were chosen among ways
        random_state=seed,
    )


def _tumors(counts: Any, result: Any, groups: Any, seed: int) -> Evidence:
    """Judge signatures by channels of tumors that they did not see."""
    from provenmf.applications.signatures.extraction import extract
    from provenmf.applications.signatures.unseen import UnseenChannels
    from provenmf.certificate.judging import Counts

    values = result.matrix_of(counts)

    def find(rows: NDArray[np.intp]) -> Floats:
        part = values[rows]
        used = part[part.any(axis=1)]
        return extract(used, result.n_components, searches=1)[1].signatures  # more change little

    return confirm_components(
        values,
        find,
        result.signatures,
        groups=groups,
        losses=(UnseenChannels, Counts),  # sparse exposures miss much of few mutations
        entries="profiles",
        noun="signature",
        row="tumor",
        splits=1,  # each takes half as long as the search
        random_state=seed,
    )


def _nodes(graph: Any, result: Any, groups: Any, seed: int) -> Evidence:
    """Judge communities of one half of the nodes by the edges of the other half with it.

    Given their memberships, nodes of the other half have independent edges to the first half, and
    none of these edges was used to find its communities.
    """
    from provenmf.applications.communities.search import memberships_again
    from provenmf.certificate.judging import Counts, log_evalues, posterior_shares
    from provenmf.io.graphs import as_graph

    if groups is not None:
        raise InvalidInput(
            "cannot be named for the nodes of a graph",
            argument="groups",
            remedy="leave out {argument}",
        )
    adjacency = sp.csr_array(as_graph(graph).adjacency, dtype=np.float64)
    n, k = adjacency.shape[0], result.memberships.shape[1]
    units = np.arange(n)
    words: dict[str, Any] = {
        "measure": "%",
        "entries": "memberships",
        "noun": "community",
        "row": "node",
    }
    if n < 20 * k:
        reason = f"{n} nodes are too few to find {k} communities in half of them"
        return without_judgement(k, n, reason, words)
    rng = np.random.default_rng(seed)
    halves = split_units(units, rng)
    versions, judges = [], []
    for half, other in (halves, halves[::-1]):
        inside = sp.csr_array(adjacency[half][:, half])
        members = memberships_again(inside, k, result.memberships_from)
        profiles = np.asarray((inside.T @ members).T)
        toward = sp.csr_array(adjacency[:, half])
        judges.append(partial(log_evalues, toward, profiles, half, other, units, Counts, rng))
        shares = posterior_shares(toward, profiles)
        shares[half] = members
        versions.append(np.ascontiguousarray(shares.T))
    return combine(
        np.ascontiguousarray(np.asarray(result.memberships, dtype=np.float64).T),
        [Halves(versions, lambda side, _, *asked: judges[side](*asked))],
        n,
        ways=3,  # eigenvectors, labels and shares of links
        distance=lambda a, b: 100.0 * float(np.abs(a - b).sum() / max(a.sum() + b.sum(), 1e-300)),
        **words,
    )
