// The tabs beside the map.
import { LINKS, PORTS, StepKind, WAIT_NAMES, WAIT_TEXTS, findQuantity, isWider, quantitiesOf,
         readWays, sampledNote } from "./data";
import type { Quantity, TileClass, Way } from "./data";
import { element, replace, table, whole } from "./dom";
import type { Column } from "./dom";
import { hottestLinks } from "./map";
import type { FabricMap, HotLink } from "./map";
import { Slicer } from "./data";
import { portNames } from "./routes";
import type { Route } from "./routes";
import { counted, format, heatColor, percent } from "./scale";
import type { State } from "./state";
import { TileTimeLine } from "./timeline";

const HOT_LINKS = 10, BUSIEST = 12, WAYS_SHOWN = 200, LINES_SHOWN = 400, TURNS_SHOWN = 50;

const number = (text: string): Column => ({ head: text });
const text = (head: string): Column => ({ head, text: true });
const words = (head: string): Column => ({ head, words: true });

export interface Panel { id: string; label: string; box: HTMLElement; shown: () => void }

// ---- overview -----------------------------------------------------------------------------------

// Numbers of --stats; data-stat names them for tests.
function statistics(state: State): HTMLElement {
  const stats = state.run.statistics, cell = (name: string, value: number) =>
    element("span", { "data-stat": name, "data-value": value }, format(value));
  const rows: (Node | string)[][] = [
    ["cycles of the program", cell("cycles", stats.cycles)],
    ["cycles of the host", cell("host_cycles", stats.host_cycles)],
    ...["instructions", "groups", "elements", "tasks", "wavelets", "wavelet_hops",
        "active_tile_cycles"].map((name) =>
      [NAMES[name], cell(name, stats[name] as number)]),
    ...Object.entries(stats.stalls).map(([name, value]) =>
      [`waits: ${WAIT_TEXTS[name]}, cycles`, cell(`stalls.${name}`, value)]),
  ];
  return table("Statistics", [text("what"), number("number")], rows);
}

const NAMES: Record<string, string> = {
  instructions: "instructions issued", groups: "groups of vector operations",
  elements: "elements of vector operations", tasks: "tasks started",
  wavelets: "wavelets sent into routers", wavelet_hops: "wavelets over links",
  active_tile_cycles: "tile-cycles with an issue or a move",
};

export function estimateText(state: State): string {
  const estimate = state.run.statistics.estimate;
  if (!estimate) return "";
  const low = Math.round(estimate.low), high = Math.round(estimate.high);
  return low === high ? format(low) : `${format(low)} to ${format(high)}`;
}

export class Overview implements Panel {
  id = "overview";
  label = "Overview";
  box = element("div");
  private busiest = element("div");

  constructor(private readonly state: State, private readonly map: FabricMap) {
    const stats = state.run.statistics, estimate = stats.estimate;
    this.box.append(
      this.busiest, statistics(state),
      estimate ? element("p", { class: "note" },
        `Public counts of ${estimate.points} ${estimate.class} programs on ${stats.arch} lie ` +
        `around ours so that this one is expected to take ${estimateText(state)} ` +
        `cycle${estimateText(state) === "1" ? "" : "s"}.`) : "",
      stats.phases.length > 1 ? this.phases() : "",
      state.run.sampled ? element("p", { class: "note" }, sampledNote(state.run)) : "",
      element("p", { class: "note" }, state.run.honesty));
    map.onslice = (slice) => this.rank(slice.level.side);
  }

  private phases(): HTMLElement {
    return table("Phases", [text("action"), number("from cycle"), number("to"), number("cycles")],
      this.state.run.statistics.phases.map((p) =>
        [p.action, format(p.start), format(p.end), format(p.cycles)]));
  }

  private rank(side: number): void {
    const found = this.map.top(BUSIEST), { quantity } = this.state.chosen;
    const rows = found.map(({ tile, value }) => [tileButton(this.state, this.map, tile),
                                                 format(value)]);
    const share = side > 1 ? `, ${quantity.combine === "MOST" ? "most" : "mean"} of ` +
      `${side} × ${side} tiles` : "";
    replace(this.busiest, element("p", { class: "total" },
      `${quantity.label}: `, element("b", { "data-total": quantity.id,
                                            "data-value": this.map.total },
                                     format(this.map.total)),
      ` ${quantity.unit}${quantity.combine === "MOST" ? " at most" : ""} in the time shown` +
        `${this.map.countedIn}.`),
      rows.length ? table(`Highest: ${quantity.label.toLowerCase()}${share}`,
        [text("tile"), number(quantity.unit)], rows) : "");
  }

