"""Every method that reads block by block on a real Dask cluster of two processes."""

from dataclasses import replace

import dask
import numpy as np
import pytest
import scipy.sparse as sp

from provenmf import Checkpoint, find_topics
from provenmf.data import as_blocks, dask as adapter
from provenmf.datasets.corpora import topic_corpus
from provenmf.datasets.separable import dirichlet_mixtures
from provenmf.errors import InvalidInput
from provenmf.methods import CATALOGUE, estimator_class, make_estimator
from provenmf.methods.merit import settings

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
da = pytest.importorskip("dask.array")

pytestmark = pytest.mark.filterwarnings("ignore")  # four iterations are not enough, and say so
METHODS = [method for method in CATALOGUE if estimator_class(method).traits.block_by_block]
UNEVEN = (7, 20, 3, 30)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def make(method, k=3, **options):
    """A few iterations show whether a pass over chunks is a pass over rows."""
    if "max_iter" in estimator_class(method)().get_params():
        options["max_iter"] = 4
    return make_estimator(method, k, random_state=0, **options)


def data():
    """Sixty rows that mix three of them, with zeros."""
    rng = np.random.default_rng(0)
    weights = np.vstack([np.eye(3), rng.dirichlet(np.ones(3), 57)])
    X = weights @ (rng.random((3, 10)) + 2 * np.eye(3, 10)) + 0.01 * rng.random((60, 10))
    X[X < 0.3] = 0
    return X


def chunked(X, store=None):
    """Uneven chunks; with `store`, sparse ones, declared as such."""
    array = da.from_array(X, chunks=(UNEVEN, X.shape[1]))
    return array if store is None else array.map_blocks(store, dtype=X.dtype, meta=store((0, 0)))


def with_empty_chunks(X):
    parts = [X[:27], X[:0], X[27:], X[:0]]
    return da.concatenate([da.from_array(part, chunks=part.shape) for part in parts])


def assert_same_fit(near, far):
    np.testing.assert_allclose(far.components_, near.components_, atol=1e-9)
    weights = near.factorization_.weights
    scale = np.abs(weights).max()
    np.testing.assert_allclose(far.factorization_.weights, weights, atol=1e-8 * scale)
    for name in ("anchors_", "labels_"):
        if hasattr(near, name):
            np.testing.assert_array_equal(getattr(far, name), getattr(near, name))
    if near.factorization_.certificate is None:
        return
    for here, there in zip(near.certificate_.checks, far.certificate_.checks, strict=True):
        assert here.status == there.status, here.name
    for name, value in near.certificate_.measures.items():
        found, known = numbers(far.certificate_.measures[name]), numbers(value)
        np.testing.assert_allclose(found, known, rtol=1e-5, atol=1e-7, err_msg=name)


def numbers(measure):
    """One number or several; those that are unknown as NaN."""
    return np.asarray(measure, dtype=float)


def test_sums_that_come_with_rows_are_added_up_on_the_workers(client, monkeypatch):
    """A Gram matrix for each chunk would be more than the data."""
    matrix = np.random.default_rng(0).random((200, 8))
    blocks = as_blocks(da.from_array(matrix, chunks=(7, 8)))
    shapes = all_that_comes(monkeypatch)
    sums, rows = blocks.sum_and_keep(lambda b: ((b.T @ b, b.sum()), b[:, 0]))
    assert len(shapes) <= adapter.FAN_IN < 29
    np.testing.assert_array_equal(rows.array(), matrix[:, 0])
    np.testing.assert_allclose(sums[0], matrix.T @ matrix)
    np.testing.assert_allclose(sums[1], matrix.sum())


@pytest.mark.parametrize("chunk_rows", [7, 12, 40])
def test_sums_on_workers_have_the_bits_of_sums_in_memory(client, chunk_rows):
    """A worker that is lost or joins changes no bit."""
    X = np.random.default_rng(0).random((200, 8))

    def found(blocks):
        kept = blocks.keep(lambda b: b[:, :2])
        total = blocks.map_reduce(lambda b, p: (b.T @ b, b.T @ p), kept)
        single = [kept[number] for number in range(len(kept))]
        best = blocks.arg_reduce(lambda b: b[:, 0])
        return *total, np.concatenate(single), best, blocks.take(np.array([150, 3]))

    near = found(as_blocks(X, block_rows=chunk_rows))
    for a, b in zip(near, found(as_blocks(da.from_array(X, chunks=(chunk_rows, 8))))):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("method", METHODS)
