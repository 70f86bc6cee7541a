// Opens a report page in Chromium, chooses the routes of all colors and prints the lines of the menu
// in both themes, as JSON: node routes.mjs PAGE.html SCREENSHOT_FOLDER
import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";

const [page_file, folder] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const found = { ground: {}, strokes: {}, wide: [] };
for (const theme of ["light", "dark"])
  for (const [width, height] of [[360, 780], [820, 1100], [1440, 900]]) {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: theme });
    await page.goto(pathToFileURL(page_file).href);
    await page.waitForSelector("html[data-ready]", { timeout: 60000 });
    await page.click(".layers summary");
    for (const box of await page.locator("label.route input").all()) await box.check();
    const menu = await page.locator(".menu").boundingBox();
    if (menu.x < 0 || menu.x + menu.width > width) found.wide.push(`${width} ${theme}`);
    found.ground[theme] = await page.$eval(".menu", (m) => getComputedStyle(m).backgroundColor);
    found.strokes[theme] = await page.$$eval(".stroke", (all) => all.map((stroke) => {
      const { backgroundColor, backgroundImage } = getComputedStyle(stroke);
      return { number: Number(stroke.dataset.color), backgroundColor, backgroundImage,
               width: stroke.getBoundingClientRect().width };
    }));
    await page.screenshot({ path: `${folder}/menu-${width}-${theme}.png` });
    await page.keyboard.press("Escape");
    await page.screenshot({ path: `${folder}/routes-${width}-${theme}.png` });
    await page.close();
  }
await browser.close();
console.log(JSON.stringify(found));
