"""Builds the gallery from the scripts in examples/: title, explanation, code, output."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from executed import as_block  # noqa: E402

PLACE = "<!-- gallery -->"


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Put every example in the place that the page has for them."""
    if PLACE not in markdown:
        return markdown
    folder = Path(config["config_file_path"]).parent / "examples"
    return markdown.replace(PLACE, "\n".join(entry(path) for path in sorted(folder.glob("*.py"))))


def entry(path: Path) -> str:
    """One example as Markdown."""
    source = path.read_text(encoding="utf-8")
    explanation = ast.get_docstring(ast.parse(source)) or path.stem
    title, _, more = explanation.partition("\n")
    code = source.split('"""', 2)[2].strip()
    return "\n\n".join(
        [
            f"## {title.rstrip('.')}",
            more.strip(),
            f'```python title="examples/{path.name}"\n{code}\n```',
            as_block(printed_by(path)),
        ]
    )


def printed_by(path: Path) -> str:
    """What `run()` of an example prints."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        module.run()
    return printed.getvalue()
