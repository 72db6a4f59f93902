"""A sentence for each number that a certificate can hold.

Certificates name their numbers by short identifiers. This table says what each of them means; the
printed certificate, the report and JSON all read it.
"""

from __future__ import annotations

# Measured: the quantity.
MEASURED = {
    "relative_error": "relative error of the factorization, ‖X − WC‖ / ‖X‖",
    "weights_optimality_residual": "how far the weights are from the best ones for these "
    "components (0 is best)",
    "components_optimality_residual": "how far the components are from the best ones for these "
    "weights (0 is best)",
    "separability_residual": "largest distance of a row to the mixtures of the anchors, as a share "
    "of the longest row",
    "typical_separability_residual": "median distance of a row to the mixtures of the anchors, as "
    "a share of the longest row",
    "component_amplification": "by how much the least-squares weight of each component moves, at "
    "most, when a row moves by a length of 1",
    "smallest_singular_value": "smallest singular value of the components",
    "anchor_margin": "distance of an anchor to the mixtures of all other rows, at least",
    "scaled_anchor_margin": "distance of an anchor to the mixtures of all other rows, at "
    "least; all rows divided by their sums",
    "rows_near_anchors": "number of rows so near to an anchor that they count as the same",
    "anchor_radius": "largest distance of these rows from their anchor",
    "scaled_anchor_radius": "largest distance of these rows from their "
    "anchor, all rows divided by their sums",
    "anchors_that_stand_out": "anchors that stand out by more than twice the largest residual",
    "size_angles": "size angles of the cones, in radians",
    "smallest_axis_angle": "smallest angle between two axes, in radians",
    "largest_sine": "largest sine of a size angle",
    "size_angles_slack": "by how much a size angle could be smaller, at most, in radians",
    "relative_distance_from_axes": "distance of the rows from the axes of their cones, relative to "
    "their length",
    "rows_outside_their_cone": "rows whose nearest component is not their cluster's",
    "angle_of_last_centroid": "angle at which the last centroid was chosen, in radians",
    "largest_angle_to_centroid": "largest angle of a row to its centroid, in radians",
    "angle_drop_ratio": "how clearly the angles speak for this number of cones (above "
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
    "moore_penrose_infinity_norm": "the same for the Moore-Penrose inverse",
    "noise_level": "root mean square length of the residual of a row",
    "noise_blow_up": "factor by which noise can be enlarged (Theorem 5)",
    "divergence": "Kullback-Leibler divergence of the data from the product, D(X || WC)",
    "deviance_explained": "share of the divergence from the product of the margins that is "
    "explained",
    "decay_order_q": "order q of decay of the weights",
    "other_fit_excess": "share by which the error of another fit that was compared is larger",
    "other_fit_turn_degrees": "angle of each component to the nearest one of that fit, in degrees",
    "component_change": "share of its mass by which each component can differ in another "
    "factorization of the same product, at most",
    "component_turn_degrees": "angle by which each component was turned without changing the "
    "product, in degrees",
    "theorem_5_limit": "largest angle for which Theorem 5 of the paper speaks, in radians",
    "rows_without_direction": "number of rows that are zero and belong to no cone",
    "error": "error of the factorization, ‖X − WC‖; the data are zero",
}
# Proved: the beginning of a sentence that ends with the value.
PROVED = {
    "relative_error_lower_bound": "the relative error of any factorization of this rank is at "
    "least",
    "weight_amplification": "a row that moves by a length of 1 moves its least-squares weights by "
    "at most",
    "relative_error_gap": "any other factorization of this rank lowers the relative error by at "
    "most",
    "relative_error": "the relative error is at most",
    "relative_error_max_form": "in the simpler form of the theorem, the relative error is at most",
    "cluster_relative_error": "with these clusters, the relative error is at most",
    "anchor_noise": "each anchor is a corner of the noise-free data, not a "
    "mixture of other rows, if noise changed no row by more than",
    "anchor_group_noise": "each anchor, or a row as near to it as "
    "stated below, is a corner of the noise-free data, if noise changed no row by more than",
    "scaled_anchor_noise": "each anchor is a corner of the noise-free "
    "data, if noise changed no row, divided by its sum, by more than",
    "scaled_anchor_group_noise": "each anchor, or a row as "
    "near to it as stated below, is a corner of the noise-free data, if noise changed no row, "
    "divided by its sum, by more than",
    "surviving_anchors": "anchors, or rows as near to them as stated below, that are "
    "corners of the noise-free data, if noise changed no row by more than its own distance to the "
    "mixtures of the anchors, or the median of these where that is more: at least",
    "scaled_surviving_anchors": "the same of all rows divided by their sums: at least",
    "space_angle_degrees": "the space spanned by any factorization of this rank that fits at least "
    "as well is within an angle of that of the leading singular vectors, in degrees, of at most",
    "largest_component_change": "each of any other nonnegative parts with the same "
    "product differs from one of these in a share of its mass of at most",
    "nearby_fit_mixing": "other nonnegative parts nearby with the same product are mixtures of "
    "these; the root of the sum of squares of the shares mixed in is at most",
    "other_fit_mixing": "any other nonnegative parts with the same product, unless they are "
    "nearby, are mixtures of these; the root of the sum of squares of the shares mixed in is at "
    "least",
    "unique_components": "number of components that every nonnegative factorization of the "
    "same product contains",
    "largest_hull_distance": "the distance of every row to the mixtures of the anchors is at most",
    "divergence_lower_bound": "the divergence of any two factors of this rank is at least",
    "weights_divergence_gap": "other weights of these components lower the divergence by at most",
    "components_divergence_gap": "other components lower the divergence for these weights "
    "by at most",
}

# Estimated: the quantity; confidence and assumption stand beside it.
ESTIMATED = {
    "components_standard_error": "standard error of the components, relative to their size",
    "weights_standard_error": "standard error of the weights, relative to their size",
    "least_recurrence": "share of the resamples in which the least stable component came back",
}


def meaning(name: str) -> str:
    """Return the sentence of a measured or estimated quantity."""
    return MEASURED.get(name) or ESTIMATED.get(name) or name.replace("_", " ")


def proved(name: str) -> str:
    """Return the beginning of the sentence of a proved bound, which its value completes."""
    return PROVED.get(name) or meaning(name)
