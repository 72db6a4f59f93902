"""Runs the Python blocks of a page while the documentation is built.

Blocks that begin with ```` ```python run ```` share one namespace for each page. What a block
prints follows it, and so does every matplotlib figure that it opens, as a picture beside the page.
An error stops the build and names the page.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("MPLBACKEND", "svg")  # no window is opened
BLOCK = re.compile(r"^```python run\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Put output and pictures below the blocks that made them."""
    if not BLOCK.search(markdown):
        return markdown
    namespace: dict[str, Any] = {"__name__": page.file.src_uri}
    source, pictures = Path(page.file.src_uri), 0

    def executed(found: re.Match[str]) -> str:
        nonlocal pictures
        parts = [f"```python\n{found[1]}```\n", output_of(found[1], namespace, str(source))]
        for picture in open_figures():
            pictures += 1
            name = f"{source.stem}-{pictures}.svg"
            target = Path(config["site_dir"]) / Path(page.file.dest_uri).parent / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(picture, encoding="utf-8")
            parts.append(f'\n<p class="picture"><img src="{name}" alt="{source.stem}"></p>\n')
        return "\n".join(parts)

    return BLOCK.sub(executed, markdown)


def output_of(code: str, namespace: dict[str, Any], name: str) -> str:
    """Run a block; what it printed, as a fenced block."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), namespace)
    return as_block(printed.getvalue())


def as_block(printed: str) -> str:
    """Printed text as a block that is set apart from code."""
    text = printed.rstrip()
    return f"``` {{.text .printed .no-copy}}\n{text}\n```\n" if text else ""


def open_figures() -> list[str]:
    """Every open figure of matplotlib as SVG; closes them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    drawn = []
    for number in pyplot.get_fignums():
        file = io.StringIO()
        pyplot.figure(number).savefig(file, format="svg", bbox_inches="tight")
        drawn.append(file.getvalue())
        pyplot.close(number)
    return drawn
