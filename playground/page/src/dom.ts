// Elements in short.
type Value = string | number | boolean | ((event: Event) => void);

export function element<K extends keyof HTMLElementTagNameMap>(
    tag: K, attributes: Record<string, Value> = {},
    ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === "function")
      e.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean")
      e.toggleAttribute(name, value);
    else
      e.setAttribute(name, String(value));
  e.append(...children);
  return e;
}

/** Text in which each FILE:LINE of a known file is a button that leads there. */
export function linkPlaces(text: string, files: readonly string[],
                           go: (file: string, line: number, column: number) => void): Node[] {
  const nodes: Node[] = [];
  let at = 0;
  for (const match of text.matchAll(/([\w./-]+\.csl):(\d+)(?::(\d+))?/g)) {
    const [whole, name, line, column] = match;
    const file = files.find((f) => f === name || name!.endsWith(`/${f}`));
    if (!file)
      continue;
    nodes.push(document.createTextNode(text.slice(at, match.index)),
               element("button", { class: "place", type: "button",
                                   onclick: () => go(file, Number(line), Number(column ?? 1)) },
                       whole));
    at = match.index + whole.length;
  }
  nodes.push(document.createTextNode(text.slice(at)));
  return nodes;
}
