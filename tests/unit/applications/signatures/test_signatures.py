"""Signatures from counts: recovery, number, exposures, tables, catalogue, bad input."""

import numpy as np
import pytest

import provenmf
from provenmf import find_signatures
from provenmf.applications.signatures.catalogue import compare, labelled
from provenmf.applications.signatures.channels import STANDARD, cosmic_name, plotted
from provenmf.applications.signatures.kernels import (
    improve_exposures_in_place,
    improve_signatures_in_place,
    sparse_exposures,
)
from provenmf.applications.signatures.model import (
    Extracted,
    Tumors,
    cost,
    overdispersion,
    prices,
    refine,
)
from provenmf.applications.signatures.moves import Mixture, mixtures
from provenmf.applications.signatures.unseen import UnseenChannels
from provenmf.certificate.evidence import confirm_components
from provenmf.certificate.judging import Model
from provenmf.errors import InvalidInput

SBS = list(STANDARD["single bases"])


def drawn(seed=0, n=150, k=4, overdispersed=False):
    rng = np.random.default_rng(seed)
    signatures = rng.dirichlet(np.full(96, 0.1), k)
    used = rng.random((n, k)) < 0.5
    used[np.arange(n), rng.integers(0, k, n)] = True
    exposures = used * rng.lognormal(6, 1, (n, k))
    means = exposures @ signatures
    noise = rng.gamma(4, 1 / 4, means.shape) if overdispersed else 1.0
    return rng.poisson(means * noise).astype(float), signatures, exposures


def cosines(found, true):
    unit = [m / np.linalg.norm(m, axis=1, keepdims=True) for m in (found, true)]
    return (unit[0] @ unit[1].T).max(axis=0)


@pytest.fixture(scope="module")
def answer():
    counts, signatures, exposures = drawn()
    return find_signatures(counts, 4), counts, signatures, exposures


def test_number_signatures_and_exposures_are_found(answer):
    found, _, signatures, exposures = answer
    assert cosines(found.signatures, signatures).min() > 0.97
    assert np.allclose(found.signatures.sum(axis=1), 1)
    unit = found.signatures / np.linalg.norm(found.signatures, axis=1, keepdims=True)
    order = np.argmax(unit @ signatures.T, axis=0)
    lower, upper = found.exposure_intervals()
    assert np.corrcoef(found.exposures[:, order].ravel(), exposures.ravel())[0, 1] > 0.98
    assert (lower <= found.exposures).all() and (found.exposures <= upper).all()
    inside = (lower[:, order] <= exposures) & (exposures <= upper[:, order])
    assert inside[found.exposures[:, order] > 0].mean() > 0.8
    assert "All 4 signatures are confirmed" in found.certificate.verdict


@pytest.mark.parametrize("seed, k", [(5, 3), (6, 4), (7, 5)])
def test_the_number_is_found_and_depends_on_no_seed(seed, k):
    counts, signatures, _ = drawn(seed, n=100, k=k)
    found = find_signatures(counts, evidence=False)
    assert len(found.signatures) == k
    assert cosines(found.signatures, signatures).min() > 0.97
    again = find_signatures(counts, evidence=False, random_state=1)
    np.testing.assert_array_equal(found.signatures, again.signatures)


def test_hypermutated_and_overdispersed_tumors_do_not_decide():
    counts, signatures, _ = drawn(1, overdispersed=True)
    counts[0] *= 300
    found = find_signatures(counts, 4, evidence=False)
    assert np.median(cosines(found.signatures, signatures)) > 0.9
    assert any("20 times the median" in note for note in found.notes)
    assert found.overdispersion > 0


def test_transform_refits_tumors_in_any_order_of_channels(answer):
    pandas = pytest.importorskip("pandas")
    counts, signatures, _ = drawn()
    table = pandas.DataFrame(counts, columns=SBS)
    known = pandas.DataFrame(signatures.T, index=SBS).sample(frac=1.0, random_state=0)
    found = find_signatures(table, 4, reference=known, evidence=False)
    assert min(match.cosine for match in found.matches) > 0.95
    assert np.allclose(found.transform(table[SBS[::-1]]), found.transform(counts))
    with pytest.raises(InvalidInput, match="has 95 columns"):
        found.transform(counts[:, 1:])


