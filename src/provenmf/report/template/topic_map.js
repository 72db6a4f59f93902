"use strict";
// The words of the chosen topic, in the order of its card.
(function () {
  let figures = JSON.parse(document.getElementById("figures").textContent).figures;

  function element(parent, name, className, text) {
    const made = document.createElement(name);
    if (className) { made.className = className; }
    if (text !== undefined) { made.textContent = text; }
    parent.appendChild(made);
    return made;
  }

  function percent(share) { return (share > 0.995 ? 100 : (100 * share).toPrecision(2)) + " %"; }

  // Light: the word in the whole collection; dark: its occurrences within the topic.
  function wordRow(list, term, share, most) {
    const inside = Math.min(term[1] * share, term[2]);
    const row = element(list, "li");
    row.title = term[0] + ": " + percent(term[1]) + " of this topic, " + percent(inside / term[2]) + " of the word's occurrences";
    element(row, "span", "label", term[0]);
    const track = element(row, "span", "track");
    element(track, "span", "bar whole").style.width = 100 * term[2] / most + "%";
    element(track, "span", "bar inside").style.width = 100 * inside / most + "%";
    element(row, "span", "value", percent(inside / term[2]));
  }

  function show(map) {
    const plot = map.querySelector(".plot"), spec = figures[Number(plot.dataset.chart)];
    const chosen = Number(plot.dataset.chosen || 0), terms = spec.terms[chosen];
    map.querySelector(".chosen").textContent = spec.names[chosen];
    const most = terms.reduce(function (largest, term) { return Math.max(largest, term[2]); }, 0);
    const list = map.querySelector(".bars");
    list.replaceChildren();
    terms.forEach(function (term) { wordRow(list, term, spec.sizes[chosen], most); });
  }

  document.querySelectorAll(".topic-map").forEach(function (map) {
    const plot = map.querySelector(".plot"), sizes = figures[Number(plot.dataset.chart)].sizes;
    plot.dataset.chosen = sizes.indexOf(Math.max.apply(null, sizes));
    plot.addEventListener("chosen", function () { show(map); });
    document.addEventListener("renamed", function (event) { figures = event.detail; show(map); });
    show(map);
  });
})();
