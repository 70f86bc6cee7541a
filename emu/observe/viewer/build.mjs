// Bundles the viewer into dist/.  The first line of each file names the hash of all that it was made
// from; tests/test_viewer.py compares it, so that the bundle in the repository is current.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const sources = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json",
                 ...readdirSync(join(folder, "src")).sort().map((name) => `src/${name}`)];
const hash = createHash("sha256");
for (const name of sources) hash.update(`${name}\0`).update(readFileSync(join(folder, name)));
const banner = `/* wse-toolchain viewer, Apache-2.0; sources ${hash.digest("hex")} */`;

await build({
  absWorkingDir: folder,
  entryPoints: { viewer: "src/main.ts" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "wseViewer",
  target: ["es2022", "chrome111", "firefox113", "safari16.4"],
  charset: "utf8",
  banner: { js: banner, css: banner },
});