def test_a_fit_on_a_cluster_is_the_fit_in_memory(client, method):
    X = data()
    near, far = make(method).fit(X), make(method).fit(chunked(X, sp.csr_array))
    assert_same_fit(near, far)
    weights = near.transform(X)
    scale = np.abs(weights).max()
    np.testing.assert_allclose(far.transform(chunked(X)), weights, atol=1e-8 * scale)


@pytest.mark.parametrize("method", ["hals", "anls"])
def test_weights_stay_on_the_workers(client, method, monkeypatch):
    """They come at the end; with a checkpoint, when it is written."""
    options = {"init": "spa", "l2_weights": 1e-3, "l2_components": 1e-3}
    far, shapes = make(method, certify=False, **options), all_that_comes(monkeypatch)
    before = []
    far._remember = lambda *given: before.extend(shapes) or type(far)._remember(far, *given)
    far.fit(chunked(data()))
    assert before and not [s for s in before if s[0] in (7, 20, 30) and s[1:] == (3,)]
    monkeypatch.undo()
    assert_same_fit(make(method, certify=False, **options).fit(data()), far)


VARIANTS = [
    *((method, {}) for method in METHODS),
    ("spa", {"constraint": "simplex", "scale_rows": True}),
    ("fast_anchor", {"vertices": True}),
    ("hals", {"l1_weights": 1e-3, "l2_components": 1e-3}),
]


@pytest.mark.parametrize("scale", [1.0, 2.0**-150])
@pytest.mark.parametrize(("method", "options"), VARIANTS)
def test_a_certificate_is_that_of_memory(client, method, options, scale, monkeypatch):
    # Where a linear program has several solutions, rounding chooses the one that is bounded.
    monkeypatch.setattr("provenmf.certificate.uniqueness.MOST_ENTRIES", 0)
    X, (near, far) = scale * data(), (make(method, 4, **options) for _ in range(2))
    far.fit(with_empty_chunks(X))
    assert_same_certificate(near.fit(X).certificate_, far.certificate_)
    assert far.certificate_.verdict == near.certificate_.verdict


def all_that_comes(monkeypatch):
    """The shapes of all arrays that the client gets from workers, in a list that grows."""
    shapes, gathered = [], adapter.Cluster.gathered

    def recorded(cluster, futures):
        found = gathered(cluster, futures)
        shapes.extend(array.shape for array in arrays_in(found))
        return found

    monkeypatch.setattr(adapter.Cluster, "gathered", recorded)
    return shapes


def arrays_in(found):
    if isinstance(found, np.ndarray):
        yield found
    elif isinstance(found, dict | list | tuple):
        for each in found.values() if isinstance(found, dict) else found:
            yield from arrays_in(each)


def assert_same_certificate(near, far, rel=1e-5):
    for a, b in zip(near.checks, far.checks, strict=True):
        assert (a.name, a.theorem, a.status) == (b.name, b.theorem, b.status)
        for one, other in ((a.value, b.value), (a.threshold, b.threshold)):
            assert one is other is None or other == pytest.approx(one, rel=rel, abs=rel / 100), (
                a.name
            )
    for one, other in ((near.bounds, far.bounds), (near.measures, far.measures)):
        assert one.keys() == other.keys()
        for name, value in one.items():
            expected = pytest.approx(numbers(value), rel=rel, abs=rel / 100, nan_ok=True)
            assert numbers(other[name]) == expected, name


def test_a_fit_on_a_cluster_goes_on_from_a_checkpoint(client, tmp_path):
    plain = make("hals", certify=False, tol=0).set_params(max_iter=6).fit(chunked(data()))
    for iterations in (3, 6):
        model = make("hals", certify=False, tol=0).set_params(max_iter=iterations)
        model.fit(chunked(data()), checkpoint=Checkpoint(tmp_path, seconds=0))
    np.testing.assert_array_equal(model.components_, plain.components_)


