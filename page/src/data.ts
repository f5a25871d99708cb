// The points of a join as the page holds them: a list for each line.

import type { Column, Join, Latest, Point } from "./types";

/** Points after which everything is read again, in coarser steps. */
export const MOST_POINTS = 7000;

export class JoinData {
  latest: Latest;
  at: number[];
  values: Map<string, Column>;
  strips: Map<string, (string | null)[]>;

  constructor(join: Join) {
    this.latest = join;
    this.at = join.at;
    this.values = new Map(Object.entries(join.values));
    this.strips = new Map(Object.entries(join.strips));
  }

  static of(point: Point): JoinData {
    const data = new JoinData({ ...point, at: [], values: {}, strips: {} });
    data.add(point);
    return data;
  }

  /** Add a point; one of the same second takes the place of the last. */
  add(point: Point): void {
    this.latest = point;
    const last = this.at[this.at.length - 1];
    const replaces = last !== undefined && Math.floor(last) === Math.floor(point.at);
    const place = replaces ? this.at.length - 1 : this.at.length;
    this.at[place] = point.at;
    put(this.values, point.values, place);
    put(this.strips, point.strips, place);
  }

  column(name: string): Column {
    return this.values.get(name) ?? new Array<null>(this.at.length).fill(null);
  }

  /** The last known value. */
  last(name: string): number | null {
    return this.values.get(name)?.at(-1) ?? null;
  }

  /** Whether a line has anything but zeros. */
  has(name: string): boolean {
    return this.values.get(name)?.some((value) => value !== null && value !== 0) ?? false;
  }

  /** Names of lines of one kind, as `state:left`, in the order of the inputs. */
  names(kind: string): string[] {
    const start = `${kind}:`;
    return [...this.values.keys()].filter((name) => name.startsWith(start));
  }

  sum(kind: string): number | null {
    const values = this.names(kind).map((name) => this.last(name) ?? 0);
    return values.length ? values.reduce((a, b) => a + b, 0) : null;
  }
}

function put<T>(columns: Map<string, (T | null)[]>, values: Record<string, T | null>, place: number): void {
  for (const name of Object.keys(values)) {
    if (!columns.has(name)) columns.set(name, new Array<null>(place).fill(null));
  }
  for (const [name, column] of columns) column[place] = values[name] ?? null;
}
