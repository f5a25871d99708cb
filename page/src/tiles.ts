// What matters now, in large numbers.

import type { JoinData } from "./data";
import { make, setText } from "./dom";
import * as format from "./format";
import { isLimited } from "./specs";
import type { State } from "./types";

interface Tile {
  id: string;
  label: string;
  value: string;
  /** What the number means, or what it is to be compared with. */
  beside: string;
  /** How much of a limit is used, 0 to 1 and more. */
  used?: number;
  alarm?: boolean;
}

export class Tiles {
  readonly list = make("dl", { class: "tiles" });

  update(data: JoinData, state: State): void {
    const tiles = tilesOf(data, state);
    const ids = tiles.map((tile) => tile.id).join();
    if (this.list.dataset["ids"] !== ids) {
      this.list.dataset["ids"] = ids;
      this.list.replaceChildren(...tiles.map(frame));
    }
    tiles.forEach((tile, n) => {
      const place = this.list.children[n];
      if (place) fill(place, tile);
    });
  }
}

function frame(tile: Tile): HTMLElement {
  const element = make(
    "div",
    { class: "card tile", "data-tile": tile.id },
    make("dt", {}, tile.label),
    make("dd", { class: "value" }),
    make("dd", { class: "beside" }),
  );
  if (tile.used !== undefined) {
    element.append(make("dd", { class: "meter", "aria-hidden": "true" }, make("span")));
  }
  return element;
}

function fill(element: Element, tile: Tile): void {
  const find = (selector: string) => element.querySelector<HTMLElement>(selector);
  const [value, beside, meter] = [find(".value"), find(".beside"), find(".meter span")];
  if (value) setText(value, tile.value);
  if (beside) setText(beside, together(tile.beside));
  if (meter) meter.style.width = `${100 * Math.min(1, tile.used ?? 0)}%`;
  element.classList.toggle("alarm", tile.alarm ?? false);
}

/** Keep numbers and their units on one line. */
function together(text: string): string {
  return text.replace(/(\d) (?=\S)/g, "$1\u00a0");
}

function tilesOf(data: JoinData, state: State): Tile[] {
  const tiles = [
    rowsIn(data),
    rowsOut(data),
    recall(data, state),
    behind(data),
    batch(data, state),
    cpu(data),
    memory(data),
    freshness(data),
    cache(data),
  ];
  return tiles.filter((tile) => tile !== null);
}

function rowsIn(data: JoinData): Tile {
  const beside = `${format.count(data.latest.total.rows_in)} in all`;
  return { id: "in", label: "Rows in", value: format.perSecond(data.sum("in") ?? 0), beside };
}

function rowsOut(data: JoinData): Tile {
  const beside = `${format.count(data.latest.total.rows_out)} in all`;
  return { id: "out", label: "Rows out", value: format.perSecond(data.last("out") ?? 0), beside };
}

function recall(data: JoinData, state: State): Tile | null {
  if (data.latest.kind === "table") return null;
  const label = "Results found";
  if (!isLimited(data, state)) return { id: "recall", label, value: "100 %", beside: "exact: no budget" };
  const value = data.last("recall");
  const [low, high] = [data.last("recall_low"), data.last("recall_high")];
  const all = data.latest.total.recall;
  const inAll = all ? `${format.percent(all[1])} in all` : "";
  if (value === null || low === null || high === null) {
    const none = data.latest.total.unmet > 0 ? "not known: too little is seen of the rest" : "nothing to find yet";
    return { id: "recall", label, value: "–", beside: inAll || none };
  }
  const band = high - low > 0.002 ? `${format.percent(low)} to ${format.percent(high)}; ` : "";
  const exact = low === 1 && all?.[1] === 1 ? "exact so far" : `${band}${inAll}`;
  return { id: "recall", label, value: format.percent(value), beside: exact, alarm: value < 0.995 };
}

function behind(data: JoinData): Tile | null {
  const value = data.last("behind");
  if (value === null) return null;
  // generated or delayed rows are old from the start: what counts is how much older they become
  const least = data.column("behind").reduce<number>((low, age) => Math.min(low, age ?? low), value);
  const beside = `newest row is ${format.duration(value)} old`;
  return { id: "behind", label: "Behind", value: format.duration(value - least), beside };
}

function batch(data: JoinData, state: State): Tile {
  const value = data.last("batch") ?? 0;
  const tile = { id: "batch", label: "Batch time", value: format.duration(value) };
  if (!state.trigger) return { ...tile, beside: "each batch follows the one before" };
  const used = value / state.trigger;
  return { ...tile, beside: `of ${format.duration(state.trigger)} between batches`, used, alarm: used > 1 };
}

function cpu(data: JoinData): Tile | null {
  if (!data.has("cpu")) return null;
  const value = data.last("cpu") ?? 0;
  const budget = data.last("cpu_budget");
  const tile = { id: "cpu", label: "CPU", value: format.cores(value) };
  if (!budget) return { ...tile, beside: "used by the join itself" };
  return { ...tile, beside: `of ${format.cores(budget)} allowed`, used: value / budget };
}

function memory(data: JoinData): Tile {
  const value = (data.sum("state") ?? 0) + (data.last("state") ?? 0);
  const beside = `${format.count(data.latest.state_rows)} rows`;
  return { id: "memory", label: "State", value: format.bytes(value), beside };
}

function freshness(data: JoinData): Tile | null {
  const value = data.last("age_p95");
  if (value === null) return null;
  const oldest = format.duration(data.last("age_max") ?? 0);
  const beside = `95 of 100 results are not older; oldest: ${oldest}`;
  return { id: "freshness", label: "Freshness", value: format.duration(value), beside };
}

function cache(data: JoinData): Tile | null {
  const value = data.last("hit_share");
  if (value === null) return null;
  const beside = `${format.count(data.last("cached_rows") ?? 0)} rows held, ${format.count(data.last("waiting_rows") ?? 0)} wait`;
  return { id: "cache", label: "Cache hits", value: format.percent(value), beside };
}