  shown(): void {}
}

function tileButton(state: State, map: FabricMap, tile: number): HTMLElement {
  return element("button", { class: "link", onclick: () => {
    state.set("tile", tile);
    map.show(tile);
  } }, state.tileName(tile));
}

// ---- tile ---------------------------------------------------------------------------------------

export class TilePanel implements Panel {
  id = "tile";
  label = "Tile";
  box = element("div");
  private head = element("h3");
  private about = element("p", { class: "note" });
  private counts = element("div");
  private routes = element("div");
  private line: TileTimeLine;
  private go: HTMLButtonElement;
  private classes: Float64Array | null = null;
  private asked = 0;
  private stale = true;

  constructor(private readonly state: State, private readonly map: FabricMap,
              private readonly slicer: Slicer, root: HTMLElement,
              private readonly isShown: () => boolean) {
    this.line = new TileTimeLine(state, root);
    this.go = element("button", { hidden: true, onclick: () => {
      this.state.set("tile", this.line.nearest());
      this.map.show(this.state.chosen.tile);
    } }, "Nearest tile with a time line");
    this.box.append(this.head, this.about, this.line.box, element("p", {}, this.go), this.counts,
                    this.routes);
    state.listen((changed) => {
      if (!changed.has("tile") && !changed.has("window")) return;
      this.stale = true;
      if (this.isShown()) this.shown();
    });
  }

  themeChanged(): void { this.line.themeChanged(); }
  close(): void { this.line.close(); }

  async classOf(tile: number): Promise<TileClass | undefined> {
    this.classes ??= await this.state.data.numbers("tile.class");
    const index = this.classes?.[tile] ?? 0;
    return index ? this.state.run.classes[index - 1] : undefined;
  }

  shown(): void {
    if (this.stale) void this.load();
  }

  private async load(): Promise<void> {
    this.stale = false;
    const asked = ++this.asked, tile = this.state.chosen.tile, run = this.state.run;
    const cls = await this.classOf(tile);
    const finest = run.levels[run.levels.length - 1], window = this.state.chosen.window;
    const at = (q: Quantity) => this.slicer.slice(q, window, finest).then((slice) => {
      const column = Math.floor(this.state.x(tile) / finest.side);
      return { slice, value: slice.values[Math.floor(this.state.y(tile) / finest.side) *
                                          finest.columns + column] };
    });
    const simple = quantitiesOf(run).filter((q) => q.channels.length === 1);
    const found = finest ? await Promise.all(simple.map(at)) : [];
    if (asked !== this.asked) return;
    this.head.textContent = `Tile ${this.state.tileName(tile)}`;
    this.about.textContent = cls ? `Program ${cls.source}; ${format(cls.code_bytes)} bytes of ` +
      `code, ${format(cls.static_bytes)} bytes of data.` : "No code.";
    if (found.length) {
      const label = (q: Quantity) => q.combine === "MOST" ? `${q.label}, at most` : q.label;
      const rows = simple.map((q, i) => [label(q), format(found[i].value), q.unit])
        .filter((_, i) => found[i].value > 0);
      replace(this.counts, table(
        `Cycles ${format(found[0].slice.from)} to ${format(found[0].slice.to)}` +
          (finest.side > 1 ? `, of ${finest.side} × ${finest.side} tiles` : ""),
        [words("what"), number("number"), words("unit")], rows,
        "Nothing has happened here in these cycles."));
    }
    this.showRoutes(tile, cls);
    await this.line.show(tile, cls);
    this.go.hidden = !cls || this.line.isThere || !this.state.run.time_lines;
  }

