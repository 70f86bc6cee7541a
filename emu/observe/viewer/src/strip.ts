// The run over time: a chart of the whole fabric, the slider, and playback.
import { Slicer, findQuantity } from "./data";
import { Surface, element, themeColors } from "./dom";
import { counted, cyclesEach, format, lineColor, ticks } from "./scale";
import type { State } from "./state";

const MARGIN = { left: 46, top: 6, right: 48, bottom: 20 };
const SERIES = [["activity", "instructions and groups"], ["links", "wavelets over links"],
                ["waits", "cycles waited (right scale)"]];
const LINE_DASHES = [[], [6, 3], [2, 3]];  // beside the colors
const WAITS = 2;                           // has a scale of its own
const FRAME_MS = [500, 250, 120, 60];
const LENGTHS = [1, 4, 16, 64];           // of the window, in steps

export class TimeStrip {
  readonly box = element("section", { class: "strip", "aria-label": "Time" });
  private values: Float64Array[] = [];
  private chart: Surface;
  private legend = element("ul", { class: "legend" });
  private grip: { from: number; to: number } | null = null;    // pixels that are being chosen
  private pointed = -1;                                        // step under the pointer
  private slider = element("input", { type: "range", min: 0, value: 0, class: "slider",
                                      "aria-label": "Time, in cycles" });
  private length = element("select", { "aria-label": "Length of the time shown" });
  private ownLength = element("option", { hidden: true });     // of a time chosen in the chart
  private speed = element("select", { "aria-label": "Speed of playback" });
  private playButton = element("button", { class: "play", "aria-pressed": "false" }, "▶ Play");
  private shown = element("output", { class: "shown" });
  private timer = 0;
  private step: number;

  constructor(private readonly state: State, private readonly slicer: Slicer,
              private readonly root: HTMLElement, private readonly say: (text: string) => void) {
    this.step = state.run.levels[0]?.step_cycles ?? 1;
    this.chart = new Surface({ class: "chart", role: "img" }, () => this.paint());
    this.listenToPointer(this.chart.canvas);
    this.makeControls();
    state.listen((changed) => {
      if (changed.has("window")) this.showWindow();
    });
  }

  private get steps(): number { return Math.max(1, Math.ceil(this.state.run.cycles / this.step)); }

  private makeControls(): void {
    this.length.append(element("option", { value: 0 }, "whole run"), ...LENGTHS
      .filter((n) => n < this.steps)
      .map((n) => element("option", { value: n }, counted(n * this.step, "cycle"))),
      this.ownLength);
    this.speed.append(...["slow", "normal", "fast", "fastest"].map((name, i) =>
      element("option", { value: i, selected: i === 1 }, name)));
    this.slider.max = String(this.steps - 1);
    this.slider.addEventListener("input", () => this.goTo(Number(this.slider.value)));
    this.length.addEventListener("change", () => this.goTo(Number(this.slider.value)));
    this.playButton.addEventListener("click", () => this.toggle());
    const button = (label: string, name: string, act: () => void) =>
      element("button", { "aria-label": name, title: name, onclick: act }, label);
    this.box.append(
      this.chart.canvas, this.legend,
      element("div", { class: "controls" },
        this.playButton,
        button("◀", "One step back", () => this.move(-1)),
        button("▶", "One step forward", () => this.move(1)),
        this.slider,
        element("label", {}, "show ", this.length),
        element("label", {}, "speed ", this.speed),
        this.shown));
    this.showWindow();
  }

  async start(): Promise<void> {
    for (const [id] of SERIES)
      this.values.push((await this.slicer.overTime(findQuantity(id))).values.slice(0, this.steps));
    const totals = this.values.map((v, i) =>
      `${format(v.reduce((a, b) => a + b, 0))} ${SERIES[i][1]}`);
    this.chart.canvas.setAttribute("aria-label", `Over time, of all tiles, in steps of ` +
      `${format(this.step)} cycles: ${totals.join(", ")}.`);
    this.themeChanged();
  }

  themeChanged(): void {
    this.showLegend();
    this.chart.draw();
  }

