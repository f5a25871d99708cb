// One chart: a card with title, read-out, lines over time, and the same numbers as a table.

import uPlot from "uplot";

import type { JoinData } from "./data";
import { make, newId, say, setText } from "./dom";
import { clock, moment } from "./format";
import type { ChartSpec, Line } from "./specs";
import type { Entry } from "./types";
import type { View } from "./view";

const HEIGHT = 170;
const TABLE_ROWS = 24;
const GROUP = "charts";
/** Decisions that are drawn as lines; of more, one could not see the chart. */
const MOST_DECISIONS = 12;

export class Chart {
  readonly card: HTMLElement;
  private readonly plot: uPlot;
  private readonly figure: HTMLElement;
  private readonly when = make("span", { class: "when" });
  private readonly peak = make("span", { class: "words" });
  private readonly readings: HTMLElement[] = [];
  private readonly table = make("details", { class: "numbers" });
  private entries: Entry[] = [];

  constructor(
    private readonly spec: ChartSpec,
    private readonly view: View,
    private readonly moveAll: (at: number | null) => void,
  ) {
    const title = newId("chart");
    const legend = make("div", { class: "legend" });
    for (const line of spec.lines) legend.append(this.reading(line));
    legend.append(this.peak);
    this.figure = make("div", { class: "plot", tabindex: "0", role: "group" });
    this.figure.setAttribute("aria-roledescription", "chart");
    this.card = make(
      "section",
      { class: "card chart", "aria-labelledby": title, "data-chart": spec.id },
      make("div", { class: "chart-head" }, make("h3", { id: title }, spec.title), this.when),
      make("p", { class: "words" }, spec.words),
      legend,
      this.figure,
      this.table,
    );
    this.table.append(make("summary", {}, `${spec.title} as numbers`));
    this.table.addEventListener("toggle", () => this.fillTable());
    this.plot = new uPlot(this.options(), [[], ...spec.lines.map(() => [])], this.figure);
    this.figure.addEventListener("keydown", (event) => this.press(event));
    this.figure.addEventListener("blur", () => this.moveAll(null));
  }

  destroy(): void {
    this.plot.destroy();
  }

