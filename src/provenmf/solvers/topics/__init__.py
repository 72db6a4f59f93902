"""Topics from word counts, without the bias of pairing a word with itself.

`spectrum` weighs documents and finds the leading eigenpairs of the words' scaled co-occurrence and
its noise level, `words` makes each word a point with a standard error, `documents` finds the topic
weights of documents and `prior` their prior. Topics are then found once more, from these weights:
by `refine` where every occurrence is drawn by itself, by `one_step` where words repeat; documents
left out judge the outcome (`completion`). Anchors and vertices come from `solvers.separable`. Read
`spectrum` first.
"""
