"""Raw texts as people have them: find_topics against NMF, LDA and LSA with k-means.

Corpora: newsgroups as raw mail (header, quotations and signatures included), descriptions of Debian
packages in several languages, manual pages, docstrings, BBC News, Reuters, NIPS papers. Choices in
`provenmf` were made on the corpora of BUILD, and later on those of REPORT, LAST, NEW and FRESH,
too; UNSEEN was opened before repeated texts were set aside, and FINAL after it.

Every method gets the same counts (`count_words` with its defaults) and the number of labels as the
number of topics. Columns: NMI with the labels; NPMI of ten words a topic, weighted by the size of
the topics, where the words of every method are ranked by one rule, the relevance (λ = 0.3) of the
words of its documents; diversity, the share of different words among these; the largest topic's
share; seconds of the processor.

Run: python -m benchmarks.peers.raw_texts FOLDER [--names debian_de mail_b] [--out table.md]

FOLDER holds the shared data sets (news20, bbc_news, reuters21578, nips); in a subfolder debian, the
files Translation-LANGUAGE.bz2 or .xz of Debian's archive (dists/bookworm/main/i18n); and in a
subfolder man, the packages manpages-LANGUAGE, unpacked by `dpkg -x`; in a subfolder python_docs,
the sources of python3.11-doc (usr/share/doc/python3.11/html/_sources).
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import importlib
import inspect
import json
import lzma
import re
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from benchmarks.peers import topic_models
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import normalize

from provenmf import find_topics
from provenmf.applications import count_words
from provenmf.metrics.topics import npmi_coherence, relevance, top_words

Texts = tuple[list[str], list[str]]
MAIL = {
    "mail_a": "comp.graphics rec.autos sci.med talk.politics.mideast misc.forsale "
    "soc.religion.christian",
    "mail_b": "rec.sport.baseball sci.electronics sci.space comp.sys.mac.hardware "
    "talk.politics.guns alt.atheism",
    "mail_c": "rec.sport.hockey sci.crypt comp.windows.x talk.politics.misc rec.motorcycles "
    "sci.med",
    "mail_d": "comp.os.ms-windows.misc rec.autos talk.religion.misc sci.electronics "
    "rec.sport.baseball",
    "mail_e": "comp.sys.ibm.pc.hardware rec.motorcycles sci.space talk.politics.mideast "
    "soc.religion.christian",
    "mail_h": "comp.graphics sci.electronics sci.med rec.sport.hockey talk.politics.mideast "
    "alt.atheism misc.forsale comp.sys.mac.hardware",
    "mail_i": "comp.os.ms-windows.misc comp.sys.ibm.pc.hardware sci.med talk.politics.misc "
    "rec.motorcycles",
    "mail_j": "comp.graphics comp.windows.x misc.forsale sci.space talk.religion.misc "
    "rec.sport.hockey talk.politics.guns sci.crypt rec.autos",
    "mail_k": "rec.autos rec.sport.baseball sci.crypt comp.sys.mac.hardware talk.religion.misc",
    "mail_l": "misc.forsale comp.windows.x sci.space talk.politics.guns soc.religion.christian "
    "rec.motorcycles sci.electronics",
    "mail_m": "comp.sys.mac.hardware rec.sport.hockey sci.crypt talk.politics.mideast "
    "talk.religion.misc comp.graphics",
    "mail_n": "alt.atheism rec.autos sci.electronics sci.med talk.politics.guns misc.forsale "
    "comp.windows.x rec.sport.baseball",
    "mail_o": "comp.sys.ibm.pc.hardware sci.space soc.religion.christian rec.motorcycles "
    "talk.politics.misc sci.crypt",
    "mail_f": "alt.atheism comp.os.ms-windows.misc misc.forsale rec.sport.hockey sci.crypt "
    "talk.politics.guns sci.med",
}
FIRST = "games science sound web database electronics editors fonts"
SECOND = "graphics mail net math video admin devel text"
DEBIAN = {
    "debian_es": ("es", FIRST, False),
    "debian_it": ("it", SECOND, False),
    "debian_pt": ("pt_BR", "games libs net utils sound doc", False),
    "debian_en_b": ("en", "gnome kde hamradio python java php editors electronics", False),
    "titles_b": ("en", "fonts haskell games localization httpd database php video", True),
    "debian_de": ("de", FIRST, False),
    "debian_fr": ("fr", SECOND, False),
    "debian_en": ("en", "games science sound web mail math video admin", False),
    "titles": ("en", "games science sound web mail math graphics net", True),
    "debian_ru": ("ru", "games sound net admin graphics editors web", False),
    "debian_pl": ("pl", "games graphics text devel net utils", False),
    "debian_ja": ("ja", "games sound graphics net mail text", False),
    "titles_de": ("de", "games libs net doc python sound math", True),
    "debian_cs": ("cs", "games graphics net utils sound admin", False),
    "debian_uk": ("uk", "games graphics net sound web editors", False),
    "debian_da": ("da", "games science sound web mail math fonts", False),
    "debian_de_b": ("de", SECOND, False),
    "debian_fr_b": ("fr", FIRST, False),
    "debian_en_c": ("en", "database fonts interpreters localization shells video vcs", False),
    "titles_fr": ("fr", SECOND, True),
    "debian_ko": ("ko", "games sound graphics net mail text", False),
    "debian_pt_b": ("pt", "games graphics net utils sound admin", False),
    "debian_es_b": ("es", "graphics mail net utils doc admin", False),
    "debian_ru_b": ("ru", "utils libs mail text devel math science", False),
    "debian_en_e": (
        "en",
        "hamradio electronics science otherosfs comm news zope tex fonts math",
        False,
    ),
    "debian_da_b": ("da", "graphics libs net video utils perl python x11", False),
    "debian_de_c": ("de", "perl python java sound mail shells kernel x11", False),
    "debian_sk": ("sk", "games science sound web mail math video admin", False),
    "debian_sk_b": ("sk", "graphics libs net utils text devel electronics fonts", False),
    "debian_it_b": ("it", "games sound libs perl java ruby fonts science", False),
    "debian_it_c": ("it", "database editors electronics hamradio kernel shells vcs", False),
    "debian_zh_CN": ("zh_CN", "games graphics net sound utils", False),
    "debian_ja_b": ("ja", "libs utils admin web doc editors", False),
    "debian_pl_b": ("pl", "admin sound libs mail net web", False),
    "debian_fr_c": ("fr", "python perl java science sound kernel vcs localization", False),
    "titles_it": ("it", "games sound net mail fonts math editors", True),
    "debian_fi": ("fi", "games devel admin text sound net", False),
    "debian_sr": ("sr", "gnome devel admin games libs utils", False),
    "debian_cs_b": ("cs", "libs text mail science x11 web", False),
    "debian_uk_b": ("uk", "libs devel perl doc science fonts", False),
    "debian_ko_b": ("ko", "admin science mail web perl fonts math", False),
    "debian_en_f": ("en", "rust golang javascript ocaml lisp gnu-r ruby haskell", False),
    "debian_en_g": ("en", "games sound net mail text graphics editors science", False),
    "debian_fr_d": ("fr", "lisp gnu-r kde gnome fonts editors math", False),
    "debian_de_d": ("de", "games science web video devel text editors", False),
    "debian_da_c": ("da", "games text mail web math editors sound", False),
    "titles_es": ("es", "games net mail sound graphics doc", True),
    "titles_uk": ("uk", "games libs perl graphics sound text", True),
    "titles_sk": ("sk", "games libs doc web python graphics", True),
}
DOCSTRINGS = {
    "docstrings_b": ["numpy", "scipy.stats", "pandas", "sklearn.cluster", "networkx"],
    "docstrings": [
        "scipy.signal",
        "matplotlib.axes",
        "numpy.linalg",
        "scipy.special",
        "sqlalchemy",
    ],
    "docstrings_d": [
        "scipy.optimize",
        "scipy.sparse",
        "pandas",
        "matplotlib.pyplot",
        "numpy.ma",
        "anndata",
        "asyncio",
    ],
    "docstrings_e": [
        "scipy.ndimage",
        "scipy.interpolate",
        "numpy.polynomial",
        "sklearn.linear_model",
        "hypothesis.strategies",
        "xarray",
        "rich.console",
    ],
    "docstrings_f": ["scipy.linalg", "dask.array", "numpy.random", "polars", "zarr", "anndata"],
    "docstrings_g": ["scipy.stats", "matplotlib.figure", "numpy.fft", "pandas", "logging"],
    "docstrings_h": [
        "networkx",
        "sklearn.metrics",
        "scipy.sparse",
        "dask.dataframe",
        "http.client",
    ],
    "library": ["tkinter", "decimal", "asyncio", "turtle", "email.message", "datetime"],
}
BUILD = (
    *("mail_a", "mail_b", "debian_es", "debian_it", "debian_pt", "debian_en_b", "titles_b"),
    *("docstrings_b", "man_fr", "bbc", "mail_e", "debian_cs", "debian_uk", "man_uk", "man_pt_BR"),
)
REPORT = ("mail_c", "debian_de", "debian_fr", "debian_en", "titles", "docstrings", "man_de")
REPORT = (*REPORT, "reuters", "nips")
LAST = ("mail_d", "debian_ru", "debian_pl", "debian_ja", "titles_de", "library")
LAST = (*LAST, "man_es", "man_pl", "man_ja")
NEW = ("mail_f", "debian_da", "debian_de_b", "debian_fr_b", "debian_en_c", "titles_fr")
NEW = (*NEW, "man_ru", "python_docs")
FRESH = ("mail_h", "mail_i", "mail_j", "debian_ko", "debian_pt_b", "debian_es_b", "debian_ru_b")
FRESH = (*FRESH, "debian_en_e", "debian_da_b", "debian_de_c", "man_zh_CN")
FRESH = (*FRESH, "docstrings_d", "docstrings_e")
UNSEEN = ("mail_k", "mail_l", "debian_sk", "debian_sk_b", "debian_it_b", "debian_it_c")
UNSEEN = (*UNSEEN, "debian_zh_CN", "debian_ja_b", "debian_pl_b", "debian_fr_c", "titles_it")
UNSEEN = (*UNSEEN, "titles_sk", "docstrings_f", "man_it", "man_nl", "man_cs", "man_tr")
FINAL = ("mail_m", "mail_n", "mail_o", "debian_fi", "debian_sr", "debian_cs_b", "debian_uk_b")
FINAL = (*FINAL, "debian_ko_b", "debian_en_f", "debian_en_g", "debian_fr_d", "debian_de_d")
FINAL = (*FINAL, "debian_da_c", "titles_es", "titles_uk", "docstrings_g", "docstrings_h")
FINAL = (*FINAL, "man_")  # in English
EVERY = (*BUILD, *REPORT, *LAST, *NEW, *FRESH, *UNSEEN, *FINAL)


def drawn(by_label: dict[str, list[str]], most: int, seed: int = 7) -> Texts:
    """Return at most so many texts of each label, in random order."""
    rng = np.random.default_rng(seed)
    pairs = [
        (own[i], label)
        for label, own in by_label.items()
        for i in rng.choice(len(own), min(most, len(own)), replace=False)
    ]
    order = rng.permutation(len(pairs))
    return [pairs[i][0] for i in order], [pairs[i][1] for i in order]


def mail(folder: Path, groups: str) -> Texts:
    """Return messages of some newsgroups as they were sent."""
    with lzma.open(folder / "news20/texts.jsonl.xz", "rt", encoding="utf-8") as lines:
        messages = [json.loads(line) for line in lines]
    return drawn({g: [m["text"] for m in messages if m["group"] == g] for g in groups.split()}, 250)


def debian(folder: Path, language: str, sections: str, titles: bool) -> Texts:
    """Return package descriptions, or their first lines, labelled by section."""
    known = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)
    section = dict(
        re.findall(r"^Package: (\S+)\n(?:.+\n)*?Section: (?:\S+/)?(\S+)", known.stdout, re.M)
    )
    packed = next((folder / "debian").glob(f"Translation-{language}.*"))
    read = lzma.open if packed.suffix == ".xz" else bz2.open
    records = read(packed).read().decode("utf-8", "replace").split("\n\n")
    found: dict[str, list[str]] = {name: [] for name in sections.split()}
    for record in records:
        name = re.search(r"^Package: (\S+)$", record, re.M)
        text = re.search(rf"^Description-{language}: (.*(?:\n .*)*)", record, re.M)
        if name and text and section.get(name[1]) in found:
            body = text[1].replace("\n .", "\n")
            found[section[name[1]]].append(body.split("\n")[0] if titles else body)
    return drawn(found, 200)


def docstrings(modules: list[str]) -> Texts:
    """Return docstrings of functions, classes and methods, labelled by package."""
    found = {}
    for name in modules:
        module = importlib.import_module(name)
        things = [getattr(module, member, None) for member in dir(module)]
        things += [
            getattr(kind, member, None)
            for kind in things
            if inspect.isclass(kind)
            for member in dir(kind)
            if member[0] != "_"
        ]
        found[name] = sorted({doc for doc in map(inspect.getdoc, things) if doc and len(doc) > 150})
    return drawn(found, 200)


def manuals(folder: Path, language: str) -> Texts:
    """Return manual pages of a language, labelled by section."""
    found: dict[str, list[str]] = {}
    for path in sorted((folder / "man/usr/share/man" / language).glob("man*/*.gz")):
        text = gzip.open(path).read().decode("utf-8", "replace")
        text = re.sub(r"^[.'][A-Za-z\\\"]*.?|\\f.|\\-|\\&|\\\(..", "", text, flags=re.M)
        if len(text) > 800:
            found.setdefault(path.parent.name, []).append(text)
    return drawn({name: own for name, own in found.items() if len(own) > 30}, 200)


def python_docs(folder: Path) -> Texts:
    """Return pages of Python's documentation, labelled by part."""
    found: dict[str, list[str]] = {}
    for path in sorted((folder / "python_docs").glob("*/*.txt")):
        found.setdefault(path.parent.name, []).append(path.read_text("utf-8", "replace"))
    return drawn({name: own for name, own in found.items() if len(own) > 12}, 200)


