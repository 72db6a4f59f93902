"""Strokes of which handwritten digits are made."""

from sklearn.datasets import load_digits

from provenmf.applications import find_parts


def run():
    """Ten parts of the digits that come with scikit-learn, drawn with characters."""
    result = find_parts(load_digits().images[:500], 10, random_state=0)
    for row in result.parts[0]:
        print("".join(" .:-=+*#%@"[int(9 * min(pixel, 1.0))] for pixel in row))
    error = result.factorization.certificate.measures["relative_error"]
    print(f"ten parts leave {error:.0%} of the images unexplained")
    return result


if __name__ == "__main__":
    run()