  private showRoutes(tile: number, cls: TileClass | undefined): void {
    const cycle = this.state.routeCycle, grain = this.state.run.turn_cycles;
    const found = this.map.routes.of(tile, cycle);
    const named = (color: number) =>
      `${color}${cls?.colors[color] ? ` ${cls.colors[color]}` : ""}`;
    const input = (route: Route, name: string) => route.swaps >> PORTS.indexOf(name) & 1
      ? `${name}, as color ${named(route.color ^ 1)}` : name;
    const inputs = (route: Route) => portNames(route.inputs).map((name) => input(route, name));
    const place = (route: Route) => route.position < 0 ? "rewritten" : `${route.position}`;
    const rows = found.map((route) =>
      [named(route.color), inputs(route).join("; "), portNames(route.outputs).join(", "),
       `${place(route)}${route.now ? " (in use)" : ""}`]);
    const when = cycle ? `at the end of cycle ${format(cycle - 1)}` : "at the start";
    const changes = this.map.routes.changesBefore(tile, Infinity), kept = grain > 0;
    replace(this.routes, rows.length ? table(`Routes of the tile ${when}`,
      [text("color"), words("from"), words("to"), text("switch position")], rows) : "",
      !kept && rows.length ? element("p", { class: "note" },
        "Routes change so often in this run that the page keeps no changes.") : "",
      changes ? element("p", { class: "note" },
        `${format(changes)} ${changes > 1 ? "changes" : "change"} in the run, ` +
        `${format(this.map.routes.changesBefore(tile, cycle))} up to here` +
        (grain > 1 ? `; the last one of each ${format(grain)} cycles.` : ".")) : "",
      changes ? this.changes(tile, changes, named) : "");
  }

  private changes(tile: number, count: number, named: (color: number) => string): HTMLElement {
    const go = (cycle: number) => element("button", { class: "link", onclick: () =>
      this.state.set("window", { from: 0, to: cycle + 1 }) }, format(cycle));
    return table(count > TURNS_SHOWN ? `The first ${TURNS_SHOWN} changes of the tile's routes`
      : "Changes of the tile's routes",
      [number("cycle"), text("color"), words("then from"), words("to")],
      this.map.routes.changesOf(tile).slice(0, TURNS_SHOWN).map((turn) =>
        [go(turn.cycle), named(turn.color), portNames(turn.inputs).join(", "),
         portNames(turn.outputs).join(", ")]));
  }
}

// ---- source -------------------------------------------------------------------------------------

export class SourcePanel implements Panel {
  id = "source";
  label = "Source";
  box = element("div");
  private list = element("div", { class: "code" });
  private made = false;

  constructor(private readonly state: State) {}

  shown(): void {
    if (this.made) return;
    this.made = true;
    const { files } = this.state.run.sources;
    if (!files.length) {
      this.box.append(element("p", { class: "note" }, this.state.run.time_lines === undefined
        ? sampledNote(this.state.run) : "No tile has run any code."));
      return;
    }
    const choose = element("select", { "aria-label": "Source file", onchange: () =>
      this.show(Number(choose.value)) });
    choose.append(...files.map((f, i) => element("option", { value: i }, f.name || "(no source)")));
    this.box.append(element("p", {}, element("label", {}, "File ", choose)), this.list);
    const first = Math.max(0, files.findIndex((f) => f.text !== undefined));   // of the user's
    choose.value = String(first);
    this.show(first);
  }

  private show(index: number): void {
    const { sources } = this.state.run, file = sources.files[index];
    const rows = new Map(sources.lines.filter((l) => l[0] === index).map((l) => [l[1], l]));
    const all = sources.lines.reduce((sum, l) => sum + l[2], 0);
    const most = Math.max(1, ...[...rows.values()].map((l) => l[2]));
    const lines = file.text?.replace(/\n$/, "").split("\n") ?? [];
    const waits = [...rows.values()].some(waitsOf);
    const longest = (numbers: number[]) =>
      numbers.reduce((most, n) => Math.max(most, format(n).length), 0);
    const widths = [longest([...rows.values()].map((l) => l[2])),
                    longest([...rows.values()].map(waitsOf)), longest([lines.length])];
    const shown = file.text ? lines.map((_, i) => i + 1).slice(0, LINES_SHOWN * 10)
      : [...rows.keys()].sort((a, b) => a - b);
    const body = shown.map((line) => this.line(line, lines[line - 1] ?? "", rows.get(line), all,
                                               most));
    replace(this.list,
      file.changed ? element("p", { class: "note alarm" },
        "This file has changed after the program was compiled; lines may not match.") : null,
      file.text === undefined ? element("p", { class: "note" }, file.name
        ? "The text of this file could not be read when the page was written."
        : "Code of the compiler, such as what loads the descriptors before the first task.") : null,
      element("table", { class: waits ? "source" : "source unwaiting", style:
                         `--cycles:${widths[0]}ch;--waits:${widths[1]}ch;--line:${widths[2]}ch` },
        element("caption", {}, `Cycles of threads by line; share of the run's ${format(all)}`),
        element("thead", {}, element("tr", {}, ...["cycles", "share", "waits", "line", "text"]
          .map((h) => element("th", { scope: "col", class: h === "text" ? "text" : "" }, h)))),
        element("tbody", {}, ...body)));
    const hottest = [...rows.values()].sort((a, b) => b[2] - a[2])[0];
    const row = hottest && body[shown.indexOf(hottest[1])], panel = this.box.parentElement;
    if (row && panel) panel.scrollTop = Math.max(0, row.offsetTop - panel.clientHeight / 2);
  }

