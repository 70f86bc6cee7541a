// Makes the package (module/dist) and the playground (page/dist) from the built WebAssembly module.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readTree } from "./samples.mjs";

const here = dirname(fileURLToPath(import.meta.url)), root = dirname(here);
const built = join(root, "build/wasm/bin"), dist = join(here, "module/dist");

mkdirSync(dist, { recursive: true });
for (const name of ["wse-module.wasm", "wse-module.mjs"])
  copyFileSync(join(built, name), join(dist, name));
copyFileSync(join(here, "module/src/wse-module.d.mts"), join(dist, "wse-module.d.mts"));
copyFileSync(join(root, "LICENSE"), join(here, "module/LICENSE"));
writeFileSync(join(dist, "stdlib.json"), JSON.stringify(readTree(join(root, "stdlib"), ".csl")));
execFileSync(join(here, "node_modules/.bin/tsc"), ["-p", join(here, "module")],
             { stdio: "inherit" });
if (existsSync(join(here, "page/build.mjs")))
  await import("./page/build.mjs");
