// The time line of a tile: tasks, vector operations and waits by cause, from cycle to cycle.
import { SpanKind, WAIT_NAMES, WAIT_TEXTS, readTimeLine, sampledNote, timeLineTiles }
  from "./data";
import type { Span, TileClass, TimeLine } from "./data";
import { Surface, element, fitting, themeColors } from "./dom";
import { counted, format, lineColor, ticks } from "./scale";
import type { State } from "./state";

const ROW = 30, LABEL = 92, AXIS = 22;
const WAIT_PATTERN = ["", "/", "\\", "x", "-", "|", "."];     // so that color is not alone

interface Row { name: string; spans: Span[] }

export class TileTimeLine {
  readonly box = element("div", { class: "timeline" });
  private surface: Surface;
  private note = element("p", { class: "note" });
  private legend = element("ul", { class: "legend" });
  private tip = element("div", { class: "tip", hidden: true });
  private rows: Row[] = [];
  private from = 0;
  private to = 1;
  private grip: number | null = null;
  private tile = -1;
  private cls: TileClass | undefined;
  private tiles: number[] | null = null;

  constructor(private readonly state: State, private readonly root: HTMLElement) {
    this.surface = new Surface({ class: "lines", tabindex: 0, role: "img",
                                 "aria-label": "Time line of the tile" }, () => this.paint());
    const canvas = this.surface.canvas;
    canvas.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      this.grip = e.offsetX;
    });
    canvas.addEventListener("pointermove", (e) => this.move(e));
    canvas.addEventListener("pointerup", () => { this.grip = null; });
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    canvas.addEventListener("dblclick", () => this.fit());
    canvas.addEventListener("keydown", (e) => this.key(e));
    this.box.append(element("div", { class: "holder" }, canvas, this.tip), this.legend, this.note);
    state.listen((changed) => {
      if (changed.has("window")) this.surface.draw();
    });
  }

  themeChanged(): void {
    this.makeLegend();
    this.surface.draw();
  }

  async show(tile: number, cls: TileClass | undefined): Promise<void> {
    if (tile === this.tile) return;
    this.tile = tile;
    this.cls = cls;
    const line = await readTimeLine(this.state.data, tile);
    if (tile !== this.tile) return;
    this.surface.canvas.parentElement!.hidden = this.legend.hidden = !line?.spans.length;
    await this.explain(line);
    if (line) this.setRows(line);
    this.fit();
  }

  private async explain(line: TimeLine | null): Promise<void> {
    this.tiles ??= await timeLineTiles(this.state.data);
    if (line?.left_out)
      this.note.textContent = `The page keeps the first and the last parts of this tile; ` +
        `${format(line.left_out)} between them are left out.`;
    else if (line) this.note.textContent = line.spans.length ? "" : "This tile has done nothing.";
    else if (!this.cls) this.note.textContent = "This tile has no code.";
    else if (this.state.run.time_lines === undefined)
      this.note.textContent = sampledNote(this.state.run);
    else this.note.textContent = `The page keeps time lines of ${format(this.tiles.length)} of ` +
      `the ${format(this.state.run.width * this.state.run.height)} tiles, in even distances. ` +
      `The nearest is ${this.state.tileName(this.nearest())}.`;
  }

  get isThere(): boolean { return this.tiles?.includes(this.tile) ?? false; }

  nearest(): number {
    const far = (t: number) => (this.state.x(t) - this.state.x(this.tile)) ** 2 +
      (this.state.y(t) - this.state.y(this.tile)) ** 2;
    return (this.tiles ?? []).reduce((a, b) => far(b) < far(a) ? b : a, this.tiles?.[0] ?? 0);
  }

  private setRows(line: TimeLine): void {
    const threads = new Set(line.spans.filter((s) => s.kind !== SpanKind.Task)
      .map((s) => s.thread));
    this.rows = [{ name: "tasks", spans: line.spans.filter((s) => s.kind === SpanKind.Task) }];
    for (const thread of [...threads].sort((a, b) => a - b))
      this.rows.push({ name: thread ? `microthread ${thread - 1}` : "main thread",
                       spans: line.spans.filter((s) => s.kind !== SpanKind.Task &&
                                                       s.thread === thread) });
    this.surface.canvas.style.height = `${this.rows.length * ROW + AXIS}px`;
    const waits = new Map<number, number>();
    for (const s of line.spans)
      if (s.kind === SpanKind.Wait)
        waits.set(s.subject, (waits.get(s.subject) ?? 0) + s.to - s.from);
    const name = this.state.tileName(this.tile);
    this.surface.canvas.setAttribute("aria-label", `Time line of ${name}: ` +
      this.rows.map((r) => `${r.name}: ${counted(r.spans.length, "part")}`).join(", ") + "; " +
      ([...waits].map(([cause, cycles]) => `waits for ${WAIT_TEXTS[WAIT_NAMES[cause]]}: ` +
        counted(cycles, "cycle")).join(", ") || "no waits"));
    this.waits = waits;
    this.makeLegend();
  }
  private waits = new Map<number, number>();

  private makeLegend(): void {
    const theme = themeColors(this.root);
    const item = (color: string, pattern: string, text: string) =>
      element("li", {}, element("span", { class: "swatch", style: `background:${color}` }, pattern),
              text);
    this.legend.replaceChildren(
      item(theme.faint, "", "task"), item(lineColor(0, theme.dark), "", "vector operation"),
      ...[...this.waits].map(([cause, cycles]) =>
        item(this.waitColor(cause), WAIT_PATTERN[cause],
             `waits: ${WAIT_TEXTS[WAIT_NAMES[cause]]}, ${counted(cycles, "cycle")}`)));
  }

  private waitColor(cause: number): string {
    return lineColor(cause, themeColors(this.root).dark);
  }

  // ---- view ----

  fit(): void {
    const spans = this.rows.flatMap((r) => r.spans);
    this.from = Math.min(0, ...spans.slice(0, 1).map((s) => s.from));
    this.to = Math.max(1, this.state.run.cycles);
    this.surface.draw();
  }

  private get inner(): number { return this.surface.width - LABEL - 8; }
  private px(cycle: number): number {
    return LABEL + (cycle - this.from) / (this.to - this.from) * this.inner;
  }
  private cycle(px: number): number {
    return this.from + (px - LABEL) / this.inner * (this.to - this.from);
  }

  private zoom(factor: number, px: number): void {
    const at = this.cycle(px), whole = Math.max(1, this.state.run.cycles);
    const range = Math.max(8, Math.min(whole, (this.to - this.from) / factor));
    this.from = at - (px - LABEL) / this.inner * range;
    this.keep(range);
  }

  private keep(range: number): void {
    this.from = Math.max(0, Math.min(this.from, Math.max(1, this.state.run.cycles) - range));
    this.to = this.from + range;
    this.surface.draw();
  }

  private wheel(e: WheelEvent): void {
    e.preventDefault();
    this.zoom(Math.exp(-e.deltaY * 0.002), Math.max(LABEL, e.offsetX));
  }

  private move(e: PointerEvent): void {
    if (this.grip === null) {
      this.point(e.offsetX, e.offsetY);
      return;
    }
    const range = this.to - this.from;
    this.from -= (e.offsetX - this.grip) / this.inner * range;
    this.grip = e.offsetX;
    this.tip.hidden = true;
    this.keep(range);
  }

  private key(e: KeyboardEvent): void {
    const range = this.to - this.from, middle = LABEL + this.inner / 2;
    if (e.key === "+" || e.key === "=") this.zoom(1.5, middle);
    else if (e.key === "-") this.zoom(1 / 1.5, middle);
    else if (e.key === "0") this.fit();
    else if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
      this.from += (e.key === "ArrowLeft" ? -0.2 : 0.2) * range;
      this.keep(range);
    } else return;
    e.preventDefault();
  }

  private point(px: number, py: number): void {
    const at = this.cycle(px), row = this.rows[Math.floor(py / ROW)];
    const under = px < LABEL || !row ? [] : row.spans.filter((s) => s.from <= at && at < s.to);
    const span = under[under.length - 1];
    this.tip.hidden = !span;
    if (!span) return;
    this.tip.textContent = `${this.name(span)}: cycles ${format(span.from)} to ` +
      `${format(span.to)}, ${format(span.to - span.from)}${span.open ? ", not ended" : ""}`;
    const right = px > this.surface.width / 2;
    this.tip.style.left = right ? "auto" : `${px + 12}px`;
    this.tip.style.right = right ? `${this.surface.width - px + 12}px` : "auto";
    this.tip.style.top = `${py + 14}px`;
  }

  name(span: Span): string {
    if (span.kind === SpanKind.Wait) return `waits: ${WAIT_TEXTS[WAIT_NAMES[span.subject]]}`;
    if (span.kind === SpanKind.Operation) {
      const [name, file, line] = this.cls?.operations[span.subject] ?? ["operation", "", 0];
      return file ? `${name} ${file.split("/").pop()}:${line}` : name;
    }
    const kind = span.subject >> 8, id = span.subject & 255;
    const task = this.cls?.tasks.find((t) => t.id === id && t.kind === kind);
    return task ? `${task.name} (${task.type} task ${id})` : `task ${id}`;
  }

  // ---- painting ----

  private paint(): void {
    const { context: c, width } = this.surface, theme = themeColors(this.root);
    const bottom = this.rows.length * ROW;
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    this.paintAxis(c, bottom, theme);
    this.rows.forEach((row, i) => {
      c.fillStyle = theme.ink;
      c.textAlign = "left";
      c.fillText(row.name, 0, i * ROW + ROW / 2);
      c.save();
      c.beginPath();
      c.rect(LABEL, 0, width - LABEL, bottom);
      c.clip();
      for (const kind of [SpanKind.Task, SpanKind.Operation, SpanKind.Wait])
        for (const span of row.spans)
          if (span.kind === kind && span.to > this.from && span.from < this.to)
            this.paintSpan(c, span, i * ROW, theme);
      c.restore();
    });
    this.paintWindow(c, bottom, theme);
  }

  private paintSpan(c: CanvasRenderingContext2D, span: Span, top: number,
                    theme: ReturnType<typeof themeColors>): void {
    const left = Math.max(LABEL - 2, this.px(span.from));
    const right = Math.min(this.surface.width, this.px(span.to));
    const wide = Math.max(1, right - left), wait = span.kind === SpanKind.Wait;
    const y = top + (wait ? ROW - 13 : 3), high = wait ? 9 : ROW - 6;
    c.fillStyle = wait ? this.waitColor(span.subject)
      : span.kind === SpanKind.Task ? theme.faint : lineColor(0, theme.dark);
    c.fillRect(left, y, wide, high);
    if (wide < 3) return;
    c.strokeStyle = theme.surface;
    c.lineWidth = 1;
    c.strokeRect(left + 0.5, y + 0.5, wide - 1, high - 1);
    if (wait) this.paintPattern(c, span.subject, left, y, wide, high, theme.surface);
    else if (wide > 44) {
      c.fillStyle = theme.surface;
      c.textAlign = "left";
      c.fillText(fitting(c, this.name(span), wide - 8), left + 4,
                 y + high / 2 + (span.kind === SpanKind.Task ? 0 : -5));
    }
  }

  private paintPattern(c: CanvasRenderingContext2D, cause: number, x: number, y: number,
                       wide: number, high: number, color: string): void {
    if (wide < 12) return;
    c.save();
    c.beginPath();
    c.rect(x, y, wide, high);
    c.clip();
    c.strokeStyle = color;
    c.beginPath();
    for (let at = Math.max(x, LABEL) - high; at < Math.min(x + wide, this.surface.width); at += 8) {
      const sign = WAIT_PATTERN[cause];
      if (sign === "/" || sign === "x") { c.moveTo(at, y + high); c.lineTo(at + high, y); }
      if (sign === "\\" || sign === "x") { c.moveTo(at, y); c.lineTo(at + high, y + high); }
      if (sign === "|") { c.moveTo(at, y); c.lineTo(at, y + high); }
      if (sign === "-") { c.moveTo(at, y + high / 2); c.lineTo(at + 5, y + high / 2); }
    }
    c.stroke();
    c.restore();
  }

  private paintAxis(c: CanvasRenderingContext2D, bottom: number,
                    theme: ReturnType<typeof themeColors>): void {
    c.strokeStyle = theme.line;
    c.fillStyle = theme.faint;
    c.textAlign = "center";
    c.lineWidth = 1;
    c.beginPath();
    for (const at of ticks(this.from, this.to, this.inner / 90)) {
      const x = Math.round(this.px(at)) + 0.5;
      c.moveTo(x, 0);
      c.lineTo(x, bottom + 4);
      c.fillText(format(at), Math.min(x, this.surface.width - 18), bottom + 13);
    }
    for (let i = 1; i <= this.rows.length; i++) {
      c.moveTo(LABEL, i * ROW + 0.5);
      c.lineTo(this.surface.width, i * ROW + 0.5);
    }
    c.stroke();
    c.textAlign = "left";
    c.fillText("cycle", 0, bottom + 13);
  }

  private paintWindow(c: CanvasRenderingContext2D, bottom: number,
                      theme: ReturnType<typeof themeColors>): void {
    if (this.state.isWhole) return;
    const { from, to } = this.state.chosen.window;
    const left = Math.max(LABEL, this.px(from)), right = this.px(to);
    if (right <= left) return;
    c.globalAlpha = 0.22;
    c.fillStyle = theme.accent;
    c.fillRect(left, 0, Math.max(2, right - left), bottom);
    c.globalAlpha = 1;
  }

  close(): void { this.surface.close(); }
}
