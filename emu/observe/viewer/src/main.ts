// mount(element, data) shows a run; the report's page and other pages call it.
import { PORTS, RunData, Slicer, findQuantity, quantitiesOf } from "./data";
import { element } from "./dom";
import { FabricMap } from "./map";
import { FindingsPanel, MemoryPanel, Overview, SourcePanel, TilePanel, WavesPanel, estimateText }
  from "./panels";
import type { Panel } from "./panels";
import { cyclesEach, format, heatGradient, routeStroke } from "./scale";
import { State } from "./state";
import { TimeStrip } from "./strip";
import "./style.css";

export interface Viewer { close(): void; state: State }
export interface Options { theme?: "light" | "dark" | "auto" }

const THEMES = ["auto", "light", "dark"] as const;
// Where a webview of VS Code names the kind of the editor's theme, which need not be the system's.
const EDITOR_THEME = "data-vscode-theme-kind";

class App {
  readonly state: State;
  private readonly slicer: Slicer;
  private readonly map: FabricMap;
  private readonly strip: TimeStrip;
  private readonly waves: WavesPanel;
  private readonly tile: TilePanel;
  private readonly findings: FindingsPanel;
  private readonly panels: Panel[];
  private readonly tabs = element("div", { class: "tabs", role: "tablist",
                                           "aria-label": "Details" });
  private readonly live = element("div", { class: "live", "aria-live": "polite", role: "status" });
  private readonly scale = element("div", { class: "scale" });
  private readonly layers = element("details", { class: "layers" });
  private current = "";
  private readonly media = matchMedia("(prefers-color-scheme: dark)");
  private readonly editor = new MutationObserver(() => this.themeChanged());

  constructor(private readonly root: HTMLElement, data: RunData, options: Options) {
    const run = data.run, faulty = run.findings[0] ?? run.chains?.[0]?.at(-1);
    this.state = new State(data, {
      quantity: findQuantity("activity"), window: { from: 0, to: run.cycles },
      logarithmic: false, tile: faulty ? faulty.y * run.width + faulty.x : 0,
      colors: new Set(), way: null, showWays: true, showFindings: true, showHot: false, chain: -1,
    });
    const say = (text: string) => { this.live.textContent = text; };
    this.slicer = new Slicer(data);
    this.setTheme(options.theme ?? "auto");
    this.map = new FabricMap(this.state, this.slicer, root, say);
    this.strip = new TimeStrip(this.state, this.slicer, root, say);
    const isShown = (id: string) => () => this.current === id;
    this.tile = new TilePanel(this.state, this.map, this.slicer, root, isShown("tile"));
    this.waves = new WavesPanel(this.state, this.map, isShown("wavelets"));
    this.findings = new FindingsPanel(this.state, this.map, this.slicer);
    this.panels = [new Overview(this.state, this.map), this.tile,
                   new SourcePanel(this.state),
                   new MemoryPanel(this.state, this.tile, isShown("memory")), this.waves,
                   this.findings];
    root.classList.add("wse-viewer");
    root.replaceChildren(this.header(), this.main(), this.live);
    const showScale = this.map.onslice;
    this.map.onslice = (slice) => {
      showScale(slice);
      this.showScale();
    };
    this.state.listen((changed) => {
      if (changed.has("logarithmic")) this.showScale();
      if (changed.has("tile") && this.current === "overview" && !changed.has("window"))
        this.choose("tile", false);
    });
    root.addEventListener("keydown", (e) => this.key(e));
    root.addEventListener("pointerdown", (e) => {
      if (!this.layers.contains(e.target as Node)) this.layers.open = false;
    });
    this.media.addEventListener("change", this.themeChanged);
    this.editor.observe(document.body, { attributeFilter: [EDITOR_THEME] });
    this.choose(faulty || run.message ? "findings" : "overview", false);
  }

  async start(): Promise<void> {
    await Promise.all([this.map.start(), this.strip.start(), this.waves.load()]);
    await this.findings.load();
  }

  // ---- parts ----