INDELS = STANDARD["insertions and deletions"]


def parts_of_indel(name):
    size, what, unit, n = name.split(":")
    size, n = (f"{digit}+" if digit == "5" else digit for digit in (size, n))
    return what.upper(), {"R": "repeats", "M": "MH"}.get(unit, unit), size, n


def in_parts(name):
    return name[2:5], name[0] + name[2] + name[6], name


LAYOUTS = {
    "SigProfilerMatrixGenerator.SBS96.all": (["MutationType"], lambda c: [c], SBS, "\t"),
    "COSMIC_v3.3_SBS_GRCh37.txt": (["Type"], lambda c: [c], SBS, "\t"),
    "COSMIC_v3_download.csv": (["Type", "SubType"], lambda c: in_parts(c)[:2], SBS, ","),
    "COSMIC_v2.txt": (
        ["Substitution Type", "Trinucleotide", "Somatic Mutation Type"],
        in_parts,
        SBS,
        "\t",
    ),
    "COSMIC_v3.3_ID_GRCh37.txt": (["Type"], lambda c: [c], INDELS, "\t"),
    "PCAWG_indels.csv": (["Mutation Type"], lambda c: ["_".join(parts_of_indel(c))], INDELS, ","),
    "ICAMS_indels.csv": (
        ["Type", "Subtype", "Indel_size", "Repeat_MH_size"],
        parts_of_indel,
        INDELS,
        ",",
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tables_are_read_as_they_are_spread(tmp_path, layout):
    headings, spelled, channels, delimiter = LAYOUTS[layout]
    counts = np.random.default_rng(0).poisson(20.0, (30, len(channels)))
    lines = [[*headings, *(f"T{i}" for i in range(30))]]
    lines += [[*spelled(name), *map(str, column)] for name, column in zip(channels, counts.T)]
    path = tmp_path / layout
    path.write_text("\n".join(delimiter.join(line) for line in lines), encoding="utf-8-sig")
    table = labelled(path, "Tumor")
    assert table.channels == tuple(channels)
    assert table.names[:2] == ("T0", "T1")
    assert np.array_equal(table.values, counts)
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(path, sep=delimiter)
    assert labelled(frame, "Tumor").channels == tuple(channels)
    indexed = labelled(frame.set_index(headings), "Tumor")
    assert indexed.channels == tuple(channels)
    assert np.array_equal(indexed.values, counts)


def test_standard_channels_are_those_of_cosmic():
    assert {kind: len(names) for kind, names in STANDARD.items()} == {
        "single bases": 96,
        "insertions and deletions": 83,
    }
    assert all(cosmic_name(name) == name for names in STANDARD.values() for name in names)
    assert cosmic_name("T:A[C>A]A") == "T:A[C>A]A"
    assert cosmic_name("AC:CA") == "AC>CA"
    assert cosmic_name("A[C>A]") is None


def test_channels_are_drawn_by_group_whatever_their_order():
    rng = np.random.default_rng(0)
    for names in STANDARD.values():
        shuffled = list(rng.permutation(names))
        assert [shuffled[j] for j in plotted(shuffled)] == list(names)
    assert plotted(["b", "a"]) == [0, 1]


def test_wrong_numbers_of_channels_are_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(drawn()[0], columns=SBS)
    with pytest.raises(InvalidInput, match="'total' is no mutation type"):
        find_signatures(frame.assign(total=1.0), 2)
    found = find_signatures(frame.iloc[:, 2:], 2, evidence=False)
    expected = f"2 channels of single bases not in the table, such as {SBS[0]}, {SBS[1]}"
    assert expected in found.notes
    text = frame.astype(object)
    assert labelled(text, "Tumor").channels == tuple(SBS)
    text.iloc[4, 2] = "many"
    with pytest.raises(InvalidInput, match="'many' in row 5, column 3"):
        find_signatures(text, 2)


@pytest.mark.parametrize("wrong, message", [(np.nan, "missing"), (-0.5, "negative")])
def test_a_catalogue_with_impossible_entries_is_refused(wrong, message):
    counts, known, _ = drawn()
    known[1, 2] = wrong
    with pytest.raises(InvalidInput, match=f"the catalogue has {message}.*signature 2, channel 3"):
        find_signatures(counts, 2, reference=known)


def test_catalogue_is_matched_by_names_and_new_signatures_are_decomposed():
    pandas = pytest.importorskip("pandas")
    known = drawn(3)[1]
    mixture = 0.6 * known[0] + 0.4 * known[1]
    file = pandas.DataFrame(known.T, index=SBS, columns=["A", "B", "C", "D"]).iloc[::-1]
    nearest, mixed = compare(np.array([known[2], mixture]), tuple(SBS), file)
    assert (nearest.name, round(nearest.cosine, 6)) == ("C", 1.0)
    assert {name for name, _ in mixed.parts} == {"A", "B"}
    assert mixed.parts_cosine > 0.999
    assert dict(mixed.parts)["A"] == pytest.approx(0.6, abs=0.02)
    with pytest.raises(InvalidInput, match="lacks 96 of 96 channels"):
        compare(known, tuple(f"1:Del:C:{i}" for i in range(96)), file)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda X: X - 1, r"negative entries: -1 in Tumor 1, channel \d+"),
        (lambda X: X * np.nan, "missing"),
        (lambda X: X * 0, "no mutation"),
        (lambda X: X[0], "axes"),
    ],
)
def test_bad_counts_are_named(change, message):
    with pytest.raises(InvalidInput, match=message):
        find_signatures(change(drawn()[0]))


