"""The API reference has every public name, and every page of the documentation is reachable."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import provenmf

ROOT = Path(__file__).parents[2]


def hook(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "hooks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def entries(text):
    return [line.split()[1] for line in text.splitlines() if line.startswith("::: ")]


def test_every_public_name_has_one_entry():
    reference, shown = hook("reference"), []
    config = {"docs_dir": str(ROOT / "docs")}
    for page in (ROOT / "docs" / "api").glob("*.md"):
        text = reference.on_page_markdown(page.read_text(), page=None, config=config, files=None)
        shown += entries(text)
    public = [f"provenmf.{name}" for name in provenmf.__all__ if name != "__version__"]
    assert set(public) <= set(shown) and len(set(shown)) == len(shown)


def test_every_page_is_in_the_navigation():
    menu = (ROOT / "mkdocs.yml").read_text()
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if f" {page}\n" not in menu] == []


def test_output_follows_the_block_that_printed_it(tmp_path):
    page = SimpleNamespace(
        file=SimpleNamespace(src_uri="guide/page.md", dest_uri="guide/page/index.html")
    )
    text = "One.\n\n```python run\nx = 6\nprint(7 * x)\n```\n\n```python\nnot run\n```\n"
    config = {"site_dir": str(tmp_path)}
    made = hook("executed").on_page_markdown(text, page=page, config=config, files=None)
    assert "```python\nx = 6" in made and "\n42\n" in made and "not run" in made
