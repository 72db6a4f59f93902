"""Figures of Nguyen22, Section V-A, and of the authors' own programs on data of the same kind."""

AUTHORS = ("SPA", "FastGradient", "MERIT")
# Success rates of the authors' programs: SNR -> SPA, FastGradient, MERIT.
AUTHORS_FIG2 = {
    7: (0, 0, 0),
    8: (0, 0, 0),
    9: (0, 0, 0.08),
    10: (0, 0, 0.68),
    11: (0, 0, 0.98),
    12: (0, 0, 1),
    13: (0, 0.06, 1),
    14: (0, 0.24, 1),
    16: (0, 0.94, 1),
    18: (0, 1, 1),
    20: (0.12, 1, 1),
    22: (0.76, 1, 1),
    25: (1, 1, 1),
}
AUTHORS_FIG4 = {
    6: (0, 0, 0),
    7: (0, 0, 0.25),
    8: (0, 0.05, 0.70),
    9: (0.05, 0.50, 0.95),
    10: (0, 0.90, 1),
    11: (0.15, 1, 1),
    12: (0.45, 1, 1),
    14: (0.75, 1, 1),
    16: (0.95, 1, 1),
}
# Table I: K -> success rates and RAE of SPA, FastGradient, MERIT.
PAPER_TABLE1 = {
    40: ((0.98, 0.98, 1.00), (0.7686, 0.7686, 0.7686)),
    50: ((0.84, 1.00, 1.00), (0.7827, 0.7830, 0.7830)),
    60: ((0.42, 1.00, 1.00), (0.7941, 0.7955, 0.7955)),
    70: ((0.00, 1.00, 1.00), (0.8022, 0.8069, 0.8069)),
}