def test_empty_tumors_channels_and_fractions_are_noted():
    counts = drawn()[0] + 0.0
    counts[3] = 0
    counts[:, 5] = 0
    counts[0, 0] = 2.5
    found = find_signatures(counts, 3, evidence=False)
    text = " ".join(found.notes)
    assert "without exposures: 1 tumor" in text
    assert "never seen: 4 channels" in text
    assert "whole numbers" in text
    assert not found.exposures[3].any()


def test_the_answer_is_saved_and_reported(answer, tmp_path):
    found = answer[0]
    found.save(tmp_path / "s.npz")
    assert provenmf.load(tmp_path / "s.npz") == found
    found.report(tmp_path / "s.html")
    page = (tmp_path / "s.html").read_text()
    assert "A tumor and its reconstruction have" in page
    assert "Exposures of the tumors" in page


def test_matches_name_the_signatures_and_fill_the_tables(answer):
    pytest.importorskip("pandas")
    found, counts, signatures, _ = answer
    compared = found.compared_with(signatures)
    names = [f"Signature {i + 1} ({m.name} {m.cosine:.2f})" for i, m in enumerate(compared.matches)]
    assert list(compared.component_names) == names
    assert compared.compared_with(signatures).component_names == compared.component_names
    assert any("does not name its channels" in note for note in compared.notes)
    tables = compared.tables()
    assert list(tables["overview"]["nearest"]) == [m.name for m in compared.matches]
    assert np.array_equal(tables["tumors"]["mutations"], counts.sum(axis=1))
    lower, upper = compared.exposure_intervals()
    assert np.array_equal(tables["exposures_lower"], lower)
    assert np.array_equal(tables["exposures_upper"], upper)


def test_sparse_exposures_are_those_of_a_plain_loop():
    """Backward elimination with EM to the end, from all signatures or from a part of them."""
    counts, signatures, exposures = drawn(2, n=6)
    price = 8.0

    def fitted(row, chosen):
        weights = np.full(len(chosen), row.sum() / len(chosen))
        for _ in range(2000):
            weights = weights * ((row / (weights @ signatures[chosen])) @ signatures[chosen].T)
        means = weights @ signatures[chosen]
        return weights, (row * np.log(means) - means).sum()

    needed = np.full((6, 4), price)
    everything, part = np.zeros((6, 4)), np.zeros((6, 4))
    part[:, 0] = 1.0
    cold = sparse_exposures(counts, signatures, needed, everything, 0.0, 200, 200, 3)
    warm = sparse_exposures(counts, signatures, needed, part, 0.0, 200, 200, 3)
    np.testing.assert_allclose(warm, cold, rtol=0.01)
    for row, got in zip(counts, cold):
        chosen, needed = list(range(4)), set()
        weights, level = fitted(row, chosen)
        while len(chosen) > 1 and set(chosen) - needed:
            least = min(set(chosen) - needed, key=lambda j: weights[chosen.index(j)])
            rest = [j for j in chosen if j != least]
            fewer, lower = fitted(row, rest)
            if level - lower < price:
                chosen, weights, level = rest, fewer, lower
            else:
                needed.add(least)
        assert np.flatnonzero(got).tolist() == chosen
        np.testing.assert_allclose(got[chosen], weights, rtol=0.01)