  private line(line: number, content: string, row: number[] | undefined, all: number,
               most: number): HTMLElement {
    const waits = row ? waitsOf(row) : 0;
    const causes = row ? row.slice(7).map((v, i) => v ? `${WAIT_TEXTS[WAIT_NAMES[i + 1]]} ` +
      `${format(v)}` : "").filter(Boolean).join(", ") : "";
    const bar = element("span", { class: "bar", style: row
      ? `width:${(100 * row[2] / most).toFixed(1)}%;background:rgb(${heatColor(row[2] / most)
        .join(" ")})` : "width:0" });
    const title = row ? `${format(row[3])} instructions, ${format(row[4])} groups, ` +
      `${format(row[5])} elements${causes ? `; waits: ${causes}` : ""}` : "";
    return element("tr", { title, class: row ? "hot" : "" },
      element("td", {}, row ? format(row[2]) : "", element("span", { class: "track" }, bar)),
      element("td", {}, row ? percent(row[2], all) : ""),
      element("td", { title: causes }, waits ? format(waits) : ""),
      element("td", {}, line ? String(line) : ""), element("td", { class: "text" }, indented(content)));
  }
}

const waitsOf = (row: number[]): number => row.slice(7).reduce((a, b) => a + b, 0);

// A line of a program; what does not fit goes on below, indented as the line is.  Half of the column
// stays for the text however far the line is indented.
function indented(content: string): HTMLElement {
  const text = content.trimStart(), columns = content.length - text.length;
  return element("code", { style: `padding-left:min(${columns}ch, 50%)` }, text);
}

// ---- memory -------------------------------------------------------------------------------------

const NAME_LETTERS = 16, TYPE_LETTERS = 12;     // both fit in a row on a phone

interface Piece { name: string; type: string; from: number; to: number; kind: string }

function piecesOf(cls: TileClass, memory: number): Piece[] {
  const symbols = cls.symbols.map((s) => ({ name: s.name, type: s.type, from: s.address,
    to: s.address + s.bytes, kind: s.code ? "code" : "data" }));
  symbols.push({ name: "stack", type: "", from: cls.stack_top - cls.stack_bytes,
                 to: cls.stack_top, kind: "stack" });
  symbols.sort((a, b) => a.from - b.from || b.to - a.to);
  const pieces: Piece[] = [];
  let end = 0;
  for (const symbol of symbols) {
    if (symbol.from > end)
      pieces.push({ name: "free", type: "", from: end, to: symbol.from, kind: "free" });
    pieces.push(symbol);
    end = Math.max(end, symbol.to);
  }
  if (end < memory) pieces.push({ name: "free", type: "", from: end, to: memory, kind: "free" });
  return pieces;
}

export class MemoryPanel implements Panel {
  id = "memory";
  label = "Memory";
  box = element("div");
  private stale = true;

  constructor(private readonly state: State, private readonly tile: TilePanel,
              private readonly isShown: () => boolean) {
    state.listen((changed) => {
      if (!changed.has("tile")) return;
      this.stale = true;
      if (this.isShown()) this.shown();
    });
  }

  shown(): void {
    if (this.stale) void this.load();
  }

  private async load(): Promise<void> {
    this.stale = false;
    const cls = await this.tile.classOf(this.state.chosen.tile);
    if (!cls) {
      replace(this.box, element("p", { class: "note" },
        `${this.state.tileName()} has no code, or the page does not keep its class.`));
      return;
    }
    const memory = this.state.run.memory_bytes, pieces = piecesOf(cls, memory);
    const used = memory - pieces.filter((p) => p.kind === "free")
      .reduce((sum, p) => sum + p.to - p.from, 0);
    replace(this.box,
      element("h3", {}, `Memory of ${this.state.tileName()}`),
      element("p", { class: "note" }, `${format(used)} of ${format(memory)} bytes, ` +
        `${percent(used, memory)}, by name. All tiles of ${cls.source} with the same ` +
        `parameters have this map.`),
      this.strip(pieces, memory),
      element("ul", { class: "legend" }, ...["data", "code", "stack", "free"].map((kind) =>
        element("li", {}, element("span", { class: `swatch ${kind}` }), kind))),
      table("Names by address", [number("from"), number("bytes"), text("name"), text("type")],
        pieces.filter((p) => p.kind !== "free").map((p) =>
          [`0x${p.from.toString(16).padStart(4, "0")}`, format(p.to - p.from),
           whole(p.name, NAME_LETTERS), whole(p.type, TYPE_LETTERS)])));
  }

