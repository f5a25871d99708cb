// The list of queries.

import { make } from "./dom";
import { moment } from "./format";
import type { Listed, Status } from "./types";

export const STATUS: Record<Status, string> = { running: "Running", finished: "Finished", failed: "Failed" };

export function badge(status: Status): HTMLElement {
  return make("span", { class: `badge ${status}` }, STATUS[status]);
}

/** Running ones first, then those that were heard of last. */
export function sorted(queries: Listed[]): Listed[] {
  const rank = (query: Listed) => (query.status === "running" ? 0 : 1);
  return [...queries].sort((a, b) => rank(a) - rank(b) || b.last_at - a.last_at);
}

export function fillSidebar(nav: HTMLElement, queries: Listed[], current: string): void {
  nav.hidden = queries.length < 2;
  let details = nav.querySelector("details");
  if (!details) {
    details = make("details", {}, make("summary"), make("ul"));
    details.open = window.matchMedia("(min-width: 62rem)").matches;
    nav.append(details);
  }
  const [summary, list] = [details.querySelector("summary"), details.querySelector("ul")];
  if (!summary || !list) return;
  const running = queries.filter((query) => query.status === "running").length;
  summary.textContent = `Queries: ${queries.length}, ${running} running`;
  const focused = document.activeElement?.getAttribute("href");
  list.replaceChildren(...sorted(queries).map((query) => item(query, current)));
  if (focused) list.querySelector<HTMLElement>(`a[href="${focused}"]`)?.focus();
}

function item(query: Listed, current: string): HTMLElement {
  const when = query.last_at ? moment(query.last_at) : "";
  const link = make(
    "a",
    { href: `#${query.id}` },
    make("span", { class: "name" }, query.name),
    make("span", { class: "line" }, badge(query.status), make("span", { class: "when" }, when)),
  );
  if (query.id === current) link.setAttribute("aria-current", "page");
  return make("li", {}, link);
}
