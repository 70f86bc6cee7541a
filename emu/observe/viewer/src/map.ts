// The map of the fabric: heat by tile, links, routes, wavelets and findings, with zoom and pan.
import { LINKS, PORTS, Slicer, StepKind, findQuantity, isWider, valuePerTile } from "./data";
import type { Level, Slice, TimeWindow, Way } from "./data";
import { Surface, element, themeColors } from "./dom";
import type { Theme } from "./dom";
import { Routes, connections } from "./routes";
import { format, heatColor, partOf, routeColor, routeDash, ticks } from "./scale";
import type { State } from "./state";

const RULER = { left: 42, top: 20 };
const MOST_SCALE = 160;          // pixels of a tile
const LINK_SCALE = 18;           // from here on each link is drawn
const TEXT_SCALE = 58;           // and the value of each tile
const ROUTE_LINES = 24000;       // most tiles whose routes are drawn as lines
const STRETCH = 56;              // a thin fabric's rows or columns get up to so many pixels
const GRID_SCALE = 11;           // from here on lines separate tiles
const GAP = 26;                  // between a single row and its picture over time
const DX = [0, 0, 1, -1, 0], DY = [-1, 1, 0, 0, 0];     // by port

interface View { x: number; y: number; scale: number }  // tile at the corner, pixels per tile

export class FabricMap {
  readonly surface: Surface;
  private view: View = { x: 0, y: 0, scale: 1 };
  private slice: Slice | null = null;
  private links: (Slice | null)[] = [];
  private picture: HTMLCanvasElement | null = null;
  private overTime: HTMLCanvasElement | null = null;
  overTimeMost = 0;
  readonly routes: Routes;
  private routePictures = new Map<number, HTMLCanvasElement>();
  private ways: Way[] = [];
  private hovered = -1;
  private pointers = new Map<number, { x: number; y: number }>();
  private dragged = false;
  private fitted = false;
  private theme!: Theme;
  private asked = 0;
  readonly tip = element("div", { class: "tip", hidden: true });
  onslice: (slice: Slice) => void = () => {};

  constructor(private readonly state: State, private readonly slicer: Slicer,
              private readonly root: HTMLElement, private readonly say: (text: string) => void) {
    this.routes = new Routes(state.data);
    this.surface = new Surface({
      class: "map", tabindex: 0, role: "application",
      "aria-label": "Map of the fabric. Arrow keys choose a tile, plus and minus zoom, " +
        "0 shows the whole fabric.",
    }, () => this.paint(), () => this.resized());
    const canvas = this.surface.canvas;
    canvas.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    canvas.addEventListener("pointerdown", (e) => this.pointerDown(e));
    canvas.addEventListener("pointermove", (e) => this.pointerMove(e));
    canvas.addEventListener("pointerup", (e) => this.pointerUp(e));
    canvas.addEventListener("pointercancel", (e) => this.pointers.delete(e.pointerId));
    canvas.addEventListener("pointerleave", () => this.hover(-1));
    canvas.addEventListener("keydown", (e) => this.key(e));
    canvas.addEventListener("dblclick", (e) => this.zoomAt(2, e.offsetX, e.offsetY));
    state.listen((changed) => {
      if (changed.has("quantity") || changed.has("window")) void this.load();
      else if (changed.has("logarithmic")) {
        this.makePicture();
        void this.makeOverTime().then(() => this.surface.draw());
      }
      this.surface.draw();
    });
  }

  async start(): Promise<void> {
    await this.routes.load();
    await this.load();
  }

  setWays(ways: Way[]): void {
    this.ways = ways;
    this.surface.draw();
  }

  themeChanged(): void {
    this.routePictures.clear();
    this.makePicture();
    this.surface.draw();
  }

  // ---- data ----

  private async load(): Promise<void> {
    const asked = ++this.asked, { quantity, window } = this.state.chosen;
    const slice = await this.slicer.slice(quantity, window);
    const wantsLinks = quantity.id === "links";
    const links = wantsLinks ? await Promise.all(LINKS.map((name) =>
      this.slicer.slice(findQuantity(name), window, slice.level))) : [];
    if (asked !== this.asked) return;          // a later wish has come
    this.slice = slice;
    this.links = links;
    this.makePicture();
    await this.makeOverTime();
    this.onslice(slice);
    this.surface.draw();
  }

