"use strict";
(function () {
  const root = document.documentElement;
  const shown = JSON.parse(document.getElementById("figures").textContent);
  const tabs = Array.from(document.querySelectorAll('[role="tab"]'));
  const plots = Array.from(document.querySelectorAll(".plot"));
  const theme = document.getElementById("theme");
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

  // Colours of text, grid and background follow the page, so a new look means a new drawing.
  function draw(plot) {
    const figure = shown.figures[Number(plot.dataset.chart)];
    plot.style.minHeight = 0;
    charts[figure.kind](plot, figure, Number(plot.dataset.height), shown);
  }

  function visible() {
    return plots.filter(function (plot) { return plot.offsetParent !== null; });
  }

  function drawVisible() {
    visible().forEach(draw);
  }

  function select(tab, focus) {
    tabs.forEach(function (other) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", String(chosen));
      other.tabIndex = chosen ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).classList.toggle("hidden", !chosen);
    });
    if (focus) { tab.focus(); }
    drawVisible();
  }

  tabs.forEach(function (tab, place) {
    tab.addEventListener("click", function () { select(tab, false); });
    tab.addEventListener("keydown", function (event) {
      const moves = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1 };
      if (event.key in moves) {
        event.preventDefault();
        select(tabs[(moves[event.key] + tabs.length) % tabs.length], true);
      }
    });
  });

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
  }

  function showTheme() {
    theme.setAttribute("aria-pressed", String(isDark()));
    theme.textContent = isDark() ? "Light" : "Dark";
    drawVisible();
  }

  theme.addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    showTheme();
  });
  prefersDark.addEventListener("change", showTheme);

  // Paper is white and shows every tab.
  let before;
  window.addEventListener("beforeprint", function () {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    document.body.classList.add("printing");
    document.querySelectorAll("details").forEach(function (d) { d.open = true; });
    drawVisible();
  });
  window.addEventListener("afterprint", function () {
    if (before) { root.dataset.theme = before; } else { delete root.dataset.theme; }
    document.body.classList.remove("printing");
    showTheme();
  });

  // The table of all rows, filtered by component; a click in the overview chooses one.
  const filter = document.querySelector("select.of-component");
  function filterRows() {
    const block = filter.closest(".block");
    let count = 0;
    block.querySelectorAll("tr[data-of]").forEach(function (row) {
      const shown = !filter.value || row.dataset.of === filter.value;
      row.hidden = !shown;
      count += shown ? 1 : 0;
    });
    block.querySelector('[role="status"]').textContent = filter.value ? count + " rows" : "";
  }
  function showRows(component) {
    filter.value = component;
    filterRows();
    select(tabs[0], false);
    filter.scrollIntoView({ block: "start" });
  }
  if (filter) {
    filter.addEventListener("change", filterRows);
    plots.forEach(function (plot) { plot.addEventListener("chosen", function (event) { showRows(String(event.detail + 1)); }); });
    document.querySelectorAll(".overview tr").forEach(function (line) {
      function choose() { showRows(line.dataset.component); }
      line.addEventListener("click", choose);
      line.addEventListener("keydown", function (event) { if (event.key === "Enter") { choose(); } });
    });
  }

  let width = window.innerWidth;
  window.addEventListener("resize", function () {
    if (window.innerWidth !== width) { width = window.innerWidth; drawVisible(); }
  });

  // Cards are found by their words.
  document.querySelectorAll(".search").forEach(function (search) {
    const cards = Array.from(search.parentElement.querySelectorAll(".card"));
    const count = search.querySelector("[role=status]");
    search.querySelector("input").addEventListener("input", function (event) {
      const wanted = event.target.value.trim().toLowerCase();
      const found = cards.filter(function (card) {
        const hit = (card.textContent + " " + card.dataset.words).toLowerCase().includes(wanted);
        card.hidden = !hit;
        return hit;
      });
      count.textContent = wanted ? found.length + " of " + cards.length : "";
    });
  });

  const wanted = document.getElementById("tab-" + location.hash.slice(1));
  if (wanted) { select(wanted, false); }
  showTheme();
})();