  private strip(pieces: Piece[], memory: number): HTMLElement {
    return element("div", { class: "memory", role: "img", "aria-label":
      `${counted(pieces.filter((p) => p.kind !== "free").length, "name")} from 0 to ${memory}` },
      ...pieces.map((p) => element("span", {
        class: p.kind, title: `${p.name} ${p.type}: ${format(p.to - p.from)} bytes at ` +
          `0x${p.from.toString(16)}`,
        style: `left:${100 * p.from / memory}%;width:${100 * (p.to - p.from) / memory}%` })));
  }
}

// ---- wavelets -----------------------------------------------------------------------------------

export class WavesPanel implements Panel {
  id = "wavelets";
  label = "Wavelets";
  box = element("div");
  private ways: Way[] = [];
  private list = element("div");
  private detail = element("div");
  private color = element("select", { "aria-label": "Color", onchange: () => this.fill() });
  private onlyTile = element("input", { type: "checkbox", onchange: () => this.fill() });
  private loaded = false;

  constructor(private readonly state: State, private readonly map: FabricMap,
              private readonly isShown: () => boolean) {
    state.listen((changed) => {
      if (changed.has("way")) this.describe();
      if (changed.has("tile") && this.onlyTile.checked && this.isShown()) this.fill();
    });
  }

  async load(): Promise<void> {
    this.ways = await readWays(this.state.data);
    this.map.setWays(this.ways);
  }

  shown(): void {
    if (this.loaded) return;
    this.loaded = true;
    const { ways_one_of: one, ways_until: until, statistics } = this.state.run;
    if (!this.ways.length) {
      this.box.append(element("p", { class: "note" },
        !statistics.wavelets ? "The run has sent no wavelet."
        : one === undefined ? sampledNote(this.state.run) : "The page keeps no ways of wavelets."));
      return;
    }
    const colors = [...new Set(this.ways.map((w) => w.color))];
    this.color.append(element("option", { value: -1 }, "all colors"), ...colors
      .sort((a, b) => a - b).map((c) => element("option", { value: c }, `color ${c}`)));
    this.box.append(
      element("p", { class: "note" },
        `The page keeps the whole ways of ${counted(this.ways.length, "wavelet")}, ` +
          (one === 1 ? "all" : `about one of ${format(one ?? 1)}, chosen by a hash,`) +
          (until === undefined ? " of the run." : ` up to cycle ${format(until)}; the events of ` +
            "later ones would make the run take much longer.")),
      element("p", { class: "row" }, element("label", {}, "Show ", this.color),
              element("label", {}, this.onlyTile, " that pass the chosen tile")),
      this.detail, this.list);
    this.fill();
  }

  private fill(): void {
    const color = Number(this.color.value), tile = this.state.chosen.tile;
    const found = this.ways.filter((w) => (color < 0 || w.color === color) &&
      (!this.onlyTile.checked || w.steps.some((s) => s.tile === tile)));
    const rows = found.slice(0, WAYS_SHOWN).map((way) => {
      const first = way.steps[0], last = way.steps[way.steps.length - 1];
      const ends = way.steps.filter((s) => s.kind === StepKind.Taken).length;
      return [element("button", { class: "link", onclick: () => {
                this.state.set("way", way);
                this.map.show(first.tile);
              } }, `#${format(way.number)}`),
              String(way.color), this.state.tileName(first.tile), format(first.cycle),
              format(last.cycle - first.cycle), String(ends)];
    });
    replace(this.list, table(
      found.length > WAYS_SHOWN ? `The first ${WAYS_SHOWN} of ${format(found.length)} wavelets`
        : "Wavelets",
      [words("number"), number("color"), words("sender"), number("cycle"),
       number("cycles to the end"), number("takers")], rows, "None of them passes this tile."));
  }

