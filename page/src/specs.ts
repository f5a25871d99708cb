// Which charts there are, what each says in words, and to which joins it applies.

import type { JoinData } from "./data";
import * as format from "./format";
import type { State } from "./types";

export interface Line {
  name: string;
  label: string;
  color: string;
  dashed?: boolean;
  /** A value that does not change over time, such as a limit. */
  fixed?: number;
}

export interface ChartSpec {
  id: string;
  title: string;
  words: string;
  lines: Line[];
  /** Lines between which is shaded: an upper and a lower bound. */
  band?: [string, string];
  format: (value: number) => string;
  /** The same with less room, beside the chart. */
  tick?: (value: number) => string;
  most?: number;
}

const INPUTS = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6"];
const CAUSES: Record<string, string> = {
  late: "late rows",
  null: "rows without a key or a time",
  ahead: "rows ahead of the clock",
  dropped: "rows turned away",
  cut: "rows forgotten early",
  stale: "results too old",
  shed: "rows put off",
};

export function causeInWords(cause: string): string {
  return CAUSES[cause] ?? cause;
}

export function color(place: number): string {
  return INPUTS[place % INPUTS.length] ?? "--c1";
}

/** Whether something may have been left out for a budget, so that the share found is of interest. */
export function isLimited(data: JoinData, state: State): boolean {
  const { total, kind } = data.latest;
  return kind !== "table" && (state.budget !== "" || total.missed > 0 || total.skipped > 0);
}

export function chartsOf(data: JoinData, state: State): ChartSpec[] {
  const specs: (ChartSpec | null)[] = [
    rowsIn(data),
    rowsOut(),
    isLimited(data, state) ? recall(data) : null,
    data.has("skipped") || state.budget !== "" ? probed(data) : null,
    comparisons(data),
    cpu(data),
    batchTime(state),
    behind(data),
    freshness(data),
    hitShare(data),
    waiting(data),
    memory(data),
    leftOut(data),
  ];
  return specs.filter((spec) => spec !== null);
}

function byInput(data: JoinData, kind: string): Line[] {
  return data.names(kind).map((name, place) => {
    return { name, label: name.slice(kind.length + 1), color: color(place) };
  });
}

function rowsIn(data: JoinData): ChartSpec {
  const words = "What arrives, for each input.";
  // Intermediate results of a plan are an input too, to which no rows come from outside.
  const lines = byInput(data, "in").filter((line) => line.label !== "intermediate" || data.has(line.name));
  return { id: "in", title: "Rows in", words, lines, format: format.perSecond };
}

function rowsOut(): ChartSpec {
  const lines = [{ name: "out", label: "results", color: "--c3" }];
  return { id: "out", title: "Rows out", words: "Results that come out.", lines, format: format.perSecond };
}

function recall(data: JoinData): ChartSpec {
  const line = { name: "recall", label: "estimate", color: "--c3" };
  const low = data.column("recall_low");
  const hasBand = data.column("recall_high").some((high, n) => (high ?? 0) - (low[n] ?? 0) > 0.001);
  if (!hasBand) {
    const words = "Estimated share of an exact join's results.";
    return { id: "recall", title: "Results found", words, lines: [line], format: format.percent, most: 1 };
  }
  return {
    id: "recall",
    title: "Results found",
    words: "Estimated share of an exact join's results; in 95 of 100 cases the truth is in the band.",
    lines: [
      { name: "recall_high", label: "at most", color: "--c3-soft" },
      line,
      { name: "recall_low", label: "at least", color: "--c3-soft" },
    ],
    band: ["recall_high", "recall_low"],
    format: format.percent,
    most: 1,
  };
}

function probed(data: JoinData): ChartSpec | null {
  const lines = byInput(data, "probed");
  if (!lines.length) return null;
  const many = data.latest.kind === "plan";
  return {
    id: "probed",
    title: many ? "Tuples that probe" : "Part that is probed",
    words: many
      ? "Of each input, the share of its tuples that look for partners."
      : "r₁ and r₂: of each window, the share of the comparisons that is made.",
    lines,
    format: format.percent,
    most: 1,
  };
}

