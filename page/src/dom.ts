// Elements from values: text is always text, never markup.

export type Child = Node | string;
type Attributes = Record<string, string | boolean>;

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

export function need(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`The page has no element ${id}.`);
  return found;
}

/** Change a text only when it differs: screen readers and selections notice each change. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Tell those who do not see the page. */
export function say(text: string): void {
  need("said").textContent = text;
}

let ids = 0;

export function newId(start: string): string {
  ids += 1;
  return `${start}-${ids}`;
}
