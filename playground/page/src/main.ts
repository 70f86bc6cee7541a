// The playground: a program, its editor, and what compiler, emulator and debugger say of it.
import type { LspDiagnostic } from "../../module/dist/index.js";
import { element, linkPlaces } from "./dom";
import { Editor } from "./editor";
import type { Calls, Project } from "./messages";
import { DebugPanel, OutputPanel, ProblemsPanel, ViewerPanel } from "./panels";
import type { Theme } from "./panels";
import { projectFromHash, projectToHash } from "./share";
import { Stopped, Thread } from "./thread";
import "./style.css";

interface Sample extends Project { folder: string; title: string; about: string }

const CHECK_AFTER_MS = 150, KEPT = "wse-playground", FIRST = "broadcast-1d";
const THEMES: readonly Theme[] = ["auto", "light", "dark"];
const PANELS = ["output", "problems", "viewer", "debug"] as const;
type PanelName = typeof PANELS[number];
const TITLES: Record<PanelName, string> = { output: "Output", problems: "Problems",
                                            viewer: "Viewer", debug: "Debugger" };

async function fetchParts(): Promise<Calls["start"]["args"]> {
  const [wasm, library] = await Promise.all([
    WebAssembly.compileStreaming(fetch("wse-module.wasm"))
      .catch(async () => WebAssembly.compile(await (await fetch("wse-module.wasm")).arrayBuffer())),
    fetch("stdlib.json").then((r) => r.json() as Promise<Record<string, string>>)]);
  return { wasm, library };
}

class Playground {
  private project: Project = { files: { "layout.csl": "" }, main: "layout.csl", options: "", run: "" };
  private path = "layout.csl";
  private diagnostics: Record<string, LspDiagnostic[]> = {};
  private readonly breaks = new Map<string, Set<number>>();
  private commands: string[] = [];
  private image: Uint8Array | undefined;
  private timer = 0;
  private checks = 0;
  private running = false;
  private theme: Theme = "auto";
  private current: PanelName = "output";

  private readonly parts = fetchParts();
  private readonly server = new Thread(this.parts);     // the language server
  private readonly runner = new Thread(this.parts);

  private readonly go = (path: string, line: number, column: number): void => {
    if (!(path in this.project.files)) {
      this.say(`${path} is a file of the library`);
      return;
    }
    this.showFile(path);
    this.editor.select(path, line, column);
    this.showHalf("edit");
  };
  private readonly output = new OutputPanel(this.go);
  private readonly problems = new ProblemsPanel(this.go);
  private readonly viewer = new ViewerPanel();
  private readonly debug = new DebugPanel((c) => void this.sendCommand(c),
                                          () => void this.startDebugger());

  private readonly tabs = element("div", { class: "files", role: "tablist", "aria-label": "Files" });
  private readonly options = this.field("cslc", "Options of the compiler");
  private readonly runOptions = this.field("wse-emu", "Options of the emulator");
  private readonly runButton = element("button", { type: "button", class: "primary run",
    title: "Compile and run (Ctrl+Enter)", onclick: () => void this.run() }, "Run");
  private readonly samples = element("select", { "aria-label": "Sample" });
  private readonly machine = element("select", { "aria-label": "Machine",
    onchange: () => this.setMachine() }, ...["wse2", "wse3"].map((a) => element("option", {}, a)));
  private readonly live = element("div", { class: "live", role: "status", "aria-live": "polite" });
  private readonly panelTabs = new Map<PanelName, HTMLButtonElement>();
  private readonly panelRoots: Record<PanelName, HTMLElement> = {
    output: this.output.root, problems: this.problems.root, viewer: this.viewer.root,
    debug: this.debug.root };
  private readonly editor: Editor;

