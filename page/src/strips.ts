// The basic windows of each input: how much of each is probed, and how productive it is.

import type { JoinData } from "./data";
import { make, newId } from "./dom";
import { count, duration, percent } from "./format";
import type { Strip } from "./types";
import type { View } from "./view";

const NOTHING_TO_PROBE = 255;
const STEPS = 8;
const MAP_HEIGHT = 150;

/** Colours from little to much, read from the style sheet: they differ in the dark. */
class Ramp {
  private readonly stops: [number, number, number][];

  constructor() {
    const style = getComputedStyle(document.documentElement);
    this.stops = ["--h0", "--h1", "--h2", "--h3", "--h4"].map((name) => rgb(style.getPropertyValue(name)));
  }

  color(share: number): string {
    const place = Math.min(1, Math.max(0, share)) * (this.stops.length - 1);
    const low = Math.min(Math.floor(place), this.stops.length - 2);
    const [a, b] = [this.stops[low], this.stops[low + 1]];
    if (!a || !b) return "transparent";
    const mixed = a.map((part, n) => Math.round(part + (place - low) * ((b[n] ?? 0) - part)));
    return `rgb(${mixed.join(" ")})`;
  }
}

function rgb(hex: string): [number, number, number] {
  const value = Number.parseInt(hex.trim().slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

interface Cell {
  part: number;
  every: number;
  /** Results for each comparison, or the share of the results where comparisons are not counted. */
  density: number;
}

function cellsOf(strip: Strip): Cell[] {
  if (strip.compared.length === 0) {
    const all = strip.found.reduce((sum, found) => sum + found, 0) || 1;
    return strip.found.map((found) => ({ every: 1, part: 1, density: found / all }));
  }
  return strip.compared.map((compared, n) => {
    const every = compared + (strip.skipped[n] ?? 0);
    return {
      every,
      part: every > 0 ? compared / every : 1,
      density: every > 0 ? (strip.found[n] ?? 0) / every : 0,
    };
  });
}

/** Strong where much is found; the root keeps the middle apart from nothing. */
function strength(density: number, most: number): number {
  return most > 0 ? Math.sqrt(density / most) : 0;
}

export class Strips {
  readonly section = make("section", { class: "block" });
  private readonly list = make("div", { class: "strips" });
  private maps = new Map<string, HTMLCanvasElement>();
  private ramp = new Ramp();

  constructor(private readonly view: View) {
    const title = newId("windows");
    this.section.setAttribute("aria-labelledby", title);
    const words =
      "Each window is cut into basic windows by age. A cell is filled as far as it is probed, and the stronger its colour the more results its comparisons give.";
    this.section.append(
      make("h2", { id: title }, "Where the windows are probed"),
      make("p", { class: "words" }, words),
      this.legend(),
      this.list,
    );
  }

  recolor(): void {
    this.ramp = new Ramp();
  }

  update(data: JoinData): void {
    const windows = Object.entries(data.latest.windows).filter(([, strip]) => strip.found.length > 0);
    this.section.hidden = windows.length === 0;
    if (windows.length === 0) return;
    const most = Math.max(...windows.flatMap(([, strip]) => cellsOf(strip).map((cell) => cell.density)));
    const names = windows.map(([name]) => name).join("\n");
    if (this.list.dataset["names"] !== names) {
      this.list.dataset["names"] = names;
      this.maps = new Map();
      this.list.replaceChildren(...windows.map(([name]) => this.frame(name)));
    }
    windows.forEach(([name, strip], n) => {
      const place = this.list.children[n];
      if (place) this.fill(place, name, strip, most);
    });
    this.drawMaps(data);
  }

  private frame(name: string): HTMLElement {
    const map = make("canvas", { class: "map", role: "img", "aria-label": `${name} over time` });
    this.maps.set(name, map);
    return make(
      "section",
      { class: "card strip-card", "aria-label": name },
      make("h3", {}, name),
      make("p", { class: "words strip-words" }),
      make("div", { class: "strip", role: "img" }),
      make("div", { class: "strip-ends" }, make("span", {}, "newest"), make("span", { class: "oldest" })),
      make("div", { class: "map-frame" }, make("div", { class: "map-side" }, make("span", {}, "newest"), make("span", { class: "oldest" })), map),
      make("div", { class: "map-ends" }, make("span", { class: "map-from" }), make("span", { class: "map-to" })),
    );
  }

  private fill(card: Element, name: string, strip: Strip, most: number): void {
    const cells = cellsOf(strip);
    const find = (selector: string) => card.querySelector(selector);
    const all = cells.reduce((sum, cell) => sum + cell.every, 0);
    const made = cells.reduce((sum, cell) => sum + cell.every * cell.part, 0);
    const best = cells.reduce((at, cell, n) => (cell.density > (cells[at]?.density ?? 0) ? n : at), 0);
    const ages = (n: number) => `${duration(n * strip.seconds)} to ${duration((n + 1) * strip.seconds)} old`;
    const probed = all > 0 ? `${percent(made / all)} is probed` : "nothing to probe";
    const richest = cells[best]?.density ? `; most is found in rows ${ages(best)}` : "";
    const sentence = `${cells.length} basic windows of ${duration(strip.seconds)}: ${probed}${richest}.`;
    const words = find(".strip-words");
    if (words) words.textContent = sentence;
    const row = find(".strip");
    row?.setAttribute("aria-label", `${name}: ${sentence}`);
    row?.replaceChildren(...cells.map((cell, n) => this.cell(cell, strip.compared.length > 0, ages(n), most)));
    card.querySelectorAll(".oldest").forEach((end) => {
      end.textContent = `${duration(cells.length * strip.seconds)} old`;
    });
  }

  private cell(cell: Cell, isCounted: boolean, ages: string, most: number): HTMLElement {
    const some = isCounted ? `1 result in ${count(1 / cell.density)} comparisons` : `${percent(cell.density)} of the results`;
    const found = cell.density > 0 ? some : "no results";
    const inner = make("span", { class: "cell-fill" });
    inner.style.height = `${100 * (cell.every > 0 ? cell.part : 0)}%`;
    inner.style.background = this.ramp.color(strength(cell.density, most));
    const part = cell.every > 0 ? `${percent(cell.part)} probed, ${found}` : "nothing to probe";
    return make("span", { class: "cell", title: `Rows ${ages}: ${part}` }, inner);
  }

  drawMaps(data: JoinData): void {
    const shown = [...this.maps.keys()].map((name) => decode(data.strips.get(name) ?? []));
    let most = 0;
    for (const strips of shown) {
      for (const [n, bytes] of strips.entries()) {
        if (!bytes || (data.at[n] ?? 0) < this.view.from) continue;
        for (let i = bytes.length / 2; i < bytes.length; i += 1) most = Math.max(most, bytes[i] ?? 0);
      }
    }
    [...this.maps.values()].forEach((map, n) => {
      this.draw(map, data.at, shown[n] ?? [], most);
      const card = map.closest(".strip-card");
      const [from, to] = [card?.querySelector(".map-from"), card?.querySelector(".map-to")];
      if (from) from.textContent = this.view.tick(this.view.from);
      if (to) to.textContent = this.view.tick(this.view.to);
    });
  }

  private draw(map: HTMLCanvasElement, at: number[], strips: (Uint8Array | null)[], most: number): void {
    const scale = window.devicePixelRatio || 1;
    const width = Math.round(map.clientWidth * scale);
    const height = Math.round(MAP_HEIGHT * scale);
    if (!width) return;
    if (map.width !== width || map.height !== height) [map.width, map.height] = [width, height];
    const ctx = map.getContext("2d");
    if (!ctx) return;
    ctx.clearRect(0, 0, width, height);
    const colors = Array.from({ length: 256 }, (_, byte) => {
      const share = byte === 0 ? 0 : 2 ** ((byte - most) / STEPS);
      return this.ramp.color(Math.sqrt(Math.min(1, share)));
    });
    const x = (time: number) => ((time - this.view.from) / (this.view.to - this.view.from)) * width;
    let left = -1;
    at.forEach((time, n) => {
      const before = at[n - 1] ?? time - 1;
      const right = x(time);
      const bytes = strips[n];
      if (right < 0 || !bytes || Math.round(right) <= left) return;
      const start = Math.max(0, Math.round(x(before)), left);
      left = Math.round(right);
      drawColumn(ctx, bytes, start, Math.max(1, left - start), height, colors);
    });
  }

  private legend(): HTMLElement {
    const ramp = make("span", { class: "ramp" });
    return make(
      "p",
      { class: "strip-legend" },
      make("span", {}, "few results "),
      ramp,
      make("span", {}, " most"),
      make("span", { class: "not-probed" }, make("span", { class: "cell sample" }), " not probed"),
    );
  }
}

const decoded = new Map<string, Uint8Array>();

function decode(strips: (string | null)[]): (Uint8Array | null)[] {
  if (decoded.size > 20000) decoded.clear();
  return strips.map((text) => {
    if (text === null) return null;
    let bytes = decoded.get(text);
    if (!bytes) {
      bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
      decoded.set(text, bytes);
    }
    return bytes;
  });
}

function drawColumn(
  ctx: CanvasRenderingContext2D,
  bytes: Uint8Array,
  left: number,
  width: number,
  height: number,
  colors: string[],
): void {
  const n = bytes.length / 2;
  for (let place = 0; place < n; place += 1) {
    const part = bytes[place] ?? 0;
    if (part === NOTHING_TO_PROBE || part === 0) continue;
    const top = Math.round((place * height) / n);
    const bottom = Math.round(((place + 1) * height) / n) - 1;
    const filled = ((bottom - top) * part) / 100;
    ctx.fillStyle = colors[bytes[n + place] ?? 0] ?? "transparent";
    ctx.fillRect(left, bottom - filled, width, filled);
  }
}
