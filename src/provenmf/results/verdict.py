"""A certificate for readers: the verdict in plain words, and the printed form that begins with it.

The verdict is formed from the certificate's own numbers and from the sentences of its checks, so
that print, JSON, notebook and page say the same.
"""

from __future__ import annotations

import re
from textwrap import wrap

from provenmf.results.certificate import (
    Certificate,
    Check,
    in_digits,
    rounded_down,
    rounded_up,
)
from provenmf.results.estimates import Evidence

WIDTH = 80
DEEP = " " * 10
NOTHING_PROVED = "Nothing is proved about the components themselves on this data."
FROM_FILE = "This certificate was read from a file and not recomputed from the data."
# Bounds that speak of the parts, and theorems of checks whose sentences do not.
ABOUT_PARTS = {"unique_components", "other_fit_mixing"}
OF_NO_PARTS = {"projections", "Eckart-Young"}
WARNINGS = {"fingerprint", "definition", "observed entries"}
MOST_SENTENCES = 3
ROUNDING = 1e-12  # relative errors of exact fits
LITTLE = 0.005  # share of the error that is not worth another fit


def verdict(certificate: Certificate) -> str:
    """Return which components are real and how far off they are, as far as that was examined."""
    return " ".join(headline(certificate))


def headline(certificate: Certificate) -> list[str]:
    """Return the verdict, at most three sentences, most important first.

    These are the evidence on unseen rows, and the fit where the components are of the user's own
    matrix. Without evidence they are warnings, the fit and what is known of the parts.
    """
    evidence = certificate.evidence
    if evidence is None:
        return _first_sentences(statements(certificate))
    if evidence.reason:  # nothing could be judged: theory says more where the matrix is the user's
        theory = statements(certificate) if evidence.noun in ("component", "part") else []
        return _first_sentences([*evidence.sentences(), *theory])
    fit = fit_sentences(certificate) if evidence.noun == "component" else []
    return [*evidence.sentences(), *fit][:MOST_SENTENCES]


def details(certificate: Certificate) -> list[str]:
    """Return the statements about the factorized matrix that the verdict leaves out."""
    said = headline(certificate)
    return [text for text in statements(certificate) if text not in said]


def _first_sentences(texts: list[str]) -> list[str]:
    """Return the first sentence of each text, as many as a verdict has."""
    return [re.split(r"(?<=[a-z%)\d]\.) (?=[A-Z0-9])", text)[0] for text in texts[:MOST_SENTENCES]]


def statements(certificate: Certificate) -> list[str]:
    """Return what is known of the factorized matrix: warnings, the fit, the parts, the weights."""
    said = [check for check in certificate.checks if check.in_words]
    warnings = [check.in_words for check in said if check.theorem in WARNINGS]
    parts = [check.in_words for check in said if check.theorem not in WARNINGS | OF_NO_PARTS]
    others = [check.in_words for check in said if check.theorem in OF_NO_PARTS]
    if not parts and not ABOUT_PARTS & certificate.bounds.keys():
        parts = [NOTHING_PROVED]
    return list(dict.fromkeys([*warnings, *fit_sentences(certificate), *parts, *others]))


def is_good_news(certificate: Certificate) -> bool:
    """Return whether something is established in plain words and nothing in them fails."""
    said = [check.status for check in certificate.checks if check.in_words]
    return "holds" in said and "fails" not in said