  resize(): void {
    const width = this.figure.clientWidth;
    if (width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
  }

  update(data: JoinData, entries: Entry[]): void {
    this.entries = entries;
    this.plot.setData(this.view.withGaps(data, this.spec.lines));
    this.read(this.plot.cursor.idx ?? null);
    if (this.table.open) this.fillTable();
    const now = this.sentence(this.plot.data[0].length - 1);
    this.figure.setAttribute("aria-label", `${this.spec.title}, ${now}. Arrow keys go through time.`);
  }

  /** Show what was at a time; null for the latest. */
  move(at: number | null): void {
    if (at === null) {
      this.plot.setCursor({ left: -10, top: -10 });
      this.read(null);
    } else {
      this.plot.setCursor({ left: this.plot.valToPos(at, "x"), top: 0 });
    }
  }

  /** Where the axis ends: what the first batches took, before Spark was warm, may leave it. */
  private top(plot: uPlot): number {
    const [times, ...columns] = plot.data;
    const [all, warm] = this.view.largest(times, columns);
    const cut = warm > 0 && all > 2 * warm;
    setText(this.peak, cut ? `at first up to ${this.spec.format(all)}` : "");
    return ceiling(cut ? warm : all);
  }

  private reading(line: Line): HTMLElement {
    const value = make("b");
    const swatch = make("span", { class: line.dashed ? "swatch dashed" : "swatch" });
    swatch.style.color = `var(${line.color})`;
    this.readings.push(value);
    return make("span", { class: "reading" }, swatch, `${line.label} `, value);
  }

  private read(place: number | null): void {
    const times = this.plot.data[0];
    const shown = place ?? times.length - 1;
    this.readings.forEach((element, n) => setText(element, this.value(n, shown)));
    setText(this.when, place === null ? "" : clock(times[shown] ?? 0));
  }

  private value(line: number, place: number): string {
    const column = this.plot.data[line + 1];
    let value = column?.[place];
    // A gap has no value: the one before it is still the latest.
    for (let back = place; value == null && back > place - 3 && back >= 0; back -= 1) {
      value = column?.[back];
    }
    return value == null ? "–" : this.spec.format(value);
  }

  private sentence(place: number): string {
    const at = this.plot.data[0][place];
    if (at === undefined) return "nothing yet";
    const parts = this.spec.lines.map((line, n) => `${line.label} ${this.value(n, place)}`);
    return `${clock(at)}: ${parts.join(", ")}`;
  }

  private press(event: KeyboardEvent): void {
    const times = this.plot.data[0];
    const inside = this.inside();
    const first = inside[0];
    const last = inside[inside.length - 1];
    if (first === undefined || last === undefined) return;
    const place = this.plot.cursor.idx ?? null;
    const step = event.shiftKey ? 10 : 1;
    const targets: Record<string, number> = {
      ArrowLeft: (place ?? last + step) - step,
      ArrowRight: (place ?? last - step) + step,
      Home: first,
      End: last,
    };
    if (event.key === "Escape") {
      this.moveAll(null);
      return;
    }
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const next = Math.min(last, Math.max(first, target));
    this.moveAll(times[next] ?? null);
    say(this.sentence(next));
  }

  /** Places of the points that are shown. */
  private inside(): number[] {
    const { from, to } = this.view;
    return Array.from(this.plot.data[0], (at, n) => (at >= from && at <= to ? n : -1)).filter((n) => n >= 0);
  }

  private fillTable(): void {
    this.table.querySelector(".table")?.remove();
    if (!this.table.open) return;
    const times = this.plot.data[0];
    const inside = this.inside();
    const step = Math.max(1, Math.ceil(inside.length / TABLE_ROWS));
    const rows = inside.reverse().filter((_, n) => n % step === 0);
    const heads = ["time", ...this.spec.lines.map((line) => line.label)];
    const body = rows.map((n) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, moment(times[n] ?? 0)),
        ...this.spec.lines.map((_, line) => make("td", {}, this.value(line, n))),
      ),
    );
    const table = make(
      "table",
      {},
      make("caption", { class: "unseen" }, this.spec.title),
      make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...body),
    );
    const label = `${this.spec.title} as numbers`;
    this.table.append(make("div", { class: "table", tabindex: "0", role: "region", "aria-label": label }, table));
  }

  private options(): uPlot.Options {
    const style = getComputedStyle(document.documentElement);
    const shade = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: shade("--muted"), grid: { stroke: shade("--grid"), width: 1 }, ticks: { show: false } };
    const font = "12px system-ui, sans-serif";
    const { lines, band, most, tick = this.spec.format } = this.spec;
    const place = (name: string) => lines.findIndex((line) => line.name === name) + 1;
    return {
      width: 300,
      height: HEIGHT,
      legend: { show: false },
      cursor: { sync: { key: GROUP }, drag: { x: false, y: false }, y: false, points: { size: 7 } },
      scales: {
        x: { range: () => [this.view.from, this.view.to] },
        y: { range: (plot) => [0, most ?? this.top(plot)] },
      },
      axes: [
        { ...axis, font, size: 32, gap: 10, space: 64, values: (_, splits) => splits.map((at) => this.view.tick(at)) },
        { ...axis, font, size: 58, space: 30, values: (_, splits) => splits.map((value) => tick(value)) },
      ],
      series: [
        {},
        ...lines.map((line) => ({
          label: line.label,
          stroke: shade(line.color),
          width: line.dashed ? 1.5 : 2,
          dash: line.dashed ? [6, 4] : [],
          points: { show: false },
        })),
      ],
      bands: band ? [{ series: [place(band[0]), place(band[1])], fill: shade("--c3-band") }] : [],
      hooks: {
        setCursor: [(plot) => this.read(plot.cursor.idx ?? null)],
        drawClear: [(plot) => this.drawEntries(plot, shade)],
      },
    };
  }

  /** Restarts and decisions as lines through the chart. */
  private drawEntries(plot: uPlot, shade: (name: string) => string): void {
    const { ctx, bbox } = plot;
    const { from, to } = this.view;
    const shown = this.entries.filter((entry) => entry.kind !== "started" && entry.at >= from && entry.at <= to);
    const many = shown.filter((entry) => entry.kind === "decision").length > MOST_DECISIONS;
    ctx.save();
    for (const entry of shown) {
      if (many && entry.kind === "decision") continue;
      const x = Math.round(plot.valToPos(entry.at, "x", true)) + 0.5;
      ctx.strokeStyle = shade(entry.kind === "decision" ? "--mark" : "--limit");
      ctx.setLineDash(entry.kind === "decision" ? [] : [2, 4]);
      ctx.lineWidth = entry.kind === "decision" ? 1 : 2;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }
}

/** A round number above a value, so that a chart does not jump with each point. */
function ceiling(high: number): number {
  if (high <= 0) return 1;
  const step = 10 ** Math.floor(Math.log10(high));
  for (const times of [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) {
    if (times * step >= high * 1.05) return times * step;
  }
  return 12 * step;
}
