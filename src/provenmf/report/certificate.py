"""The certificate in plain words: what is proved, which conditions hold, what is unknown."""

from __future__ import annotations

from provenmf.records import Certificate, Check, in_digits
from provenmf.records.verdict import FROM_FILE, is_good_news
from provenmf.report.elements import Element, Paragraph, Statement, Statements, Table

# What the measured quantities mean.
MEANING = {
    "relative_error": "relative error of the factorization, ‖X − WC‖ / ‖X‖",
    "weights_optimality_residual": "how far the weights are from the best ones for these "
    "components (0 is best)",
    "components_optimality_residual": "how far the components are from the best ones for these "
    "weights (0 is best)",
    "separability_residual": "largest distance of a row to the mixtures of the anchors, as a share "
    "of the longest row",
    "typical_separability_residual": "median distance of a row to the mixtures of the anchors, as "
    "a share of the longest row",
    "components_smallest_stretch": "how far a row moves, at least, when its weights move by a "
    "length of 1",
    "smallest_singular_value": "smallest singular value of the components",
    "anchor_margin": "distance of an anchor to the mixtures of all other rows, at least",
    "anchor_margin_of_scaled_rows": "distance of an anchor to the mixtures of all other rows, at "
    "least; all rows divided by their sums",
    "rows_near_anchors": "number of rows so near to an anchor that they count as the same",
    "radius_of_rows_near_anchors": "largest distance of these rows from their anchor",
    "radius_of_rows_near_anchors_of_scaled_rows": "largest distance of these rows from their "
    "anchor, all rows divided by their sums",
    "anchors_beyond_twice_the_residual": "anchors that stand out by more than twice the largest "
    "residual",
    "size_angles": "size angles of the cones, in radians",
    "smallest_axis_angle": "smallest angle between two axes, in radians",
    "largest_sine": "largest sine of a size angle",
    "size_angles_slack": "by how much a size angle could be smaller, at most, in radians",
    "relative_distance_from_axes": "distance of the rows from the axes of their cones, relative to "
    "their length",
    "rows_coded_outside_their_cluster": "rows whose nearest component is not their cluster's",
    "angle_of_last_centroid": "angle at which the last centroid was chosen, in radians",
    "largest_angle_to_centroid": "largest angle of a row to its centroid, in radians",
    "drop_over_largest_drop_before": "how clearly the angles speak for this number of cones (above "
    "1: more than for any smaller one)",
    "core_size_angle": "size angle with which equal cones around the mean directions would be far "
    "enough apart",
    "core_share_of_rows": "share of the rows that lie in these cones",
    "core_share_of_energy": "share of the squared length of all rows that lies in them",
    "kappa": "κ: least distance of an anchor to the mixtures of the other anchors",
    "purest_other_row": "largest weight of an anchor in a row that is not an anchor (1: also pure)",
    "delta": "δ: largest distance of a row to the mixtures of the anchors",
    "rho": "ρ: the largest squared distance over the mean one",
    "gamma": "γ: length of the longest anchor",
    "robustness": "γ: least distance of a component to the affine hull of the others, as a share "
    "of the longest row",
    "gcc_r": "r: largest sum of the weights of a row, each component's largest weight being 1",
    "gcc_k": "k: the mean squared weight of each of the D components is at most 2k/D",
    "gcc_m": "m: the mean product of two components' weights is at most m/D²",
    "gcc_lambda": "λ: the second moments of the weights have no eigenvalue below λk/D",
    "C1": "C₁: k times the largest mean of a weight, weights in [0, 1]",
    "c2": "c₂: k times the smallest mean square of a weight",
    "C2": "C₂: k times the largest mean square of a weight",
    "C_nu": "C_ν: largest entry of the noise, features having size one",
    "inverse_infinity_norm": "‖A†‖_∞: by how much decoding can enlarge the noise",
    "inverse_infinity_norm_moore_penrose": "the same for the Moore-Penrose inverse",
    "noise_level": "root mean square length of the residual of a row",
    "noise_blow_up": "factor by which noise can be enlarged (Theorem 5)",
    "divergence": "Kullback-Leibler divergence of the data from the product, D(X || WC)",
    "deviance_explained": "share of the divergence from the product of the margins that is "
    "explained",
    "decay_order_q": "order q of decay of the weights",
}
# What is proved, as the beginning of a sentence that ends with the value.
PROVED = {
    "relative_error_lower_bound": "the relative error of any factorization of this rank is at "
    "least",
    "weight_movement_per_row_movement": "a row that moves by a length of 1 moves its weights by at "
    "most",
    "relative_error_gap": "any other factorization of this rank lowers the relative error by at "
    "most",
    "relative_error": "the relative error is at most",
    "relative_error_max_form": "in the simpler form of the theorem, the relative error is at most",
    "relative_error_of_these_clusters": "with these clusters, the relative error is at most",
    "noise_that_all_anchors_survive": "each anchor is a corner of the noise-free data, not a "
    "mixture of other rows, if noise changed no row by more than",
    "noise_that_all_anchors_or_rows_near_them_survive": "each anchor, or a row as near to it as "
    "stated below, is a corner of the noise-free data, if noise changed no row by more than",
    "noise_of_scaled_rows_that_all_anchors_survive": "each anchor is a corner of the noise-free "
    "data, if noise changed no row, divided by its sum, by more than",
    "noise_of_scaled_rows_that_all_anchors_or_rows_near_them_survive": "each anchor, or a row as "
    "near to it as stated below, is a corner of the noise-free data, if noise changed no row, "
    "divided by its sum, by more than",
    "share_of_any_component_that_can_change": "each of any other nonnegative parts with the same "
    "product differs from one of these in a share of its mass of at most",
    "mixing_of_any_other_factorization": "any other nonnegative parts with the same product are "
    "mixtures of these; the root of the sum of squares of the shares mixed in is at least",
    "components_proved_unique": "number of components that every nonnegative factorization of the "
    "same product contains",
    "distance_of_any_row_to_the_anchors_hull": "the distance of every row to the mixtures of the "
    "anchors is at most",
    "divergence_lower_bound": "the divergence of any two factors of this rank is at least",
    "divergence_above_best_weights": "other weights of these components lower the divergence by "
    "at most",
    "divergence_above_best_components": "other components lower the divergence for these weights "
    "by at most",
}