  // One pixel for each block.
  private makePicture(): void {
    const slice = this.slice;
    if (!slice) return;
    this.theme = themeColors(this.root);
    const { columns, rows } = slice.level;
    if (!this.picture || this.picture.width !== columns || this.picture.height !== rows)
      this.picture = element("canvas", { width: columns, height: rows });
    const context = this.picture.getContext("2d")!;
    const image = context.createImageData(columns, rows);
    const { quantity, logarithmic } = this.state.chosen;
    const colors = Array.from({ length: 256 }, (_, i) => heatColor(i / 255));
    for (let row = 0, at = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++, at += 4) {
        const value = valuePerTile(this.state.run, slice, quantity, column, row);
        if (value <= 0) continue;              // the ground shows
        const part = partOf(value, slice.most, logarithmic);
        const color = colors[Math.max(0, Math.min(255, Math.round(part * 255)))];
        image.data[at] = color[0];
        image.data[at + 1] = color[1];
        image.data[at + 2] = color[2];
        image.data[at + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
  }

  // ", counted in cycles 0 to 128", where that is not the time shown.
  get countedIn(): string {
    const { slice } = this;
    return slice && isWider(slice, this.state.chosen.window)
      ? `, counted in cycles ${format(slice.from)} to ${format(slice.to)}` : "";
  }

  // A single row has room below it: the same over time, a row of pixels for each step.
  get timeLevel(): Level | null {
    const level = this.state.run.levels[this.state.run.levels.length - 1];
    return this.state.run.height === 1 && level?.side === 1 && level.steps > 1 ? level : null;
  }

  private async makeOverTime(): Promise<void> {
    const level = this.timeLevel, { quantity, logarithmic } = this.state.chosen;
    if (!level) return;
    const values = await this.slicer.values(level, quantity);
    const steps = Math.min(level.steps, Math.ceil(this.state.run.cycles / level.step_cycles));
    this.overTimeMost = values.reduce((a, b) => Math.max(a, b), 0);
    const picture = element("canvas", { width: level.columns, height: Math.max(1, steps) });
    const context = picture.getContext("2d")!;
    const image = context.createImageData(picture.width, picture.height);
    for (let i = 0; i < level.columns * steps; i++) {
      if (!values[i]) continue;
      const color = heatColor(partOf(values[i], this.overTimeMost, logarithmic));
      image.data.set([...color, 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
    this.overTime = picture;
  }

  private get timeBox() {
    const top = this.py(1) + GAP;
    return { top, height: Math.max(1, this.surface.height - 8 - top) };
  }

  private paintOverTime(): void {
    const level = this.timeLevel, { context: c } = this.surface, run = this.state.run;
    if (!level || !this.overTime) return;
    const { top, height } = this.timeBox, wide = run.width * this.scaleX();
    c.fillStyle = this.theme.empty;
    c.fillRect(this.px(0), top, wide, height);
    c.imageSmoothingEnabled = false;
    c.drawImage(this.overTime, this.px(0), top, wide, height);
    const { from, to } = this.state.chosen.window, all = this.overTime.height * level.step_cycles;
    if (!this.state.isWhole) {
      c.strokeStyle = this.theme.accent;
      c.lineWidth = 2;
      c.strokeRect(this.px(0), top + from / all * height, wide,
                   Math.max(2, (to - from) / all * height));
    }
  }

  private paintTimeRuler(): void {
    const level = this.timeLevel, { context: c } = this.surface;
    if (!level || !this.overTime) return;
    const { top, height } = this.timeBox, all = this.overTime.height * level.step_cycles;
    c.textAlign = "right";
    for (const cycle of ticks(0, all, height / 50)) {
      const at = top + cycle / all * height;
      if (at > top + 6 && at < this.surface.height - 6)
        c.fillText(format(cycle), this.rulerEnd - 5, at);
    }
    c.textAlign = "left";
    c.fillText("over time: cycles downward", this.rulerEnd, top - 9);
  }

  // A click there chooses the tile and the step.
  private chooseInTime(px: number, py: number): boolean {
    const level = this.timeLevel, { top, height } = this.timeBox;
    const x = Math.floor(this.tileX(px));
    if (!level || !this.overTime || py < top || x < 0 || x >= this.state.run.width) return false;
    const step = Math.floor((py - top) / height * this.overTime.height) * level.step_cycles;
    this.state.set("window", { from: step,
                               to: Math.min(this.state.run.cycles, step + level.step_cycles) });
    this.choose(this.state.tileAt(x, 0));
    return true;
  }

  // ---- where things are ----

  private get inner() {
    return { width: this.surface.width - RULER.left - 6,
             height: this.surface.height - RULER.top - 6 };
  }
  private scaleX(scale = this.view.scale): number {
    const room = 0.5 * this.inner.width / this.state.run.width;
    return Math.max(scale, Math.min(STRETCH, room));
  }
  private scaleY(scale = this.view.scale): number {
    const room = 0.5 * this.inner.height / this.state.run.height;
    return Math.max(scale, Math.min(STRETCH, room));
  }
  // The ruler stands beside the map, also where the map is narrower than its room.
  private get rulerEnd(): number { return Math.max(RULER.left, this.px(0)); }
  private px(x: number): number { return RULER.left + (x - this.view.x) * this.scaleX(); }
  private py(y: number): number { return RULER.top + (y - this.view.y) * this.scaleY(); }
  private tileX(px: number): number { return this.view.x + (px - RULER.left) / this.scaleX(); }
  private tileY(py: number): number { return this.view.y + (py - RULER.top) / this.scaleY(); }

  private fitScale(): number {
    const { width, height } = this.inner, run = this.state.run;
    const both = Math.min(width / run.width, height / run.height);
    return Math.min(MOST_SCALE, both);
  }

  fit(): void {
    this.view.scale = this.fitScale();
    this.center(this.state.run.width / 2, this.state.run.height / 2);
    this.fitted = true;
  }

  private center(x: number, y: number): void {
    this.view.x = x - this.inner.width / this.scaleX() / 2;
    this.view.y = y - this.inner.height / this.scaleY() / 2;
    this.keepInside();
    this.surface.draw();
  }

  // Shows a tile, large enough to see it.
  show(tile: number): void {
    const x = this.state.x(tile), y = this.state.y(tile);
    this.view.scale = Math.max(this.view.scale, Math.min(24, MOST_SCALE));
    this.fitted = false;
    this.center(x + 0.5, y + 0.5);
  }

  private resized(): void {
    if (this.fitted || this.view.scale < this.fitScale()) this.fit();
    else if (this.view.x === 0 && this.view.scale === 1) this.fit();
    this.keepInside();
  }

  // At least a part of the fabric stays in sight; what fits is in the middle.
  private keepInside(): void {
    const run = this.state.run;
    const keep = (at: number, size: number, room: number): number =>
      size <= room ? (size - room) / 2
        : Math.max(-room * 0.25, Math.min(at, size - room * 0.75));
    this.view.x = keep(this.view.x, run.width, this.inner.width / this.scaleX());
    this.view.y = this.timeLevel ? -4 / this.scaleY()
      : keep(this.view.y, run.height, this.inner.height / this.scaleY());
  }

  zoom(factor: number): void {
    this.zoomAt(factor, RULER.left + this.inner.width / 2, RULER.top + this.inner.height / 2);
  }

  private zoomAt(factor: number, px: number, py: number): void {
    const x = this.tileX(px), y = this.tileY(py);
    const least = this.fitScale();
    this.view.scale = Math.max(least, Math.min(MOST_SCALE, this.view.scale * factor));
    this.fitted = this.view.scale === least;
    this.view.x = x - (px - RULER.left) / this.scaleX();
    this.view.y = y - (py - RULER.top) / this.scaleY();
    this.keepInside();
    this.surface.draw();
  }

  private pan(dx: number, dy: number): void {
    this.view.x -= dx / this.scaleX();
    this.view.y -= dy / this.scaleY();
    this.keepInside();
    this.surface.draw();
  }

  private tileUnder(px: number, py: number): number {
    const x = Math.floor(this.tileX(px)), y = Math.floor(this.tileY(py)), run = this.state.run;
    return x >= 0 && y >= 0 && x < run.width && y < run.height ? this.state.tileAt(x, y) : -1;
  }

  // ---- pointers and keys ----

  private wheel(e: WheelEvent): void {
    e.preventDefault();
    this.zoomAt(Math.exp(-e.deltaY * (e.ctrlKey ? 0.01 : 0.0016)), e.offsetX, e.offsetY);
  }

  private pointerDown(e: PointerEvent): void {
    this.surface.canvas.setPointerCapture(e.pointerId);
    this.pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    this.dragged = this.pointers.size > 1;
  }

  private pointerMove(e: PointerEvent): void {
    const before = this.pointers.get(e.pointerId), at = { x: e.offsetX, y: e.offsetY };
    if (!before) {
      this.hover(this.tileUnder(at.x, at.y), at);
      return;
    }
    if (this.pointers.size === 2) this.pinch(e.pointerId, at);
    else if (this.dragged || Math.hypot(at.x - before.x, at.y - before.y) > 3) {
      this.dragged = true;
      this.hover(-1);
      this.pan(at.x - before.x, at.y - before.y);
    } else return;
    this.pointers.set(e.pointerId, at);
  }

  private pinch(id: number, at: { x: number; y: number }): void {
    const other = [...this.pointers].find(([key]) => key !== id)![1];
    const before = this.pointers.get(id)!;
    const far = Math.hypot(before.x - other.x, before.y - other.y);
    const now = Math.hypot(at.x - other.x, at.y - other.y);
    if (far > 0) this.zoomAt(now / far, (at.x + other.x) / 2, (at.y + other.y) / 2);
    this.pan((at.x - before.x) / 2, (at.y - before.y) / 2);
  }

  private pointerUp(e: PointerEvent): void {
    this.pointers.delete(e.pointerId);
    const tile = this.tileUnder(e.offsetX, e.offsetY);
    if (this.dragged) return;
    if (tile >= 0) this.choose(tile);
    else this.chooseInTime(e.offsetX, e.offsetY);
  }

  private choose(tile: number): void {
    this.state.set("tile", tile);
    this.say(this.describe(tile));
  }

  describe(tile: number): string {
    const slice = this.slice, { quantity } = this.state.chosen;
    if (!slice) return this.state.tileName(tile);
    const { side } = slice.level;
    const column = Math.floor(this.state.x(tile) / side);
    const row = Math.floor(this.state.y(tile) / side);
    const value = valuePerTile(this.state.run, slice, quantity, column, row);
    const where = side > 1 ? ` (${quantity.combine === "MOST" ? "most" : "mean"} of ${side} × ` +
      `${side} tiles)` : "";
    return `${this.state.tileName(tile)}: ${quantity.label.toLowerCase()} ${format(value)} ` +
      `${quantity.unit}${where}, cycles ${format(slice.from)} to ${format(slice.to)}`;
  }

  private hover(tile: number, at?: { x: number; y: number }): void {
    this.tip.hidden = tile < 0;
    if (tile >= 0 && at) {
      this.tip.textContent = this.describe(tile);
      const right = at.x > this.surface.width / 2;
      this.tip.style.left = right ? "auto" : `${at.x + 14}px`;
      this.tip.style.right = right ? `${this.surface.width - at.x + 14}px` : "auto";
      this.tip.style.top = `${Math.min(at.y + 14, this.surface.height - 60)}px`;
    }
    if (tile === this.hovered) return;
    this.hovered = tile;
    this.surface.draw();
  }

  private key(e: KeyboardEvent): void {
    const move: Record<string, [number, number]> =
      { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = move[e.key];
    if (step && e.shiftKey) this.pan(-step[0] * 80, -step[1] * 80);
    else if (step) this.step(step[0], step[1]);
    else if (e.key === "+" || e.key === "=") this.zoom(1.5);
    else if (e.key === "-") this.zoom(1 / 1.5);
    else if (e.key === "0") this.fit();
    else if (e.key === "Enter") this.show(this.state.chosen.tile);
    else return;
    e.preventDefault();
  }

  private step(dx: number, dy: number): void {
    const run = this.state.run;
    const x = Math.max(0, Math.min(run.width - 1, this.state.x() + dx));
    const y = Math.max(0, Math.min(run.height - 1, this.state.y() + dy));
    this.choose(this.state.tileAt(x, y));
    const px = this.px(x), py = this.py(y);
    if (px < RULER.left || py < RULER.top || px > this.surface.width - this.scaleX() ||
        py > this.surface.height - this.scaleY()) this.center(x + 0.5, y + 0.5);
  }

  // ---- painting ----

  private visible() {
    const run = this.state.run;
    return { left: Math.max(0, Math.floor(this.tileX(RULER.left))),
             top: Math.max(0, Math.floor(this.tileY(RULER.top))),
             right: Math.min(run.width, Math.ceil(this.tileX(this.surface.width))),
             bottom: Math.min(run.height, Math.ceil(this.tileY(this.surface.height))) };
  }

  private paint(): void {
    const { context: c, width, height } = this.surface;
    this.theme = themeColors(this.root);
    c.save();
    c.beginPath();
    c.rect(RULER.left, RULER.top, width - RULER.left, height - RULER.top);
    c.clip();
    this.paintHeat();
    this.paintOverTime();
    this.paintGrid();
    this.paintLinks();
    this.paintValues();
    const colors = [...this.state.chosen.colors].sort((a, b) => a - b);
    colors.forEach((color, i) => this.paintRoutes(color, i - (colors.length - 1) / 2, colors.length));
    if (this.state.chosen.showHot) this.paintHotLinks();
    this.paintDots();
    if (this.state.chosen.way) this.paintWay(this.state.chosen.way);
    if (this.state.chosen.showFindings) this.paintFindings();
    this.paintChosen();
    c.restore();
    this.paintRulers();
  }

  private paintHeat(): void {
    const { context: c } = this.surface, run = this.state.run;
    const left = this.px(0), top = this.py(0);
    const wide = run.width * this.scaleX(), high = run.height * this.scaleY();
    c.fillStyle = this.theme.empty;
    c.fillRect(left, top, wide, high);
    if (!this.picture || !this.slice) return;
    const { side, columns, rows } = this.slice.level;
    c.save();
    c.beginPath();
    c.rect(left, top, wide, high);
    c.clip();
    c.imageSmoothingEnabled = this.scaleX() * side < 1;
    c.drawImage(this.picture, left, top, columns * side * this.scaleX(),
                rows * side * this.scaleY());
    c.restore();
  }

  private paintGrid(): void {
    const { context: c } = this.surface, run = this.state.run, see = this.visible();
    c.strokeStyle = this.theme.line;
    c.lineWidth = 1;
    c.beginPath();
    if (this.scaleX() >= GRID_SCALE)
      for (let x = see.left; x <= see.right; x++) {
        const at = Math.round(this.px(x)) + 0.5;
        c.moveTo(at, this.py(see.top));
        c.lineTo(at, this.py(see.bottom));
      }
    if (this.scaleY() >= GRID_SCALE)
      for (let y = see.top; y <= see.bottom; y++) {
        const at = Math.round(this.py(y)) + 0.5;
        c.moveTo(this.px(see.left), at);
        c.lineTo(this.px(see.right), at);
      }
    c.rect(Math.round(this.px(0)) + 0.5, Math.round(this.py(0)) + 0.5,
           Math.round(run.width * this.scaleX()), Math.round(run.height * this.scaleY()));
    c.stroke();
  }

  // Traffic of each link as a wedge over the border that it crosses.
  private paintLinks(): void {
    const slice = this.slice;
    if (this.state.chosen.quantity.id !== "links" || this.scaleX() < LINK_SCALE || !slice ||
        slice.level.side !== 1) return;
    const { context: c } = this.surface, see = this.visible();
    const most = Math.max(1, ...this.links.map((l) => l?.most ?? 0));
    for (let y = see.top; y < see.bottom; y++)
      for (let x = see.left; x < see.right; x++)
        for (let port = 0; port < 4; port++) {
          const value = this.links[port]?.values[y * slice.level.columns + x] ?? 0;
          if (value) this.paintWedge(c, x, y, port, value / most);
        }
  }

  private paintWedge(c: CanvasRenderingContext2D, x: number, y: number, port: number,
                     part: number): void {
    const size = Math.min(this.scaleX(), this.scaleY()), side = DX[port] ? DY : DX;
    // Opposite directions keep to their right.
    const shift = 0.16 * size * (port === 1 || port === 2 ? 1 : -1);
    const cx = this.px(x + 0.5) + (DX[port] ? 0 : shift);
    const cy = this.py(y + 0.5) + (DY[port] ? 0 : shift);
    const ex = cx + DX[port] * this.scaleX() * 0.48, ey = cy + DY[port] * this.scaleY() * 0.48;
    const half = Math.max(1, 0.13 * size * part), along = side === DY ? 0 : 1;
    c.fillStyle = this.theme.ink;
    c.strokeStyle = this.theme.ground;
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(cx + along * half, cy + (1 - along) * half);
    c.lineTo(cx - along * half, cy - (1 - along) * half);
    c.lineTo(ex, ey);
    c.closePath();
    c.fill();
    c.stroke();
  }

  private paintValues(): void {
    const slice = this.slice;
    if (!slice || slice.level.side !== 1 || this.scaleX() < TEXT_SCALE || this.scaleY() < 24)
      return;
    const { context: c } = this.surface, see = this.visible();
    const { quantity, logarithmic } = this.state.chosen;
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "center";
    c.textBaseline = "bottom";
    for (let y = see.top; y < see.bottom; y++)
      for (let x = see.left; x < see.right; x++) {
        const value = valuePerTile(this.state.run, slice, quantity, x, y);
        const part = partOf(value, slice.most, logarithmic);
        c.fillStyle = value <= 0 ? this.theme.faint : part > 0.55 ? "#111" : "#fff";
        c.fillText(format(value), this.px(x + 0.5), this.py(y + 1) - 3);
      }
  }

  // Blocks with the highest values, by the tile in their corner.
  top(count: number): { tile: number; value: number }[] {
    const slice = this.slice, run = this.state.run, found: { tile: number; value: number }[] = [];
    if (!slice) return found;
    const { columns, rows, side } = slice.level;
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) {
        const value = valuePerTile(run, slice, this.state.chosen.quantity, column, row);
        if (value <= 0 || (found.length === count && value <= found[count - 1].value)) continue;
        found.push({ tile: this.state.tileAt(column * side, row * side), value });
        found.sort((a, b) => b.value - a.value);
        found.length = Math.min(found.length, count);
      }
    return found;
  }

  get total(): number { return this.slice?.total ?? 0; }
  get most(): number { return this.slice?.most ?? 0; }

  // ---- routes ----

  // The `place` of a line among `count` that lie side by side counts from the middle.
  private paintRoutes(color: number, place: number, count: number): void {
    const see = this.visible();
    if ((see.right - see.left) * (see.bottom - see.top) > ROUTE_LINES ||
        Math.min(this.scaleX(), this.scaleY()) < 4) {
      this.paintRoutePicture(color);
      return;
    }
    const { context: c } = this.surface;
    const side = Math.min(this.scaleX(), this.scaleY());
    const shift = place * Math.min(4, side / 10, side / (count + 5));
    for (const inUse of [false, true]) {        // on top
      c.beginPath();
      for (let y = see.top; y < see.bottom; y++)
        for (let x = see.left; x < see.right; x++)
          for (const route of this.routes.of(this.state.tileAt(x, y), this.state.routeCycle, color))
            if (route.now === inUse)
              for (const [from, to] of connections(route))
                this.addConnection(c, x, y, from, to, shift);
      this.strokeLine(c, color, inUse);
    }
  }

  private addConnection(c: CanvasRenderingContext2D, x: number, y: number, from: number,
                        to: number, shift: number): void {
    // across the way to the ramp
    const cx = this.px(x + 0.5) + shift, cy = this.py(y + 0.5) - shift;
    const sx = this.scaleX(), sy = this.scaleY(), ramp = Math.min(sx, sy) * 0.22;
    const end = (port: number): [number, number] => port === 4 ? [cx + ramp, cy + ramp]
      : [cx + DX[port] * sx / 2, cy + DY[port] * sy / 2];
    c.moveTo(...end(from));
    c.lineTo(cx, cy);
    c.lineTo(...end(to));
    if (Math.min(sx, sy) >= LINK_SCALE) this.addHead(c, [cx, cy], end(to));
  }

  private addHead(c: CanvasRenderingContext2D, from: [number, number], to: [number, number]): void {
    const angle = Math.atan2(to[1] - from[1], to[0] - from[0]), size = 5;
    const x = to[0] - Math.cos(angle) * 2, y = to[1] - Math.sin(angle) * 2;
    for (const turn of [2.6, -2.6]) {
      c.moveTo(x, y);
      c.lineTo(x + size * Math.cos(angle + turn), y + size * Math.sin(angle + turn));
    }
  }

  private strokeLine(c: CanvasRenderingContext2D, color: number, inUse: boolean): void {
    c.lineJoin = "round";
    c.setLineDash([]);
    c.strokeStyle = this.theme.ground;
    c.lineWidth = 4;
    c.globalAlpha = inUse ? 0.9 : 0.5;
    c.stroke();
    c.globalAlpha = 1;
    c.setLineDash(routeDash(color));
    c.strokeStyle = routeColor(color, this.theme.dark);
    c.lineWidth = inUse ? 2.5 : 1;
    c.stroke();
    c.setLineDash([]);
  }

  // From afar: a pixel for each tile with a route of the color.
  private paintRoutePicture(color: number): void {
    const { context: c } = this.surface, run = this.state.run;
    let picture = this.routePictures.get(color);
    if (!picture) {
      picture = this.makeRoutePicture(color);
      this.routePictures.set(color, picture);
    }
    c.imageSmoothingEnabled = this.scaleX() < 1;
    c.drawImage(picture, this.px(0), this.py(0), run.width * this.scaleX(),
                run.height * this.scaleY());
  }

  private makeRoutePicture(color: number): HTMLCanvasElement {
    const run = this.state.run;
    const picture = element("canvas", { width: run.width, height: run.height });
    const context = picture.getContext("2d")!;
    const image = context.createImageData(run.width, run.height);
    const hex = parseInt(routeColor(color, this.theme.dark).slice(1), 16);
    for (let t = 0; t < run.width * run.height; t++) {
      if (!this.routes.has(t, color)) continue;
      image.data[4 * t] = hex >> 16;
      image.data[4 * t + 1] = hex >> 8 & 255;
      image.data[4 * t + 2] = hex & 255;
      image.data[4 * t + 3] = 170;
    }
    context.putImageData(image, 0, 0);
    return picture;
  }

  // ---- wavelets ----

  private paintWay(way: Way): void {
    const { context: c } = this.surface, now = this.state.isWhole ? Infinity
      : this.state.chosen.window.to;
    c.beginPath();
    for (const step of way.steps) {
      if (step.kind !== StepKind.Moved || step.cycle > now) continue;
      const x = this.state.x(step.tile) + 0.5, y = this.state.y(step.tile) + 0.5;
      for (let port = 0; port < 4; port++)
        if (step.to >> port & 1) {
          c.moveTo(this.px(x), this.py(y));
          c.lineTo(this.px(x + DX[port]), this.py(y + DY[port]));
          if (this.scaleX() >= LINK_SCALE)
            this.addHead(c, [this.px(x), this.py(y)],
                         [this.px(x + DX[port] * 0.8), this.py(y + DY[port] * 0.8)]);
        }
    }
    this.strokeHalo(c, this.theme.accent, 3);
    for (const step of way.steps)
      if (step.cycle <= now && (step.kind === StepKind.Sent || step.kind === StepKind.Taken))
        this.paintDot(this.state.x(step.tile) + 0.5, this.state.y(step.tile) + 0.5, 5,
                      step.kind === StepKind.Sent);
  }

  private strokeHalo(c: CanvasRenderingContext2D, color: string, width: number): void {
    c.lineCap = "round";
    c.strokeStyle = this.theme.ground;
    c.lineWidth = width + 3;
    c.stroke();
    c.strokeStyle = color;
    c.lineWidth = width;
    c.stroke();
    c.lineCap = "butt";
  }

  private paintDot(x: number, y: number, radius: number, hollow: boolean): void {
    const { context: c } = this.surface;
    c.beginPath();
    c.arc(this.px(x), this.py(y), radius, 0, 2 * Math.PI);
    c.fillStyle = hollow ? this.theme.ground : this.theme.accent;
    c.strokeStyle = hollow ? this.theme.accent : this.theme.ground;
    c.lineWidth = hollow ? 2.5 : 1.5;
    c.fill();
    c.stroke();
  }

  // Each recorded wavelet where it is at the end of the chosen time.
  private paintDots(): void {
    if (!this.state.chosen.showWays || this.state.isWhole) return;
    const now = this.state.chosen.window.to - 1;
    for (const way of this.ways) {
      const first = way.steps[0].cycle, last = way.steps[way.steps.length - 1].cycle;
      if (first > now || last < now) continue;
      for (const at of placesAt(way, now, this.state)) this.paintDot(at.x, at.y, 3, false);
    }
  }

  // ---- findings ----

  private paintHotLinks(): void {
    const { context: c } = this.surface;
    for (const link of this.hot) {
      const x = link.x + 0.5, y = link.y + 0.5;
      c.beginPath();
      c.moveTo(this.px(x), this.py(y));
      c.lineTo(this.px(x + DX[link.port]), this.py(y + DY[link.port]));
      this.addHead(c, [this.px(x), this.py(y)],
                   [this.px(x + DX[link.port]), this.py(y + DY[link.port])]);
      this.strokeHalo(c, this.theme.alarm, 3);
    }
  }
  hot: HotLink[] = [];

  private paintFindings(): void {
    const { context: c } = this.surface, run = this.state.run;
    (run.chains ?? []).forEach((chain, i) => {
      if (this.state.chosen.chain >= 0 && this.state.chosen.chain !== i) return;
      c.beginPath();
      for (let j = 1; j < chain.length; j++) {
        const a = chain[j - 1], b = chain[j];
        if (a.x === b.x && a.y === b.y) continue;
        const from: [number, number] = [this.px(a.x + 0.5), this.py(a.y + 0.5)];
        const to: [number, number] = [this.px(b.x + 0.5), this.py(b.y + 0.5)];
        c.moveTo(...from);
        c.lineTo(...to);
        this.addHead(c, from, to);
      }
      this.strokeHalo(c, this.theme.alarm, 2.5);
      const root = chain[chain.length - 1];
      chain.forEach((w) => this.paintMark(w.x, w.y, w === root ? "!" : ""));
    });
    for (const finding of run.findings) this.paintMark(finding.x, finding.y, "✕");
  }

  private paintMark(x: number, y: number, text: string): void {
    const { context: c } = this.surface, px = this.px(x + 0.5), py = this.py(y + 0.5);
    c.beginPath();
    c.arc(px, py, text ? 8 : 4, 0, 2 * Math.PI);
    c.fillStyle = this.theme.alarm;
    c.strokeStyle = this.theme.ground;
    c.lineWidth = 2;
    c.fill();
    c.stroke();
    c.fillStyle = this.theme.ground;
    c.font = "bold 11px system-ui, sans-serif";
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillText(text, px, py + 0.5);
  }

  private paintChosen(): void {
    const { context: c } = this.surface;
    const frame = (tile: number, color: string, width: number): void => {
      const x = this.px(this.state.x(tile)), y = this.py(this.state.y(tile));
      const wide = Math.max(4, this.scaleX()), high = Math.max(4, this.scaleY());
      c.lineWidth = width + 2;
      c.strokeStyle = this.theme.ground;
      c.strokeRect(x, y, wide, high);
      c.lineWidth = width;
      c.strokeStyle = color;
      c.strokeRect(x, y, wide, high);
    };
    if (this.hovered >= 0) frame(this.hovered, this.theme.ink, 1);
    frame(this.state.chosen.tile, this.theme.accent, 2.5);
  }

  private paintRulers(): void {
    const { context: c, width, height } = this.surface, see = this.visible();
    c.fillStyle = this.theme.faint;
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    c.textAlign = "center";
    for (const x of ticks(see.left, see.right - 1, Math.max(2, width / 90))) {
      const at = this.px(x + 0.5);
      if (at > RULER.left && at < width - 4) c.fillText(format(x), at, 9);
    }
    c.textAlign = "right";
    for (const y of ticks(see.top, see.bottom - 1, Math.max(2, height / 40))) {
      const at = this.py(y + 0.5);
      if (at > RULER.top && at < height - 4) c.fillText(format(y), this.rulerEnd - 6, at);
    }
    c.fillText("y \\ x", this.rulerEnd - 14, 9);
    this.paintTimeRuler();
  }
}

export interface HotLink { x: number; y: number; port: number; wavelets: number }
// `slice`: the cycles that the wavelets were counted in.
export interface HotLinks { links: HotLink[]; slice: Slice | null }

// The links with the most traffic of the chosen time.
export async function hottestLinks(state: State, slicer: Slicer, window: TimeWindow,
                                   count: number): Promise<HotLinks> {
  const levels = state.run.levels, finest = levels[levels.length - 1];
  const hot: HotLink[] = [];
  let slice: Slice | null = null;
  if (!finest || finest.side !== 1) return { links: hot, slice };
  for (let port = 0; port < 4; port++) {
    slice = await slicer.slice(findQuantity(PORTS[port]), window, finest);
    for (let i = 0; i < slice.values.length; i++) {
      const wavelets = slice.values[i];
      if (!wavelets || (hot.length === count && wavelets <= hot[count - 1].wavelets)) continue;
      hot.push({ x: i % finest.columns, y: Math.floor(i / finest.columns), port, wavelets });
      hot.sort((a, b) => b.wavelets - a.wavelets);
      hot.length = Math.min(hot.length, count);
    }
  }
  return { links: hot, slice };
}

// The places of a wavelet's copies in a cycle, in tiles.
export function placesAt(way: Way, cycle: number, state: State): { x: number; y: number }[] {
  const places = new Map<number, { x: number; y: number }>();
  for (const step of way.steps) {
    if (step.cycle > cycle) break;
    const x = state.x(step.tile) + 0.5, y = state.y(step.tile) + 0.5;
    if (step.kind === StepKind.Taken || step.kind === StepKind.ToHost) places.delete(step.tile);
    else if (step.kind !== StepKind.Moved) places.set(step.tile, { x, y });
    else {
      places.delete(step.tile);
      if (step.to >> 4 & 1) places.set(step.tile, { x, y });
      for (let port = 0; port < 4; port++)
        if (step.to >> port & 1) {
          const next = state.tileAt(x - 0.5 + DX[port], y - 0.5 + DY[port]);
          places.set(next, { x: x + DX[port], y: y + DY[port] });
        }
    }
  }
  return [...places.values()];
}
