import hashlib
import json
import lzma
import threading
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from urllib.error import URLError

import numpy as np
import pytest

from provenmf.datasets import real as web
from provenmf.errors import InvalidInput

CONTENT = b"some bytes of a data set"


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv(web.VARIABLE, raising=False)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(tmp_path):
    """A web server on this machine with one file."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "set.bin").write_bytes(CONTENT)
    server = HTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_file_with_the_right_checksum_is_kept(server, tmp_path):
    remote = web.Remote(f"{server}/set.bin", hashlib.sha256(CONTENT).hexdigest())
    path = web.fetch(remote, "piano", cache=tmp_path / "cache")
    assert path.read_bytes() == CONTENT


def test_a_file_with_a_wrong_checksum_is_refused(server, tmp_path):
    remote = web.Remote(f"{server}/set.bin", "0" * 64)
    with pytest.raises(InvalidInput, match=r"checksum differs.*PROVENMF_DATA"):
        web.fetch(remote, "piano", cache=tmp_path / "cache")
    assert not [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]


def test_a_missing_network_names_the_override(server, tmp_path):
    remote = web.Remote(f"{server}/nothing.bin", "0" * 64)
    with pytest.raises(InvalidInput, match=r"could not be fetched.*--data.*PROVENMF_DATA"):
        web.fetch(remote, "piano", cache=tmp_path / "cache")


@pytest.mark.parametrize(
    ("fetcher", "loader"),
    [
        ("fetch_20newsgroups", web.twenty_newsgroups),
        ("fetch_olivetti_faces", web.olivetti_faces),
    ],
)
def test_scikit_learns_fetchers_without_network(monkeypatch, fetcher, loader):
    def fail(**options):
        raise URLError("no route to host")

    monkeypatch.setattr(f"sklearn.datasets.{fetcher}", fail)
    with pytest.raises(InvalidInput, match=r"no route to host.*PROVENMF_DATA"):
        loader()


def test_newsgroups_from_a_folder_by_the_variable(monkeypatch, tmp_path):
    (tmp_path / "news20").mkdir()
    rows = [{"group": "sci", "text": "stars"}, {"group": "rec", "text": "cars"}]
    with lzma.open(tmp_path / "news20" / "texts.jsonl.xz", "wt", encoding="utf-8") as file:
        file.write("\n".join(map(json.dumps, rows)))
    monkeypatch.setenv(web.VARIABLE, str(tmp_path))
    texts, groups, names = web.twenty_newsgroups()
    assert texts == ["stars", "cars"]
    assert names == ["rec", "sci"]
    assert groups.tolist() == [1, 0]


def test_olivetti_from_a_folder(tmp_path):
    (tmp_path / "olivetti").mkdir()
    pixels = np.arange(2 * 4096).reshape(2, 4096)
    np.savez(tmp_path / "olivetti" / "olivetti.npz", X=pixels, subject=[3, 4])
    images, people = web.olivetti_faces(tmp_path)
    assert images.shape == (2, 64, 64)
    assert images.max() == 1.0
    assert people.tolist() == [3, 4]


def test_a_set_that_is_not_fetched_says_where_to_put_it(tmp_path):
    with pytest.raises(InvalidInput, match=r"samson.*hyperspectral/samson.npz.*PROVENMF_DATA"):
        web.locate("samson", tmp_path)
    (tmp_path / "hyperspectral").mkdir()
    (tmp_path / "hyperspectral" / "samson.npz").touch()
    assert web.locate("samson", tmp_path).name == "samson.npz"


def test_unknown_set_and_missing_folder(tmp_path):
    with pytest.raises(InvalidInput, match="magic"):
        web.locate("magic")
    with pytest.raises(InvalidInput, match="not a folder"):
        web.locate("samson", tmp_path / "missing")


def test_remote_sets_have_a_place_and_a_full_checksum():
    for name, remote in web.REMOTE.items():
        assert name in web.LAYOUT
        assert len(bytes.fromhex(remote.sha256)) == 32
        assert remote.address.startswith("https://")
