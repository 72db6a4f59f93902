"""Draws docs/images/report.png: the report on the embedded texts, as the demo makes it.

Needs the packages playwright and pillow, and Chromium: that of playwright, or the one at $CHROMIUM:

    python docs/images/make.py
"""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from provenmf.applications import count_words, find_topics
from provenmf.datasets.real import standard_library_docstrings
from provenmf.io import Corpus
from provenmf.report import write

HERE = Path(__file__).parent
WIDTH, HEIGHT = 1280, 940
SHOWN_WIDTH = 960
COLOURS = 128


def report_page(folder: Path) -> Path:
    """The report of the demo."""
    texts, names = standard_library_docstrings()
    counts = count_words(Corpus(texts, names), min_documents=5, max_share=0.2)
    topics = find_topics(counts, 10, random_state=0)
    page = folder / "topics.html"
    write(topics, page, title="Topics of the docstrings of Python's standard library")
    return page


def picture_of(page: Path) -> Image.Image:
    """The first screen of a page, in light colours."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=os.environ.get("CHROMIUM"))
        screen = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        screen.goto(page.as_uri())
        screen.wait_for_timeout(1500)
        taken = screen.screenshot()
        browser.close()
    return Image.open(io.BytesIO(taken)).convert("RGB")


def main() -> None:
    """Take the picture, and keep it small."""
    with tempfile.TemporaryDirectory() as folder:
        picture = picture_of(report_page(Path(folder)))
    small = picture.resize((SHOWN_WIDTH, SHOWN_WIDTH * HEIGHT // WIDTH), Image.Resampling.LANCZOS)
    small.quantize(COLOURS).save(HERE / "report.png", optimize=True)


if __name__ == "__main__":
    main()