  private header(): HTMLElement {
    const { run } = this.state, stats = run.statistics, range = estimateText(this.state);
    const theme = element("select", { "aria-label": "Theme", onchange: () =>
      this.setTheme(theme.value as typeof THEMES[number]) });
    theme.append(...THEMES.map((t) => element("option", { value: t,
      selected: this.root.dataset.theme === t }, t)));
    const file = run.title.split("/").pop() ?? run.title;
    const fact = (label: string, value: string, note = "") => element("div", { class: "fact" },
      element("dt", {}, label), element("dd", {}, value,
        note ? element("span", { class: "range" }, ` ${note}`) : null));
    return element("header", {},
      element("div", { class: "name" }, element("h1", {}, file),
              file === run.title ? "" : element("p", {}, run.title)),
      element("dl", {},
        run.wafer === undefined ? null : fact("wafer", run.wafer),
        fact("cycles", format(stats.cycles), range ? `expected ${range}` : ""),
        fact("fabric", `${format(run.width)} × ${format(run.height)}`),
        fact("machine", stats.arch),
        stats.partial || run.message
          ? fact("ended", stats.partial ? "before its end" : "with findings",
                 `at cycle ${format(run.cycles)}`) : null),
      element("label", { class: "theme" }, "Theme ", theme));
  }

  private main(): HTMLElement {
    return element("main", {},
      element("section", { class: "mapbox", "aria-label": "Map" }, this.toolbar(),
        element("div", { class: "holder" }, this.map.surface.canvas, this.map.tip), this.scale),
      element("section", { class: "side", "aria-label": "Details" }, this.tabs,
        ...this.panels.map((panel) => this.panelBox(panel))),
      this.strip.box);
  }

  private toolbar(): HTMLElement {
    const quantity = element("select", { "aria-label": "What the map shows", onchange: () =>
      this.state.set("quantity", findQuantity(quantity.value)) });
    const quantities = quantitiesOf(this.state.run);
    for (const group of new Set(quantities.map((q) => q.group)))
      quantity.append(element("optgroup", { label: group }, ...quantities
        .filter((q) => q.group === group)
        .map((q) => element("option", { value: q.id }, q.label))));
    const button = (label: string, name: string, act: () => void) =>
      element("button", { "aria-label": name, title: name, onclick: act }, label);
    const check = (label: string, on: boolean, act: (on: boolean) => void) => {
      const box = element("input", { type: "checkbox", checked: on, onchange: () =>
        act(box.checked) });
      return element("label", {}, box, ` ${label}`);
    };
    this.layers.append(element("summary", {}, "Layers"),
      element("div", { class: "menu" },
        check("logarithmic scale", false, (on) => this.state.set("logarithmic", on)),
        check("findings and chains of waits", true, (on) => this.state.set("showFindings", on)),
        check("hot links", false, (on) => this.state.set("showHot", on)),
        check("recorded wavelets, in playback", true, (on) => this.state.set("showWays", on)),
        this.routeChoice()));
    return element("div", { class: "toolbar", role: "group", "aria-label": "Map controls" },
      element("label", {}, "Map ", quantity),
      element("span", { class: "buttons" },
        button("+", "Zoom in", () => this.map.zoom(1.6)),
        button("−", "Zoom out", () => this.map.zoom(1 / 1.6)),
        button("Fit", "Fit the whole fabric", () => this.map.fit())),
      this.layers);
  }

  private routeChoice(): HTMLElement {
    const names = new Map<number, string>();
    for (const set of this.state.run.routes.sets)
      for (let i = 0; i < set.length; i += 2) names.set(set[i], "");
    for (const cls of this.state.run.classes)
      cls.colors.forEach((name, color) => {
        if (name && names.has(color) && !names.get(color)) names.set(color, name);
      });
    const colors = [...names].sort((a, b) => a[0] - b[0]);
    return element("fieldset", {}, element("legend", {}, "Routes by color"),
      ...(colors.length ? colors.map(([color, name]) => {
        const box = element("input", { type: "checkbox", onchange: () => {
          if (box.checked) this.state.chosen.colors.add(color);
          else this.state.chosen.colors.delete(color);
          this.state.touch("colors");
        } });
        return element("label", { class: "route" }, box,
          element("span", { class: "stroke", "data-color": color,
                            style: `background:${routeStroke(color, this.isDark)}` }),
          `${color}${name ? ` ${name}` : ""}`);
      }) : ["The program has no routes."]),
      element("p", { class: "faint" }, "thin lines: routes that are not in use"));
  }

  private panelBox(panel: Panel): HTMLElement {
    const tab = element("button", { role: "tab", id: `tab-${panel.id}`, "aria-selected": "false",
      "aria-controls": `panel-${panel.id}`, tabindex: -1,
      onclick: () => this.choose(panel.id, false) }, panel.label);
    tab.addEventListener("keydown", (e) => {
      const at = this.panels.findIndex((p) => p.id === panel.id), n = this.panels.length;
      const to = { ArrowRight: (at + 1) % n, ArrowLeft: (at + n - 1) % n, Home: 0, End: n - 1 }[e.key];
      if (to === undefined) return;
      e.preventDefault();
      e.stopPropagation();
      this.choose(this.panels[to].id, true);
    });
    this.tabs.append(tab);
    return element("div", { class: "panel", role: "tabpanel", id: `panel-${panel.id}`,
                            "aria-labelledby": `tab-${panel.id}`, tabindex: 0, hidden: true },
                   panel.box);
  }

