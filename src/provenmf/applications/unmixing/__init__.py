"""Materials of a hyperspectral cube and their abundances in every pixel.

Read `search.py` first. The noise of the bands (`noise.py`) decides whether endmembers are means
over pixels at the corners, corners beyond the pixels (`choice.py`), or groups of pixels that may be
exchanged for others (`points.py`); `notes.py` says which it was.
"""

from provenmf.applications.unmixing.answer import Unmixing
from provenmf.applications.unmixing.search import unmix

__all__ = ["Unmixing", "unmix"]