function comparisons(data: JoinData): ChartSpec | null {
  if (!data.has("skipped")) return null;
  const what = data.latest.kind === "plan" ? "Probes" : "Comparisons";
  return {
    id: "comparisons",
    title: what,
    words: "Made within the budget, and left out for it.",
    lines: [
      { name: "compared", label: "made", color: "--c1" },
      { name: "skipped", label: "left out", color: "--c2" },
    ],
    format: format.perSecond,
  };
}

function cpu(data: JoinData): ChartSpec | null {
  if (!data.has("cpu")) return null;
  const lines: Line[] = [{ name: "cpu", label: "used", color: "--c1" }];
  const budget = { name: "cpu_budget", label: "allowed", color: "--limit", dashed: true };
  if (data.has("cpu_budget")) lines.push(budget);
  const words = "Cores that the join itself keeps busy.";
  return { id: "cpu", title: "CPU", words, lines, format: format.cores, tick: format.plain };
}

function batchTime(state: State): ChartSpec {
  const lines: Line[] = [{ name: "batch", label: "a batch took", color: "--c1" }];
  if (state.trigger !== null) {
    const fixed = state.trigger;
    lines.push({ name: "trigger", label: "between batches", color: "--limit", dashed: true, fixed });
  }
  const words = "Above the dashed line batches take longer than there is time for.";
  return {
    id: "batch",
    title: "Batch time",
    words: state.trigger === null ? "How long each batch took." : words,
    lines,
    format: format.duration,
    tick: format.shortDuration,
  };
}

function behind(data: JoinData): ChartSpec | null {
  if (!data.values.has("behind")) return null;
  const lines = [{ name: "behind", label: "age", color: "--c2" }];
  const words = "How old the newest row was when its batch ended.";
  return { id: "behind", title: "Age of the newest row", words, lines, format: format.duration, tick: format.shortDuration };
}

function freshness(data: JoinData): ChartSpec | null {
  if (!data.values.has("age_p95")) return null;
  return {
    id: "freshness",
    title: "Freshness of results",
    words: "How old the oldest row in a result is when it comes out.",
    lines: [
      { name: "age_max", label: "oldest", color: "--c2" },
      { name: "age_p95", label: "95 of 100", color: "--c1" },
      { name: "age_p50", label: "half", color: "--c3" },
    ],
    format: format.duration,
    tick: format.shortDuration,
  };
}

function hitShare(data: JoinData): ChartSpec | null {
  if (!data.values.has("hit_share")) return null;
  const lines = [{ name: "hit_share", label: "from the cache", color: "--c3" }];
  const words = "Share of the rows that the cache answered; the others are looked up in the table.";
  return { id: "hits", title: "Cache hits", words, lines, format: format.percent, most: 1 };
}

function waiting(data: JoinData): ChartSpec | null {
  if (!data.has("waiting_rows") && !data.has("spilled_rows")) return null;
  const lines: Line[] = [{ name: "waiting_rows", label: "in memory", color: "--c1" }];
  if (data.has("spilled_rows")) lines.push({ name: "spilled_rows", label: "put off", color: "--c2" });
  const words = "Rows that wait for their part of the table.";
  return { id: "waiting", title: "Rows waiting", words, lines, format: format.count };
}

function memory(data: JoinData): ChartSpec | null {
  const lines = byInput(data, "state");
  if (data.has("state")) {
    const label = lines.length ? "besides" : "all";
    lines.push({ name: "state", label, color: color(lines.length) });
  }
  if (!lines.length) return null;
  return { id: "memory", title: "State", words: "What is remembered.", lines, format: format.bytes };
}

function leftOut(data: JoinData): ChartSpec | null {
  const lines = byInput(data, "left_out")
    .filter((line) => data.has(line.name))
    .map((line, place) => ({ ...line, label: causeInWords(line.label), color: color(place) }));
  if (!lines.length) return null;
  const words = "Everything that took no part, by cause.";
  return { id: "left_out", title: "Left out", words, lines, format: format.perSecond };
}
