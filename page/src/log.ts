// What happened, in words, the latest first.

import { make, newId } from "./dom";
import { moment } from "./format";
import type { Entry } from "./types";

const FIRST = 12;

export class Log {
  readonly section = make("section", { class: "block" });
  private readonly list = make("ol", { class: "log card" });
  private readonly more = make("button", { type: "button", class: "more" });
  private shown = FIRST;
  private entries: Entry[] = [];

  constructor() {
    const title = newId("log");
    this.section.setAttribute("aria-labelledby", title);
    this.section.append(make("h2", { id: title }, "What happened"), this.list, this.more);
    this.more.addEventListener("click", () => {
      this.shown = Infinity;
      this.update(this.entries);
    });
  }

  update(entries: Entry[]): void {
    this.entries = entries;
    const key = [entries.length, entries.at(-1)?.at, this.shown].join();
    if (this.list.dataset["key"] === key) return;
    this.list.dataset["key"] = key;
    const latest = [...entries].reverse();
    this.list.replaceChildren(...latest.slice(0, this.shown).map(line));
    this.more.hidden = latest.length <= this.shown;
    this.more.textContent = `Show all ${latest.length}`;
  }
}

function line(entry: Entry): HTMLElement {
  const at = new Date(entry.at * 1000).toISOString();
  return make(
    "li",
    { class: entry.kind },
    make("time", { datetime: at }, moment(entry.at)),
    make("span", {}, inWords(entry)),
  );
}

export function inWords(entry: Entry): string {
  switch (entry.kind) {
    case "started":
      return "Started";
    case "restarted":
      return "Started again";
    case "finished":
      return "Finished";
    case "failed":
      return `Failed: ${entry.text}`;
    case "decision":
      return entry.text.charAt(0).toUpperCase() + entry.text.slice(1);
  }
}
