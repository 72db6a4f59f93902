"""Names of mutation types: their usual spellings, what is missing, and the order of the plots.

COSMIC's names are `A[C>A]A` for single bases, `1:Del:C:0` for insertions and deletions, `AC>CA` for
two bases. Other programs write `C>A:ACA`, `DEL:C:1:0`, `DEL_repeats_5+_0`, or spread a name over
several columns of a table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

SUBSTITUTIONS = ("C>A", "C>G", "C>T", "T>A", "T>C", "T>G")
STANDARD = {
    "single bases": tuple(f"{a}[{s}]{b}" for s in SUBSTITUTIONS for a in "ACGT" for b in "ACGT"),
    "insertions and deletions": (
        *(f"1:{what}:{base}:{n}" for what in ("Del", "Ins") for base in "CT" for n in range(6)),
        *(f"{s}:{what}:R:{n}" for what in ("Del", "Ins") for s in range(2, 6) for n in range(6)),
        *(f"{size}:Del:M:{n}" for size in range(2, 6) for n in range(1, size + (size == 5))),
    ),
}
# Headings of columns whose cells name a mutation type together.
HEADINGS = frozenset(
    "mutationtype mutationtypes type subtype substitutiontype trinucleotide somaticmutationtype "
    "indelsize repeatmhsize ref var".split()
)
SINGLE = re.compile(r"([TUNB]:)?[ACGT]+\[[CT]>[ACGT]\][ACGT]+")
SPREAD = re.compile(r"([CT]>[ACGT])\W([ACGT])[CT]([ACGT])")
DOUBLE = re.compile(r"([ACGT]{2})[>:]([ACGT]{2})")
INDEL = re.compile(r"(\d)\+?:(Del|Ins):([CTRM]):(\d)\+?")
INDEL_SPREAD = re.compile(r"(DEL|INS)[:_](C|T|repeats|MH)[:_](\d)\+?[:_](\d)\+?")


def is_heading(cell: str) -> bool:
    """Return whether a column with this heading names mutation types, or a part of them."""
    return re.sub(r"[\W_]", "", cell).lower() in HEADINGS


def cosmic_name(name: str) -> str | None:
    """Return COSMIC's name of a mutation type in a usual spelling, None for anything else.

    Examples
    --------
    >>> cosmic_name("C>A:ACA"), cosmic_name("DEL_MH_5+_2"), cosmic_name("liver")
    ('A[C>A]A', '5:Del:M:2', None)
    """
    whole = name.rsplit(":", 1)[-1]  # the last of several columns may be the name itself
    if SINGLE.fullmatch(name):
        return name
    if SINGLE.fullmatch(whole):
        return whole
    if found := SPREAD.fullmatch(name):
        return f"{found[2]}[{found[1]}]{found[3]}"
    if found := DOUBLE.fullmatch(name):
        return f"{found[1]}>{found[2]}"
    if found := INDEL.fullmatch(name):
        return ":".join(found.groups())
    if found := INDEL_SPREAD.fullmatch(name):
        what, unit = found[1].capitalize(), {"repeats": "R", "MH": "M"}.get(found[2], found[2])
        return f"{found[3]}:{what}:{unit}:{found[4]}"
    return None


def cosmic_names(names: Sequence[str] | None) -> list[str | None]:
    """Return COSMIC's names of mutation types; nothing if most names are something else."""
    found = [cosmic_name(name) for name in names or ()]
    return found if sum(name is not None for name in found) > len(found) / 2 else []


def missing(channels: Sequence[str]) -> tuple[str, list[str]]:
    """Return the kind of mutations that the channels belong to, and those of it that lack."""
    for kind, known in STANDARD.items():
        if set(channels) < set(known):
            given = set(channels)
            return kind, [name for name in known if name not in given]
    return "", []


def group(channel: str) -> str:
    """Return what stands below the bars of a plot: C>A, 1:Del:C, AC>NN; empty if unknown."""
    if found := re.search(r"\[(.>.)\]", channel):
        return found[1]
    if DOUBLE.fullmatch(channel):
        return f"{channel[:2]}>NN"
    return channel.rsplit(":", 1)[0] if INDEL.fullmatch(channel) else ""


def plotted(channels: Sequence[str]) -> list[int]:
    """Return the order in which channels are drawn: by group, as usual; as given if unknown."""
    groups = list(map(group, channels))
    usual = list(dict.fromkeys(group(name) for names in STANDARD.values() for name in names))
    if not all(groups):
        return list(range(len(channels)))
    place = {name: usual.index(name) if name in usual else len(usual) for name in groups}
    return sorted(range(len(channels)), key=lambda j: (place[groups[j]], groups[j], channels[j]))