  private describe(): void {
    const way = this.state.chosen.way;
    if (!way) {
      replace(this.detail);
      return;
    }
    replace(this.detail, table(
      `Wavelet #${format(way.number)}, color ${way.color}, 0x` +
        `${way.payload.toString(16).padStart(8, "0")}${way.control ? ", control" : ""}`,
      [number("cycle"), text("tile"), text("step")],
      way.steps.slice(0, WAYS_SHOWN).map((s) =>
        [format(s.cycle), tileButton(this.state, this.map, s.tile),
         stepText(s.kind, s.from, s.to)])),
      element("p", {}, element("button", { onclick: () => this.state.set("way", null) },
                               "Stop following")));
  }
}

function stepText(kind: StepKind, from: number, to: number): string {
  const ports = PORTS.filter((_, i) => to >> i & 1);
  switch (kind) {
    case StepKind.Sent: return `sent into output queue ${from}`;
    case StepKind.Entered: return "enters the router";
    case StepKind.Moved: return ports.length
      ? `${PORTS[from]} to ${ports.join(" and ")}${ports.length > 1 ? ": a fork" : ""}`
      : `${PORTS[from]} to nowhere: rejected`;
    case StepKind.Arrived: return `arrives in input queue ${from}`;
    case StepKind.Taken: return `taken from input queue ${from}`;
    case StepKind.FromHost: return "from the host";
    case StepKind.ToHost: return "to the host";
  }
}

// ---- findings -----------------------------------------------------------------------------------

export class FindingsPanel implements Panel {
  id = "findings";
  label: string;
  box = element("div");
  private links = element("div");
  private hot: HotLink[] = [];

  constructor(private readonly state: State, private readonly map: FabricMap,
              private readonly slicer: Slicer) {
    const run = state.run, count = run.findings.length + (run.chains?.length ?? 0);
    this.label = count ? `Findings (${count})` : "Findings";
    if (run.message)
      this.box.append(element("pre", { class: "message", tabindex: 0 }, run.message));
    else if (!count) this.box.append(element("p", { class: "note" },
      "The run has no faults, and nothing waits at its end."));
    (run.chains ?? []).forEach((chain, i) => this.box.append(this.chain(chain, i)));
    if (run.findings.length) this.box.append(element("h3", {}, "Faults and hazards"),
      element("ul", { class: "findings" }, ...run.findings.map((f) => element("li", {},
        tileButton(state, map, state.tileAt(f.x, f.y)), ` cycle ${format(f.cycle)}: ${f.name}`,
        // The report above often has the text already.
        ...(run.message?.includes(f.text.trim()) ? []
                                                 : [element("pre", { tabindex: 0 }, f.text)])))));
    this.box.append(this.links);
    state.listen((changed) => { if (changed.has("window")) void this.load(); });
  }

  private chain(chain: { x: number; y: number; text: string }[], index: number): HTMLElement {
    return element("div", {}, element("h3", {}, `Chain of waits ${index + 1}`),
      element("ol", { class: "chain" }, ...chain.map((w) => element("li", {},
        tileButton(this.state, this.map, this.state.tileAt(w.x, w.y)),
        ` ${w.text.replace(new RegExp(`^P${w.x}\\.${w.y}(?= )`), "").trimStart()}`))),
      element("p", {}, element("button", { onclick: () =>
        this.state.set("chain", this.state.chosen.chain === index ? -1 : index) },
        "Show on the map alone, or all again")));
  }

  async load(): Promise<void> {
    const { window } = this.state.chosen;
    const { links, slice } = await hottestLinks(this.state, this.slicer, window, HOT_LINKS);
    this.hot = links;
    this.map.hot = this.hot;
    this.map.surface.draw();
    const cycles = slice ? slice.to - slice.from : 0;
    const when = slice && isWider(slice, window)
      ? `cycles ${format(slice.from)} to ${format(slice.to)}` : "the time shown";
    replace(this.links, this.hot.length ? table(
      `Hot links: most wavelets in ${when}; a link carries at most one per cycle`,
      [text("tile"), text("link to the"), number("wavelets"), number("share of the cycles")],
      this.hot.map((h) => [tileButton(this.state, this.map, this.state.tileAt(h.x, h.y)),
        LINKS[h.port], format(h.wavelets), percent(h.wavelets, cycles)])) : "");
  }

  shown(): void {}
}

export { findQuantity };
