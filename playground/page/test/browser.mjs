// Uses the playground in Chromium as a person does, and prints what was seen, as JSON.
//   node browser.mjs FOLDER [SCREENSHOTS]      FOLDER: page/dist
import { AxeBuilder } from "@axe-core/playwright";
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const [folder, screenshots] = process.argv.slice(2);
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css",
                ".json": "application/json", ".wasm": "application/wasm", ".svg": "image/svg+xml",
                ".webmanifest": "application/manifest+json" };
const SAMPLES = [
  // title, file, what is edited, by what
  ["broadcast-1d", "pe.csl", "+ 1", "+ 3"],
  ["hello-wavelet", "sender.csl", "42);", "17);"],
  ["gemv", "layout.csl", "", "// a comment\n"],
];
const WIDTHS = [[1440, 900], [900, 1100], [390, 844]];

const loaded = [];
const server = createServer((request, response) => {
  const name = new URL(request.url, "http://x").pathname.slice(1) || "index.html";
  const path = join(folder, name);
  if (!existsSync(path)) {
    response.writeHead(404).end();
    return;
  }
  loaded.push(name);
  response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" });
  createReadStream(path).pipe(response);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}/`;

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium",
                                        args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
const page = await context.newPage();
page.setDefaultTimeout(15000);
const complaints = [];
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("console", (m) => m.type() === "error" && complaints.push(m.text()));

process.on("uncaughtException", async (error) => {
  console.error(error, complaints);
  await shoot("failure");
  process.exit(1);
});

const data = (name) => page.evaluate((n) => document.documentElement.dataset[n], name);
async function forget(name) {
  await page.evaluate((n) => { delete document.documentElement.dataset[n]; }, name);
}
async function waitFor(name, ms = 25000) {
  await page.waitForFunction((n) => document.documentElement.dataset[n] !== undefined, name,
                             { timeout: ms });
}
async function shoot(name) {
  if (screenshots)
    await page.screenshot({ path: join(screenshots, `${name}.png`) });
}
async function edit(file, from, to) {
  await page.getByRole("tab", { name: file }).first().click();
  if (from) {
    const line = page.locator(".cm-line", { hasText: from }).first();
    const text = await line.innerText();
    await line.click();
    await page.keyboard.press("Home");
    await page.keyboard.press("Home");
    await page.keyboard.press("Shift+End");
    await page.keyboard.insertText(text.replace(from, to));
  } else {
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.insertText(to);
  }
}
async function run() {
  await forget("ran");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await waitFor("ran");
  return Number(await data("ran"));
}

const seen = { samples: [], complaints };
const began = Date.now();
await page.goto(url);
await waitFor("ready");
await waitFor("checked");
seen.secondsToFirstCheck = (Date.now() - began) / 1000;
seen.firstLoad = [...new Set(loaded)].filter((n) => n !== "service-worker.js");
seen.firstLoadBytes = seen.firstLoad.reduce(
  (sum, name) => sum + gzipSync(readFileSync(join(folder, name)), { level: 9 }).length, 0);

// The key runs the program of a page that nobody has touched, and once from the field of options.
const runs = () => page.evaluate(() => window.runs_seen);
await page.evaluate(() => {
  window.runs_seen = 0;
  new MutationObserver((all) => { window.runs_seen += all.length; })
    .observe(document.documentElement, { attributeFilter: ["data-ran"] });
  document.activeElement?.blur();
});
await page.keyboard.press("Control+Enter");
await waitFor("ran");
seen.runsByKey = [await runs()];
await page.getByLabel("Options of the compiler").focus();
await forget("ran");
await page.keyboard.press("Control+Enter");
await waitFor("ran");
await page.waitForTimeout(1000);
seen.runsByKey.push(await runs());

// Three samples edited, run and viewed.
for (const [title, file, from, to] of SAMPLES) {
  await page.getByLabel("Sample").selectOption({ label: title });
  await edit(file, from, to);
  const cycles = await run();
  const printed = await page.locator(".printed").first().textContent();
  const project = JSON.parse(await page.evaluate(() => localStorage.getItem("wse-playground")));
  await page.getByRole("tab", { name: "Viewer" }).click();
  await page.locator(".wse-viewer canvas").first().waitFor();
  await page.waitForTimeout(300);
  const viewer = (await page.locator(".wse-viewer").innerText()).length;
  await shoot(`viewer-${title}`);
  await page.getByRole("tab", { name: "Output" }).click();
  seen.samples.push({ title, cycles, printed, project, viewer });
}

// A mistake is shown as it is typed, with its help; the message leads to its place.
await page.getByLabel("Sample").selectOption({ label: "broadcast-1d" });
await forget("checked");
await edit("pe.csl", "@as(f32, i + 1)", "@as(f32, valuess[i])");
await page.waitForFunction(() => document.querySelectorAll(".problems li").length > 0);
await page.getByRole("tab", { name: /Problems/ }).click();
seen.problems = await page.locator(".problems li").allInnerTexts();
seen.marks = await page.locator(".cm-lintRange").count();
await page.locator(".cm-lintRange").first().hover();
await page.locator(".cm-tooltip .cm-diagnostic").first().waitFor();
seen.tooltip = await page.locator(".cm-tooltip").first().innerText();
await shoot("problems");
await page.mouse.move(5, 5);

// A deadlock: its report leads to the guilty line.
const STUCK = { main: "layout.csl", options: "--fabric-warnings", run: "", files: {
  "layout.csl": "layout {\n  @set_rectangle(1, 1);\n  @set_tile_code(0, 0, \"pe.csl\");\n" +
    "  @set_color_config(0, 0, @get_color(0), .{ .routes = .{ .rx = .{RAMP}, .tx = .{RAMP} } });\n}\n",
  "pe.csl": "const c = @get_color(0);\nconst in = @get_dsd(fabin_dsd, .{ .fabric_color = c, " +
    ".extent = 2, .input_queue = @get_input_queue(2) });\nconst out = @get_dsd(fabout_dsd, .{ " +
    ".fabric_color = c, .extent = 1, .output_queue = @get_output_queue(3) });\n" +
    "export var got = [2]i16{ 0, 0 };\n" +
    "const to = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{2} -> got[i] });\n" +
    "const main_id = @get_local_task_id(8);\n" +
    "task main() void {\n  @mov16(out, @as(i16, 7));\n  @mov16(to, in);\n}\n" +
    "comptime {\n  @bind_local_task(main, main_id);\n  @activate(main_id);\n}\n" } };
await page.evaluate(async (project) => {
  const stream = new Blob([JSON.stringify(project)]).stream()
    .pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  location.hash = "#p=" + btoa(String.fromCharCode(...bytes)).replaceAll("+", "-")
    .replaceAll("/", "_").replace(/=+$/, "");
}, STUCK);
await page.getByRole("tab", { name: "pe.csl" }).waitFor();
await page.getByLabel("Options of the compiler").and(page.locator("input")).waitFor();
await page.waitForFunction(() => document.querySelector(".options input").value.includes("fabric"));
await run();
seen.deadlock = await page.locator(".report").innerText();
await shoot("deadlock");
await page.locator(".report .place", { hasText: "pe.csl:9" }).first().click();
seen.deadlockLine = await page.locator(".cm-activeLine").innerText();

// The debugger: to a line, and back.
await page.getByLabel("Sample").selectOption({ label: "broadcast-1d" });
await forget("debugged");
await page.getByRole("button", { name: "Debug" }).click();
await waitFor("debugged");
for (const button of ["Task", "Step", "◂ Step"]) {
  await forget("debugged");
  await page.getByRole("button", { name: button, exact: true }).click();
  await waitFor("debugged");
}
seen.debugger = await page.locator(".log").innerText();
seen.stand = await page.locator(".cm-line.stand").count();
await shoot("debugger");

// A link holds the program.
await edit("pe.csl", "", "// shared\n");
await page.getByRole("button", { name: "Share" }).click();
await page.waitForFunction(() => location.hash.startsWith("#p="));
const link = page.url();
const other = await browser.newContext();
const opened = await other.newPage();
await opened.goto(link);
await opened.waitForFunction(() => document.documentElement.dataset.ready);
await opened.getByRole("tab", { name: "pe.csl" }).first().click();
seen.shared = await opened.locator(".cm-line").first().innerText();
seen.linkLength = link.length;
await other.close();

// Without a network, after one visit.
await page.goto(url);
await waitFor("ready");
await page.evaluate(() => navigator.serviceWorker.ready);
await page.waitForFunction(() => caches.keys().then(async (names) =>
  names.length > 0 && (await (await caches.open(names[0])).keys()).length > 8));
server.close();
server.closeAllConnections();
await context.setOffline(true);
await page.reload();
await waitFor("ready");
await page.getByLabel("Sample").selectOption({ label: "reduce-chain" });
seen.offlineCycles = await run();

// How it looks: three widths, both themes; nothing serious for axe.  A narrow page shows one half.
seen.axe = [];
seen.halves = [];
for (const [width, height] of WIDTHS)
  for (const theme of ["light", "dark"]) {
    await page.setViewportSize({ width, height });
    await page.evaluate((t) => { document.documentElement.dataset.theme = t; }, theme);
    for (const half of width < 800 ? ["Program", "Results"] : [""]) {
      if (half)
        await page.getByRole("button", { name: half, exact: true }).click();
      await shoot(`${width}-${theme}${half ? `-${half}` : ""}`);
      const { violations } = await new AxeBuilder({ page }).exclude(".wse-viewer").analyze();
      seen.axe.push(...violations.filter((v) => ["serious", "critical"].includes(v.impact))
        .map((v) => `${width} ${theme} ${half}: ${v.id}: ${v.nodes[0].html.slice(0, 120)}`));
      seen.wide = (seen.wide ?? 0) + await page.evaluate(() =>
        Number(document.documentElement.scrollWidth > innerWidth));
      for (const name of ["Program", "Results"])
        if (await page.locator(`section[aria-label="${name}"]`).isVisible() !==
            (half === "" || half === name))
          seen.halves.push(`${width} ${theme} ${half}: ${name}`);
    }
  }

// On a large screen the whole viewer is in its panel, in its own sizes of text.
await page.setViewportSize({ width: 1920, height: 1080 });
await page.getByRole("tab", { name: "Viewer" }).click();
await page.waitForSelector(".viewer canvas.map");
seen.viewerHidden = await page.locator(".viewer").evaluate((v) => v.scrollHeight - v.clientHeight);
seen.viewerText = await page.locator(".wse-viewer").evaluate((v) =>
  [v, v.querySelector("dd")].map((e) => getComputedStyle(e).fontSize));
await browser.close();
console.log(JSON.stringify(seen));
process.exit(0);
