"""Topics of a million documents, end to end: `provenmf topics` from jsonl and from counts.

Documents are drawn from a topic model and written to a folder as texts (jsonl)
and as counts with their vocabulary. Then the command runs
on each as anyone would run it, with certificate and report (from texts with --max-share 1, since
the most frequent words of the model are no stop words), and what it found is compared with the
truth. Memory is the sum over the command and the processes that it starts, looked at five times a
second; seconds of the processor include theirs.

    python -m benchmarks.scale.million_documents --quick            20 000 documents, a minute
    python -m benchmarks.scale.million_documents --documents 100000
    python -m benchmarks.scale.million_documents --folder /tmp/corpus --keep
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from provenmf import load
from provenmf.datasets.corpora import TopicCorpus, topic_corpus
from provenmf.metrics.topics import match_topics

BLOCK = 20_000
SYLLABLES = ["".join(pair) for pair in product("bcdfghjklmnpqrstvwyz", "aeiou")]


def words(number: int) -> list[str]:
    """So many words of three syllables; none is a stop word."""
    return [f"{a}{b}{c}x" for (a, b, c), _ in zip(product(SYLLABLES, repeat=3), range(number))]


def write_corpus(folder: Path, corpus: TopicCorpus) -> dict[str, Any]:
    """Write texts.jsonl, counts.npz and words.txt; their sizes."""
    counts = corpus.counts
    names = np.array(words(counts.shape[1]), dtype=object)
    rng = np.random.default_rng(0)

    with open(folder / "texts.jsonl", "w") as file:
        for start in range(0, counts.shape[0], BLOCK):
            write_texts(file, counts[start : start + BLOCK], names, rng)
    sp.save_npz(folder / "counts.npz", counts.astype(np.int32), compressed=False)
    (folder / "words.txt").write_text("\n".join(names))
    sizes = {path.name: f"{path.stat().st_size / 1e6:.0f} MB" for path in sorted(folder.iterdir())}
    return {"documents": counts.shape[0], "words": len(names), "nonzeros": counts.nnz, **sizes}


def write_texts(file: Any, counts: sp.csr_array, names: Any, rng: np.random.Generator) -> None:
    """One JSON object a document, its words in any order."""
    repeats = counts.data.astype(np.intp)
    ends = np.concatenate([[0], np.cumsum(repeats)])[counts.indptr]
    documents = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    order = np.lexsort((rng.random(len(documents)), documents))
    tokens = names[np.repeat(counts.indices, repeats)[order]].tolist()
    for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist()):
        file.write(f'{{"text": "{" ".join(tokens[start:stop])}"}}\n')


def run(arguments: list[str], folder: Path) -> dict[str, Any]:
    """Run the command; wall and processor seconds, and the peak of all memory in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started, peak = time.monotonic(), 0
    command = [sys.executable, "-m", "provenmf", *arguments]
    with open(folder / "output.txt", "w") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
        while process.poll() is None:
            peak = max(peak, memory_of(process.pid))
            time.sleep(0.2)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit((folder / "output.txt").read_text())
    return {
        "wall seconds": round(time.monotonic() - started),
        "processor seconds": round(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        ),
        "peak MB": round(peak / 1e6),
    }


def memory_of(process: int) -> int:
    """Resident bytes of a process and of those that it started (Linux)."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # it has just ended
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(memory_of(int(child)) for child in children)


def compared(result: Path, corpus: TopicCorpus) -> dict[str, Any]:
    """Errors against the truth: mean and worst L1 distance of topics, and of the weights."""
    found: Any = load(result)
    place = {word: column for column, word in enumerate(words(corpus.counts.shape[1]))}
    topics = np.zeros((len(found.topics), corpus.counts.shape[1]))
    topics[:, [place[word] for word in found.vocabulary.tolist()]] = found.topics
    match = match_topics(topics, corpus.topics)
    return {
        "topics, L1": round(match.mean_distance, 4),
        "worst": round(float(match.distances.max()), 4),
        "weights, L1": round(match.weight_distance(found.document_weights, corpus.weights), 4),
        "result": f"{result.stat().st_size / 1e6:.0f} MB",
        "report": f"{result.with_suffix('.html').stat().st_size / 1e6:.2f} MB",
    }


def main() -> None:
    """One JSON object a line: the corpus, then a run from each form of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--length", type=float, default=110.0, help="words of a document")
    parser.add_argument("--forms", nargs="+", default=["texts.jsonl", "counts.npz"])
    parser.add_argument("--options", nargs="*", default=[], help="more options of the command")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--keep", action="store_true", help="do not delete the corpus")
    chosen = parser.parse_args()
    n_documents = BLOCK if chosen.quick else chosen.documents
    folder = chosen.folder or Path(tempfile.mkdtemp(prefix="provenmf-"))
    folder.mkdir(parents=True, exist_ok=True)
    corpus = topic_corpus(
        n_documents,
        chosen.words,
        chosen.topics,
        words_per_document=chosen.length,
        word_concentration=0.01,
        zipf=1.0,
        random_state=11,
    )
    try:
        if not (folder / "counts.npz").exists():
            print(json.dumps(write_corpus(folder, corpus)), flush=True)
        for form in chosen.forms:
            result = folder / f"{form.partition('.')[0]}-found.npz"
            arguments = ["topics", form, "-k", str(chosen.topics), "-o", result.name, "--force"]
            texts = form.endswith(".jsonl")
            arguments += ["--max-share", "1"] if texts else ["--vocabulary", "words.txt"]
            row = {"from": form, **run([*arguments, *chosen.options], folder)}
            row |= compared(result, corpus)
            tokens = n_documents * chosen.length
            print(json.dumps({**row, "minimax": round(np.sqrt(chosen.words / tokens), 4)}))
    finally:
        if not chosen.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
