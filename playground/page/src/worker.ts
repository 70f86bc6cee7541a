// A thread of the toolchain: compiles, runs, or answers for the language server.
import { Toolchain } from "../../module/dist/index.js";
import type { Analysis } from "../../module/dist/index.js";
import { splitWords } from "./messages";
import type { Calls, CallName, Project, Reply, Request } from "./messages";

let wse: Toolchain;
let analysis: { key: string; value: Analysis } | undefined;

/** The analysis of the texts as they are; one is kept. */
async function analyse(project: Project): Promise<Analysis> {
  const { run: _, ...compiled } = project;
  const key = JSON.stringify(compiled);
  if (analysis?.key !== key) {
    analysis = undefined;
    analysis = { key, value: await wse.check({ ...project, options: splitWords(project.options) }) };
  }
  return analysis.value;
}

const REPORT = "/tmp/report.wseview", IMAGE = "/tmp/image.bin", SCRIPT = "/tmp/commands";

const calls: { [N in CallName]: (args: Calls[N]["args"]) => Promise<Calls[N]["result"]> } = {
  async start({ wasm, library }) {
    wse = await Toolchain.load({ wasm, library });
    return wse.version();
  },
  async compile({ project }) {
    return wse.compile({ ...project, options: splitWords(project.options) });
  },
  async run({ project, image }) {
    const start = performance.now();
    const ran = await wse.run(image, { options: [...splitWords(project.run),
                                                 `--report=${REPORT}`],
                                       files: project.files, outputs: [REPORT] });
    const report = ran.files[REPORT];
    return { ...ran, files: {}, seconds: (performance.now() - start) / 1000,
             ...(report && { report }) };
  },
  async debug({ project, image, commands }) {
    return wse.tool("wse-dbg", [IMAGE, "-x", SCRIPT, ...splitWords(project.run)],
                    { ...project.files, [IMAGE]: image, [SCRIPT]: `${commands.join("\n")}\nquit\n` });
  },
  async check({ project }) {
    return (await analyse(project)).diagnostics;
  },
  async ask({ project, method, path, params }) {
    return (await analyse(project)).ask(method, path, params);
  },
};

addEventListener("message", async (event: MessageEvent<Request>) => {
  const { id, name, args } = event.data;
  const reply: Reply = { id };
  try {
    reply.result = await (calls[name] as (args: unknown) => Promise<unknown>)(args);
  } catch (error) {
    reply.error = error instanceof Error ? error.message : String(error);
  }
  postMessage(reply);
});