  private showLegend(): void {
    const { dark } = themeColors(this.root), at = this.pointed;
    const values = (i: number) => at < 0 ? "" : `: ${format(this.values[i]?.[at] ?? 0)}`;
    this.legend.replaceChildren(...SERIES.map(([, label], i) => element("li", {},
      element("span", { class: "dash", style: "border-top:2.5px " +
        `${["solid", "dashed", "dotted"][i]} ${lineColor(i, dark)}` }),
      label + values(i))),
      element("li", { class: "faint" }, at < 0
        ? `per ${cyclesEach(this.step)}, all tiles; drag to choose a time`
        : `cycles ${format(at * this.step)} to ${format((at + 1) * this.step)}`));
  }

  // ---- the chart ----

  private get inner() {
    return { width: Math.max(1, this.chart.width - MARGIN.left - MARGIN.right),
             height: Math.max(1, this.chart.height - MARGIN.top - MARGIN.bottom) };
  }
  private px(cycle: number): number {
    return MARGIN.left + cycle / Math.max(1, this.steps * this.step) * this.inner.width;
  }
  private stepAt(px: number): number {
    const part = (px - MARGIN.left) / this.inner.width;
    return Math.max(0, Math.min(this.steps - 1, Math.floor(part * this.steps)));
  }

  private listenToPointer(canvas: HTMLCanvasElement): void {
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      this.grip = { from: e.offsetX, to: e.offsetX };
    });
    canvas.addEventListener("pointermove", (e) => {
      this.pointed = this.stepAt(e.offsetX);
      if (this.grip) this.grip.to = e.offsetX;
      this.showLegend();
      this.chart.draw();
    });
    canvas.addEventListener("pointerup", () => this.choose());
    canvas.addEventListener("pointerleave", () => {
      this.pointed = -1;
      this.showLegend();
      this.chart.draw();
    });
    canvas.addEventListener("dblclick", () => this.whole());
  }

  // A drag chooses a time, a click the step under it.
  private choose(): void {
    if (!this.grip) return;
    const first = this.stepAt(Math.min(this.grip.from, this.grip.to));
    const last = this.stepAt(Math.max(this.grip.from, this.grip.to));
    this.grip = null;
    this.setSteps(first, last - first + 1);
  }

  private paint(): void {
    const { context: c } = this.chart, theme = themeColors(this.root);
    const tops = this.values.map((v) => v.reduce((a, b) => Math.max(a, b), 0));
    const most = Math.max(1, ...tops.slice(0, WAITS)), waits = Math.max(1, tops[WAITS] ?? 0);
    const { width, height } = this.inner, bottom = MARGIN.top + height;
    c.font = "11px system-ui, sans-serif";
    this.paintAxes(c, most, bottom, theme.line, theme.faint);
    this.paintWaitAxis(c, waits, bottom, lineColor(WAITS, theme.dark));
    const band = (left: number, right: number): void => {
      c.globalAlpha = 0.25;
      c.fillStyle = theme.accent;
      c.fillRect(left, MARGIN.top, Math.max(2, right - left), height);
      c.globalAlpha = 1;
    };
    const { from, to } = this.state.chosen.window;
    if (!this.state.isWhole) band(this.px(from), this.px(to));
    if (this.grip)
      band(Math.min(this.grip.from, this.grip.to), Math.max(this.grip.from, this.grip.to));
    this.values.forEach((values, i) => {
      c.beginPath();
      for (let t = 0; t < this.steps; t++) {
        const y = bottom - values[t] / (i === WAITS ? waits : most) * height;
        c.lineTo(MARGIN.left + t / this.steps * width, y);
        c.lineTo(MARGIN.left + (t + 1) / this.steps * width, y);
      }
      c.strokeStyle = lineColor(i, theme.dark);
      c.setLineDash(LINE_DASHES[i]);
      c.lineWidth = 1.6;
      c.stroke();
      c.setLineDash([]);
    });
  }

  // On the right: there are mostly many more of them.
  private paintWaitAxis(c: CanvasRenderingContext2D, most: number, bottom: number,
                        color: string): void {
    c.fillStyle = color;
    c.textAlign = "left";
    for (const value of ticks(0, most, 3))
      c.fillText(compact(value), this.chart.width - MARGIN.right + 6,
                 Math.max(8, bottom - value / most * this.inner.height));
  }

  private paintAxes(c: CanvasRenderingContext2D, most: number, bottom: number, line: string,
                    faint: string): void {
    const { width, height } = this.inner;
    c.strokeStyle = line;
    c.fillStyle = faint;
    c.lineWidth = 1;
    c.beginPath();
    c.textBaseline = "middle";
    c.textAlign = "right";
    for (const value of ticks(0, most, 3)) {
      const y = Math.round(bottom - value / most * height) + 0.5;
      c.moveTo(MARGIN.left, y);
      c.lineTo(MARGIN.left + width, y);
      c.fillText(compact(value), MARGIN.left - 6, Math.max(8, y));
    }
    c.textAlign = "center";
    for (const cycle of ticks(0, this.steps * this.step, width / 90)) {
      const x = Math.round(this.px(cycle)) + 0.5;
      c.moveTo(x, bottom);
      c.lineTo(x, bottom + 4);
      c.fillText(format(cycle), Math.min(x, this.chart.width - 20), bottom + 13);
    }
    c.stroke();
    c.textAlign = "left";
    c.fillText("cycle", 2, bottom + 13);
  }

  // ---- the window ----

  private setSteps(first: number, count: number): void {
    const from = Math.max(0, Math.min(first, this.steps - 1));
    this.state.set("window", { from: from * this.step,
                               to: Math.min(this.state.run.cycles, (from + count) * this.step) });
  }

  private goTo(step: number): void {
    const count = Number(this.length.value);
    if (count) this.setSteps(step, count);
    else this.state.set("window", { from: 0, to: this.state.run.cycles });
  }

  move(direction: number): void {
    if (this.state.isWhole && LENGTHS[0] < this.steps) this.length.value = String(LENGTHS[0]);
    const count = Number(this.length.value) || 1, at = Number(this.slider.value);
    const next = at + direction * count;
    this.goTo(next < 0 ? 0 : next >= this.steps ? (direction > 0 ? 0 : this.steps - 1) : next);
  }

  whole(): void {
    this.length.value = "0";
    this.goTo(0);
  }

  // The choice of lengths shows that of a window that was chosen elsewhere.  At the end of the run the
  // window may be shorter than the choice.
  private showLength(): void {
    const { from, to } = this.state.chosen.window, first = Math.floor(from / this.step);
    const count = Math.ceil(to / this.step) - first, chosen = Number(this.length.value);
    if (this.state.isWhole) this.length.value = "0";
    else if (!chosen || Math.min(chosen, this.steps - first) !== count) {
      if (!LENGTHS.includes(count)) {
        this.ownLength.value = String(count);
        this.ownLength.textContent = counted(count * this.step, "cycle");
        this.ownLength.hidden = false;
      }
      this.length.value = String(count);
    }
  }

  private showWindow(): void {
    const { from, to } = this.state.chosen.window;
    this.showLength();
    this.slider.value = String(Math.floor(from / this.step));
    const text = this.state.isWhole ? `whole run, ${counted(this.state.run.cycles, "cycle")}`
      : `cycles ${format(from)} to ${format(to)}`;
    this.shown.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
    this.chart.draw();
  }

  // ---- playback ----

  toggle(): void {
    if (this.timer) this.stop();
    else this.play();
    this.say(this.timer ? "Playing" : "Stopped");
  }

  private play(): void {
    this.playButton.textContent = "❚❚ Pause";
    this.playButton.setAttribute("aria-pressed", "true");
    const next = () => {
      this.move(1);
      this.timer = window.setTimeout(next, FRAME_MS[Number(this.speed.value)]);
    };
    next();
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.timer = 0;
    this.playButton.textContent = "▶ Play";
    this.playButton.setAttribute("aria-pressed", "false");
  }

  close(): void {
    this.stop();
    this.chart.close();
  }
}

const compact = (value: number): string =>
  value.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });
