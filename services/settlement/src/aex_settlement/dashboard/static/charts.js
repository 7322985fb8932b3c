/* Draws each chart from the table beside it: one source of figures. Without scripts the tables stand alone. */
(() => {
  "use strict";
  const DAY = 86400;
  const drawn = new Map();
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const seconds = (text) => Date.parse(`${text.length === 7 ? `${text}-01` : text}T00:00:00Z`) / 1000;
  const figures = (rows, name) => rows.map((row) => Number(row.querySelector(`[data-${name}]`).dataset[camel(name)]));
  const camel = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());

  function stacked(rows) {
    const parts = [figures(rows, "cpc"), figures(rows, "cpa-bonus"), figures(rows, "cpa-penalty").map((x) => -x)];
    const above = rows.map(() => 0), below = rows.map(() => 0);
    return parts.map((part) => part.map((value, i) => {
      if (value === 0) return null;
      const side = value > 0 ? above : below;
      side[i] += value;
      return side[i];
    }));
  }

  function seriesOf(chart, rows) {
    if (chart.dataset.chart === "line") {
      return { data: [figures(rows, "closing")], names: ["base"], line: true };
    }
    /* The farthest from zero first: the nearer ones are drawn over it. */
    const [base, bonus, penalty] = stacked(rows);
    return { data: [penalty, bonus, base], names: ["penalty", "bonus", "base"], line: false };
  }

  function legend(chart, table, line) {
    const box = document.createElement("p");
    box.className = "legend";
    for (const name of line ? [] : ["base", "bonus", "penalty"]) {
      const item = document.createElement("span");
      item.className = name;
      item.textContent = name[0].toUpperCase() + name.slice(1);
      box.append(item);
    }
    const told = document.createElement("output");
    box.append(told);
    chart.before(box);
    return { box, tell: (index) => { told.textContent = index == null ? "" : sentence(table, index); } };
  }

  function sentence(table, index) {
    const row = table.tBodies[0].rows[index];
    return `${row.cells[0].textContent}: ${row.cells[row.cells.length - 1].textContent}`;
  }

  function axes(chart) {
    const { locale, currency } = chart.dataset;
    const money = new Intl.NumberFormat(locale, { style: "currency", currency, notation: "compact", maximumFractionDigits: 6 });
    const look = { stroke: colour("soft"), grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    const day = (x) => new Date(x * 1000).toISOString().slice(0, chart.dataset.step === "month" ? 7 : 10);
    return [
      { ...look, grid: { show: false }, size: 28, space: 90, incrs: [1, 2, 7, 14, 30, 61, 92, 183, 365].map((n) => n * DAY), values: (_, ticks) => ticks.map(day) },
      { ...look, size: 74, space: 40, values: (_, ticks) => ticks.map((x) => money.format(x)) },
    ];
  }

  function options(chart, series, told) {
    const { from, to, step } = chart.dataset;
    const margin = (step === "month" ? 16 : 0.6) * DAY;
    const bars = uPlot.paths.bars({ size: [0.72, 44], align: 0 });
    return {
      width: chart.clientWidth || 300, height: 250, tzDate: (x) => uPlot.tzDate(new Date(x * 1000), "Etc/UTC"),
      legend: { show: false }, cursor: { y: false, points: { show: series.line } },
      scales: { x: { range: () => [seconds(step === "month" ? from.slice(0, 7) : from) - margin, seconds(step === "month" ? to.slice(0, 7) : to) + margin] },
                y: { range: (_, low, high) => (series.line ? around(low, high) : span(low, high)) } },
      axes: axes(chart), hooks: { setCursor: [(plot) => told.tell(plot.cursor.idx)] },
      series: [{}, ...series.names.map((name) => series.line
        ? { stroke: colour(name), width: 2, paths: uPlot.paths.stepped({ align: 1 }), points: { show: true, size: 6, fill: colour(name) } }
        : { fill: colour(name), stroke: colour(name), width: 0, paths: bars, points: { show: false } })],
    };
  }

  function span(low, high) {
    const bottom = Math.min(low ?? 0, 0), top = Math.max(high ?? 0, 0), room = (top - bottom || 1) * 0.06;
    return [bottom < 0 ? bottom - room : 0, top > 0 ? top + room : 0];
  }

  /* A line may leave zero out, bars may not: their length is what they say. */
  function around(low, high) {
    const room = ((high ?? 0) - (low ?? 0) || Math.abs(high ?? 0) || 1) * 0.12;
    return [(low ?? 0) - room, (high ?? 0) + room];
  }

  function draw(chart) {
    const table = document.getElementById(chart.dataset.table);
    const rows = [...table.tBodies[0].rows];
    if (rows.length === 0) return;
    const known = drawn.get(chart);
    if (known) { known.plot.destroy(); known.box.remove(); } else { table.closest("details").open = false; }
    chart.hidden = false;
    const series = seriesOf(chart, rows), told = legend(chart, table, series.line);
    const plot = new uPlot(options(chart, series, told), [rows.map((row) => seconds(row.dataset.at)), ...series.data], chart);
    drawn.set(chart, { plot, box: told.box });
  }

  function drawAll() {
    for (const chart of drawn.keys()) if (!chart.isConnected) drawn.delete(chart);
    document.querySelectorAll("[data-chart]").forEach((chart) => { if (!drawn.has(chart)) draw(chart); });
  }

  const again = () => [...drawn.keys()].forEach(draw);
  let waiting = 0;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(again, 120); });
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
  document.addEventListener("htmx:afterSettle", drawAll);
  drawAll();
})();