def meaning(name: str) -> str:
    """A measured quantity in words."""
    return MEANING.get(name, name.replace("_", " "))


def proved(name: str) -> str:
    """A proved bound in words."""
    return PROVED.get(name, meaning(name))


def headline(certificate: Certificate) -> list[str]:
    """The verdict, where the certificate comes from, and how many conditions are met."""
    sentences = [certificate.verdict]
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


def certificate_elements(certificate: Certificate | None, matrix: str = "") -> list[Element]:
    """The elements of the third tab; `matrix` says in words what was factorized."""
    if certificate is None:
        return [
            Paragraph(
                "This result has no certificate. Either it was made with certify=False "
                "(`provenmf certify` computes a certificate from the result and its data), or the "
                "method has none.",
                "note",
            )
        ]
    sentences = headline(certificate)
    elements: list[Element] = [
        Paragraph(sentences[0], "good" if is_good_news(certificate) else "note"),
        *(Paragraph(sentence) for sentence in sentences[1:]),
    ]
    elements.append(Paragraph(words_explained(certificate)))
    if matrix:
        elements.append(
            Paragraph(f"The certificate is about the matrix that was factorized: {matrix}.")
        )
    for status, (title, caption) in STATUS.items():
        checks = [check for check in certificate.checks if check.status == status]
        if checks:
            elements.append(Statements(title, [_statement(c) for c in checks], caption))
    if certificate.bounds:
        rows = [(proved(name), in_digits(value)) for name, value in certificate.bounds.items()]
        elements.append(Table("What follows", ("proved for this data", "value"), rows))
    rows = [(meaning(name), in_digits(value)) for name, value in certificate.measures.items()]
    if certificate.estimates:
        estimated = [
            (meaning(name), in_digits(e.value), f"{e.confidence:.3g}", e.assumes)
            for name, e in certificate.estimates.items()
        ]
        columns = ("estimated", "value", "confidence", "if")
        elements.append(Table("Estimated", columns, estimated))
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
    """The words of the field that this certificate uses, before their first use."""
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


def margin(check: Check) -> str:
    """How far the value is on its side of the threshold, as a factor."""
    value, threshold = check.value, check.threshold
    if value is None or threshold is None or check.status == "unknown":
        return ""
    low, high = sorted((value, threshold))
    if low <= 0:
        return ""
    return f", {'met' if check.status == 'holds' else 'missed'} by a factor of {high / low:.3g}"


def _statement(check: Check) -> Statement:
    measured = f"measured {in_digits(check.value)}" if check.value is not None else "not measured"
    if check.threshold is not None:
        side = "at least" if check.direction == ">=" else "at most"
        measured += f", needed {side} {in_digits(check.threshold)}{margin(check)}"
    return Statement(check.status, check.name, check.theorem, measured, check.note)
