// What stands beside the editor: output, messages, the viewer, the debugger.
import { mount } from "../../../emu/observe/viewer/src/main";
import type { Viewer } from "../../../emu/observe/viewer/src/main";
import { pathOf } from "../../module/dist/analysis.js";
import type { LspDiagnostic } from "../../module/dist/index.js";
import { element, linkPlaces } from "./dom";
import type { Ran } from "./messages";

export type Go = (file: string, line: number, column: number) => void;

export type Theme = "auto" | "light" | "dark";

const ENDS: Record<number, string> = {
  0: "ended quietly", 1: "was not run", 2: "ended with a fault", 3: "stands still: deadlock",
  4: "reached the limit of cycles",
};
const MOST_TEXT = 400_000;

function shorten(text: string): string {
  return text.length <= MOST_TEXT ? text
       : `${text.slice(0, MOST_TEXT)}\n... ${(text.length - MOST_TEXT).toLocaleString("en")} ` +
         "more characters\n";
}

export class OutputPanel {
  readonly root = element("div", { class: "scroll output" });

  constructor(private readonly go: Go) { this.showHint(); }

  showHint(): void {
    this.root.replaceChildren(element("div", { class: "empty" },
      element("p", {}, "Run compiles the program and emulates it here, in this browser."),
      element("p", {}, element("kbd", {}, "Ctrl"), " + ", element("kbd", {}, "Enter"))));
  }

  showText(title: string, text: string, files: readonly string[]): void {
    this.root.replaceChildren(element("div", { class: "banner bad", role: "status" }, title),
                              element("pre", {}, ...linkPlaces(text, files, this.go)));
  }

  showRun(ran: Ran, files: readonly string[]): void {
    const good = ran.exitCode === 0, s = ran.stats;
    const parts: Node[] = [element("div", { class: `banner ${good ? "good" : "bad"}`,
                                            role: "status" },
      `The program ${ENDS[ran.exitCode] ?? `ended with code ${ran.exitCode}`}`)];
    if (s) {
      const figures: [string, number | string][] = [
        ["cycles", s.cycles], ["tiles", s.tiles], ["tasks", s.tasks], ["wavelets", s.wavelets],
        ["instructions", s.instructions], ["seconds here", ran.seconds.toFixed(2)]];
      parts.push(element("dl", { class: "figures" }, ...figures.map(([name, value]) =>
        element("div", {}, element("dt", {}, name),
                element("dd", { "data-figure": name },
                        typeof value === "number" ? value.toLocaleString("en") : value)))));
    }
    if (ran.errors)
      parts.push(element("h3", {}, good ? "Messages" : "Report"),
                 element("pre", { class: "report" },
                         ...linkPlaces(shorten(ran.errors), files, this.go)));
    if (ran.output)
      parts.push(element("h3", {}, "Output"),
                 element("pre", { class: "printed" },
                         ...linkPlaces(shorten(ran.output), files, this.go)));
    this.root.replaceChildren(...parts);
  }
}

export class ProblemsPanel {
  readonly root = element("div", { class: "scroll problems" });
  count = 0;

  constructor(private readonly go: Go) { this.show({}); }

  show(all: Readonly<Record<string, LspDiagnostic[]>>): void {
    const items: Node[] = [];
    for (const [path, list] of Object.entries(all))
      for (const d of list.filter((m) => m.severity <= 2))     // hints stand in the editor
        items.push(this.item(path, d));
    this.count = items.length;
    this.root.replaceChildren(...items.length ? [element("ul", {}, ...items)]
      : [element("div", { class: "empty" }, element("p", {}, "The compiler has no complaints."))]);
  }

  showFailure(text: string): void {
    this.count = 1;
    this.root.replaceChildren(element("div", { class: "banner bad" }, "The options are wrong"),
                              element("pre", {}, text));
  }

  private item(path: string, d: LspDiagnostic): HTMLElement {
    const { line, character } = d.range.start;
    const item = element("li", { class: d.severity === 1 ? "error" : "warning" },
      element("div", { class: "head" },
        element("span", { class: "severity" }, d.severity === 1 ? "error" : "warning"),
        element("button", { class: "place", type: "button",
                            onclick: () => this.go(path, line + 1, character + 1) },
                `${path}:${line + 1}:${character + 1}`)),
      element("p", {}, d.message));
    for (const note of d.relatedInformation ?? []) {
      const at = note.location.range.start, file = pathOf(note.location.uri);
      item.append(element("p", { class: "note" }, `${note.message} `,
        element("button", { class: "place", type: "button",
                            onclick: () => this.go(file, at.line + 1, at.character + 1) },
                `${file}:${at.line + 1}`)));
    }
    return item;
  }
}

