// Numbers and colors: scales, ticks, formats.

export const format = (value: number): string =>
  Number.isInteger(value) ? value.toLocaleString("en")
    : value.toLocaleString("en", { maximumSignificantDigits: 4 });

// A number and its sign stay on one line.
export const percent = (part: number, whole: number): string =>
  (whole ? (100 * part / whole).toLocaleString("en", { maximumFractionDigits: 1 }) : "0") + "\u00a0%";

// What stands behind "per".
export const cyclesEach = (count: number): string =>
  count === 1 ? "cycle" : `${format(count)} cycles`;

// Cividis, by Nuñez, Anderton and Renslow: the same order of lightness for every kind of sight.
const CIVIDIS = [
  [0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115], [138, 134, 120],
  [165, 156, 116], [195, 179, 105], [225, 204, 85], [254, 232, 56],
];

export function heatColor(part: number): [number, number, number] {
  const at = Math.max(0, Math.min(1, part)) * (CIVIDIS.length - 1);
  const low = Math.min(CIVIDIS.length - 2, Math.floor(at)), rest = at - low;
  return [0, 1, 2].map((i) =>
    Math.round(CIVIDIS[low][i] * (1 - rest) + CIVIDIS[low + 1][i] * rest)) as
    [number, number, number];
}

export const heatGradient = (): string => "linear-gradient(to right," +
  Array.from({ length: 11 }, (_, i) => `rgb(${heatColor(i / 10).join(" ")})`).join(",") + ")";

// Where a value stands on the scale from 0 to `most`.
export function partOf(value: number, most: number, logarithmic: boolean): number {
  if (most <= 0) return 0;
  return logarithmic ? Math.log1p(value) / Math.log1p(most) : value / most;
}

// Colors of lines and areas, after Okabe and Ito, for a light and a dark ground; a second round
// has dashes.
const LIGHT = ["#0072b2", "#c05000", "#007a5a", "#a0508c", "#7a6a00", "#2a7fb8", "#5b5b5b"];
const DARK = ["#56b4e9", "#f0a24a", "#2fc79a", "#e29ac9", "#f0e442", "#8ec9f0", "#c4c4c4"];
export const lineColor = (index: number, dark: boolean): string =>
  (dark ? DARK : LIGHT)[index % LIGHT.length];
export const lineDash = (index: number): number[] =>
  [[], [6, 3], [2, 3], [9, 3, 2, 3]][Math.floor(index / LIGHT.length) % 4];

// Steps of 1, 2 or 5 times a power of ten, at most `count` of them.
export function niceStep(range: number, count: number): number {
  const rough = range / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= rough) return factor * power;
  return 10 * power;
}

export function ticks(from: number, to: number, count: number): number[] {
  const step = Math.max(1, niceStep(to - from, count));
  const found: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}