@pytest.mark.parametrize("a", [0.0, 0.02, 0.1])
def test_overdispersion_is_estimated(a):
    """Half of the channels are rare, whose statistics are mostly zero."""
    _, signatures, exposures = drawn(8, n=300)
    rng = np.random.default_rng(8)
    noise = rng.gamma(1 / a, a, (300, 96)) if a else 1.0
    counts = rng.poisson(exposures @ signatures * noise).astype(float)
    found = refine(Tumors(counts, a), Extracted(signatures, exposures))
    assert overdispersion(counts, found) == pytest.approx(a, rel=0.2, abs=0.003)


def test_hypermutated_tumors_that_are_fitted_closely_do_not_hide_overdispersion():
    _, signatures, exposures = drawn(8, n=300)
    rng, many = np.random.default_rng(8), 5
    exposures[:many] *= 50
    counts = rng.poisson(exposures @ signatures * rng.gamma(10, 0.1, (300, 96))).astype(float)
    own = counts[:many] / counts[:many].sum(axis=1, keepdims=True)
    close = np.zeros((300, 4 + many))
    close[many:, :4] = exposures[many:]
    close[np.arange(many), 4 + np.arange(many)] = counts[:many].sum(axis=1)
    found = Extracted(np.vstack([signatures, own]), close)
    assert overdispersion(counts, found) == pytest.approx(0.1, rel=0.2)


@pytest.mark.parametrize("a", [0.0, 0.05])
def test_sweeps_reach_the_likelihood_that_em_reaches(a):
    """Weighted multiplicative steps to the end are the oracle, for exposures and signatures."""
    counts, signatures, exposures = drawn(2, n=12, overdispersed=a > 0)

    def expected(rows, features):
        weights = np.ones((len(rows), 4))
        for _ in range(20000):
            means = np.maximum(weights @ features, 1e-300)
            scale = 1 / (1 + a * means)
            weights *= (scale * rows / means) @ features.T / (scale @ features.T)
        return weights @ features

    weights = np.ones((12, 4))
    improve_exposures_in_place(counts, signatures, weights, a, 300)
    oracle = expected(counts, signatures)
    np.testing.assert_allclose(weights @ signatures, oracle, rtol=0.02, atol=0.05)
    entries, columns = np.ones((96, 4)), counts.T.copy()
    owners, users = np.nonzero(exposures.T)
    first = np.searchsorted(owners, np.arange(5))
    given = exposures[users, owners]
    improve_signatures_in_place(columns, first, users, given, entries, np.arange(4), a, 300)
    oracle = expected(columns, exposures.T)
    np.testing.assert_allclose(entries @ exposures.T, oracle, rtol=0.02, atol=0.05)


def test_a_search_that_is_stopped_returns_what_it_has_found():
    rows = []

    def stop(row):
        rows.append(row["signatures"])
        return len(rows) == 3

    found = find_signatures(drawn()[0], callback=stop)
    assert len(found.signatures) == rows[-1] == len(found.exposures.T)
    assert found.certificate.evidence is None
    assert any("stopped early" in note for note in found.notes)


def test_each_exposure_costs_its_price():
    """The cost with one more exposure of no effect rises by its price."""
    counts, signatures, exposures = drawn(4, n=400)
    tumors = Tumors(counts, 0.0)
    row = int(np.flatnonzero(exposures[:, 0] == 0)[0])
    more = exposures.copy()
    more[row, 0] = 1e-9
    rise = cost(tumors, Extracted(signatures, more)) - cost(
        tumors, Extracted(signatures, exposures)
    )
    price = prices(counts, Extracted(signatures, exposures).prevalence)[row, 0]
    assert rise == pytest.approx(price, abs=0.05)


def test_a_signature_with_a_part_of_another_is_freed_from_it():
    counts, signatures, exposures = drawn(5, n=300)
    tumors = Tumors(counts, 0.0)
    merged = signatures.copy()
    merged[0] = 0.7 * signatures[0] + 0.3 * signatures[1]
    found = refine(tumors, Extracted(merged, exposures))
    found = Extracted(merged, np.maximum(found.exposures, 0.0))
    mixture = next(mixture for mixture in mixtures(tumors, found) if mixture.changed == 0)
    freed = mixture.of(found)
    assert cosines(freed.signatures[:1], signatures[:1]) > 0.99
    np.testing.assert_allclose(freed.means.sum(), found.means.sum(), rtol=0.05)


def test_a_mixture_of_signatures_keeps_the_means():
    _, signatures, exposures = drawn(5, n=300)
    for share in (0.5, -0.5 * (signatures[0] / signatures[1]).min()):
        found = Extracted(signatures, exposures + exposures.max(axis=1, keepdims=True))
        mixed = Mixture(0, 1, float(share)).of(found)
        np.testing.assert_allclose(mixed.means, found.means)
        np.testing.assert_allclose(mixed.signatures.sum(axis=1), 1.0)


def test_fitting_one_signature_leaves_the_others_as_they_are():
    """Channels that its users never have were set to zero in all signatures."""
    counts, signatures, exposures = drawn(5, n=300)
    counts[exposures[:, 0] > 0, 3] = 0.0
    found = refine(Tumors(counts, 0.0), Extracted(signatures, exposures), 0)
    np.testing.assert_allclose(found.signatures[1:], signatures[1:], atol=1e-11)
    assert found.signatures[0, 3] < 1e-9


def test_frames_with_a_name_twice_and_series_are_refused():
    pandas = pytest.importorskip("pandas")
    twice = pandas.DataFrame(np.ones((3, 4)), columns=list("aabc"))
    for table in (twice, twice.set_axis(list("abbc"), axis=1)):
        with pytest.raises(InvalidInput, match="occurs more than once"):
            find_signatures(table, 2)
    with pytest.raises(InvalidInput, match="1 axes"):
        find_signatures(pandas.Series([1.0, 2.0]), 1)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1)])
def test_one_tumor_or_channel_has_one_signature(shape):
    assert find_signatures(np.ones(shape), 1, evidence=False).signatures.shape == (1, shape[1])


def test_a_signature_of_few_tumors_is_confirmed_and_copies_are_not():
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.full(40, 0.2), 4)
    used = rng.random((240, 4)) < [0.9, 0.9, 0.5, 0.12]
    means = used * rng.lognormal(6, 1, used.shape) @ true
    counts = rng.poisson(means * rng.gamma(10, 0.1, means.shape)).astype(float)
    counts[0] *= 100  # hypermutated
    copied = np.vstack([true, true[-1:]])
    options = {"losses": [UnseenChannels], "splits": 1}
    assert confirm_components(counts, lambda rows: true, true, **options).confirmed == (0, 1, 2, 3)
    assert confirm_components(counts, lambda rows: copied, copied, **options).confirmed == (0, 1, 2)


def test_all_signatures_lose_nothing_against_themselves_and_empty_channels_are_no_error():
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.full(20, 0.3), 3)
    counts = rng.poisson(rng.lognormal(4, 1, (40, 3)) @ true).astype(float)
    loss = UnseenChannels(counts, true, rng)
    counts[0], counts[1, 1:] = 0.0, 0.0
    alone = Model(true[:1], np.eye(4)[:1], np.ones(1))
    lost = loss(counts, [loss.all, alone, loss.all._replace(absorbed=0)], rng, 2)
    assert np.isfinite(lost).all()
    assert (lost[:, 0] == 0.0).all() and (lost[2:, 1:].mean(axis=0) > 0.0).all()
