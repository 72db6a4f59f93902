"""Topics from word counts, without the bias of pairing a word with itself.

`spectrum` weighs documents and finds the leading eigenpairs of the words' scaled co-occurrence and
its noise level, `words` makes each word a point with a standard error, `documents` finds the topic
weights of documents, `refine` the topics once more from these. Anchors and vertices come from
`solvers.separable`. Read `spectrum` first.
"""
