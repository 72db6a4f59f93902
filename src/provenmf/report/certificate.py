"""The certificate in plain words: what is proved, which conditions hold, what is unknown."""

from __future__ import annotations

from provenmf.report.elements import Element, Paragraph, Table
from provenmf.results import Certificate, Check, in_digits
from provenmf.results.certificate import meaning, proved
from provenmf.results.verdict import FROM_FILE, headline

FIRST_SCREEN = 2  # sentences of the verdict; the others begin the tab


def summary(certificate: Certificate) -> list[str]:
    """Return where the certificate comes from, and how many conditions are met."""
    sentences = []
    if not certificate.recomputed:
        sentences.append(f"{FROM_FILE} `provenmf certify` recomputes it.")
    if certificate.checks:
        count = {status: sum(c.status == status for c in certificate.checks) for status in STATUS}
        sentences.append(
            f"Conditions of the theory: {count['holds']} met, {count['fails']} not met, "
            f"{count['unknown']} that cannot be decided."
        )
    return sentences


STATUS = {
    "holds": ("Conditions that hold", "Measured on this data, and met."),
    "fails": (
        "Conditions that fail",
        "Measured on this data, and not met: the theorem says nothing here. The result may still "
        "be good.",
    ),
    "unknown": (
        "What is unknown",
        "These cannot be decided from the data, for example because the theorem hides a "
        "constant. They never count as met.",
    ),
}


HEADER = ("condition", "theorem", "value", "")


def certificate_elements(certificate: Certificate | None, matrix: str = "") -> list[Element]:
    """Return the elements of the third tab; `matrix` says in words what was factorized."""
    if certificate is None:
        return [
            Paragraph(
                "This result has no certificate. Either it was made with certify=False "
                "(`provenmf certify` computes a certificate from the result and its data), or the "
                "method has none.",
                "note",
            )
        ]
    more = headline(certificate)[FIRST_SCREEN:]
    sentences = [*more, *summary(certificate), words_explained(certificate)]
    elements: list[Element] = [Paragraph(sentence) for sentence in sentences]
    if matrix:
        elements.append(
            Paragraph(f"The certificate is about the matrix that was factorized: {matrix}.")
        )
    for status, (title, caption) in STATUS.items():
        checks = [check for check in certificate.checks if check.status == status]
        if checks:
            elements.append(Table(title, HEADER, [_row(check) for check in checks], caption))
    if certificate.bounds:
        rows = [(proved(name), in_digits(value)) for name, value in certificate.bounds.items()]
        elements.append(Table("What follows", ("proved for this data", "value"), rows))
    rows = [(meaning(name), in_digits(value)) for name, value in certificate.measures.items()]
    elements.append(
        Table(
            "Measured",
            ("quantity", "value"),
            rows,
            "Computed from the data and the result, without assumptions.",
        )
    )
    return elements


def words_explained(certificate: Certificate) -> str:
    """Return the words of the field that this certificate uses, before their first use."""
    text = (
        "A certificate says what is proved about this fit, what is only measured, and what cannot "
        "be decided. It is computed from the data and the result."
    )
    used = " ".join([*certificate.bounds, *certificate.measures])
    used += " ".join(f"{check.name} {check.note}" for check in certificate.checks)
    if "anchor" in used or "separab" in used:
        text += (
            " An anchor is a row of the data that consists of one component only. Data are "
            "separable if every component has an anchor; all other rows are then mixtures of the "
            "anchors."
        )
    return text


def _row(check: Check) -> tuple[str, ...]:
    measured = f"measured {in_digits(check.value)}" if check.value is not None else "not measured"
    if check.threshold is not None:
        side = "at least" if check.direction == ">=" else "at most"
        measured += f", needed {side} {in_digits(check.threshold)}"
    return check.name, check.theorem, measured, check.note