  private choose(id: string, focus: boolean): void {
    this.current = id;
    for (const panel of this.panels) {
      const on = panel.id === id, box = this.root.querySelector(`#panel-${panel.id}`);
      const tab = this.root.querySelector<HTMLElement>(`#tab-${panel.id}`);
      box?.toggleAttribute("hidden", !on);
      tab?.setAttribute("aria-selected", String(on));
      if (tab) tab.tabIndex = on ? 0 : -1;
      if (on && focus) tab?.focus();
      if (on) panel.shown();
    }
  }

  private showScale(): void {
    const { quantity, logarithmic } = this.state.chosen, most = this.map.most;
    const level = this.map.timeLevel;
    const middle = logarithmic ? Math.expm1(Math.log1p(most) / 2) : most / 2;
    this.scale.replaceChildren(
      element("span", { class: "what" }, `${quantity.label}: ${quantity.unit} per tile` +
        `${quantity.combine === "MOST" ? ", at most" : ""}${logarithmic ? ", logarithmic" : ""}` +
        this.map.countedIn +
        (level ? `; over time at most ${format(this.map.overTimeMost)} per ` +
          cyclesEach(level.step_cycles) : "")),
      element("span", { class: "key" }, element("span", { class: "none" }), element("span", {}, "0"),
        element("span", { class: "ramp" }, element("span", { class: "gradient", style:
          `background:${heatGradient()}` }),
          element("span", { class: "ends" }, element("span", {}, "> 0"),
                  element("span", {}, format(middle)), element("span", {}, format(most))))));
  }

  // ---- keys and themes ----

  private key(e: KeyboardEvent): void {
    const tag = (e.target as HTMLElement).tagName;
    if (e.key === "Escape" && this.layers.open) {     // the menu closes, and nothing else happens
      this.layers.open = false;
      this.layers.querySelector("summary")?.focus();
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey || ["INPUT", "SELECT", "TEXTAREA"].includes(tag)) return;
    if (e.key === " " && tag !== "BUTTON" && tag !== "SUMMARY") this.strip.toggle();
    else if (e.key === "." || e.key === ">") this.strip.move(1);
    else if (e.key === "," || e.key === "<") this.strip.move(-1);
    else if (e.key === "Escape") {
      this.strip.whole();
      this.state.set("way", null);
    } else return;
    e.preventDefault();
  }

  private get isDark(): boolean {
    const theme = this.root.dataset.theme;
    if (theme !== "auto") return theme === "dark";
    const kind = document.body.getAttribute(EDITOR_THEME);
    return kind ? /^vscode-(dark|high-contrast)$/.test(kind) : this.media.matches;
  }

  private setTheme(theme: typeof THEMES[number]): void {
    this.root.dataset.theme = theme;
    this.themeChanged();
  }

  private readonly themeChanged = (): void => {
    this.root.dataset.shade = this.isDark ? "dark" : "light";
    this.root.querySelectorAll<HTMLElement>(".stroke").forEach((s) => {
      s.style.background = routeStroke(Number(s.dataset.color), this.isDark);
    });
    this.map?.themeChanged();
    this.strip?.themeChanged();
    this.tile?.themeChanged();
  };

  close(): void {
    this.media.removeEventListener("change", this.themeChanged);
    this.editor.disconnect();
    this.strip.close();
    this.tile.close();
    this.map.surface.close();
    this.root.replaceChildren();
    this.root.classList.remove("wse-viewer");
  }
}

// Shows the data of a run, as wse-emu --report=FILE.wseview writes them, in an element.  Throws an
// Error for data that are not such.
export async function mount(root: HTMLElement, data: ArrayBuffer | Uint8Array,
                            options: Options = {}): Promise<Viewer> {
  const app = new App(root, await RunData.open(data), options);
  await app.start();
  return { close: () => app.close(), state: app.state };
}

function readBase64(text: string): Uint8Array {
  const binary = atob(text.replace(/\s+/g, ""));
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// The report's page: its data stand in the element `data`.
export async function mountPage(): Promise<void> {
  const root = document.getElementById("viewer")!, data = document.getElementById("data")!;
  try {
    await mount(root, readBase64(data.textContent ?? ""));
    document.documentElement.dataset.ready = "1";
  } catch (error) {
    root.textContent = `The viewer cannot show these data: ${(error as Error).message}`;
    throw error;
  }
}

export { PORTS };
