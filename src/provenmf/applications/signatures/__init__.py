"""Mutational signatures of tumors and how much each tumor is exposed to them.

Read `model.py` first: the likelihood and its penalties. `moves.py` says what to try and
`extraction.py` searches; `search.py` is the public function and `answer.py` what it returns.
`catalogue.py` reads tables of counts and compares with known signatures, `channels.py` knows the
names of mutation types.
"""

from provenmf.applications.signatures.answer import Signatures
from provenmf.applications.signatures.search import find_signatures

__all__ = ["Signatures", "find_signatures"]
