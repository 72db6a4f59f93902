"""A real browser: Chromium, headless, driven by Playwright; skipped where either is missing."""

import shutil

import pytest

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed (pip install playwright)"
    )
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


class Opened:
    """A report in a page, with everything that went wrong while it opened."""

    def __init__(self, page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self.requests.append(request.url))

    def _console(self, message) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def _dialog(self, dialog) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def open_report(browser, tmp_path):
    """Write the report of a result and open it from disk."""
    from provenmf.report import write

    contexts = []

    def open_it(result, *, width=1280, height=900, scheme="light") -> Opened:
        path = tmp_path / "report.html"
        write(result, path)
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.goto(path.as_uri())
        opened.page.wait_for_load_state()
        return opened

    yield open_it
    for context in contexts:
        context.close()
