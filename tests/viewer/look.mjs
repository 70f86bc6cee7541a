// Opens a report page in Chromium and prints what it measured, as JSON:
//   node look.mjs PAGE.html SCREENSHOT_FOLDER NAME [quick]
// quick: two widths and one theme.
import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [page_file, folder, name, quick] = process.argv.slice(2);
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const WIDTHS = quick ? [[360, 780], [1440, 900]] : [[360, 780], [820, 1100], [1440, 900]];
const THEMES = quick ? ["light"] : ["light", "dark"];
const TABS = ["overview", "tile", "source", "memory", "wavelets", "findings"];

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

async function open(width, height, theme, watch) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme });
  page.on("pageerror", (error) => watch.errors.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith("file:")) watch.fetched.push(request.url());
  });
  const before = Date.now();
  await page.goto(pathToFileURL(page_file).href);
  await page.waitForSelector("html[data-ready]", { timeout: 60000 });
  watch.loads.push(Date.now() - before);
  return page;
}

// Milliseconds from frame to frame while the pointer drags the zoomed map.
async function panFrames(page) {
  const box = await page.locator("canvas.map").boundingBox();
  const x = box.x + box.width / 2, y = box.y + box.height / 2;
  await page.mouse.move(x, y);
  for (let i = 0; i < 5; i++) await page.mouse.wheel(0, -300);
  await page.mouse.down();
  await page.evaluate(() => {
    window.frames_seen = [];
    let last = performance.now();
    const tick = (now) => {
      window.frames_seen.push(now - last);
      last = now;
      window.frame_asked = requestAnimationFrame(tick);
    };
    window.frame_asked = requestAnimationFrame(tick);
  });
  for (let i = 0; i < 90; i++)
    await page.mouse.move(x + 80 * Math.sin(i / 6), y + 60 * Math.cos(i / 6));
  await page.mouse.up();
  const frames = await page.evaluate(() => {
    cancelAnimationFrame(window.frame_asked);
    return window.frames_seen;
  });
  await page.keyboard.press("0");
  return frames.slice(2);
}

