// Loads what the server knows, and follows its news.

import "uplot/dist/uPlot.min.css";
import "./page.css";

import { MOST_POINTS } from "./data";
import { need, setText } from "./dom";
import { Page, renderEmpty } from "./page";
import { fillSidebar, sorted } from "./sidebar";
import type { Entry, Listed, Point, Query, QueryList, State } from "./types";

const TICK = 1000;
const main = need("main");

let queries: Listed[] = [];
let page: Page | null = null;
let news: EventSource | null = null;
/** Up to where news were read. */
let mark = "";
/** Counts what was asked for: an answer that comes too late is not shown. */
let turn = 0;

async function fetchJson<T>(address: string): Promise<T | null> {
  const answer = await fetch(address);
  return answer.ok ? ((await answer.json()) as T) : null;
}

function chosen(): string {
  const asked = location.hash.slice(1);
  if (queries.some((query) => query.id === asked)) return asked;
  if (page && queries.some((query) => query.id === page?.id)) return page.id;
  return sorted(queries)[0]?.id ?? "";
}

async function load(): Promise<void> {
  turn += 1;
  const mine = turn;
  try {
    const list = await fetchJson<QueryList>("queries");
    if (mine !== turn || !list) return;
    queries = list.queries;
    const id = chosen();
    fillSidebar(need("queries"), queries, id);
    const query = id ? await fetchJson<Query>(`query?query=${encodeURIComponent(id)}`) : null;
    if (mine !== turn) return;
    show(query, list.folders);
    mark = query?.mark ?? list.mark;
    listen();
  } catch {
    lost();
    window.setTimeout(() => void (mine === turn && load()), 2000);
  }
}

function show(query: Query | null, folders: string[]): void {
  page?.close();
  if (query) {
    page = new Page(main, query, page);
  } else {
    page = null;
    renderEmpty(main, folders);
  }
}

function listen(): void {
  news?.close();
  const address = new URLSearchParams({ query: page?.id ?? "", after: mark });
  const source = new EventSource(`news?${address}`);
  news = source;
  source.onopen = () => setText(need("connection"), "");
  source.onerror = lost;
  const on = <T>(kind: string, take: (value: T) => void) =>
    source.addEventListener(kind, (event) => {
      mark = event.lastEventId || mark;
      take(JSON.parse(event.data as string) as T);
    });
  on<Point>("point", (point) => {
    page?.addPoint(point);
    if ((page?.points ?? 0) > MOST_POINTS) void load();
  });
  on<Entry>("entry", (entry) => page?.addEntry(entry));
  on<State>("state", (state) => page?.setState(state));
  on<Listed[]>("queries", (list) => {
    queries = list;
    fillSidebar(need("queries"), queries, page?.id ?? "");
    if (!page && queries.length) void load();
  });
  on("reload", () => void load());
}

function lost(): void {
  setText(need("connection"), "No connection to the server; trying again …");
}

window.addEventListener("hashchange", () => {
  if (location.hash === "#main") return;
  void load().then(() => main.focus());
});
// A browser has six connections for a server: pages in the background give theirs back.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) news?.close();
  else if (mark) listen();
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page?.recolor());
window.setInterval(() => page?.tick(), TICK);
void load();
