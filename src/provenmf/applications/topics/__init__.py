"""Topics of a corpus and every document's share in them.

Read `search.py` first. Counts of words are taken as they are given (`given_counts.py`) or made from
texts (`words.py`, `counting.py`). One of three ways (`ways.py`) finds topics: from counts
(`counted_words.py`), from tf-idf (`anchor_words.py`), or from documents. Each document then gets
its shares (`document_weights.py`). Topics may be merged, dropped and split by hand (`edits.py`).
"""

from provenmf.applications.topics.answer import Topics
from provenmf.applications.topics.search import find_topics
from provenmf.applications.topics.words import count_words

__all__ = ["Topics", "count_words", "find_topics"]
