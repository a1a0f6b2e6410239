import assert from "node:assert/strict";
import { test } from "node:test";
import { type BestYield, dollarsOf, filtered, NO_FILTER, valuesOf } from "../src/sections/markets/yields.ts";

const pool = (members: Partial<BestYield>): BestYield => ({
  chain: "base",
  protocol: "lend-a",
  type: "lending",
  pool: "p",
  symbol: "USDC",
  apy: 1,
  tvl: 1000,
  updatedAt: "2026-01-01T00:00:00Z",
  ...members,
});

test("dollars as people write them; anything else is no number", () => {
  assert.equal(dollarsOf(""), undefined);
  assert.equal(dollarsOf("1 000 000"), 1_000_000);
  assert.equal(dollarsOf("$250k"), 250_000);
  assert.equal(dollarsOf("1.5M"), 1_500_000);
  for (const text of ["many", "-1", "1e9", "1.5.5", "k"]) assert.ok(Number.isNaN(dollarsOf(text)), text);
});

test("a minimum drops pools of unknown size and counts them; other filters do not count them", () => {
  const rows = [pool({ symbol: "WETH-USDC" }), pool({ tvl: null }), pool({ tvl: 5 }), pool({ tvl: null, chain: "ethereum" })];
  assert.deepEqual(filtered(rows, NO_FILTER), { shown: rows, unsized: 0 });
  assert.deepEqual(filtered(rows, { ...NO_FILTER, minTvl: "6", chain: "base" }), { shown: [rows[0]], unsized: 1 });
  assert.deepEqual(filtered(rows, { ...NO_FILTER, token: " weth " }).shown, [rows[0]]);
  assert.deepEqual(filtered(rows, { ...NO_FILTER, minTvl: "many" }).shown, rows);
  assert.deepEqual(filtered(rows, { ...NO_FILTER, protocol: "lend-b" }).shown, []);
  assert.deepEqual(filtered(rows, { ...NO_FILTER, type: "vault" }).shown, []);
  assert.deepEqual(valuesOf(rows, "chain"), ["base", "ethereum"]);
});
