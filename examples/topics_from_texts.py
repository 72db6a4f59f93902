"""From texts to topics: anchor words, top words, and the documents behind them."""

from provenmf.applications import find_topics

SEA = "the fisher cast a net from the boat while waves and storm beat the harbour"
SKY = "birds with wide wings and feathers fly on the wind above cloud and nest"
KITCHEN = "knead flour and butter then bake the bread in a hot oven with sugar"


def corpus():
    """Sixty short documents: each subject in several shortened forms."""
    texts = []
    for text in (SEA, SKY, KITCHEN):
        words = text.split()
        for shift in range(20):
            rotated = words[shift % len(words) :] + words[: shift % len(words)]
            texts.append(" ".join(rotated[:9]))
    return texts


def run():
    """Find three topics, and read the answer."""
    result = find_topics(corpus(), 3)
    for anchor, words in zip(result.anchor_words, result.top_words(6)):
        print(f"anchor word {anchor!r}: {', '.join(words)}")
    print("the first document is", result.document_weights[0].round(2))
    print(result.factorization.certificate)
    return result


if __name__ == "__main__":
    run()