def corpus(name: str, folder: Path) -> tuple[sp.csr_array, np.ndarray | None, int]:
    """Return counts, labels or None, and the number of topics."""
    if name == "nips":
        return sp.csr_array(sp.load_npz(folder / "nips/counts.npz")), None, 20
    if name in ("bbc", "reuters"):
        where = folder / {"bbc": "bbc_news", "reuters": "reuters21578"}[name]
        counts, labels = sp.load_npz(where / "counts.npz"), np.load(where / "labels.npz")["labels"]
        kept = np.flatnonzero(np.isin(labels, np.argsort(-np.bincount(labels))[:10]))
        return sp.csr_array(counts)[kept], labels[kept], len(np.unique(labels[kept]))
    if name in MAIL:
        texts, labels = mail(folder, MAIL[name])
    elif name in DEBIAN:
        texts, labels = debian(folder, *DEBIAN[name])
    elif name == "python_docs":
        texts, labels = python_docs(folder)
    elif name in DOCSTRINGS:
        texts, labels = docstrings(DOCSTRINGS[name])
    else:
        texts, labels = manuals(folder, name.removeprefix("man_"))
    numbers = np.unique(labels, return_inverse=True)[1]
    return count_words(texts).matrix, numbers, int(numbers.max()) + 1


def ours(counts: sp.csr_array, k: int) -> np.ndarray:
    """Run find_topics with its defaults, without evidence on halves of the data."""
    return find_topics(counts, k, evidence=False).document_weights.argmax(axis=1)


