"""Topics from word counts, without the bias of pairing a word with itself.

`spectrum` weighs documents and finds the leading eigenpairs of the words' scaled co-occurrence and
its noise level, `words` makes each word a point with a standard error, `vertices` has anchor words
and the vertices around them, `documents` finds the topic weights of documents and `prior` their
prior. In texts `coordinates` chooses those in which topics keep to different documents. Topics are
then found once more, from the documents' weights: by `refine` where every occurrence is drawn by
itself, by `one_step` where words repeat; documents left out judge the outcome (`completion`). Read
`spectrum` first.
"""
