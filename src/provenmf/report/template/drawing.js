"use strict";
// The vocabulary of all charts: SVG elements, scales, ticks, words for numbers.
const drawing = (function () {
  const SVG = "http://www.w3.org/2000/svg";
  const FONT_SIZE = 13;
  const MISSING = 65535;
  const ruler = document.createElement("canvas").getContext("2d");

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  }

  function make(parent, name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    Object.entries(attributes || {}).forEach(function (pair) { element.setAttribute(pair[0], pair[1]); });
    if (text !== undefined) { element.textContent = text; }
    parent.appendChild(element);
    return element;
  }

  function family() { return getComputedStyle(document.body).fontFamily; }

  // An empty drawing that fills its place; what was there before goes.
  function sheet(plot, height) {
    const width = Math.max(plot.clientWidth, 120);
    plot.replaceChildren();
    const svg = document.createElementNS(SVG, "svg");
    const size = { width: width, height: height, viewBox: "0 0 " + width + " " + height, "font-family": family(), "font-size": FONT_SIZE, fill: colour("ink") };
    Object.entries(size).forEach(function (pair) { svg.setAttribute(pair[0], pair[1]); });
    plot.appendChild(svg);
    return { svg: svg, width: width, height: height, plot: plot };
  }

  function widthOf(text, weight) {
    ruler.font = (weight || 400) + " " + FONT_SIZE + "px " + family();
    return ruler.measureText(text).width;
  }

  function widest(texts) {
    return texts.reduce(function (most, text) { return Math.max(most, widthOf(text)); }, 0);
  }

  // As much of a text as fits.
  function fitted(text, width, weight) {
    if (widthOf(text, weight) <= width) { return text; }
    let end = text.length;
    while (end > 1 && widthOf(text.slice(0, end) + "…", weight) > width) { end -= 1; }
    return text.slice(0, end) + "…";
  }

  function raised(number) {
    return String(number).replace(/[-0-9]/g, function (sign) { return sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(sign)]; });
  }

  function words(value, digits) {
    if (value === null || !isFinite(value)) { return "–"; }
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e6 || size < 1e-3)) {
      const parts = value.toExponential((digits || 4) - 1).split("e");
      const front = String(Number(parts[0]));
      return (front === "1" ? "" : front + "·") + "10" + raised(Number(parts[1]));
    }
    return String(Number(value.toPrecision(digits || 4)));
  }

  // Where values are counts, half steps would be lost, and with them nearly all ticks.
  function linearTicks(low, high, count, whole) {
    const rough = Math.max((high - low) / Math.max(count, 1), whole ? 1 : 0);
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = (whole ? [1, 2, 5, 10] : [1, 2, 2.5, 5, 10]).map(function (m) { return m * power; }).find(function (s) { return s >= rough * 0.999; });
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) { ticks.push(Number((i * step).toPrecision(12))); }
    return ticks;
  }

  function logTicks(low, high, count) {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
    const factors = last - first <= 2 ? [1, 2, 5] : [1];
    const every = Math.max(1, Math.ceil((last - first) / Math.max(count, 1)));
    const ticks = [];
    for (let power = first; power <= last; power += every) {
      factors.forEach(function (f) { ticks.push(f * Math.pow(10, power)); });
    }
    return ticks.filter(function (t) { return t >= low * 0.999 && t <= high * 1.001; });
  }

  // From values to pixels; `log` where the axis is logarithmic.
  function scale(low, high, from, to, log) {
    const of = log ? Math.log10 : function (value) { return value; };
    const start = of(low), span = (of(high) - start) || 1;
    function place(value) { return from + (of(value) - start) / span * (to - from); }
    place.ticks = function (count, whole) { return (log ? logTicks : linearTicks)(low, high, count, whole); };
    return place;
  }

  // Lowest and highest of many values, with a little room; only what a logarithm can take.
  function range(values, log, fromZero) {
    const usable = values.filter(function (v) { return v !== null && isFinite(v) && (!log || v > 0); });
    let low = Infinity, high = -Infinity;
    usable.forEach(function (v) { low = Math.min(low, v); high = Math.max(high, v); });
    if (!usable.length) { return log ? [1, 10] : [0, 1]; }
    if (fromZero) { low = Math.min(low, 0); high = Math.max(high, 0); }
    if (low === high) { return log ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2]; }
    if (log) { return [low / 1.1, high * 1.1]; }
    const room = 0.04 * (high - low);
    return [low === 0 ? 0 : low - room, high + room];
  }

  function text(parent, x, y, content, options) {
    return make(parent, "text", Object.assign({ x: x, y: y }, options || {}), content);
  }

  function mixed(stops, share) {
    const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const left = Math.min(Math.floor(place), stops.length - 2), part = place - left;
    return [1, 3, 5].map(function (at) {
      const a = parseInt(stops[left].slice(at, at + 2), 16), b = parseInt(stops[left + 1].slice(at, at + 2), 16);
      return Math.round(a + part * (b - a));
    });
  }

  // 16-bit levels from base64; `value` turns one back into a number.
  function decoded(spec) {
    const bytes = Uint8Array.from(atob(spec.levels), function (c) { return c.charCodeAt(0); });
    const levels = new Uint16Array(bytes.buffer);
    function value(i) { return levels[i] === MISSING ? null : levels[i] / (MISSING - 1) * (spec.high || 1); }
    function share(i) { return levels[i] === MISSING ? null : levels[i] / (MISSING - 1); }
    return { value: value, share: share };
  }

  // A matrix as a picture, one cell a pixel; what is missing stays empty.
  function picture(spec, data, stops, width, height) {
    const rows = spec.shape[0], columns = spec.shape[1];
    const small = document.createElement("canvas");
    small.width = columns; small.height = rows;
    const pixels = small.getContext("2d").createImageData(columns, rows);
    for (let i = 0; i < rows * columns; i += 1) {
      const share = data.share(i);
      if (share !== null) { pixels.data.set(mixed(stops, share).concat(255), 4 * i); }
    }
    small.getContext("2d").putImageData(pixels, 0, 0);
    const large = document.createElement("canvas");
    large.width = Math.max(1, Math.round(2 * width)); large.height = Math.max(1, Math.round(2 * height));
    const brush = large.getContext("2d");
    brush.imageSmoothingEnabled = false;
    brush.drawImage(small, 0, 0, large.width, large.height);
    return large.toDataURL();
  }

  function colourBar(sheet, spec, stops, x, y, height) {
    const steps = 40;
    for (let i = 0; i < steps; i += 1) {
      const rgb = mixed(stops, 1 - (i + 0.5) / steps);
      make(sheet.svg, "rect", { x: x, y: y + i * height / steps, width: 10, height: height / steps + 0.5, fill: "rgb(" + rgb.join(",") + ")" });
    }
    const place = scale(0, spec.high || 1, y + height, y);
    const ticks = place.ticks(4);
    ticks.forEach(function (tick) { text(sheet.svg, x + 15, place(tick) + 4, words(tick, 3), { fill: colour("faint"), "font-size": 11 }); });
    const middle = y + height / 2, right = Math.min(x + 28 + 0.85 * widest(ticks.map(function (tick) { return words(tick, 3); })), sheet.width - 4);
    text(sheet.svg, right, middle, spec.label, { "text-anchor": "middle", transform: "rotate(90 " + right + " " + middle + ")", "font-size": 12 });
  }

  // A box that follows the pointer; its lines are text, whatever they hold.
  function tip(sheet) {
    const box = document.createElement("div");
    box.className = "tip";
    box.hidden = true;
    sheet.plot.appendChild(box);
    return {
      show: function (x, y, lines) {
        box.replaceChildren.apply(box, lines.map(function (line) {
          const row = document.createElement("div");
          row.textContent = line.text === undefined ? line : line.text;
          if (line.colour) { row.style.borderLeft = "4px solid " + line.colour; row.style.paddingLeft = "6px"; }
          return row;
        }));
        box.hidden = false;
        const right = x + 14 + box.offsetWidth > sheet.width;
        box.style.left = Math.max(0, right ? x - 14 - box.offsetWidth : x + 14) + "px";
        box.style.top = Math.max(0, Math.min(y - 10, sheet.height - box.offsetHeight)) + "px";
      },
      hide: function () { box.hidden = true; },
    };
  }

  // Calls back with the place of the pointer inside the drawing.
  function follow(sheet, move, leave) {
    sheet.svg.addEventListener("pointermove", function (event) {
      const box = sheet.svg.getBoundingClientRect();
      move(event.clientX - box.left, event.clientY - box.top);
    });
    sheet.svg.addEventListener("pointerleave", leave);
  }

  return { colour: colour, make: make, sheet: sheet, widthOf: widthOf, widest: widest, fitted: fitted, words: words, scale: scale, range: range, text: text, decoded: decoded, picture: picture, colourBar: colourBar, tip: tip, follow: follow };
})();
