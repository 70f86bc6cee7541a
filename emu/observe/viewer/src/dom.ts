// Small helpers for elements.

type Attributes = Record<string, string | number | boolean | ((event: Event) => void) | undefined>;

export function element<K extends keyof HTMLElementTagNameMap>(
    tag: K, attributes: Attributes = {}, ...children: (Node | string | null)[]):
    HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, String(value));
  }
  made.append(...children.filter((c) => c !== null));
  return made;
}

// text: left, may break anywhere, as paths and names can be long; words: breaks between words alone.
export interface Column { head: string; text?: boolean; words?: boolean; title?: string }

const columnClass = (c: Column): string => c.words ? "text words" : c.text ? "text" : "";

// Stays on one line if it has at most so many letters.
export const whole = (text: string, letters: number): Node | string =>
  text.length > letters ? text : element("span", { class: "whole" }, text);

// `nothing` stands in place of rows if there are none.
export function table(caption: string, columns: Column[], rows: (Node | string)[][],
                      nothing = ""): HTMLElement {
  if (!rows.length && nothing)
    return element("div", {}, element("h3", {}, caption), element("p", { class: "note" }, nothing));
  return element("table", {},
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...columns.map((c) =>
      element("th", { scope: "col", class: columnClass(c), title: c.title }, c.head)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell, i) =>
      element("td", { class: columnClass(columns[i]) }, cell))))));
}

export function replace(parent: HTMLElement, ...children: (Node | string | null)[]): void {
  parent.replaceChildren(...children.filter((c) => c !== null));
}

// The text, or as much of its beginning as fits.
export function fitting(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let length = text.length - 1;
  while (length > 0 && context.measureText(text.slice(0, length) + "…").width > width) length--;
  return length ? text.slice(0, length).trimEnd() + "…" : "";
}

// A canvas as large as its box, in device pixels; `draw` gets CSS pixels.
export class Surface {
  readonly canvas: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  width = 0;
  height = 0;
  ratio = 1;
  private asked = 0;
  private watcher: ResizeObserver;

  constructor(attributes: Attributes, private readonly paint: () => void,
              private readonly resized?: () => void) {
    this.canvas = element("canvas", attributes);
    this.context = this.canvas.getContext("2d")!;
    this.watcher = new ResizeObserver(() => this.fit());
    this.watcher.observe(this.canvas);
  }

  private fit(): void {
    const box = this.canvas.getBoundingClientRect();
    this.ratio = window.devicePixelRatio || 1;
    if (!box.width || !box.height) return;
    this.width = box.width;
    this.height = box.height;
    this.canvas.width = Math.round(box.width * this.ratio);
    this.canvas.height = Math.round(box.height * this.ratio);
    this.resized?.();
    this.now();
  }

  // Paints before the next frame; several wishes are one.
  draw(): void {
    if (!this.asked) this.asked = requestAnimationFrame(() => this.now());
  }

  private now(): void {
    cancelAnimationFrame(this.asked);
    this.asked = 0;
    if (!this.width) return;
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    this.paint();
  }

  close(): void {
    this.watcher.disconnect();
    cancelAnimationFrame(this.asked);
  }
}

// The colors of the style sheet, for canvases.
export function themeColors(root: HTMLElement) {
  const style = getComputedStyle(root);
  const get = (name: string) => style.getPropertyValue(name).trim();
  return { ground: get("--ground"), surface: get("--surface"), ink: get("--ink"),
           faint: get("--faint"), line: get("--line"), accent: get("--accent"),
           alarm: get("--alarm"), empty: get("--empty"), dark: get("--dark") === "1" };
}
export type Theme = ReturnType<typeof themeColors>;