def lsa(counts: sp.csr_array, k: int) -> np.ndarray:
    """Run k-means on tf-idf in 100 singular directions, rows of unit length."""
    features = topic_models.tf_idf(counts)
    width = min(100, features.shape[1] - 1)
    rows = normalize(TruncatedSVD(width, random_state=0).fit_transform(features))
    return KMeans(k, n_init=10, random_state=0).fit_predict(rows)


METHODS: dict[str, Callable[[sp.csr_array, int], np.ndarray]] = {
    "find_topics": ours,
    "NMF tf-idf": lambda c, k: topic_models.nmf(topic_models.tf_idf(c), k)[1].argmax(axis=1),
    "NMF KL": lambda c, k: topic_models.nmf_kl(c, k)[1].argmax(axis=1),
    "LDA": lambda c, k: topic_models.lda(c, k)[1].argmax(axis=1),
    "tomotopy": lambda c, k: topic_models.tomotopy_lda(c, k)[1].argmax(axis=1),
    "LSA + k-means": lsa,
}


def scores(labels: np.ndarray, counts: sp.csr_array, classes: np.ndarray | None) -> list[float]:
    """Return NMI, NPMI by size, diversity, and the largest share."""
    members = np.eye(labels.max() + 1)[labels]
    sizes = members.sum(axis=0)
    members, sizes = members[:, sizes > 0], sizes[sizes > 0] / sizes.sum()
    sums = np.asarray((counts.T @ members).T) + 1e-9
    topics = sums / sums.sum(axis=1, keepdims=True)
    frequency = np.asarray(counts.sum(axis=0)).ravel() / counts.sum()
    words = top_words(relevance(topics, frequency + 1e-12), 10)
    agreement = np.nan
    if classes is not None:
        agreement = normalized_mutual_info_score(classes, labels)
    coherence = float(sizes @ npmi_coherence(words, counts))
    return [agreement, coherence, len(np.unique(words)) / words.size, float(sizes.max())]


def main() -> None:
    """Print a table, a line for each corpus and method."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--names", nargs="*", default=list(EVERY))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = ["| corpus | method | NMI | NPMI by size | diversity | largest | seconds |"]
    lines.append("|---|---|---|---|---|---|---|")
    print("\n".join(lines))
    for name in given.names:
        counts, classes, k = corpus(name, given.folder)
        often = np.flatnonzero(np.bincount(counts.indices, minlength=counts.shape[1]) > 1)
        counts = sp.csr_array(counts[:, often]).astype(np.float64)
        used = np.flatnonzero(np.diff(counts.indptr))  # tomotopy leaves out empty documents
        counts, classes = counts[used], None if classes is None else classes[used]
        for method in given.methods:
            started = time.process_time()
            labels = METHODS[method](counts, k)
            seconds = time.process_time() - started
            values = [f"{value:.3f}" for value in scores(labels, counts, classes)]
            lines.append(f"| {name}, {k} | {method} | {' | '.join(values)} | {seconds:.1f} |")
            print(lines[-1], flush=True)
    if given.out:
        given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
