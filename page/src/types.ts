// What the server tells: see `documents.py`.

export type Status = "running" | "finished" | "failed";
export type Column = (number | null)[];

export interface Listed {
  id: string;
  name: string;
  status: Status;
  last_at: number;
}

export interface QueryList {
  folders: string[];
  mark: string;
  queries: Listed[];
}

export interface State {
  name: string;
  folder: string;
  status: Status;
  error: string;
  started_at: number | null;
  ended_at: number | null;
  last_at: number;
  now: number;
  trigger: number | null;
  budget: string;
  plan: string;
  has_drawing: boolean;
}

export interface Entry {
  at: number;
  kind: "started" | "restarted" | "decision" | "finished" | "failed";
  text: string;
  join: string;
}

export interface Strip {
  seconds: number;
  compared: number[];
  skipped: number[];
  found: number[];
  priority: number[];
}

export interface Totals {
  batches: number;
  rows_in: number;
  rows_out: number;
  recall: [number, number, number] | null;
  missed: number;
  /** Pairs of rows that could not meet because of a budget. */
  unmet: number;
  skipped: number;
  compared: number;
  left_out: Record<string, number>;
}

export interface Latest {
  name: string;
  kind: "window" | "plan" | "table";
  inputs: string[];
  batch: number;
  algorithm: string;
  driver: string;
  allowances: Record<string, number>;
  windows: Record<string, Strip>;
  state_rows: number;
  lagging: number;
  total: Totals;
}

export interface Point extends Latest {
  at: number;
  values: Record<string, number | null>;
  strips: Record<string, string>;
}

export interface Join extends Latest {
  at: number[];
  values: Record<string, Column>;
  strips: Record<string, (string | null)[]>;
}

export interface Query extends State {
  id: string;
  mark: string;
  is_whole: boolean;
  log: Entry[];
  joins: Join[];
}
