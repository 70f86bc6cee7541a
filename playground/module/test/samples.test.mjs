// Each sample: the same image, output and statistics as from the native tools, which WSE_BIN names.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Toolchain } from "../dist/index.js";
import { commandsOf, readTree } from "../../samples.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const bin = process.env.WSE_BIN ?? join(root, "build/ci/bin");
const wse = await Toolchain.load();
const sources = Object.fromEntries(Object.entries(readTree(join(root, "samples"), ".csl"))
                                         .map(([path, text]) => [`samples/${path}`, text]));
const OF_THE_MACHINE = ["load_seconds", "wall_seconds", "active_tile_cycles_per_second",
                        "peak_rss_bytes"];

function sameEverywhere(stats) {
  return Object.fromEntries(Object.entries(stats)
    .filter(([key]) => !OF_THE_MACHINE.includes(key)));
}

function runNative(tool, args) {
  return execFileSync(join(bin, tool), args, { cwd: root, encoding: "utf8",
                                               stdio: ["ignore", "pipe", "pipe"] });
}

for (const sample of readdirSync(join(root, "samples")).sort()) {
  const commands = commandsOf(join(root, "samples", sample, "README.md"));
  for (const { compile, run } of commands)
    for (const arch of ["wse2", "wse3"])
      test(`${sample}: ${compile[0]} ${arch}`, async () => {
        const folder = mkdtempSync(join(tmpdir(), "wse-sample-"));
        try {
          const image = join(folder, "a.bin"), stats = join(folder, "s.json");
          const options = [...compile.slice(1), `--arch=${arch}`];
          runNative("cslc", [compile[0], ...options, "-o", image]);
          const output = runNative("wse-emu", [image, ...run, `--stats=${stats}`]);
          const ours = await wse.compile({ files: sources, main: compile[0], options });
          assert.ok(ours.ok, JSON.stringify(ours.diagnostics));
          assert.ok(Buffer.from(ours.image).equals(readFileSync(image)), "the images differ");
          const ran = await wse.run(ours.image, { options: run });
          assert.equal(ran.exitCode, 0, ran.errors);
          assert.equal(ran.output, output);
          assert.deepEqual(sameEverywhere(ran.stats),
                           sameEverywhere(JSON.parse(readFileSync(stats, "utf8"))));
        } finally {
          rmSync(folder, { recursive: true });
        }
      });
}