def fit_sentences(certificate: Certificate) -> list[str]:
    """Describe the error, the least possible one of this rank, and what could be gained.

    A fit of maximum likelihood is described by its deviance, not by least squares.
    """
    explained = certificate.measures.get("negative_binomial_deviance_explained")
    if isinstance(explained, float):
        return [
            f"The factors explain {100 * max(explained, 0.0):.1f} % of the negative binomial "
            "deviance from independent rows and columns."
        ]
    explained = certificate.measures.get("deviance_explained")
    divergence = certificate.measures.get("divergence")
    if isinstance(explained, float) and isinstance(divergence, float):
        gaps = [
            certificate.bounds.get(f"{factor}_divergence_gap", 0.0)
            for factor in ("weights", "components")
        ]
        share = max(gaps) / divergence if divergence > 0 else 0.0
        percent = f"{100 * explained:.1f} %"
        fit = f"The factors explain {percent} of the deviance from independent rows and columns"
        if explained < 0.0005:
            how = "worse than" if explained <= -0.0005 else "as well as"
            fit = f"The factors fit {how} independent rows and columns would"
        return [
            f"{fit}; better weights alone, or better components alone, would lower the divergence "
            f"by at most {rounded_up(100 * share)} %."
        ]
    error = certificate.measures.get("relative_error")
    lower = certificate.bounds.get("relative_error_lower_bound")
    gap = certificate.bounds.get("relative_error_gap")
    if not isinstance(error, float):
        return []
    text = f"The relative error is {in_digits(error)}"
    if lower is None or gap is None:
        return [f"{text}."]
    if error > 1:
        return [f"{text}: all zeros would be nearer to the data than this product."]
    if error <= ROUNDING:
        return ["The fit is exact up to rounding."]
    if lower == 0:
        return [f"{text}; nothing rules out an exact fit of this rank."]
    if gap <= LITTLE * error:
        return [
            f"{text}, and hardly less is possible: no factorization of this rank lowers it by more "
            f"than {rounded_up(gap)}."
        ]
    return [
        f"{text}; no factorization of this rank is below {rounded_down(lower)}, so a better fit "
        f"could lower it by at most {rounded_up(gap)}."
    ]


def printed(certificate: Certificate) -> str:
    """Return the certificate as text: verdict, conditions, and the three kinds of numbers."""
    lines = [f"Certificate of {certificate.method}", ""]
    lines += wrap(certificate.verdict, WIDTH, initial_indent="  ", subsequent_indent="  ")
    behind = " ".join(details(certificate))
    if behind:
        lines += ["", *wrap(behind, WIDTH, initial_indent="  ", subsequent_indent="  ")]
    if certificate.evidence is not None:
        lines += ["", *_evidence_lines(certificate.evidence)]
    if not certificate.recomputed:
        lines += ["", f"  {FROM_FILE}"]
    if certificate.checks:
        lines += ["", f"  {'status':8}{'condition':31}{'theorem':17}{'value':>9} needed"]
        for check in certificate.checks:
            lines += _check_lines(check)
    meanings = certificate.meanings()
    kinds = (("Proved", certificate.bounds), ("Measured", certificate.measures))
    for title, values in kinds:
        if values:
            lines += ["", f"  {title}"]
            for name, value in values.items():
                lines.append(f"    {name:40} {in_digits(value)}")
                lines += wrap(meanings[name], WIDTH, initial_indent=DEEP, subsequent_indent=DEEP)
    if not certificate.bounds:
        lines += ["", "  Proved: nothing on this data"]
    return "\n".join(lines)


def _evidence_lines(evidence: Evidence) -> list[str]:
    """Return a line for each component: judgement, error probability, distance of the halves."""
    lines = [f"  {evidence.noun:12}{'judgement':24}{'error probability':>18}  halves differ by"]
    for j, probability in enumerate(evidence.error_probabilities):
        apart = in_digits(evidence.distances[j])
        judged = f"{evidence.in_words(j):24}{probability:>18.2g}"
        lines.append(f"  {j + 1:<12}{judged}  {apart} {evidence.measure}")
    text = f"if {evidence.assumes}"
    if evidence.sampled_from:
        text += f"; from a random sample of the {evidence.sampled_from:,} {evidence.row}s"
    return [*lines, *wrap(text, WIDTH, initial_indent=DEEP, subsequent_indent=DEEP)]


def _check_lines(check: Check) -> list[str]:
    needed = "" if check.threshold is None else f"{check.direction} {in_digits(check.threshold)}"
    value = in_digits(check.value)
    numbers = f" {value:>9} {needed}"
    if len(check.name) <= 30 and len(check.theorem) <= 16:
        lines = [f"  {check.status:8}{check.name:30} {check.theorem:16}{numbers}".rstrip()]
    else:  # names that are too long get a separate line
        lines = [f"  {check.status:8}{check.name}, {check.theorem}"]
        lines += [f"{'':57}{numbers}".rstrip()]
    return [*lines, *wrap(check.note, WIDTH, initial_indent=DEEP, subsequent_indent=DEEP)]
