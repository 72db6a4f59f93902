"""The report as its reader meets it."""

import numpy as np
import pytest

from provenmf.report.elements import Chart, Tab
from provenmf.report.figures import Lines
from provenmf.report.page import page as page_with
from provenmf.reproduce.claims import Experiment, Measured
from provenmf.reproduce.results import Result, page_of

pytestmark = pytest.mark.browser

TABS = ["found", "convergence", "certificate"]
PHONE = {"width": 390, "height": 844}


def each_tab(opened):
    for name in TABS:
        opened.page.click(f"#tab-{name}")
        opened.page.wait_for_timeout(100)
        yield name


def test_opens_without_error_request_or_horizontal_scroll(open_report, result):
    opened = open_report(result)
    for size in ({"width": 1280, "height": 900}, PHONE):
        opened.page.set_viewport_size(size)
        for name in each_tab(opened):
            width = opened.page.evaluate("document.documentElement.scrollWidth")
            assert width <= size["width"], name
    assert opened.problems == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize("width", [390, 1280])
def test_long_names_stay_inside_the_page(open_report, results, width):
    from dataclasses import replace

    long = replace(
        results["matrix"],
        component_names=np.array(["A" * 70, "a name of many words " * 4, "c"]),
        column_names=np.array(["x" * 80] + [f"c{i}" for i in range(11)]),
    )
    page = open_report(long, width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_click_or_a_link_shows_one_panel(open_report, results):
    page = open_report(results["topics"]).page
    page.click("#tab-certificate")
    assert page.is_visible("#certificate") and not page.is_visible("#found")
    assert page.get_attribute("#tab-certificate", "aria-selected") == "true"
    assert page.get_attribute("#tab-found", "aria-selected") == "false"
    page.goto(page.url + "#convergence")
    page.reload()
    assert page.is_visible("#convergence") and not page.is_visible("#found")


def test_keyboard_reaches_and_moves_between_tabs(open_report, results):
    page = open_report(results["topics"]).page
    focused = "document.activeElement.id"
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate(focused) == "tab-found":
            break
    assert page.evaluate(focused) == "tab-found"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "tab-convergence" and page.is_visible("#convergence")
    page.keyboard.press("End")
    assert page.is_visible("#certificate")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "tab-found" and page.is_visible("#found")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(focused) == "tab-certificate"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "certificate"
    page.click("#tab-found")
    page.focus("details summary >> nth=0")
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector('details').open")


def test_script_word_stays_text(open_report, results):
    opened = open_report(results["topics"])
    list(each_tab(opened))
    opened.page.click("#tab-found")
    labels = opened.page.locator(".card .marked .label").all_text_contents()
    assert any(label.endswith("<script>alert(1)</script>") for label in labels)
    assert opened.problems == []
    opened = open_report(results["unmixing"])  # in a chart
    assert "<script>alert(1)</script>" in opened.page.text_content(".legend")
    assert opened.problems == []


@pytest.mark.parametrize(
    ("kind", "chart", "mark"),
    [("topics", 1, "circle"), ("communities", 0, "circle"), ("unmixing", 1, "image")]
    + [("unmixing", 0, "path")],
)
def test_hovering_a_chart_tells_its_values(open_report, results, kind, chart, mark):
    page = open_report(results[kind]).page
    plot = page.locator(f'.plot[data-chart="{chart}"]')
    plot.scroll_into_view_if_needed()
    box = plot.locator(f"{mark} >> nth=0").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = plot.locator(".tip")
    assert tip.is_visible() and tip.text_content().strip()


def test_theme_follows_the_system_and_the_button(open_report, results):
    page = open_report(results["unmixing"], scheme="dark").page
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    text = "getComputedStyle(document.querySelector('text.xtick')).fill"
    light_text = page.evaluate(text)
    page.click("#theme")
    assert page.evaluate(background) != dark
    assert page.evaluate(text) != light_text
    page.click("#theme")
    assert page.evaluate(background) == dark


def test_print_shows_every_tab(open_report, results, tmp_path):
    opened = open_report(results["topics"], scheme="dark")
    shown = []
    opened.page.expose_function("note", lambda count: shown.append(count))
    opened.page.evaluate(
        """addEventListener("beforeprint", () => {
            const panels = [...document.querySelectorAll("[role=tabpanel]")];
            note(panels.filter(panel => panel.offsetHeight > 0).length);
        })"""
    )
    opened.page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").stat().st_size > 10_000
    assert shown == [3]
    assert opened.page.is_visible("#found") and not opened.page.is_visible("#certificate")


def test_charts_fit_paper_and_screen(open_report, results):
    """Each as wide as its place: when printing, afterwards, and in a tab printed before shown."""
    page = open_report(results["unmixing"], width=1280, height=900).page
    widths = """[...document.querySelectorAll(".plot")].filter(p => p.offsetParent !== null)
        .map(p => [p.clientWidth, Number(p.querySelector("svg").getAttribute("width"))])"""

    def fits() -> bool:
        found = page.evaluate(widths)
        return len(found) > 0 and all(abs(place - chart) <= 1 for place, chart in found)

    assert fits()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert fits()  # at once: the paper does not wait
    assert page.evaluate("document.body.clientWidth") == 690
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.wait_for_timeout(400)
    assert fits()
    page.click("#tab-convergence")
    page.wait_for_timeout(400)
    assert fits()


def test_wide_tables_scroll_inside_the_page(browser, tmp_path):
    """A table of many columns keeps its words whole on a phone; the page itself does not scroll."""
    cells = {f"column {number}": "FastGradient" for number in range(12)}
    run = Experiment("wide", "Liu17", "wide", lambda settings: None, ())
    outcome = Measured({"A wide table": [cells]})
    path = tmp_path / "wide.html"
    path.write_text(page_of(Result(run, outcome, quick=True, seed=0, seconds=1.0)))
    page = browser.new_page(viewport=PHONE)
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    lines = page.evaluate(
        "() => {const cell = document.querySelector('td'); const range = document.createRange();"
        "range.selectNodeContents(cell); return range.getClientRects().length}"
    )
    assert lines == 1
    page.close()


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_chart_can_be_saved(open_report, results, ending):
    opened = open_report(results["unmixing"])
    with opened.page.expect_download() as waiting:
        opened.page.click(f"[data-save={ending}] >> nth=0")
    content = waiting.value.path().read_bytes()
    assert waiting.value.suggested_filename == f"spectra-of-the-materials.{ending}"
    assert content.startswith(b"<svg" if ending == "svg" else b"\x89PNG") and len(content) > 2000
    assert opened.problems == []


@pytest.mark.parametrize("by", ["click", "keyboard", "list"])
def test_rows_are_filtered_by_component(open_report, results, by):
    opened = open_report(results["topics"])
    page = opened.page
    page.click("#tab-certificate")
    line = page.locator('.overview tr[data-component="2"]')
    if by == "click":
        line.click()
    elif by == "keyboard":
        line.focus()
        page.keyboard.press("Enter")
    else:
        page.click("#tab-found")
        page.select_option(".of-component", "2")
    of_second = page.locator('.rows tr[data-of="2"]').count()
    assert 0 < of_second < page.locator(".rows tr[data-of]").count()
    assert page.locator(".rows tr[data-of]:visible").count() == of_second
    assert page.locator('.rows tr[data-of="2"]:visible').count() == of_second
    assert page.text_content(".filter [role=status]") == f"{of_second} rows"
    assert opened.problems == []


def test_search_finds_topics_by_their_words(browser, open_report, results):
    from dataclasses import replace

    names = tuple(f"Part {number}" for number in range(1, 9))
    rng = np.random.default_rng(0)
    many = replace(
        results["matrix"],
        weights=rng.random((25, 8)),
        components=rng.random((8, 12)),
        anchors=None,
        component_names=np.array(names),
        column_names=None,
    )
    page = open_report(many).page
    page.fill(".search input", "part 3")
    assert page.locator(".card:visible").count() == 1
    assert page.text_content(".search [role=status]") == "1 of 8"
    page.fill(".search input", "")
    assert page.locator(".card:visible").count() == 8


def test_a_circle_of_the_map_has_words_and_shows_its_documents(open_report, results):
    opened, answer = open_report(results["topics"]), results["topics"]
    page = opened.page
    circle = page.locator("g[role=button] >> nth=3")
    words = circle.locator("title").text_content().split(": ", 1)[1]
    chosen = [", ".join(own) for own in answer.top_words(12)].index(words)
    circle.click()
    own = np.count_nonzero(answer.document_weights.argmax(axis=1) == chosen)
    assert page.locator(".rows tbody tr:visible").count() == own
    assert opened.problems == []


@pytest.mark.parametrize("width", [390, 1280])
def test_the_corners_of_the_membership_map_have_whole_names_inside(open_report, results, width):
    page = open_report(results["communities"], width=width).page
    corners = page.locator("text.corner")
    shown = corners.all_text_contents()
    assert len(shown) >= 2 and not any("…" in name for name in shown)
    inside = """all => all.every(text => {
        const box = text.getBoundingClientRect();
        const sheet = text.ownerSVGElement.getBoundingClientRect();
        return box.left >= sheet.left && box.right <= sheet.right && box.top >= sheet.top;
    })"""
    assert corners.evaluate_all(inside)


def test_counts_have_whole_ticks_enough_on_a_phone(browser, tmp_path):
    """Steps of 2.5 left a single tick at 5."""
    curve = ("data", range(1, 9), np.arange(8.0))
    tab = Tab("rank", "Evidence", [Chart("Values", Lines([curve], "number", "value"))])
    (tmp_path / "page.html").write_text(page_with("Values", [tab]), "utf-8")
    page = browser.new_page(viewport=PHONE)
    page.goto((tmp_path / "page.html").as_uri())
    ticks = page.locator("text.xtick").all_text_contents()
    page.close()
    assert len(ticks) >= 4 and all(tick.isdecimal() for tick in ticks)
