// One query: its head, tiles, charts, windows, log and plan.

import { Allowances } from "./allowances";
import { Chart } from "./chart";
import { JoinData } from "./data";
import { make, newId, say, setText } from "./dom";
import { duration, moment } from "./format";
import { inWords, Log } from "./log";
import { badge, STATUS } from "./sidebar";
import { chartsOf } from "./specs";
import { Strips } from "./strips";
import { Tiles } from "./tiles";
import type { Entry, Point, Query, State } from "./types";
import { verdict } from "./verdict";
import { RANGES, View } from "./view";

const SHORT_STORY = 1200;
const MOST_ENTRIES = 500;

export class Page {
  readonly id: string;
  private state: State;
  private readonly log: Entry[];
  private readonly joins = new Map<string, JoinData>();
  private current = "";
  private readonly skew: number;
  private readonly view: View;
  private readonly head = make("section", { class: "head" });
  private readonly joinChoice = make("fieldset", { class: "choice" });
  private readonly now = make("h2", { id: newId("now") });
  private readonly tiles = new Tiles();
  private readonly grid = make("div", { class: "charts" });
  private readonly strips: Strips;
  private readonly allowances = new Allowances();
  private readonly entries = new Log();
  private readonly plan = make("section", { class: "block" });
  private readonly charts = new Map<string, Chart>();
  private planShown = "";
  private waiting = false;
  private readonly sizes = new ResizeObserver(() => this.resize());

  constructor(
    private readonly main: HTMLElement,
    query: Query,
    before: Page | null,
  ) {
    this.id = query.id;
    this.state = query;
    this.log = query.log;
    this.skew = Date.now() / 1000 - query.now;
    for (const join of query.joins) this.joins.set(join.name, new JoinData(join));
    const same = before?.id === query.id ? before : null;
    this.current = same && this.joins.has(same.current) ? same.current : (query.joins[0]?.name ?? "");
    this.view = new View(same ? same.view.seconds : this.firstRange());
    this.strips = new Strips(this.view);
    this.entries.section.id = "log";
    this.main.replaceChildren(...this.blocks(query.is_whole));
    this.sizes.observe(this.grid);
    this.render();
  }

  close(): void {
    this.sizes.disconnect();
    for (const chart of this.charts.values()) chart.destroy();
  }

  get points(): number {
    return Math.max(0, ...[...this.joins.values()].map((data) => data.at.length));
  }

  addPoint(point: Point): void {
    const data = this.joins.get(point.name);
    if (data) data.add(point);
    else this.joins.set(point.name, JoinData.of(point));
    this.current = this.current || point.name;
    this.state = { ...this.state, last_at: Math.max(this.state.last_at, point.at) };
    this.renderSoon();
  }

  addEntry(entry: Entry): void {
    this.log.push(entry);
    if (this.log.length > MOST_ENTRIES) this.log.shift();
    say(`${this.state.name}: ${inWords(entry)}`);
    this.renderSoon();
  }

  setState(state: State): void {
    this.state = state;
    this.renderSoon();
  }

  /** Colours have changed. */
  recolor(): void {
    for (const [key, chart] of this.charts) this.removeChart(key, chart);
    this.strips.recolor();
    this.render();
  }

  /** Time passes without news too. */
  tick(): void {
    this.renderHead(this.joins.get(this.current));
  }

  private firstRange(): number {
    const at = this.joins.get(this.current)?.at ?? [];
    return (at[at.length - 1] ?? 0) - (at[0] ?? 0) <= SHORT_STORY ? Infinity : 900;
  }

  private blocks(isWhole: boolean): HTMLElement[] {
    const over = newId("over");
    const now = this.now.id;
    const hint = "Reading the earlier hours: until then totals are those of the last minutes.";
    return [
      this.head,
      make("p", { class: "words", role: "status", hidden: isWhole }, hint),
      this.joinChoice,
      make("section", { class: "block", "aria-labelledby": now }, this.now, this.tiles.list),
      make(
        "section",
        { class: "block", "aria-labelledby": over },
        make("div", { class: "block-head" }, make("h2", { id: over }, "Over time"), this.rangeChoice()),
        this.grid,
      ),
      this.strips.section,
      this.allowances.section,
      this.entries.section,
      this.plan,
    ];
  }

  private rangeChoice(): HTMLElement {
    const choice = make("fieldset", { class: "choice" }, make("legend", { class: "unseen" }, "Time shown"));
    for (const [label, seconds] of RANGES) {
      choice.append(
        radio("range", label, seconds === this.view.seconds, () => {
          this.view.seconds = seconds;
          this.render();
        }),
      );
    }
    return choice;
  }