  constructor(private readonly root: HTMLElement) {
    const text = element("div", { class: "text" });
    root.append(this.header(), this.body(text), this.live);
    this.editor = new Editor(text, {
      ask: (method, path, params) => this.ask(method, path, params),
      changed: (path, value) => {
        this.project.files[path] = value;
        this.programChanged();
      },
      go: this.go,
      run: () => void this.run(),
      toggleBreakpoint: (path, line) => this.toggleBreakpoint(path, line),
    });
    // Wherever the focus is: a page that has just been opened has none.
    addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.defaultPrevented)
        return;
      event.preventDefault();
      void this.run();
    });
    this.showPanel("output");
    this.showHalf("edit");
  }

  async start(): Promise<void> {
    this.setTheme((localStorage.getItem(`${KEPT}-theme`) as Theme | null) ?? "auto");
    const samples = await (await fetch("samples.json")).json() as Sample[];
    this.samples.append(element("option", { value: "" }, "Your program"),
                        ...samples.map((s, i) => element("option", { value: i }, s.title)));
    this.samples.addEventListener("change", () => {
      const sample = samples[Number(this.samples.value)];
      if (this.samples.value && sample)
        this.openSample(sample);
    });
    addEventListener("hashchange", () => void this.openLink());
    if (!await this.openLink() && !this.openKept()) {
      const first = Math.max(samples.findIndex((s) => s.title === FIRST), 0);
      this.samples.value = String(first);
      this.openSample(samples[first]!);
    }
    document.documentElement.dataset.ready = "1";
    if ("serviceWorker" in navigator)
      await navigator.serviceWorker.register("service-worker.js").catch(() => undefined);
  }

  // ---- the page ----------------------------------------------------------------------------------

  private header(): HTMLElement {
    const themes = element("button", { type: "button", class: "icon", "aria-label": "Theme",
                                       title: "Theme", onclick: () => this.nextTheme() }, "◐");
    return element("header", {},
      element("h1", {}, element("img", { src: "icon.svg", alt: "", width: 24, height: 24 }),
              element("span", {}, "CSL playground")),
      element("label", { class: "pick" }, element("span", {}, "Sample"), this.samples),
      element("label", { class: "pick" }, element("span", {}, "Machine"), this.machine),
      element("span", { class: "space" }),
      this.runButton,
      element("button", { type: "button", onclick: () => {
        this.showPanel("debug");
        void this.startDebugger();
      }, title: "Stop before the first cycle and step" }, "Debug"),
      element("button", { type: "button", onclick: () => void this.share(),
                          title: "Copy a link that holds the program" }, "Share"),
      themes);
  }

  private body(text: HTMLElement): HTMLElement {
    const bar = element("div", { class: "tabs", role: "tablist", "aria-label": "Results" });
    for (const name of PANELS) {
      const tab = element("button", { type: "button", role: "tab", id: `tab-${name}`,
        "aria-controls": `panel-${name}`, onclick: () => this.showPanel(name) }, TITLES[name]);
      this.panelTabs.set(name, tab);
      bar.append(tab);
      const panel = this.panelRoots[name];
      panel.id = `panel-${name}`;
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", `tab-${name}`);
      panel.tabIndex = 0;
    }
    this.moveByArrows(bar);
    this.moveByArrows(this.tabs);
    const halves = element("nav", { class: "halves", "aria-label": "Part of the page" },
      ...(["edit", "results"] as const).map((half) => element("button", {
        type: "button", "data-half": half, onclick: () => this.showHalf(half) },
        half === "edit" ? "Program" : "Results")));
    return element("main", {}, halves,
      element("section", { class: "edit", "aria-label": "Program" },
        element("div", { class: "filebar" }, this.tabs,
          element("button", { type: "button", class: "icon", "aria-label": "New file",
                              title: "New file", onclick: () => this.addFile() }, "+"),
          element("button", { type: "button", class: "icon", "aria-label": "Delete this file",
                              title: "Delete this file", onclick: () => this.deleteFile() }, "−"),
          element("span", { class: "space" }),
          element("button", { type: "button", class: "quiet", title: "Format (Shift+Alt+F)",
                              onclick: () => void this.editor.format() }, "Format")),
        text,
        element("div", { class: "options" }, this.options.row, this.runOptions.row)),
      element("section", { class: "results", "aria-label": "Results" }, bar,
              ...PANELS.map((name) => this.panelRoots[name])));
  }

  private field(tool: string, label: string) {
    const input = element("input", { type: "text", spellcheck: "false", autocomplete: "off",
      autocapitalize: "off", "aria-label": label, placeholder: label,
      oninput: () => this.optionsChanged() });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        void this.run();
      }
    });
    return { input, row: element("label", {}, element("code", {}, tool), input) };
  }

  /** In a list of tabs, arrows move and select. */
  private moveByArrows(bar: HTMLElement): void {
    bar.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const all = [...bar.querySelectorAll<HTMLButtonElement>("[role=tab]")];
      const at = all.indexOf(document.activeElement as HTMLButtonElement);
      if (!step || at < 0)
        return;
      event.preventDefault();
      const next = all[(at + step + all.length) % all.length]!;
      next.click();
      next.focus();
    });
  }

  private showPanel(name: PanelName): void {
    this.current = name;
    for (const [other, tab] of this.panelTabs) {
      tab.setAttribute("aria-selected", String(other === name));
      tab.tabIndex = other === name ? 0 : -1;
      this.panelRoots[other].hidden = other !== name;
    }
    if (name === "viewer")
      void this.viewer.show(this.theme);
    if (innerWidth < 800)
      this.showHalf("results");
  }

  /** On narrow screens one half of the page is shown. */
  private showHalf(half: "edit" | "results"): void {
    this.root.dataset.half = half;
    this.root.querySelectorAll<HTMLElement>("[data-half]").forEach((b) =>
      b.setAttribute("aria-pressed", String(b.dataset.half === half)));
  }

  private say(text: string): void {
    this.live.textContent = text;
    this.live.classList.add("shown");
    setTimeout(() => this.live.classList.remove("shown"), 3500);
  }

  private setTheme(theme: Theme): void {
    this.theme = THEMES.includes(theme) ? theme : "auto";
    document.documentElement.dataset.theme = this.theme;
    if (this.current === "viewer")
      void this.viewer.show(this.theme);
  }

  private nextTheme(): void {
    this.setTheme(THEMES[(THEMES.indexOf(this.theme) + 1) % THEMES.length]!);
    localStorage.setItem(`${KEPT}-theme`, this.theme);
    this.say(`Theme: ${this.theme}`);
  }

  // ---- the program ---------------------------------------------------------------------------------

  private open(project: Project): void {
    this.project = { files: { ...project.files }, main: project.main, options: project.options,
                     run: project.run };
    this.breaks.clear();
    this.image = undefined;
    this.options.input.value = project.options;
    this.runOptions.input.value = project.run;
    this.machine.value = /--arch=wse3/.test(project.options) ? "wse3" : "wse2";
    this.editor.open(this.project.files, project.main);
    this.output.showHint();
    this.debug.clear();
    this.viewer.set(undefined);
    this.showFile(project.main);
    this.scheduleCheck(0);
  }

  private openSample(sample: Sample): void {
    this.open(sample);
    history.replaceState(null, "", location.pathname);
    localStorage.removeItem(KEPT);
  }

  /** The program of the link, if it has one. */
  private async openLink(): Promise<boolean> {
    try {
      const project = await projectFromHash(location.hash);
      if (project) {
        this.open(project);
        this.samples.value = "";
      }
      return project !== undefined;
    } catch (error) {
      this.say((error as Error).message);
      return false;
    }
  }

  /** The program of the last visit, if it was changed. */
  private openKept(): boolean {
    try {
      const kept = JSON.parse(localStorage.getItem(KEPT) ?? "null") as Project | null;
      if (kept)
        this.open(kept);
      return kept !== null;
    } catch {
      return false;
    }
  }

  private programChanged(): void {
    this.image = undefined;
    this.editor.markStand(null);
    this.samples.value = "";
    localStorage.setItem(KEPT, JSON.stringify(this.project));
    this.scheduleCheck(CHECK_AFTER_MS);
  }

  private optionsChanged(): void {
    this.project.options = this.options.input.value;
    this.project.run = this.runOptions.input.value;
    this.machine.value = /--arch=wse3/.test(this.project.options) ? "wse3" : "wse2";
    this.programChanged();
  }

  private setMachine(): void {
    const others = this.options.input.value.replace(/\s*--arch=\S*/g, "").trim();
    this.options.input.value = [others, `--arch=${this.machine.value}`].filter(Boolean).join(" ");
    this.optionsChanged();
  }

  private showFile(path: string): void {
    this.path = path;
    this.editor.show(path);
    this.editor.mark(this.diagnostics[path] ?? []);
    this.editor.markBreaks([...this.breaks.get(path) ?? []]);
    this.tabs.replaceChildren(...Object.keys(this.project.files).map((name) => {
      const problems = this.diagnostics[name]?.filter((d) => d.severity <= 2).length ?? 0;
      return element("button", { type: "button", role: "tab", "aria-selected": String(name === path),
                                 tabindex: name === path ? 0 : -1, class: problems ? "bad" : "",
                                 onclick: () => this.showFile(name) },
                     name, ...problems ? [element("span", { class: "count" }, String(problems))] : []);
    }));
  }

  private addFile(): void {
    const name = prompt("Name of the new file", "tile.csl")?.trim();
    if (!name)
      return;
    if (!/^[\w./-]+\.csl$/.test(name) || name.includes("..") || name in this.project.files) {
      this.say(name in this.project.files ? `${name} exists already`
                                          : "names end in .csl and have letters, digits, _ . / -");
      return;
    }
    this.project.files[name] = "";
    this.editor.open(this.project.files, name);
    this.programChanged();
    this.showFile(name);
  }

  private deleteFile(): void {
    if (this.path === this.project.main) {
      this.say(`${this.path} is the main file`);
      return;
    }
    if (!confirm(`Delete ${this.path}?`))
      return;
    delete this.project.files[this.path];
    this.editor.open(this.project.files, this.project.main);
    this.programChanged();
    this.showFile(this.project.main);
  }

  private async share(): Promise<void> {
    history.replaceState(null, "", await projectToHash(this.project));
    try {
      await navigator.clipboard.writeText(location.href);
      this.say(`The link is copied: ${location.href.length.toLocaleString("en")} characters hold ` +
               "the whole program");
    } catch {
      this.say("The link is in the address bar");
    }
  }

  // ---- the language server -------------------------------------------------------------------------

  private ask<T>(method: string, path: string, params: object): Promise<T | null> {
    return this.server.call("ask", { project: this.project, method, path, params })
      .then((answer) => answer as T | null, () => null);
  }

  private scheduleCheck(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.check(), ms) as unknown as number;
  }

  private async check(): Promise<void> {
    const number = ++this.checks;
    try {
      const diagnostics = await this.server.call("check", { project: this.project });
      if (number !== this.checks)
        return;                   // a newer one is on its way
      this.diagnostics = diagnostics;
      this.problems.show(diagnostics);
    } catch (error) {
      if (number !== this.checks)
        return;
      this.diagnostics = {};
      this.problems.showFailure((error as Error).message);
    }
    const tab = this.panelTabs.get("problems")!;
    tab.replaceChildren(TITLES.problems, ...this.problems.count
      ? [element("span", { class: "count" }, String(this.problems.count))] : []);
    document.documentElement.dataset.checked = String(number);
    this.showFile(this.path);
  }

  // ---- running -------------------------------------------------------------------------------------

  private setRunning(running: boolean): void {
    this.running = running;
    this.runButton.textContent = running ? "Stop" : "Run";
    this.root.classList.toggle("busy", running);
  }

  /** The image of the program as it is; undefined after a message. */
  private async compile(): Promise<Uint8Array | undefined> {
    if (this.image)
      return this.image;
    const result = await this.runner.call("compile", { project: this.project });
    if (result.image)
      return this.image = result.image;
    clearTimeout(this.timer);
    await this.check();
    if (this.problems.count) {
      this.showPanel("problems");
      this.say("The program does not compile");
    } else {
      this.output.showText("The program does not compile",
                           result.errors || result.diagnostics.map((d) => d.message).join("\n"),
                           Object.keys(this.project.files));
      this.showPanel("output");
    }
    return undefined;
  }

  private async guard(work: () => Promise<void>): Promise<void> {
    this.setRunning(true);
    try {
      await work();
    } catch (error) {
      const text = error instanceof Stopped ? "Stopped" : "The run has failed";
      this.output.showText(text, error instanceof Stopped ? "" : (error as Error).message, []);
      this.showPanel("output");
    } finally {
      this.setRunning(false);
    }
  }

  private async run(): Promise<void> {
    if (this.running) {
      this.runner.stop();
      return;
    }
    await this.guard(async () => {
      const image = await this.compile();
      if (!image)
        return;
      const ran = await this.runner.call("run", { project: this.project, image });
      this.output.showRun(ran, Object.keys(this.project.files));
      this.viewer.set(ran.report);
      this.showPanel(this.current === "viewer" && ran.exitCode === 0 ? "viewer" : "output");
      document.documentElement.dataset.ran = String(ran.stats?.cycles ?? "");
    });
  }

  // ---- the debugger --------------------------------------------------------------------------------

  private toggleBreakpoint(path: string, line: number): void {
    const lines = this.breaks.get(path) ?? new Set();
    if (!lines.delete(line))
      lines.add(line);
    this.breaks.set(path, lines);
    this.editor.markBreaks([...lines]);
    if (this.commands.length)
      void this.sendCommand(lines.has(line) ? `break ${path}:${line}` : "info breakpoints");
  }

  private async startDebugger(): Promise<void> {
    this.commands = [];
    this.debug.begin();
    const breaks = [...this.breaks].flatMap(([path, lines]) =>
      [...lines].map((line) => `break ${path}:${line}`));
    for (const command of [...breaks, "cycle 0"])
      await this.sendCommand(command, command === "cycle 0");
  }

  private async sendCommand(command: string, silent = false): Promise<void> {
    if (this.running)
      return;
    await this.guard(async () => {
      const image = await this.compile();
      if (!image)
        return;
      const commands = [...this.commands, command];
      const ran = await this.runner.call("debug", { project: this.project, image, commands });
      this.commands = commands;
      const parts = ran.output.split("(wse-dbg) ");
      const answer = (silent ? parts[0]! : parts[parts.length - 2] ?? "")
        .replace(silent ? "" : command, "").trim() || ran.errors.trim();
      this.debug.add(silent ? "" : command,
                     linkPlaces(answer, Object.keys(this.project.files), this.go));
      this.followStand(answer);
      document.documentElement.dataset.debugged = String(commands.length);
    });
  }

  /** Shows the line where the selected tile stands. */
  private followStand(text: string): void {
    const place = /\bat ([\w./-]+\.csl):(\d+)/.exec(text);
    const file = Object.keys(this.project.files)
      .find((f) => place && (f === place[1] || place[1]!.endsWith(`/${f}`)));
    if (!place || !file)
      return;
    if (file !== this.path)
      this.showFile(file);
    this.editor.markStand(Number(place[2]));
  }
}

void new Playground(document.getElementById("app")!).start();