@pytest.mark.parametrize("method", ["spa", "hals", "cones"])
def test_chunks_that_do_not_fit_are_made_again_in_each_pass(client, method, monkeypatch):
    monkeypatch.setattr(adapter, "SHARE", 0.0)
    with pytest.warns(RuntimeWarning, match="computed again in every pass"):
        blocks = as_blocks(chunked(data()))
    assert blocks.may_differ
    far = make(method, certify=False).fit(blocks)
    assert_same_fit(make(method, certify=False).fit(data()), far)
    np.testing.assert_array_equal(blocks.take(np.array([50, 3])), data()[[50, 3]])


@pytest.fixture
def without_stealing(client):
    """Stop idle workers from taking the tasks of busy ones, which they may on a slow machine."""

    async def stop(dask_scheduler):
        await dask_scheduler.extensions["stealing"].stop()

    async def start(dask_scheduler):
        await dask_scheduler.extensions["stealing"].start()

    client.run_on_scheduler(stop)
    yield
    client.run_on_scheduler(start)


@pytest.mark.usefixtures("without_stealing")
def test_chunks_stay_where_they_are(client):
    workers = sorted(client.scheduler_info()["workers"])
    rows = np.random.default_rng(0).random((8, 5, 4))
    places = [workers[i % 2] for i in range(8)]
    futures = [
        client.submit(np.asarray, block, workers=[worker], pure=False)
        for block, worker in zip(rows, places)
    ]
    parts = [da.from_delayed(dask.delayed(np.asarray)(f), (5, 4), float) for f in futures]
    blocks = as_blocks(da.concatenate(parts))
    assert blocks.map_rows(on_which_worker).tolist() == np.repeat(places, 5).tolist()
    np.testing.assert_array_equal(blocks.take(np.array([33, 1])), rows.reshape(-1, 4)[[33, 1]])


def on_which_worker(block):
    return np.full(len(block), distributed.get_worker().address)


def test_merit_on_a_cluster_is_merit_in_memory(client, monkeypatch):
    """Rows and pairs stay on the workers; the client sees the dictionary."""
    monkeypatch.setattr(settings, "SETTINGS", replace(settings.SETTINGS, few_rows=1000))
    X = dirichlet_mixtures(1200, 12, 4, snr=15, random_state=0).data
    array = da.from_array(X, chunks=(500, 12))
    near, far = make("merit", certify=False).fit(X), make("merit", certify=False).fit(array)
    assert_same_fit(near, far)
    states = near.factorization_.state, far.factorization_.state
    np.testing.assert_allclose(states[1].row_maxima, states[0].row_maxima, atol=1e-9)
    assert states[1].duality_gap == pytest.approx(states[0].duality_gap)


def test_topics_on_a_cluster_are_topics_in_memory(client, monkeypatch):
    """Without their number: every step is a pass; the counts never come here."""
    corpus = topic_corpus(1100, 200, 3, word_concentration=0.1, random_state=0)
    rows = da.from_array(corpus.counts.toarray(), chunks=((300, 500, 100, 200), 200))
    rows = rows.map_blocks(sp.csr_array, meta=sp.csr_array((0, 0)))
    monkeypatch.setattr("provenmf.budget.MOST_GATHERED", 0.0)
    near = find_topics(corpus.counts, random_state=0)
    far = find_topics(rows, random_state=0)
    assert far.n_components == near.n_components == 3
    assert far.anchor_words == near.anchor_words
    np.testing.assert_allclose(far.topics, near.topics, atol=1e-5)
    np.testing.assert_allclose(far.document_weights, near.document_weights, atol=1e-3)
    np.testing.assert_allclose(far.transform(rows), far.document_weights, atol=1e-6)
    assert far.certificate.to_dict().keys() == near.certificate.to_dict().keys()


def test_what_is_no_matrix_is_refused():
    rows = chunked(data())
    bag = pytest.importorskip("dask.bag").from_sequence([1, 2])
    for X, message in [
        (dask.delayed(data)(), "give a Dask array or frame"),
        (bag, "give a Dask array or frame"),
        (rows[rows[:, 0] > 0], "compute_chunk_sizes"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            make("spa").fit(X)
