"use strict";
(function () {
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const tabs = Array.from(document.querySelectorAll('[role="tab"]'));
  const plots = Array.from(document.querySelectorAll(".plot"));
  const theme = document.getElementById("theme");
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

  function colour(name) {
    return getComputedStyle(root).getPropertyValue("--" + name).trim();
  }

  function axis(own) {
    return Object.assign({ gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), exponentformat: "power" }, own);
  }

  // What must stay square gets no more height than it has width.
  function height(plot, own) {
    const wanted = Number(plot.dataset.height);
    const square = own.yaxis && own.yaxis.scaleanchor;
    return square ? Math.min(wanted, plot.clientWidth + 20) : wanted;
  }

  // The figures bring data and structure; text, grid and background follow the page.
  function layout(plot, figure) {
    const own = figure.layout || {};
    return Object.assign({}, {
      margin: { l: 60, r: 15, t: 15, b: 50 },
      legend: { orientation: "h", y: -0.22 },
    }, own, {
      xaxis: axis(own.xaxis || {}),
      yaxis: axis(own.yaxis || {}),
      height: height(plot, own),
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("ink"), family: getComputedStyle(document.body).fontFamily, size: 13 },
      hoverlabel: { bgcolor: colour("panel"), font: { color: colour("ink") }, bordercolor: colour("line") },
      dragmode: false,
    });
  }

  // A chart drawn again keeps its width: on paper it gets a fixed one, on the screen it is fitted.
  function draw(plot, fixed) {
    const figure = figures[Number(plot.dataset.chart)];
    const data = JSON.parse(JSON.stringify(figure.data));
    plot.style.minHeight = 0;
    const size = fixed ? { width: plot.clientWidth } : {};
    return Plotly.react(plot, data, Object.assign(layout(plot, figure), size), { responsive: true, displayModeBar: false });
  }

  function visible() {
    return plots.filter(function (plot) { return plot.offsetParent !== null; });
  }

  function drawVisible() {
    visible().forEach(function (plot) { draw(plot, false); Plotly.Plots.resize(plot); });
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
    visible().forEach(function (plot) { draw(plot, true); });
  });
  window.addEventListener("afterprint", function () {
    if (before) { root.dataset.theme = before; } else { delete root.dataset.theme; }
    document.body.classList.remove("printing");
    showTheme();
  });

  const wanted = document.getElementById("tab-" + location.hash.slice(1));
  if (wanted) { select(wanted, false); }
  showTheme();
})();
