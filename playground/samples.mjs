// The samples: their texts, and the commands that their README gives.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";

/** Texts of a folder by path. */
export function readTree(folder, ending, base = folder) {
  const files = {};
  for (const entry of readdirSync(folder, { withFileTypes: true })
                        .sort((a, b) => a.name < b.name ? -1 : 1)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory())
      Object.assign(files, readTree(path, ending, base));
    else if (entry.name.endsWith(ending))
      files[relative(base, path)] = readFileSync(path, "utf8");
  }
  return files;
}

/** The pairs of cslc and wse-emu in the "Run it" blocks: arguments without files that they write.
 *  Commands of other tools, and runs with files of the host, do not count. */
export function commandsOf(readme) {
  if (!existsSync(readme))
    return [];
  const pairs = [];
  const text = readFileSync(readme, "utf8");
  for (const [, block] of text.matchAll(/##+ Run it\n[^]*?```sh\n([^]*?)```/g)) {
    let compile;
    for (const line of block.replaceAll("\\\n", " ").split("\n")) {
      const [tool, ...args] = line.trim().split(/\s+/).map((word) => word.replace(/["']/g, ""));
      if (tool === "cslc") {
        const out = args.indexOf("-o");
        compile = args.filter((_, i) => i !== out && i !== out + 1);
      } else if (tool === "wse-emu" && compile) {
        const run = args.slice(1).filter((a) => !/^--stats|\.npy$/.test(a));
        pairs.push({ compile, run });
      }
    }
  }
  return pairs;
}

/** The folders in the order of the table of samples/README.md, which begins with the first steps. */
function orderedFolders(folder) {
  const table = readFileSync(join(folder, "README.md"), "utf8").matchAll(/^\| \[([\w-]+)\]\(/gm);
  const order = Array.from(table, ([, name]) => name);
  return order.concat(readdirSync(folder).sort().filter((name) => !order.includes(name)));
}

/** The samples that a page can offer: those whose commands need nothing but the two tools. */
export function collectSamples(folder) {
  const samples = [];
  for (const name of orderedFolders(folder)) {
    const readme = join(folder, name, "README.md");
    for (const { compile, run } of commandsOf(readme)) {
      const prefix = `samples/${name}/`;
      if (!compile[0].startsWith(prefix))
        continue;
      const main = compile[0].slice(prefix.length);
      if (samples.some((s) => s.folder === name && s.main === main))
        continue;
      const text = readFileSync(readme, "utf8");
      const part = main.includes("/") ? main.slice(0, main.indexOf("/")) : "";
      const files = Object.fromEntries(Object.entries(readTree(join(folder, name), ".csl"))
        .filter(([path]) => !part || path.startsWith(`${part}/`) || !path.includes("/")));
      const about = /^# .*\n+([^]*?)\n\n/.exec(text)?.[1].replaceAll("\n", " ") ?? "";
      const known = samples.some((s) => s.title === name);
      const title = part ? `${name}: ${part}` : known ? `${name}: ${main}` : name;
      samples.push({ folder: name, main, title, about, files, options: compile.slice(1).join(" "),
                     run: run.join(" ") });
    }
  }
  return samples;
}
