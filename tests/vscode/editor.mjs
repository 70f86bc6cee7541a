// Uses the extension in VS Code, whose server listens at URL, and prints what it saw as JSON:
//   node editor.mjs URL FOLDER SCREENSHOT_FOLDER
// FOLDER has the workspaces plain (a program of csl.json), hosted (one of commands.sh), wrong (with a
// mistake), launch (a launch.json), stuck (a deadlock) and missing (whose settings name no language
// server).  A breakpoint is set in the line with "// stop".
import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const { chromium } = createRequire(new URL("../viewer/package.json", import.meta.url))("playwright-core");
const [url, folder, shots] = process.argv.slice(2);
const MOST_MS = 60000, KEY_MS = 600;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

const pause = (page, ms = KEY_MS) => page.waitForTimeout(ms);

async function press(page, ...keys) {
  for (const key of keys) {
    await page.keyboard.press(key);
    await pause(page);
  }
}

async function enter(page, text) {
  await page.keyboard.type(text);
  await pause(page);
  await press(page, "Enter");
}

async function command(page, title) {
  await press(page, "F1");
  await page.keyboard.type(title);
  await page.locator(".quick-input-list .monaco-list-row.focused", { hasText: title })
    .waitFor({ timeout: MOST_MS });
  await press(page, "Enter");
}

// Waits until the texts of the elements match; what they are then.  A blank of VS Code may not break.
async function read(page, selector, pattern) {
  const texts = () => page.locator(selector).allInnerTexts();
  const end = Date.now() + MOST_MS;
  for (;;) {
    const text = (await texts()).join("\n").replaceAll("\u00a0", " ");
    if (pattern.test(text)) return text;
    if (Date.now() > end)
      throw new Error(`${selector} has no ${pattern} but: ${text.slice(0, 2000)}`);
    await pause(page, 200);
  }
}

const lineOf = (file, text) =>
  readFileSync(file, "utf8").split("\n").findIndex((line) => line.includes(text)) + 1;

async function open(workspace, file = "pe.csl") {
  const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
  await page.goto(`${url}/?folder=${join(folder, workspace)}`);
  await page.locator(".explorer-folders-view .monaco-list-row", { hasText: file }).first()
    .dblclick({ timeout: MOST_MS });
  await read(page, ".view-lines", /task|fn /);
  return page;
}

async function setBreakpoint(page, workspace) {
  const line = lineOf(join(folder, workspace, "pe.csl"), "// stop");
  await page.locator(".view-line", { hasText: "// stop" }).click();
  await read(page, ".line-numbers.active-line-number", new RegExp(`^${line}$`));
  const mark = page.locator(".codicon-debug-breakpoint").first();
  for (let waited = 0; !await mark.isVisible(); waited += KEY_MS) {
    if (waited > MOST_MS) throw new Error("F9 sets no breakpoint");
    await press(page, "F9");      // does nothing until VS Code knows the extension
  }
}

// Starts, stands at the breakpoint, and goes on to the end.
async function debug(page, workspace, looks = async () => {}) {
  await setBreakpoint(page, workspace);
  await press(page, "F5");
  await read(page, ".debug-call-stack", /CYCLE|Paused/i);
  await page.locator(".debug-top-stack-frame-line, .debug-top-stack-frame-column").first()
    .waitFor({ timeout: MOST_MS });
  const line = Number(await page.locator(".line-numbers.active-line-number").first().innerText());
  const seen = await looks(page);
  await page.screenshot({ path: `${shots}/${workspace}.png` });
  await command(page, "Disable All Breakpoints");
  await press(page, "F5");
  const said = await read(page, ".repl", /the run is over at cycle \d+, exit code \d+/);
  await page.locator(".debug-toolbar").waitFor({ state: "hidden", timeout: MOST_MS });
  return { line, ...seen, over: /the run is over.*/.exec(said)[0] };
}

async function lookAtValues(page) {
  await page.locator(".debug-variables .monaco-list-row", { hasText: "Globals" }).first().click();
  const globals = await read(page, ".debug-variables", /\bcount =\s+\d+/);
  await command(page, "Debug Console: Focus on Debug Console View");
  await enter(page, "count + 40");
  const answer = await read(page, ".repl", /count \+ 40\s+\d+/);
  return { count: Number(/\bcount =\s+(\d+)/.exec(globals)[1]),
           sum: Number(/count \+ 40\s+(\d+)/.exec(answer)[1]) };
}

async function report(page) {
  await command(page, "CSL: Show the Report of the Last Run");
  for (let waited = 0; waited < MOST_MS; waited += 200) {
    for (const frame of page.frames()) {
      const cycles = await frame.locator('[data-stat="cycles"]').first()
        .getAttribute("data-value", { timeout: 200 }).catch(() => null);
      if (cycles) return Number(cycles);
    }
    await pause(page, 200);
  }
  throw new Error("no frame shows a report");
}

async function plain() {
  const page = await open("plain");
  const hints = await read(page, ".view-lines", /const many.*= 12/);
  const debugged = await debug(page, "plain", lookAtValues);
  await command(page, "CSL: Compile and Run");
  while (!existsSync(join(folder, "plain", "report.html"))) await pause(page, 200);
  await read(page, ".view-lines", /\d+ cycles, [\d.]+ %/);
  const cycles = await report(page);
  await page.screenshot({ path: `${shots}/report.png` });
  await page.close();
  return { ...debugged, hint: /const many.*/.exec(hints)[0], cycles };
}

async function hosted() {
  const page = await open("hosted");
  const debugged = await debug(page, "hosted");
  await page.close();
  return debugged;
}

async function launch() {
  const page = await open("launch");
  const debugged = await debug(page, "launch");
  await page.close();
  return debugged;
}

async function wrong() {
  const page = await open("wrong");
  await page.locator(".squiggly-error").first().waitFor({ timeout: MOST_MS });
  await command(page, "CSL: Compile and Run");
  await page.locator(".terminal-wrapper.active").waitFor({ timeout: MOST_MS });
  await pause(page, 3000);
  await command(page, "Problems: Focus on Problems View");
  const text = await read(page, ".markers-panel", /is not declared/);
  await page.screenshot({ path: `${shots}/wrong.png` });
  await page.close();
  return text;
}

async function stuck() {
  const page = await open("stuck");
  await read(page, ".view-lines", /base=taken/);      // the extension is there
  await press(page, "F5");
  const text = await read(page, ".exception-widget", /cause 1/);
  const line = Number(await page.locator(".line-numbers.active-line-number").first().innerText());
  await page.screenshot({ path: `${shots}/stuck.png` });
  await press(page, "Shift+F5");
  await page.locator(".debug-toolbar").waitFor({ state: "hidden", timeout: MOST_MS });
  await page.close();
  return { line, text };
}

async function missing() {
  const page = await open("missing");
  const text = await read(page, ".notifications-toasts", /CSL:/);
  await page.close();
  return text;
}

const result = {};
try {
  for (const [name, look] of Object.entries({ wrong, missing, plain, launch, hosted, stuck }))
    result[name] = await look();
} catch (error) {
  for (const page of browser.contexts().flatMap((context) => context.pages()))
    await page.screenshot({ path: `${shots}/failed.png` });
  throw error;
}
await browser.close();
console.log(JSON.stringify(result));