export class ViewerPanel {
  readonly root = element("div", { class: "viewer" });
  private report: Uint8Array | undefined;
  private shown: { report: Uint8Array; theme: Theme; viewer: Viewer } | undefined;

  constructor() { this.clear(); }

  /** The data of a run; undefined: there are none. */
  set(report: Uint8Array | undefined): void {
    this.report = report;
    if (!report)
      this.clear();
  }

  /** When the panel comes to sight. */
  async show(theme: Theme): Promise<void> {
    const { report } = this;
    if (!report || (this.shown?.report === report && this.shown.theme === theme))
      return;
    this.shown?.viewer.close();
    this.shown = undefined;
    const place = element("div");
    this.root.replaceChildren(place);
    try {
      this.shown = { report, theme, viewer: await mount(place, report, { theme }) };
    } catch (error) {
      place.replaceChildren(`The viewer cannot show this run: ${(error as Error).message}`);
    }
  }

  private clear(): void {
    this.shown?.viewer.close();
    this.shown = undefined;
    this.root.replaceChildren(element("div", { class: "empty" },
      element("p", {}, "After a run, the viewer shows where the cycles went: maps of the tiles, " +
                       "time lines, source lines.")));
  }
}

/** The debugger is deterministic, so each command repeats those before it and shows what is new. */
export class DebugPanel {
  readonly root = element("div", { class: "debug" });
  private readonly log = element("div", { class: "scroll log", role: "log", "aria-label": "Debugger" });
  private readonly input = element("input", { type: "text", class: "command", spellcheck: "false",
    autocomplete: "off", autocapitalize: "off", "aria-label": "Command of the debugger",
    placeholder: "print x, break pe.csl:12, tile 1,0, help …" });
  private readonly past: string[] = [];
  private at = 0;

  constructor(private readonly act: (command: string) => void, start: () => void) {
    const button = (text: string, title: string, command: string) => element("button", {
      type: "button", title, onclick: () => act(command) }, text);
    const bar = element("div", { class: "bar", role: "toolbar", "aria-label": "Steps" },
      element("button", { type: "button", class: "primary", onclick: start,
                          title: "Compile, and stop before the first cycle" }, "Start"),
      button("Continue", "To the next breakpoint or the end", "continue"),
      button("Step", "To another line", "step"), button("Over", "The same, over calls", "next"),
      button("Task", "To the tile's next task", "task"),
      button("Cycle", "One cycle of the whole fabric", "cycle"),
      button("◂ Step", "Back by a line", "reverse-step"),
      button("◂ Cycle", "Back by a cycle", "reverse-cycle"));
    const form = element("form", { onsubmit: (event) => {
      event.preventDefault();
      this.send();
    } }, element("span", { class: "prompt", "aria-hidden": "true" }, "›"), this.input);
    this.input.addEventListener("keydown", (event) => this.recall(event));
    this.root.append(bar, this.log, form);
    this.clear();
  }

  clear(): void {
    this.log.replaceChildren(element("div", { class: "empty" },
      element("p", {}, "Start stops before the first cycle. Breakpoints: a click beside a line " +
                       "number. All tiles stop together, and there is a way back.")));
  }

  begin(): void { this.log.replaceChildren(); }

  add(command: string, nodes: Node[]): void {
    if (command)
      this.log.append(element("div", { class: "said" }, `› ${command}`));
    this.log.append(element("pre", {}, ...nodes));
    this.log.scrollTop = this.log.scrollHeight;
  }

  private send(): void {
    const text = this.input.value.trim();
    if (!text)
      return;
    this.past.push(text);
    this.at = this.past.length;
    this.input.value = "";
    this.act(text);
  }

  private recall(event: KeyboardEvent): void {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step)
      return;
    event.preventDefault();
    this.at = Math.min(Math.max(this.at + step, 0), this.past.length);
    this.input.value = this.past[this.at] ?? "";
  }
}
