// Deep programs end with a message of the compiler, before the stack of the engine is at its end.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Toolchain } from "../dist/index.js";

const wse = await Toolchain.load();
const forms = {
  parentheses: (n) => `const x: i16 = ${"(".repeat(n)}1${")".repeat(n)};`,
  sums: (n) => `const x: i16 = ${Array(n).fill("1").join(" + ")};`,
  blocks: (n) => `fn f() void ${"{".repeat(n)}${"}".repeat(n)}`,
  conditions: (n) => `fn f(a: i16) i16 { return ${"if (a > 1) ".repeat(1)}${
    "(if (a > 2) 1 else ".repeat(n)}0${")".repeat(n)} else 3; }`,
  calls: (n) => `fn f(n: i16) i16 { if (n == 0) return 0; return f(n - 1) + 1; }
                 const x = f(${n});`,
  types: (n) => `const T = ${"*".repeat(n)}i16; var x: T = undefined;`,
  arrays: (n) => `const x = ${".{".repeat(n)}1${"}".repeat(n)};`,
  minus: (n) => `const x: i16 = ${"-".repeat(n)}1;`,
  modules: (n) => `const a = @import_module("self.csl", .{ .n = ${n} });`,
};
const extra = { "self.csl": "param n: i16;\nconst b = if (n == 0) 1 else " +
                            "@import_module(\"self.csl\", .{ .n = n - 1 }).b;\n" };

for (const [name, form] of Object.entries(forms))
  for (const n of [100, 300, 1000, 3000, 10000])
    test(`${name}, ${n} deep`, async () => {
      const files = { "layout.csl": `layout { @set_rectangle(1, 1); @set_tile_code(0, 0, "pe.csl"); }`,
                      "pe.csl": `${form(n)}\nexport var y: i16 = 0;\ncomptime { _ = x; }\n`, ...extra };
      const result = await wse.compile({ files });
      assert.ok(result.exitCode === 0 || result.diagnostics.length > 0);
    });
