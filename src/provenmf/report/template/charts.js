"use strict";
// A function for each kind of chart (report/figures.py): a place, its data and a height in.
const charts = (function (d) {
  const DASHES = ["", "7 4", "2 3", "8 3 2 3"];
  const BAR_ROOM = 76;
  const FAINT = 0.35;
  const BOLD = 600;

  function legend(sheet, entries, top) {
    const group = d.make(sheet.svg, "g", { class: "legend" });
    let x = 4, y = top + 12;
    entries.forEach(function (entry) {
      const width = 34 + d.widthOf(entry.name);
      if (x + width > sheet.width && x > 4) { x = 4; y += 18; }
      d.make(group, "line", { x1: x, x2: x + 20, y1: y - 4, y2: y - 4, stroke: entry.colour, "stroke-width": 3, "stroke-dasharray": entry.dash });
      d.text(group, x + 25, y, d.fitted(entry.name, sheet.width - 34));
      x += width + 8;
    });
    return y + 8;
  }

  // Rows that a legend needs, found out on paper that nobody sees.
  function legendHeight(sheet, entries) {
    if (entries.length < 2) { return 0; }
    let x = 4, rows = 1;
    entries.forEach(function (entry) {
      const width = 34 + d.widthOf(entry.name);
      if (x + width > sheet.width && x > 4) { x = 4; rows += 1; }
      x += width + 8;
    });
    return 18 * rows + 8;
  }

  function grid(sheet, frame, x, y, xTicks, yTicks) {
    const line = d.colour("line"), faint = d.colour("faint");
    yTicks.forEach(function (tick) {
      d.make(sheet.svg, "line", { x1: frame.left, x2: frame.right, y1: y(tick.at), y2: y(tick.at), stroke: line });
      d.text(sheet.svg, frame.left - 6, y(tick.at) + 4, tick.text, { "text-anchor": "end", fill: faint, class: "ytick" });
    });
    xTicks.forEach(function (tick) {
      d.make(sheet.svg, "line", { x1: x(tick.at), x2: x(tick.at), y1: frame.top, y2: frame.bottom, stroke: line });
      d.text(sheet.svg, x(tick.at), frame.bottom + 17, tick.text, { "text-anchor": "middle", fill: faint, class: "xtick" });
    });
  }

  function labelled(values) {
    return values.map(function (value) { return { at: value, text: d.words(value) }; });
  }

  function axisTitles(sheet, frame, xLabel, yLabel) {
    d.text(sheet.svg, (frame.left + frame.right) / 2, frame.bottom + 36, xLabel, { "text-anchor": "middle" });
    const middle = (frame.top + frame.bottom) / 2;
    d.text(sheet.svg, 12, middle, yLabel, { "text-anchor": "middle", transform: "rotate(-90 12 " + middle + ")" });
  }

  function path(xs, ys, x, y, log) {
    let pen = "M", text = "";
    xs.forEach(function (value, i) {
      if (ys[i] === null || value === null || (log && ys[i] <= 0)) { pen = "M"; return; }
      text += pen + x(value).toFixed(1) + " " + y(ys[i]).toFixed(1);
      pen = "L";
    });
    return text;
  }

  // Curves; places that are words stand at equal distances.
  function lines(plot, spec, height, look) {
    const sheet = d.sheet(plot, height);
    const words = [];
    spec.places.forEach(function (at) { at.forEach(function (v) { if (typeof v === "string" && !words.includes(v)) { words.push(v); } }); });
    const places = spec.places.map(function (at) { return words.length ? at.map(function (v) { return words.indexOf(String(v)); }) : at; });
    const curves = spec.curves.map(function (curve) {
      const dash = curve.dotted ? DASHES[2] : DASHES[Math.floor(curve.colour / look.colours.length) % DASHES.length];
      return Object.assign({}, curve, { x: places[curve.x], colour: look.colours[curve.colour % look.colours.length], dash: dash });
    });
    const logX = spec.logX && !words.length;
    const whole = places.every(function (at) { return at.every(Number.isInteger); });  // 2.5 components are none
    const yRange = d.range([].concat.apply([], curves.map(function (c) { return c.y; })), spec.logY, false);
    const xRange = d.range([].concat.apply([], places), logX, false);
    const bottom = height - legendHeight(sheet, curves) - (spec.xLabel ? 44 : 24);
    const y = d.scale(yRange[0], yRange[1], bottom, 8, spec.logY);
    const yTicks = labelled(y.ticks(Math.max(2, Math.floor(bottom / 45))));
    const left = 12 + d.widest(yTicks.map(function (t) { return t.text; })) + (spec.yLabel ? 20 : 0);
    const frame = { left: left, right: sheet.width - 14, top: 8, bottom: bottom };
    const x = d.scale(xRange[0], xRange[1], frame.left, frame.right, logX);
    const every = Math.ceil(words.length * (d.widest(words) + 12) / (frame.right - frame.left));
    const xTicks = words.length ? words.map(function (w, i) { return { at: i, text: w }; }).filter(function (t) { return t.at % every === 0; }) : labelled(x.ticks(Math.max(2, Math.floor((frame.right - frame.left) / (whole ? 45 : 85))), whole));
    grid(sheet, frame, x, y, whole ? xTicks.filter(function (t) { return Number.isInteger(t.at); }) : xTicks, yTicks);
    axisTitles(sheet, frame, spec.xLabel, spec.yLabel);
    curves.forEach(function (curve) {
      d.make(sheet.svg, "path", { d: path(curve.x, curve.y, x, y, spec.logY), fill: "none", stroke: curve.colour, "stroke-width": 2, "stroke-dasharray": curve.dash, "stroke-linejoin": "round" });
      if (curve.x.length > 30) { return; }
      curve.x.forEach(function (at, i) {
        if (curve.y[i] !== null && (!spec.logY || curve.y[i] > 0)) { d.make(sheet.svg, "circle", { cx: x(at), cy: y(curve.y[i]), r: 3, fill: curve.colour }); }
      });
    });
    if (curves.length > 1) { legend(sheet, curves, frame.bottom + (spec.xLabel ? 44 : 24)); }
    readCurves(sheet, frame, curves, x, y, words, spec);
  }

  // The values of all curves at the place nearest to the pointer, nearest curve first.
  function readCurves(sheet, frame, curves, x, y, words, spec) {
    const tip = d.tip(sheet);
    const guide = d.make(sheet.svg, "line", { y1: frame.top, y2: frame.bottom, stroke: d.colour("faint"), visibility: "hidden" });
    function nearest(curve, at) {
      let best = 0;
      curve.x.forEach(function (value, i) { if (Math.abs(x(value) - at) < Math.abs(x(curve.x[best]) - at)) { best = i; } });
      return best;
    }
    d.follow(sheet, function (px, py) {
      if (px < frame.left - 5 || px > frame.right + 5 || py > frame.bottom) { tip.hide(); return; }
      const found = curves.map(function (curve) { const i = nearest(curve, px); return { curve: curve, at: curve.x[i], y: curve.y[i] }; })
        .filter(function (f) { return f.y !== null && (!spec.logY || f.y > 0); })
        .sort(function (a, b) { return Math.abs(y(a.y) - py) - Math.abs(y(b.y) - py); });
      if (!found.length) { tip.hide(); return; }
      const at = found[0].at;
      guide.setAttribute("x1", x(at)); guide.setAttribute("x2", x(at)); guide.setAttribute("visibility", "visible");
      const head = (spec.xLabel ? spec.xLabel + " " : "") + (words.length ? words[at] : d.words(at, 6));
      tip.show(px, py, [head].concat(found.slice(0, 8).map(function (f) { return { text: f.curve.name + " " + d.words(f.y), colour: f.curve.colour }; })));
    }, function () { tip.hide(); guide.setAttribute("visibility", "hidden"); });
  }

  // Upright bars, of one value each or stacked; the names of their kinds stand below, each under its middle.
  function columns(plot, spec, height, look) {
    const sheet = d.sheet(plot, height);
    const parts = spec.parts.map(function (name, i) { return { name: name, colour: look.colours[i % look.colours.length], dash: "" }; });
    const range = d.range(spec.values.map(function (own) { return own.reduce(function (sum, value) { return sum + (value || 0); }, 0); }), false, true);
    const bottom = height - (parts.length ? 8 + legendHeight(sheet, parts) : 24);
    const y = d.scale(range[0], range[1], bottom, 8, false);
    const ticks = labelled(y.ticks(3));
    const left = 12 + d.widest(ticks.map(function (t) { return t.text; }));
    const frame = { left: left, right: sheet.width - 8, top: 8, bottom: bottom };
    grid(sheet, frame, null, y, [], ticks);
    const step = (frame.right - frame.left) / Math.max(spec.names.length, 1), gap = step > 4 ? 0.1 : 0;
    spec.values.forEach(function (own, i) {
      let base = 0;
      own.forEach(function (value, part) {
        const top = Math.min(y(base + (value || 0)), y(base)), tall = Math.abs(y(base + (value || 0)) - y(base));
        base += value || 0;
        if (parts.length && !value) { return; }
        d.make(sheet.svg, "rect", { x: frame.left + (i + gap) * step, y: top, width: Math.max((1 - 2 * gap) * step, 0.5), height: Math.max(tall, 0.5), fill: parts.length ? parts[part].colour : look.colours[(spec.kindOf[i] || 0) % look.colours.length] });
      });
    });
    let end = -Infinity;
    spec.kinds.forEach(function (kind, number) {
      const first = spec.kindOf.indexOf(number), last = spec.kindOf.lastIndexOf(number);
      const width = d.widthOf(kind) + 6, x = Math.min(frame.left + (first + last + 1) * step / 2, sheet.width - width / 2);
      if (x - width / 2 < end) { return; }
      d.text(sheet.svg, x, bottom + 17, kind, { "text-anchor": "middle", fill: d.colour("faint"), class: "xtick" });
      end = x + width / 2;
    });
    if (parts.length) { legend(sheet, parts, bottom + 8); }
    const tip = d.tip(sheet);
    d.follow(sheet, function (px, py) {
      const i = Math.floor((px - frame.left) / step);
      if (i < 0 || i >= spec.names.length) { tip.hide(); return; }
      const lines = spec.values[i].map(function (value, part) { return { text: spec.parts[part] + ": " + d.words(value), colour: parts.length ? parts[part].colour : "", value: value }; });
      tip.show(px, py, parts.length ? [spec.names[i]].concat(lines.filter(function (line) { return line.value; })) : [spec.names[i] + ": " + d.words(spec.values[i][0])]);
    }, tip.hide);
  }

  // Square pixels in the whole width, or in the height if that is less.
  function map(plot, spec, height, look) {
    const room = Math.max(plot.clientWidth, 120) - BAR_ROOM;
    const size = Math.min(room / spec.shape[1], (height - 12) / spec.shape[0]);
    const wide = size * spec.shape[1], high = size * spec.shape[0];
    const sheet = d.sheet(plot, high + 12), data = d.decoded(spec);
    d.make(sheet.svg, "rect", { x: 0, y: 4, width: wide, height: high, fill: d.colour("line") });
    d.make(sheet.svg, "image", { x: 0, y: 4, width: wide, height: high, preserveAspectRatio: "none", href: d.picture(spec, data, look.scale, wide, high) });
    d.colourBar(sheet, spec, look.scale, wide + 8, 6, high - 4);
    const tip = d.tip(sheet);
    d.follow(sheet, function (px, py) {
      const column = Math.floor(px / size), row = Math.floor((py - 4) / size);
      if (column < 0 || row < 0 || column >= spec.shape[1] || row >= spec.shape[0]) { tip.hide(); return; }
      const value = d.words(data.value(row * spec.shape[1] + column), 3);
      tip.show(px, py, ["row " + row * spec.step + ", column " + column * spec.step, spec.label + " " + value]);
    }, tip.hide);
  }

  // Positions fitted into a rectangle, one scale for both directions.
  function fit(points, frame) {
    const xs = d.range(points.map(function (p) { return p[0]; })), ys = d.range(points.map(function (p) { return p[1]; }));
    const size = Math.min((frame.right - frame.left) / (xs[1] - xs[0]), (frame.bottom - frame.top) / (ys[1] - ys[0]));
    const x0 = (frame.left + frame.right) / 2, y0 = (frame.top + frame.bottom) / 2;
    const cx = (xs[0] + xs[1]) / 2, cy = (ys[0] + ys[1]) / 2;
    return function (p) { return [x0 + (p[0] - cx) * size, y0 - (p[1] - cy) * size]; };
  }

  function network(plot, spec, height, look) {
    const sheet = d.sheet(plot, Math.min(height, plot.clientWidth + 60));
    const entries = spec.corners ? [] : spec.groupNames.map(function (name, i) { return { name: name, colour: look.colours[i % look.colours.length], dash: "" }; });
    const below = legendHeight(sheet, entries);
    const frame = { left: 20, right: sheet.width - 20, top: 40, bottom: sheet.height - 40 - below };
    const place = fit(spec.positions.concat(spec.corners || []), frame);
    const at = spec.positions.map(place);
    let edges = "";
    for (let i = 0; i < spec.edges.length; i += 2) {
      const a = at[spec.edges[i]], b = at[spec.edges[i + 1]];
      edges += "M" + a[0].toFixed(1) + " " + a[1].toFixed(1) + "L" + b[0].toFixed(1) + " " + b[1].toFixed(1);
    }
    d.make(sheet.svg, "path", { d: edges, fill: "none", stroke: d.colour("faint"), "stroke-width": 0.6, "stroke-opacity": Math.max(0.1, Math.min(FAINT, 600 / spec.edges.length)) });
    const radius = at.length > 150 ? 3.5 : 5;
    at.forEach(function (p, i) { d.make(sheet.svg, "circle", { cx: p[0].toFixed(1), cy: p[1].toFixed(1), r: radius, fill: look.colours[spec.groups[i] % look.colours.length], stroke: d.colour("paper"), "stroke-width": 0.7 }); });
    spec.labels.forEach(function (name, i) { d.text(sheet.svg, at[i][0] + radius + 2, at[i][1] + 4, name, { "font-size": 11 }); });
    const written = [];
    (spec.corners || []).forEach(function (corner, i) {
      // Above or below its corner, clear of the nodes there.
      const p = place(corner), name = d.fitted(spec.groupNames[i], sheet.width / 2, BOLD), half = d.widthOf(name, BOLD) / 2;
      const x = Math.min(Math.max(p[0], half + 1), sheet.width - half - 1), up = p[1] <= (frame.top + frame.bottom) / 2;
      let y = p[1] + (up ? -18 : 28);
      while (written.some(function (one) { return Math.abs(one[0] - x) < one[2] + half && Math.abs(one[1] - y) < 15; })) { y += up ? -5 : 5; }
      written.push([x, y, half]);
      d.text(sheet.svg, x, y, name, { "text-anchor": "middle", "font-weight": BOLD, class: "corner", "paint-order": "stroke", stroke: d.colour("paper"), "stroke-width": 4 });
    });
    if (entries.length > 1) { legend(sheet, entries, sheet.height - below); }
    nearestPoint(sheet, at, function (i) { return spec.names[i].split("\n"); });
  }

  function nearestPoint(sheet, at, name) {
    const tip = d.tip(sheet);
    d.follow(sheet, function (px, py) {
      let best = -1, least = 225;
      at.forEach(function (p, i) { const far = (p[0] - px) ** 2 + (p[1] - py) ** 2; if (far < least) { best = i; least = far; } });
      if (best < 0) { tip.hide(); } else { tip.show(px, py, name(best)); }
    }, tip.hide);
  }

  // Circles that hide each other are moved apart, each as little as it takes.
  function parted(points, radii, frame) {
    for (let step = 0; step < 60; step += 1) {
      points.forEach(function (a, i) {
        points.slice(0, i).forEach(function (b, j) {
          const x = a[0] - b[0] || 0.01 * (i - j), y = a[1] - b[1], far = Math.hypot(x, y);
          const missing = 0.9 * (radii[i] + radii[j]) - far;
          if (missing <= 0) { return; }
          [[a, 1], [b, -1]].forEach(function (pair) {
            pair[0][0] = Math.min(Math.max(pair[0][0] + pair[1] * x / far * missing / 4, frame.left), frame.right);
            pair[0][1] = Math.min(Math.max(pair[0][1] + pair[1] * y / far * missing / 4, frame.top), frame.bottom);
          });
        });
      });
    }
    return points;
  }

  // Circles that can be chosen by click or key; the plot says which in an event.
  function bubbles(plot, spec, height, look) {
    const sheet = d.sheet(plot, Math.min(height, plot.clientWidth));
    const total = spec.sizes.reduce(function (sum, size) { return sum + size; }, 0) || 1;
    const radii = spec.sizes.map(function (size) { return Math.max(9, Math.sqrt(0.13 * sheet.width * sheet.height * size / total / Math.PI)); });
    const room = Math.max.apply(null, radii) + 4;
    const frame = { left: room, right: sheet.width - room, top: room, bottom: sheet.height - room };
    const at = parted(spec.positions.map(fit(spec.positions, frame)), radii, frame);
    const order = spec.sizes.map(function (_, i) { return i; }).sort(function (a, b) { return spec.sizes[b] - spec.sizes[a]; });
    order.forEach(function (i) {
      const p = at[i], radius = radii[i];
      const group = d.make(sheet.svg, "g", { tabindex: 0, role: "button", "aria-label": spec.names[i], style: "cursor: pointer" });
      d.make(group, "circle", { cx: p[0], cy: p[1], r: radius, fill: look.colours[0], "fill-opacity": FAINT, stroke: look.colours[0] });
      d.make(group, "title", {}, spec.names[i] + ", " + d.words(100 * spec.sizes[i], 3) + " %: " + spec.words[i].join(", "));
      const words = spec.words[i].slice(0, 2).filter(function (word) { return d.widthOf(word) < 1.8 * radius; });
      const shown = radius < 18 ? [] : words.slice(0, radius < 30 ? 1 : 2);
      [String(i + 1)].concat(shown).forEach(function (line, j) { d.text(group, p[0], p[1] + 5 + 15 * (j - shown.length / 2), line, { "text-anchor": "middle", "font-weight": j === 0 ? BOLD : 400 }); });
      function choose() { plot.dispatchEvent(new CustomEvent("chosen", { detail: i })); }
      group.addEventListener("click", choose);
      group.addEventListener("keydown", function (event) { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); } });
    });
  }

  // Names on the left, joined two by two towards the right.
  function tree(plot, spec, height, look) {
    const sheet = d.sheet(plot, height);
    const left = Math.min(d.widest(spec.names) + 12, 0.5 * sheet.width);
    const frame = { left: left, right: sheet.width - 14, top: 4, bottom: height - 44 };
    const range = d.range([].concat.apply([], spec.paths.map(function (path) { return path.map(function (p) { return p[0]; }); })), false, true);
    const x = d.scale(range[0], range[1], frame.left, frame.right, false);
    const step = (frame.bottom - frame.top) / spec.names.length;
    function y(place) { return frame.top + (place + 0.5) * step; }
    grid(sheet, frame, x, null, labelled(x.ticks(Math.max(2, Math.floor((frame.right - frame.left) / 85)))), []);
    axisTitles(sheet, frame, spec.label, "");
    spec.names.forEach(function (name, i) { d.text(sheet.svg, frame.left - 6, y(i) + 4, d.fitted(name, frame.left - 10), { "text-anchor": "end" }); });
    spec.paths.forEach(function (points) {
      const line = points.map(function (p, i) { return (i ? "L" : "M") + x(p[0]).toFixed(1) + " " + y(p[1]).toFixed(1); }).join("");
      d.make(sheet.svg, "path", { d: line, fill: "none", stroke: look.colours[0], "stroke-width": 2, "stroke-linejoin": "round" });
    });
  }

  return { tree: tree, lines: lines, columns: columns, map: map, network: network, bubbles: bubbles };
})(drawing);
