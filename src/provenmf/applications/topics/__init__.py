"""Topics of a corpus and the share of each topic in each document.

Read `find.py` first. Texts are counted by `texts.py`; counts are held as blocks of documents
(`corpus.py`). The solver (`solver.py`) reads topics off the co-occurrence of words
(`cooccurrence.py`) or starts from groups of documents (`groups.py`); `inference.py` refines them
and infers the weights of documents. The answer (`answer.py`) can be edited by hand (`edits.py`).
"""

from provenmf.applications.topics.answer import Topics
from provenmf.applications.topics.find import find_topics
from provenmf.applications.topics.texts import count_words

__all__ = ["Topics", "count_words", "find_topics"]
