// Bundles the playground into page/dist: static files that any server can give out.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { collectSamples } from "../samples.mjs";

const here = dirname(fileURLToPath(import.meta.url)), root = join(here, "../..");
const dist = join(here, "dist"), parts = join(here, "../module/dist");

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
await build({
  absWorkingDir: here,
  entryPoints: { main: "src/main.ts", worker: "src/worker.ts" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  charset: "utf8",
  external: ["node:fs/promises"],
  legalComments: "linked",
  loader: { ".tmLanguage.json": "json" },
});
for (const name of ["index.html", "icon.svg", "manifest.webmanifest"])
  copyFileSync(join(here, "src", name), join(dist, name));
for (const name of ["wse-module.wasm", "stdlib.json"])
  copyFileSync(join(parts, name), join(dist, name));
copyFileSync(join(here, "../module/NOTICE"), join(dist, "NOTICE.txt"));
writeFileSync(join(dist, "samples.json"), JSON.stringify(collectSamples(join(root, "samples"))));

// The service worker names every file, so that the page works offline from the first visit on.
const files = readdirSync(dist).filter((name) => !/LEGAL|NOTICE/.test(name)).sort();
const hash = createHash("sha256");
for (const name of files) hash.update(name).update(readFileSync(join(dist, name)));
writeFileSync(join(dist, "service-worker.js"),
              readFileSync(join(here, "src/service-worker.js"), "utf8")
                .replace("[/* FILES */]", JSON.stringify(["./", ...files]))
                .replace("VERSION", hash.digest("hex").slice(0, 16)));
