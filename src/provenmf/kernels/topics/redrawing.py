"""Words drawn at random for the documents of a corpus, the same in every pass and storage."""

import numpy as np
from numpy.typing import NDArray

from provenmf.kernels.compiled import njit

Ints = NDArray[np.integer]


@njit(cache=True, nogil=True)
def draw_words_in_place(
    ends: Ints, documents: Ints, cumulated: NDArray[np.float64], guide: Ints, words: Ints
) -> None:
    """words[ends[d]:ends[d + 1]] are drawn with the cumulated frequencies.

    A hash of the document's number and the place in it gives a number u between 0 and 1, as in
    splitmix64; the word is the first whose cumulated frequency exceeds u. guide[i] is that word
    for u = i / len(guide), so that few have to be looked at.
    """
    steps, last = len(guide), len(cumulated) - 1
    for row in range(len(ends) - 1):
        own = np.uint64(documents[row] + 1) * np.uint64(0x9E3779B97F4A7C15)
        for place in range(ends[row], ends[row + 1]):
            mixed = own + np.uint64(place - ends[row]) * np.uint64(0xD1342543DE82EF95)
            mixed ^= mixed >> np.uint64(30)
            mixed *= np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(27)
            mixed *= np.uint64(0x94D049BB133111EB)
            mixed ^= mixed >> np.uint64(31)
            u = np.float64(mixed >> np.uint64(11)) * (1.0 / 9007199254740992.0)
            word = guide[int(u * steps)]
            while word < last and cumulated[word] <= u:
                word += 1
            words[place] = word