  private renderSoon(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.render();
    });
  }

  private render(): void {
    const data = this.joins.get(this.current);
    this.renderHead(data);
    this.renderJoins();
    this.entries.update(this.log);
    this.renderPlan();
    this.grid.hidden = !data;
    this.strips.section.hidden = !data;
    this.allowances.update(data?.latest.allowances ?? {});
    if (!data) return;
    this.view.fit(data, this.log);
    setText(this.now, this.state.status === "running" ? "Now" : "At the end");
    this.tiles.update(data, this.state);
    this.renderCharts(data);
    this.strips.update(data);
  }

  private renderHead(data: JoinData | undefined): void {
    const { state } = this;
    document.title = `${STATUS[state.status]}: ${state.name} - streamjoin`;
    const said = verdict(data, state, this.silence());
    const facts = [this.since(), ...this.facts(data)].filter((text) => text !== "");
    const text = [state.name, state.status, said.mood, said.text, ...facts].join("\n");
    if (this.head.dataset["text"] === text) return;
    this.head.dataset["text"] = text;
    this.head.replaceChildren(
      make("div", { class: "title" }, make("h1", {}, state.name), badge(state.status)),
      make("p", { class: `verdict ${said.mood}` }, said.text),
      make("ul", { class: "facts" }, ...facts.map((fact) => make("li", {}, fact))),
    );
  }

  private since(): string {
    const { started_at: start, ended_at: end } = this.state;
    if (start === null) return "";
    if (end !== null) return `${moment(start)} to ${moment(end)} (${duration(Math.max(0, end - start))})`;
    return `running since ${moment(start)}`;
  }

  /** Seconds without news from a query that should have some; else 0. */
  private silence(): number {
    const { status, last_at: last, trigger } = this.state;
    const silent = Date.now() / 1000 - this.skew - last;
    return status === "running" && silent > Math.max(30, 5 * (trigger ?? 0)) ? silent : 0;
  }

  private facts(data: JoinData | undefined): string[] {
    const { budget, trigger, folder } = this.state;
    const latest = data?.latest;
    const kinds = { window: "join of two streams", plan: "join of many streams", table: "join with a table" };
    const driven = latest?.driver ? `, driven by ${latest.driver}` : "";
    const restarts = this.log.filter((entry) => entry.kind === "restarted").length;
    return [
      latest ? kinds[latest.kind] : "",
      latest?.algorithm ? `method: ${methods(latest.algorithm)}${driven}` : "",
      budget ? `budget: ${budget}` : "no budget",
      trigger === null ? "" : `a batch every ${duration(trigger)}`,
      latest ? `batch ${latest.batch}` : "",
      restarts ? `started again ${restarts === 1 ? "once" : `${restarts} times`}` : "",
      folder,
    ];
  }

  private renderJoins(): void {
    this.joinChoice.hidden = this.joins.size < 2;
    const names = [...this.joins.keys()];
    if (this.joinChoice.dataset["names"] === names.join("\n")) return;
    this.joinChoice.dataset["names"] = names.join("\n");
    const choose = (name: string) => () => {
      this.current = name;
      this.render();
    };
    this.joinChoice.replaceChildren(
      make("legend", {}, "Join"),
      ...names.map((name) => radio("join", name, name === this.current, choose(name))),
    );
  }

  private renderCharts(data: JoinData): void {
    const specs = new Map(chartsOf(data, this.state).map((spec) => [JSON.stringify([this.current, spec]), spec]));
    for (const [key, chart] of this.charts) {
      if (!specs.has(key)) this.removeChart(key, chart);
    }
    let place = 0;
    for (const [key, spec] of specs) {
      // Those that stay are not touched: they may have the focus, or an open table.
      const chart = this.charts.get(key) ?? new Chart(spec, this.view, (at) => this.moveAll(at));
      this.charts.set(key, chart);
      const there = this.grid.children[place] ?? null;
      if (there !== chart.card) this.grid.insertBefore(chart.card, there);
      chart.resize();
      chart.update(data, this.log);
      place += 1;
    }
  }

  private removeChart(key: string, chart: Chart): void {
    chart.destroy();
    chart.card.remove();
    this.charts.delete(key);
  }

  private moveAll(at: number | null): void {
    for (const chart of this.charts.values()) chart.move(at);
  }

  private resize(): void {
    for (const chart of this.charts.values()) chart.resize();
    const data = this.joins.get(this.current);
    if (data) this.strips.drawMaps(data);
  }

  private renderPlan(): void {
    const { plan, has_drawing: drawn, started_at: start } = this.state;
    const shown = JSON.stringify([plan, drawn, start]);
    this.plan.hidden = !plan && !drawn;
    if (this.planShown === shown) return;
    this.planShown = shown;
    const title = newId("plan");
    this.plan.setAttribute("aria-labelledby", title);
    this.plan.replaceChildren(make("h2", { id: title }, "Plan"));
    if (drawn) {
      const source = `drawing.svg?query=${encodeURIComponent(this.id)}&start=${start ?? 0}`;
      const alt = "Drawing of the plan; the same is said in words below.";
      this.plan.append(make("figure", { class: "card" }, make("img", { src: source, alt })));
    }
    const text = make("pre", { tabindex: "0", role: "region", "aria-label": "Plan in words" }, plan);
    const words = make("details", { class: "card plan-words" }, make("summary", {}, "The plan in words"), text);
    words.open = !drawn;
    if (plan) this.plan.append(words);
  }
}

/** "hash 4" says that four directions are met by hash: of one method only its name is of use. */
function methods(algorithm: string): string {
  return algorithm.replace(/^(\S+) \d+$/, "$1");
}

function radio(group: string, label: string, checked: boolean, choose: () => void): HTMLElement {
  const input = make("input", { type: "radio", name: group, checked });
  input.addEventListener("change", choose);
  return make("label", {}, input, make("span", {}, label));
}

export function renderEmpty(main: HTMLElement, folders: string[]): void {
  document.title = "streamjoin";
  main.replaceChildren(
    make("h1", {}, "No query yet"),
    make("p", {}, "This page shows queries as soon as their records (metrics.jsonl) appear in:"),
    make("ul", { class: "folders" }, ...folders.map((folder) => make("li", {}, make("code", {}, folder)))),
    make("p", {}, "Start one with ", make("code", {}, "streamjoin run FILE --dashboard"), ", or in Python call ", make("code", {}, "sj.record(spark)"), " before a query starts."),
  );
}
