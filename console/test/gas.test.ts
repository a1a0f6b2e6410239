import assert from "node:assert/strict";
import { test } from "node:test";
import { logarithmicBars, silent, spread } from "../src/sections/markets/gas.ts";

const gas = (chain: string, cost: number | null | undefined) => ({
  chain,
  baseFeeGwei: 1,
  priorityFeeGwei: 1,
  ...(cost !== undefined && { estimatedTxCostUsd: cost }),
  updatedAt: "2026-01-01T00:00:00Z",
});

test("bars lie between whole powers of ten; no price and no cost draw nothing and stay apart", () => {
  const { bars, powers } = logarithmicBars([gas("a", 0.001), gas("b", 0.1), gas("c", 1), gas("d", null), gas("e", 0), gas("f", undefined)]);
  assert.deepEqual(powers, [-4, -3, -2, -1, 0]);
  assert.deepEqual(
    bars.map(({ length }) => length && Math.round(length * 400)),
    [100, 300, 400, undefined, undefined, undefined],
  );
  assert.deepEqual(bars.map(({ cost }) => cost).slice(3), [undefined, 0, undefined]);
});

test("one cost, or none, has a scale that can be drawn", () => {
  assert.deepEqual(logarithmicBars([gas("a", 1)]).powers, [-1, 0]);
  assert.deepEqual(logarithmicBars([gas("a", null)]).powers, []);
  assert.equal(spread([gas("a", 1), gas("b", null)]), undefined);
  assert.equal(spread([gas("a", 0.5), gas("b", 50), gas("c", 0)]), 100);
});

test("chains that neither answered nor are refused are named", () => {
  assert.deepEqual(silent(["a", "b", "c"], { results: [gas("a", 1)], notAllowed: ["b"] }), ["c"]);
});
