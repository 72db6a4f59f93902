"""Completes the API reference: public names that no page mentions follow on its first page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import provenmf

PLACE = "<!-- all other public names -->"


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Put the entries of names without one in the place that the page has for them."""
    if PLACE not in markdown:
        return markdown
    entries = [f"::: provenmf.{name}\n" for name in unmentioned(Path(config["docs_dir"]) / "api")]
    return markdown.replace(PLACE, "\n".join(entries))


def unmentioned(folder: Path) -> list[str]:
    """Public names without an entry on any page of a folder."""
    lines = [line for page in folder.glob("*.md") for line in page.read_text("utf-8").splitlines()]
    entries = {line.split()[1] for line in lines if line.startswith("::: ")}
    public = [name for name in provenmf.__all__ if name != "__version__"]
    return [name for name in public if f"provenmf.{name}" not in entries]
