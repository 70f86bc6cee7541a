// What the package offers, on small programs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { RunError, ToolCrash, Toolchain, pathOf, uriOf } from "../dist/index.js";

const wse = await Toolchain.load();
const layout = `const memcpy = @import_module("<memcpy/get_params>", .{ .width = 2, .height = 1 });
layout {
  @set_rectangle(2, 1);
  @set_tile_code(0, 0, "pe.csl", .{ .first = 10, .memcpy_params = memcpy.get_params(0) });
  @set_tile_code(1, 0, "pe.csl", .{ .first = 20, .memcpy_params = memcpy.get_params(1) });
  @export_name("values", [*]i16, true);
  @export_name("twice", fn () void);
}
`;
const pe = `param first: i16;
param memcpy_params: comptime_struct;
const memcpy = @import_module("<memcpy/memcpy>", memcpy_params);
var values = [3]i16{ first, first + 1, first + 2 };
var pointer: [*]i16 = &values;
fn twice() void {
  for (@range(u16, 3)) |i| {
    values[i] *= 2;
  }
  memcpy.unblock_cmd_stream();
}
comptime {
  @export_symbol(pointer, "values");
  @export_symbol(twice);
}
`;
const files = { "layout.csl": layout, "pe.csl": pe };
const options = ["--memcpy", "--fabric-dims=9,3", "--fabric-offsets=4,1"];

async function image() {
  const compiled = await wse.compile({ files, options });
  assert.ok(compiled.ok, JSON.stringify(compiled.diagnostics) + compiled.errors);
  return compiled.image;
}

test("a program is launched, written and read", async () => {
  const program = await wse.open(await image());
  assert.equal(program.geometry.width, 2);
  assert.equal(program.geometry.hasMemcpy, true);
  assert.deepEqual(program.symbols.map((s) => s.name).sort(), ["twice", "values"]);
  const all = { x: 0, y: 0, width: 2, height: 1 };
  assert.deepEqual([...program.read("values", all, 3)], [10, 11, 12, 20, 21, 22]);
  program.launch("twice");
  assert.deepEqual([...program.read("values", all, 3)], [20, 22, 24, 40, 42, 44]);
  program.write("values", all, new Uint32Array([1, 2, 3, 4, 5, 6]));
  program.launch("twice");
  assert.deepEqual([...new Int16Array(program.readSymbol(1, 0, "values").slice().buffer)],
                   [8, 10, 12]);
  assert.ok(program.tileSymbols(0, 0).includes("values"));
  program.finish();
  assert.equal(program.statistics.cycles, program.cycle - program.statistics.host_cycles > 0
                                            ? program.statistics.cycles : -1);
  program.close();
});

test("steps: a run in parts takes the cycles of the whole", async () => {
  const alone = { "layout.csl": `layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl"); }`,
    "pe.csl": `export var n: i32 = 0;
const main_id = @get_local_task_id(8);
task main() void { while (n < 50) { n += 1; } }
comptime { @bind_local_task(main, main_id); @activate(main_id); }\n` };
  const { image: bytes } = await wse.compile({ files: alone });
  const whole = await wse.run(bytes);
  const program = await wse.open(bytes);
  let seen = 0, before = -1;
  while (program.cycle !== before) {
    before = program.cycle;
    program.run(10);
    const n = new Int32Array(program.readSymbol(0, 0, "n").slice().buffer)[0];
    assert.ok(n >= seen);
    seen = n;
  }
  program.finish();
  assert.equal(seen, 50);
  assert.equal(program.statistics.cycles, whole.stats.cycles);
});

test("mistakes have place and help", async () => {
  const bad = { ...files, "pe.csl": pe.replace("values[i] *= 2", "valus[i] *= 2") };
  const result = await wse.compile({ files: bad, options });
  assert.equal(result.ok, false);
  const [first] = result.diagnostics;
  assert.equal(first.file, "pe.csl");
  assert.equal(first.line, 8);
  assert.equal(first.severity, "error");
  assert.match(JSON.stringify(first), /did you mean 'values'/);
});

test("wrong use is an error, not a crash", async () => {
  const none = await wse.compile({ files, main: "no.csl" });
  assert.equal(none.ok, false);
  assert.notEqual(none.exitCode, 0);
  const option = await wse.compile({ files, options: ["--no-such-option"] });
  assert.match(option.errors, /no-such-option/);
  await assert.rejects(wse.open(new Uint8Array([1, 2, 3])), RunError);
  await assert.rejects(wse.check({ files, options: ["--arch=wse9"] }), ToolCrash);
  const program = await wse.open(await image());
  assert.throws(() => program.launch("thrice"), /exports no 'thrice'/);
  assert.throws(() => program.readSymbol(0, 0, "valus"), /valus/);
  assert.throws(() => program.readSymbol(7, 0, "values"), RunError);
});

test("a deadlock is status 3, with its report", async () => {
  const stuck = { "layout.csl": `
layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl");
  @set_color_config(0, 0, @get_color(0), .{ .routes = .{ .rx = .{RAMP}, .tx = .{RAMP} } }); }`,
    "pe.csl": `const c = @get_color(0);
const in = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 2, .input_queue = @get_input_queue(2) });
const out = @get_dsd(fabout_dsd, .{ .fabric_color = c, .extent = 1, .output_queue = @get_output_queue(3) });
export var got = [2]i16{ 0, 0 };
const to = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{2} -> got[i] });
const main_id = @get_local_task_id(8);
task main() void { @mov16(out, @as(i16, 7)); @mov16(to, in); }
comptime { @bind_local_task(main, main_id); @activate(main_id); }\n` };
  const { image: bytes, diagnostics } = await wse.compile({ files: stuck,
                                                       options: ["--fabric-warnings"] });
  assert.ok(bytes, JSON.stringify(diagnostics));
  const ran = await wse.run(bytes);
  assert.equal(ran.exitCode, 3);
  assert.match(ran.errors, /pe\.csl:7/);
});

test("the language server answers", async () => {
  const analysis = await wse.check({ files, options });
  assert.deepEqual(Object.values(analysis.diagnostics).flat(), []);
  assert.ok(analysis.files.includes("pe.csl"));
  const position = { line: 7, character: 5 };
  const hover = analysis.ask("textDocument/hover", "pe.csl", { position });
  assert.match(JSON.stringify(hover), /values/);
  const [place] = [analysis.ask("textDocument/definition", "pe.csl", { position })].flat();
  assert.equal(pathOf(place.uri), "pe.csl");
  assert.equal(place.range.start.line, 3);
  assert.equal(uriOf("a.csl"), "file:///work/a.csl");
  assert.ok(analysis.tokenTypes.includes("function"));
});

test("the debugger takes commands", async () => {
  const ran = await wse.tool("wse-dbg", ["/tmp/a.bin", "-x", "go", "--launch=twice"],
                             { "/tmp/a.bin": await image(), go: "break pe.csl:8\ncontinue\nprint i\nquit\n" });
  assert.match(ran.output, /pe\.csl:8/, ran.output + ran.errors);
});

test("many instances in a row", async () => {
  const bytes = await image();
  for (let i = 0; i < 60; i++)
    assert.equal((await wse.run(bytes, { options: ["--launch=twice"] })).exitCode, 0);
});
