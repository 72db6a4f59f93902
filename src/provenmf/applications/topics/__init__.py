"""Topics of a corpus and the share of each topic in each document.

Read `find.py` first. Word counts are given (`given.py`) or counted in texts (`texts.py`,
`languages.py`) and held as blocks of documents (`corpus.py`). The solver (`solver.py`) reads topics
off the co-occurrence of words (`cooccurrence.py`, `points.py`), refines them (`refinement.py`) and
infers the weights of documents (`inference.py`). The answer (`answer.py`, `measures.py`) can be
edited by hand (`edits.py`).
"""

from provenmf.applications.topics.answer import Topics
from provenmf.applications.topics.find import find_topics
from provenmf.applications.topics.texts import count_words

__all__ = ["Topics", "count_words", "find_topics"]
