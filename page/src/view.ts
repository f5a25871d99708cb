// The stretch of time that all charts show.

import type uPlot from "uplot";

import type { JoinData } from "./data";
import type { Line } from "./specs";
import type { Column, Entry } from "./types";

export const RANGES: [label: string, seconds: number][] = [
  ["5 min", 300],
  ["15 min", 900],
  ["1 h", 3600],
  ["6 h", 21600],
  ["24 h", 86400],
  ["All", Infinity],
];

const LEAST = 20;
/** Points after a start in which Spark compiles and starts its workers: they set no scale. */
const WARM_UP = 2;

export class View {
  from = 0;
  to = 1;
  private restarts: number[] = [];
  private warmUps = new Set<number>();
  private readonly clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
  private readonly fine = new Intl.DateTimeFormat("en-GB", { minute: "2-digit", second: "2-digit", hour: "2-digit" });
  private readonly day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

  constructor(public seconds: number) {}

  /** Follow the last point; a short story takes the whole width. */
  fit(data: JoinData, entries: Entry[]): void {
    const first = data.at[0] ?? 0;
    const last = data.at[data.at.length - 1] ?? 1;
    this.to = last;
    this.from = Math.min(Math.max(first, last - this.seconds), last - LEAST);
    this.restarts = entries.filter((entry) => entry.kind === "restarted").map((entry) => entry.at);
    this.warmUps = new Set(data.at.slice(0, WARM_UP));
    for (const restart of this.restarts) {
      const next = data.at.findIndex((at) => at >= restart);
      if (next >= 0) data.at.slice(next, next + WARM_UP).forEach((at) => this.warmUps.add(at));
    }
  }

  /** The largest shown value, of all points and of those after Spark has warmed up. */
  largest(times: ArrayLike<number>, columns: ArrayLike<number | null | undefined>[]): [number, number] {
    let [all, warm] = [0, 0];
    for (let n = 0; n < times.length; n += 1) {
      const at = times[n] ?? 0;
      if (at < this.from || at > this.to) continue;
      const value = Math.max(0, ...columns.map((column) => column[n] ?? 0));
      all = Math.max(all, value);
      if (!this.warmUps.has(at)) warm = Math.max(warm, value);
    }
    return [all, warm];
  }

  tick(at: number): string {
    const span = this.to - this.from;
    const format = span <= 600 ? this.fine : span <= 90000 ? this.clock : this.day;
    return format.format(at * 1000);
  }

  /** Columns for a chart; where the query stood still, lines are interrupted. */
  withGaps(data: JoinData, lines: Line[]): uPlot.AlignedData {
    const order = this.order(data.at);
    const times = order.map(([at]) => at);
    const columns = lines.map((line) => {
      const column: Column = data.column(line.name);
      return order.map(([, n]) => line.fixed ?? (n < 0 ? null : (column[n] ?? null)));
    });
    return [times, ...columns];
  }

  private order(times: number[]): [at: number, place: number][] {
    const order: [number, number][] = [];
    let next = 0;
    times.forEach((at, place) => {
      const last = times[place - 1];
      while ((this.restarts[next] ?? Infinity) <= at) {
        const restart = this.restarts[next] ?? 0;
        if (last !== undefined && restart > last && restart < at) order.push([restart, -1]);
        next += 1;
      }
      order.push([at, place]);
    });
    return order;
  }
}
