"""Mutational signatures of tumors and how much each tumor is exposed to them.

Read `extraction.py` first: dispersion, sparse exposures, growth, pruning. `catalogue.py` reads
tables of counts and compares with known signatures, `search.py` is the public function with its
answer.
"""

from provenmf.applications.signatures.search import Signatures, find_signatures

__all__ = ["Signatures", "find_signatures"]
