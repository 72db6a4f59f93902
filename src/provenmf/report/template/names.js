"use strict";
// Finding components by their words, and giving them names of the reader's own.
(function () {
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

  const shown = JSON.parse(document.getElementById("figures").textContent);
  const original = {};
  const given = {};
  document.querySelectorAll(".name[data-component]").forEach(function (place) { original[place.dataset.component] = place.textContent; });
  // The main and the next component of each row, and the choice among them.
  const inRows = Array.from(document.querySelectorAll(".rows td:nth-child(2), .rows td:nth-child(4), .of-component option:not([value=''])"))
    .map(function (place) { return { place: place, text: place.textContent }; });

  // A name where it stands alone or at the start of a label: "Topic 1", "Topic 1: game".
  function renamed(text) {
    return text.split("\n").map(function (line) {
      const number = Object.keys(given).find(function (n) {
        return line === original[n] || [":", ",", " "].some(function (end) { return line.startsWith(original[n] + end); });
      });
      return number === undefined ? line : given[number] + line.slice(original[number].length);
    }).join("\n");
  }

  function renamedAll(value) {
    if (typeof value === "string") { return value.length < 500 ? renamed(value) : value; }
    if (Array.isArray(value)) { return typeof value[0] === "number" ? value : value.map(renamedAll); }
    if (value && typeof value === "object") { return Object.fromEntries(Object.entries(value).map(function (pair) { return [pair[0], renamedAll(pair[1])]; })); }
    return value;
  }

  function quoted(text) {
    return /^[\p{L}\p{N}=._-]+$/u.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'";
  }

  const bar = document.getElementById("renamed"), code = bar.querySelector("code");
  const command = code.textContent;

  function rename(number, name) {
    if (name && name !== original[number]) { given[number] = name; } else { delete given[number]; }
    document.querySelectorAll('.name[data-component="' + number + '"]').forEach(function (place) { place.textContent = given[number] || original[number]; });
    inRows.forEach(function (one) { one.place.textContent = renamed(one.text); });
    bar.hidden = !Object.keys(given).length;
    code.textContent = command + " " + Object.keys(given).map(function (n) { return quoted(n + "=" + given[n]); }).join(" ");
    document.dispatchEvent(new CustomEvent("renamed", { detail: renamedAll(shown.figures) }));
  }

  document.querySelectorAll(".rename").forEach(function (button) {
    button.addEventListener("click", function () {
      const place = button.previousElementSibling, number = place.dataset.component;
      const input = document.createElement("input");
      input.value = place.textContent;
      input.setAttribute("aria-label", "New name");
      place.hidden = button.hidden = true;
      place.before(input);
      input.focus();
      input.select();
      let open = true;
      function close(keep) {
        if (!open) { return; }
        open = false;
        const name = input.value.trim();
        input.remove();
        place.hidden = button.hidden = false;
        if (keep) { rename(number, name); }
        button.focus();
      }
      input.addEventListener("keydown", function (event) {
        if (event.key !== "Enter" && event.key !== "Escape") { return; }
        event.preventDefault(); // or the button, which has the focus next, would open again
        close(event.key === "Enter");
      });
      input.addEventListener("blur", function () { close(true); });
    });
  });

  bar.querySelector("button").addEventListener("click", function (event) {
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    if (navigator.clipboard) { navigator.clipboard.writeText(code.textContent).then(function () { event.target.textContent = "Copied"; }, function () {}); }
  });
})();
