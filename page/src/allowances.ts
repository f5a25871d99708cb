// Of many streams on a budget: how many tuples may probe, for each half-way join.

import { make, newId } from "./dom";
import { perSecond } from "./format";

export class Allowances {
  readonly section = make("section", { class: "block" });
  private readonly body = make("tbody");

  constructor() {
    const title = newId("allowances");
    this.section.setAttribute("aria-labelledby", title);
    const heads = ["half-way join", "tuples that may probe"].map((text) => make("th", { scope: "col" }, text));
    this.section.append(
      make("h2", { id: title }, "What the budget allows"),
      make("div", { class: "card allowances" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), this.body)),
    );
  }

  update(allowances: Record<string, number>): void {
    const rows = Object.entries(allowances);
    this.section.hidden = rows.length === 0;
    this.body.replaceChildren(
      ...rows.map(([name, rate]) =>
        make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, perSecond(rate))),
      ),
    );
  }
}
