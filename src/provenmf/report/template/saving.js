"use strict";
// Save a chart as a file: SVG as drawn, or PNG at twice the size.
(function () {
  function copyOf(figure) {
    const svg = figure.querySelector(".plot svg");
    const copy = svg.cloneNode(true);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    paper.setAttribute("width", "100%");
    paper.setAttribute("height", "100%");
    paper.setAttribute("fill", drawing.colour("paper"));
    copy.insertBefore(paper, copy.firstChild);
    return { width: Number(svg.getAttribute("width")), height: Number(svg.getAttribute("height")), text: new XMLSerializer().serializeToString(copy) };
  }

  function nameOf(figure) {
    const title = figure.querySelector(".plot").getAttribute("aria-label") || "chart";
    return title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "chart";
  }

  function offer(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 10000);
  }

  function savePng(copy, name) {
    const image = new Image();
    image.onload = function () {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * copy.width;
      canvas.height = 2 * copy.height;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(function (blob) { offer(blob, name); }, "image/png");
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(copy.text);
  }

  document.querySelectorAll("[data-save]").forEach(function (button) {
    button.addEventListener("click", function () {
      const figure = button.closest("figure"), copy = copyOf(figure), name = nameOf(figure);
      if (button.dataset.save === "png") { savePng(copy, name + ".png"); } else { offer(new Blob([copy.text], { type: "image/svg+xml" }), name + ".svg"); }
    });
  });
})();
