
(function () {
  "use strict";
  const size = n => { let u = 0; while (n >= 1024 && u < 4) { n /= 1024; u++; } return (u ? n.toFixed(1) : Math.round(n)) + [" B", " KiB", " MiB", " GiB", " TiB"][u]; };
  const time = ms => new Date(ms).toISOString().replace("T", " ").replace("Z", "");
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const WHOLE = 600;

  // Maps: all rows of a partition show the same part.
  for (const figure of document.querySelectorAll("figure.maps")) {
    let from = 0, width = WHOLE;
    const bar = document.createElement("div"), said = document.createElement("output");
    const show = (start, wide) => {
      width = Math.min(Math.max(wide, 1e-4), WHOLE);
      from = Math.min(Math.max(start, 0), WHOLE - width);
      for (const cells of figure.querySelectorAll(".cells")) {
        const box = cells.getAttribute("viewBox").split(" ");
        cells.setAttribute("viewBox", [from, 0, width, box[3]].join(" "));
      }
      said.textContent = "";
      for (const map of figure.querySelectorAll(".map")) {
        if (getComputedStyle(map).display === "none") continue;
        const at = x => x * Number(map.dataset.perCell), axis = map.dataset.axis;
        const text = x => axis === "time" ? time(Number(map.dataset.zero) + at(x)) : Math.round(at(x)).toLocaleString("en");
        said.textContent = (axis === "bytes" ? "bytes " : axis === "offset" ? "offsets after the first " : "") + text(from) + " to " + text(from + width);
        break;
      }
    };
    const button = (name, label, act) => {
      const made = document.createElement("button");
      made.type = "button"; made.textContent = name; made.setAttribute("aria-label", label); made.addEventListener("click", act);
      bar.append(made);
    };
    bar.className = "tools";
    button("+", "zoom in", () => show(from + width / 4, width / 2));
    button("−", "zoom out", () => show(from - width / 2, width * 2));
    button("←", "to the left", () => show(from - width / 2, width));
    button("→", "to the right", () => show(from + width / 2, width));
    button("whole", "show the whole", () => show(0, WHOLE));
    said.setAttribute("aria-live", "polite");
    bar.append(said, " Drag over the map to zoom.");
    figure.prepend(bar);
    for (const input of figure.parentElement.querySelectorAll("input")) input.addEventListener("change", () => show(0, WHOLE));
    let pressed = null;
    const place = (map, event) => { // in cells; 150, 755 and 1000 are those of the drawing
      const box = map.getBoundingClientRect(), scale = box.width / 1000;
      return from + width * Math.min(Math.max((event.clientX - box.left - 150 * scale) / (755 * scale), 0), 1);
    };
    figure.addEventListener("pointerdown", event => {
      const map = event.target.closest("a") ? null : event.target.closest(".map");
      pressed = map && [map, place(map, event)];
      if (pressed) event.preventDefault();
    });
    addEventListener("pointerup", event => {
      if (!pressed) return;
      const [map, start] = pressed, end = place(map, event);
      pressed = null;
      if (Math.abs(end - start) > width / 200) show(Math.min(start, end), Math.abs(end - start));
    });
    figure.addEventListener("dblclick", () => show(0, WHOLE));
    show(0, WHOLE);
  }

  // Charts: uPlot in the place of the drawing, which stays for print and without a script.
  const charts = new Map();
  const draw = figures => {
    for (const figure of figures) {
      charts.get(figure)?.destroy();
      const data = JSON.parse(figure.querySelector("script").textContent), svg = figure.querySelector("svg");
      const seconds = list => list.map(ms => ms / 1000), color = css("--goes");
      const axis = { stroke: css("--text"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 } };
      const sizes = { ...axis, values: (_, ticks) => ticks.map(size), size: 70 };
      const moments = { ...axis, values: (_, ticks) => ticks.map(s => time(s * 1000).slice(0, 19)), size: 150, space: 40 };
      const series = { label: data.isTime ? "bytes" : "time", stroke: color, width: 2, points: { show: false },
        value: (_, v) => v == null ? "–" : data.isTime ? size(v) : time(v * 1000) };
      if (data.isTime) series.fill = color + "66";
      svg.style.display = "none";
      charts.set(figure, new uPlot({
        width: figure.clientWidth, height: 200, tzDate: s => uPlot.tzDate(new Date(s * 1000), "Etc/UTC"),
        scales: { x: { time: data.isTime }, y: { time: false, range: (_, low, high) => [data.isTime ? 0 : low, high > low ? high : low + 1] } },
        series: [{ label: data.isTime ? "time (UTC)" : "byte", value: (_, v) => v == null ? "–" : data.isTime ? time(v * 1000) : Math.round(v).toLocaleString("en") }, series],
        axes: [data.isTime ? { ...axis, space: 150, values: (_, ticks) => ticks.map(s => time(s * 1000).slice(0, 19)) } : { ...axis, space: 90, values: (_, ticks) => ticks.map(size) }, data.isTime ? sizes : moments],
      }, [data.isTime ? seconds(data.x) : data.x, data.isTime ? data.y : seconds(data.y)], figure));
    }
  };
  const seen = new IntersectionObserver(entries => {
    const near = entries.filter(entry => entry.isIntersecting).map(entry => entry.target);
    near.forEach(figure => seen.unobserve(figure));
    draw(near);
  }, { rootMargin: "400px" });
  document.querySelectorAll("figure.chart").forEach(figure => seen.observe(figure));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw([...charts.keys()]));
  let timer;
  addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(() => draw([...charts.keys()]), 200); });

  // A link to an explanation opens it; one to a mark shows the map by bytes.
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const details = target.closest("details"), map = target.closest("figure.maps");
    if (details) details.open = true;
    if (map) {
      const input = map.parentElement.querySelector("input[value=bytes]");
      input.checked = true;
      input.dispatchEvent(new Event("change"));
    }
    target.scrollIntoView({ block: map ? "center" : "start" });
  };
  addEventListener("hashchange", reveal);
  reveal();
})();
