import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { PRICED, UNITS } from "../src/gateway/contract.ts";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

test("the symbols are those that the gateway prices", () => {
  const [, listed = ""] = /^PRICED_SYMBOLS = \(([^)]*)\)/m.exec(read("server/catalog/tokens.py")) ?? [];
  const symbols = [...listed.matchAll(/"([^"]+)"/g)].map(([, symbol]) => symbol);
  assert.ok(symbols.length > 30);
  assert.deepEqual([...PRICED], symbols);
});

test("the units are those of the contract", () => {
  const files = ["price", "yield", "funding", "gas", "usage"].map((name) => read(`proto/waypost/v1/${name}.proto`)).join("\n");
  for (const [method, units] of Object.entries(UNITS)) {
    const name = method.replace(/^./, (first) => first.toUpperCase());
    const [, options] = new RegExp(`rpc ${name}\\(.*?\\{(.*?)\\n  \\}`, "s").exec(files) ?? [];
    assert.ok(options !== undefined, name);
    assert.equal(Number(/\bcost: ([0-9]+)/.exec(options)?.[1] ?? 1), units, name);
  }
});
