"""The API reference has every public name, and every page of the documentation is reachable."""

from pathlib import Path

import provenmf

ROOT = Path(__file__).parents[2]


def test_every_public_name_is_in_the_reference():
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.md"))
    entries = {line.split()[1] for line in pages.splitlines() if line.startswith("::: ")}
    public = {f"provenmf.{name}" for name in provenmf.__all__ if name != "__version__"}
    assert public <= entries


def test_every_page_is_in_the_navigation():
    menu = (ROOT / "mkdocs.yml").read_text()
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if f" {page}\n" not in menu] == []