async function serious(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => window.axe.run());
  return found.violations.filter((v) => ["serious", "critical"].includes(v.impact))
    .map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 120)}`);
}

// Words that break over lines where they need not, cells whose text is wider than they are, rows of
// tables whose cells stand at different heights, and one thing as if it were several.  Names and
// paths may be longer than a cell.
async function untidy(page) {
  return page.evaluate(() => {
    const found = [], most_letters = 16, off = 1.5, off_of_code = 5;
    const texts = (box) => {
      const walk = document.createTreeWalker(box, NodeFilter.SHOW_TEXT), all = [];
      for (let node = walk.nextNode(); node; node = walk.nextNode())
        if (node.data.trim() && node.parentElement.checkVisibility()) all.push(node);
      return all;
    };
    const lines = (node, from, to) => {
      const range = document.createRange();
      range.setStart(node, from);
      range.setEnd(node, to);
      return [...range.getClientRects()].filter((r) => r.width > 0);
    };
    for (const cell of document.querySelectorAll("th, td, .tabs button"))
      for (const node of texts(cell))
        if (!node.parentElement.closest("code"))
          for (const word of node.data.matchAll(/[^ \n]+/g))
            if (word[0].length <= most_letters &&
                new Set(lines(node, word.index, word.index + word[0].length).map((r) => r.top)).size > 1)
              found.push(`broken: ${word[0]}`);
    for (const cell of document.querySelectorAll("th, td"))
      if (cell.checkVisibility() && cell.scrollWidth > cell.clientWidth + 1)
        found.push(`over the edge: ${cell.textContent.slice(0, 60)}`);
    for (const row of document.querySelectorAll("tr")) {
      const middles = [...row.cells].flatMap((cell) => {
        const [node] = texts(cell), start = node ? node.data.search(/\S/) : -1;
        const [first] = node ? lines(node, start, start + 1) : [];
        return first ? [{ at: (first.top + first.bottom) / 2, off: cell.querySelector("code")
          ? off_of_code : off }] : [];
      });
      if (middles.some((m) => Math.abs(m.at - middles[0].at) > m.off))
        found.push(`uneven: ${row.textContent.slice(0, 60)}`);
    }
    for (const node of texts(document.body))
      for (const several of node.data.matchAll(/(?<![\d,.])1 (cycles|wavelets)\b/g))
        found.push(`one is no ${several[1]}: ${node.data.slice(0, 60)}`);
    return [...new Set(found)];
  });
}

const tablesWithoutRows = (page) => page.$$eval(".panel:not([hidden]) table", (all) =>
  all.filter((t) => !t.tBodies[0].rows.length).map((t) => t.caption.textContent));

// The numbers of --stats that the page shows, and the total of every quantity of the map.
async function numbers(page) {
  await page.click("#tab-overview");
  const stats = await page.$$eval("[data-stat]", (all) =>
    Object.fromEntries(all.map((e) => [e.dataset.stat, [Number(e.dataset.value), e.textContent]])));
  const totals = {};
  const choose = page.locator('select[aria-label="What the map shows"]');
  for (const id of await choose.locator("option").evaluateAll((all) => all.map((o) => o.value))) {
    await choose.selectOption(id);
    await page.waitForSelector(`[data-total="${id}"]`, { timeout: 20000 });
    totals[id] = Number(await page.getAttribute(`[data-total="${id}"]`, "data-value"));
  }
  await choose.selectOption("activity");
  return { stats, totals };
}

// The keyboard alone: a tile, a step of time, and back; the menu of the layers, and the tabs.
async function keys(page) {
  await page.focus("canvas.map");
  await page.keyboard.press("ArrowRight");
  const said = await page.textContent(".live");
  await page.keyboard.press(".");
  const shown = await page.textContent(".shown");
  await page.keyboard.press("Escape");
  const after = await page.textContent(".shown");
  await page.focus(".layers summary");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  const menu = [await page.locator(".menu").isVisible()];
  await page.keyboard.press("Escape");
  menu.push(await page.locator(".menu").isVisible(),
            await page.evaluate(() => document.activeElement.tagName));
  await page.focus('[role="tab"][aria-selected="true"]');
  const tabs = [];
  for (const key of ["End", "Home", "ArrowLeft", "ArrowRight"]) {
    await page.keyboard.press(key);
    tabs.push(await page.evaluate(() => document.activeElement.id));
  }
  return { said, shown, after, menu, tabs };
}

// A time chosen in the chart, of about a third of the run: what else the page says of it.
async function chosenTime(page) {
  const box = await page.locator("canvas.chart").boundingBox(), y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * 0.2, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, y);
  await page.mouse.up();
  await page.click("#tab-findings");
  await page.waitForTimeout(300);
  const numbers = (text) => (text.match(/[\d,]+/g) ?? []).map((n) => Number(n.replace(/,/g, "")));
  const shown = numbers(await page.textContent(".shown"));
  const length = numbers(await page.$eval('select[aria-label="Length of the time shown"]',
                                          (choose) => choose.selectedOptions[0].text));
  const shares = await page.$$eval("#panel-findings td:last-child", (all) =>
    all.map((cell) => parseFloat(cell.textContent)));
  await page.click("#tab-overview");
  const counted = numbers((await page.textContent(".total")).split("counted in")[1] ?? "");
  await page.keyboard.press("Escape");
  return { shown, length, shares, counted };
}

// A time and a tile for which nothing was counted: no table without rows.
async function emptyTables(page) {
  await page.click("#tab-tile");
  for (let i = 0; i < 3; i++) await page.keyboard.press(".");
  await page.waitForTimeout(300);
  const empty = await tablesWithoutRows(page);
  await page.keyboard.press("Escape");
  return empty;
}

// Whether the menu of the layers opens where all of it can be reached.
async function menuFits(page) {
  await page.click(".layers summary");
  const box = await page.locator(".menu").boundingBox(), { width } = page.viewportSize();
  await page.click(".layers summary");
  return box.x >= 0 && box.x + box.width <= width;
}

// The shades that the page has in an editor, whose theme comes before that of the system.
async function shadesInEditor(page) {
  const shades = {};
  for (const kind of ["vscode-dark", "vscode-high-contrast", "vscode-light", null]) {
    await page.evaluate((value) => value
      ? document.body.setAttribute("data-vscode-theme-kind", value)
      : document.body.removeAttribute("data-vscode-theme-kind"), kind);
    await page.waitForTimeout(30);
    shades[kind] = await page.getAttribute("#viewer", "data-shade");
  }
  return shades;
}

const watch = { loads: [], errors: [], fetched: [] };
const result = { axe: [], wide: [], untidy: [], empty: [] };
for (const [width, height] of WIDTHS)
  for (const theme of THEMES) {
    const page = await open(width, height, theme, watch);
    for (const tab of TABS) {
      await page.click(`#tab-${tab}`);
      await page.waitForTimeout(60);
      result.axe.push(...(await serious(page)).map((v) => `${width} ${theme} ${tab}: ${v}`));
      result.untidy.push(...(await untidy(page)).map((v) => `${width} ${theme} ${tab}: ${v}`));
      result.empty.push(...(await tablesWithoutRows(page)).map((v) => `${tab}: ${v}`));
      if (await page.evaluate(() => document.documentElement.scrollWidth >
                                    document.documentElement.clientWidth + 1))
        result.wide.push(`${width} ${theme} ${tab}`);
    }
    result.source = await page.evaluate(() =>
      document.querySelector("select[aria-label='Source file']")?.selectedOptions[0].text);
    await page.evaluate(() => scrollTo(0, 0));
    if (!await menuFits(page))
      result.wide.push(`${width} ${theme} layers`);
    await page.screenshot({ path: `${folder}/${name}-${width}-${theme}.png`,
                            fullPage: width < 800 });
    if (width === 1440 && theme === "light") {
      Object.assign(result, await numbers(page));
      result.keys = await keys(page);
      result.time = await chosenTime(page);
      result.empty.push(...await emptyTables(page));
      result.frames = await panFrames(page);
      result.shades = await shadesInEditor(page);
    }
    await page.close();
  }
await browser.close();
console.log(JSON.stringify({ ...watch, ...result }));
