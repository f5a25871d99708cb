// How the query does, in one sentence.

import type { JoinData } from "./data";
import { count, duration, exactly, percent } from "./format";
import type { State } from "./types";

export interface Verdict {
  mood: "good" | "short" | "bad";
  text: string;
}

/** `silence`: seconds without news from a query that should have some. */
export function verdict(data: JoinData | undefined, state: State, silence: number): Verdict {
  if (state.status === "failed") return { mood: "bad", text: `It stopped with an error: ${state.error}` };
  if (silence) return { mood: "short", text: `No batch for ${duration(silence)}: it waits for rows, or was killed.` };
  if (!data) return { mood: "good", text: "No batch has ended yet." };
  if (state.status === "finished") return finished(data);
  return limits(data, state) ?? { mood: "good", text: calm(data, state) };
}

function finished(data: JoinData): Verdict {
  const { total, kind } = data.latest;
  const came = `${exactly(total.rows_in)} rows came, ${exactly(total.rows_out)} went out`;
  if (!total.recall && total.unmet > 0) {
    return { mood: "short", text: `Finished: ${came}. How much of what an exact join finds that is, is not known.` };
  }
  if (kind === "table" || !total.recall) return { mood: "good", text: `Finished: ${came}.` };
  const [low, about, high] = total.recall;
  if (about === 1) return { mood: "good", text: `Finished: ${came}; nothing was left out for a budget.` };
  const band = high - low > 0.002 ? ` (${percent(low)} to ${percent(high)})` : "";
  return { mood: "short", text: `Finished: ${came}. That is about ${percent(about)}${band} of what an exact join finds.` };
}

function limits(data: JoinData, state: State): Verdict | null {
  const value = (name: string) => data.last(name) ?? 0;
  const recall = data.last("recall");
  const found = recall === null ? "" : ` It finds about ${percent(recall)} of the results.`;
  const skipped = value("skipped");
  if (value("left_out:dropped") > 0) {
    return { mood: "short", text: `More comes in than the budget allows: ${count(value("left_out:dropped"))} rows a second are turned away.${found}` };
  }
  if (data.latest.lagging > 0) {
    return { mood: "short", text: `To receive rows alone takes more than the budget: batches take longer.${found}` };
  }
  if (skipped > 0) {
    const part = percent(value("compared") / (value("compared") + skipped));
    const what = data.latest.kind === "plan" ? "tuples probe" : "comparisons are made";
    return { mood: "short", text: `More comes in than the budget allows: ${part} of the ${what}, the most productive ones.${found}` };
  }
  if (value("left_out:cut") > 0) {
    return { mood: "short", text: `There is memory for a part of the windows: ${count(value("left_out:cut"))} rows a second are forgotten early.${found}` };
  }
  if (value("left_out:shed") > 0) {
    return { mood: "short", text: `More comes in than the CPU allows: ${count(value("left_out:shed"))} rows a second are put off.` };
  }
  if (value("spilled_rows") > 0) {
    return { mood: "short", text: `${count(value("spilled_rows"))} rows that were put off wait for their answer.` };
  }
  if (recall !== null && recall < 1) {
    return { mood: "short", text: `Rows that were left out before are missing in the windows.${found}` };
  }
  if (state.trigger !== null && usualBatch(data) > state.trigger) {
    return { mood: "short", text: `Batches take longer than the ${duration(state.trigger)} between them: it may fall behind.` };
  }
  return null;
}

/** The middle one of the last five: a single slow batch means nothing. */
function usualBatch(data: JoinData): number {
  const last = data.column("batch").slice(-5);
  const sorted = last.map((value) => value ?? 0).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function calm(data: JoinData, state: State): string {
  if (data.latest.kind === "table") return "Every row is answered.";
  return state.budget ? "Within its budget: every result is found." : "Exact: every result is found.";
}
