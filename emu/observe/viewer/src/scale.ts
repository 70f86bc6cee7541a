// Numbers and colors: scales, ticks, formats.

export const format = (value: number): string =>
  Number.isInteger(value) ? value.toLocaleString("en")
    : value.toLocaleString("en", { maximumSignificantDigits: 4 });

/** `1 cycle`, `2 cycles` */
export const counted = (count: number, what: string): string =>
  `${format(count)} ${what}${count === 1 ? "" : "s"}`;

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

// Colors of lines and areas, after Okabe and Ito, for a light and a dark ground.
const LIGHT = ["#0072b2", "#c05000", "#007a5a", "#a0508c", "#7a6a00", "#2a7fb8", "#5b5b5b"];
const DARK = ["#56b4e9", "#f0a24a", "#2fc79a", "#e29ac9", "#f0e442", "#8ec9f0", "#c4c4c4"];
export const lineColor = (index: number, dark: boolean): string =>
  (dark ? DARK : LIGHT)[index % LIGHT.length];

// Lines for the routes of the machine's 24 colors: eight in each of three patterns.  Those of one
// pattern differ for every kind of sight, and no two of the 24 have the same hue and lightness, as
// from afar a route is a pixel; tests/test_viewer.py measures it.
const ROUTES_LIGHT = [
  "#299bdb", "#2266fc", "#8647ac", "#3d10ab", "#b98a5d", "#f74ba6", "#6a0040", "#0f7762",
  "#6f480b", "#365a93", "#d26dcc", "#678e8e", "#c42c56", "#472665", "#6f21c0", "#fc5900",
  "#770d8b", "#00485b", "#0aab18", "#887ffb", "#2740e0", "#956307", "#ce6781", "#7f080a"];
const ROUTES_DARK = [
  "#6e5be0", "#e180eb", "#ffc02d", "#1d92af", "#fb5d6b", "#858e00", "#00d1af", "#9f515c",
  "#d2fb32", "#79fff0", "#b1728b", "#00aeff", "#97c046", "#736e0f", "#006fb8", "#d3b8c2",
  "#3dddee", "#ffe5aa", "#d20551", "#53a783", "#a955fd", "#db9000", "#ff51c9", "#67658f"];
const ROUTE_DASHES = [[], [8, 4], [2, 3]];
export const routeColor = (color: number, dark: boolean): string =>
  (dark ? ROUTES_DARK : ROUTES_LIGHT)[color % ROUTES_LIGHT.length];
export const routeDash = (color: number): number[] =>
  ROUTE_DASHES[Math.floor(color * ROUTE_DASHES.length / ROUTES_LIGHT.length) % ROUTE_DASHES.length];
// The line as a background of CSS.
export function routeStroke(color: number, dark: boolean): string {
  const [on, off] = routeDash(color), ink = routeColor(color, dark);
  return on === undefined ? ink
    : `repeating-linear-gradient(to right,${ink} 0 ${on}px,transparent ${on}px ${on + off}px)`;
}

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
