import assert from "node:assert/strict";
import { test } from "node:test";
import { historyLines, lineSummary, listed, money, priceRows, type Watched, watchedSymbols } from "../src/sections/markets/prices.ts";

const at = "2026-01-01T00:00:00Z";
const top = (symbol: string, price: number) => ({ symbol, name: symbol, price, chains: 1, lastUpdated: at });
const point = (date: string, price: number, complete = true) => ({ date, price, complete });

test("the watch stands over what was read; no price is not a price of zero", () => {
  const live = new Map<string, Watched>([
    ["ETH", { symbol: "ETH", price: { usd: 3000, eur: null, lastUpdated: "2026-01-02T00:00:00Z" } }],
    ["BTC", { symbol: "BTC", error: { reason: "PRICE_UNAVAILABLE", message: "no live price" } }],
  ]);
  const [eth, btc, sol] = priceRows([top("ETH", 2500), top("BTC", 90_000), top("SOL", 100)], [top("ETH", 2300), top("BTC", 80_000)], live);
  assert.deepEqual([eth?.usd, eth?.eur, eth?.lastUpdated, eth?.isLive], [3000, undefined, "2026-01-02T00:00:00Z", true]);
  assert.deepEqual([btc?.usd, btc?.eur, btc?.error], [undefined, undefined, "PRICE_UNAVAILABLE: no live price"]);
  assert.deepEqual([sol?.usd, sol?.eur, sol?.isLive], [100, undefined, false]);
});

test("ten symbols at most are watched: the chosen ones, then the first that can be", () => {
  const can = new Set(["A", "B", "C", "D"]);
  assert.deepEqual(watchedSymbols(["A", "X", "B", "C", "D"], ["D", "X"], can, 3), ["A", "B", "D"]);
  assert.deepEqual(watchedSymbols(["A", "X"], [], can), ["A"]);
});

test("days without a price are gaps and are said; a change begins at the first known day", () => {
  const histories = [{ symbol: "ETH", name: "Ether", prices: [point("2026-01-02", 100), point("2026-01-04", 150, false), point("2026-01-05", 50, false)] }];
  const { dates, times, lines } = historyLines(histories, 5, "2026-01-05");
  assert.deepEqual(dates, ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05"]);
  assert.equal(times[1], Date.parse("2026-01-02T00:00:00Z") / 1000);
  const [line] = lines;
  assert.ok(line);
  assert.deepEqual(line.prices, [null, 100, null, 150, 50]);
  assert.deepEqual(line.changes, [null, 0, null, 50, -50]);
  assert.deepEqual(line.missing, ["2026-01-01", "2026-01-03"]);
  assert.deepEqual(line.partial, ["2026-01-04"]);
  const words = lineSummary(line, dates, "USD");
  assert.match(words, /2 of 5 days have no price \(2026-01-01, 2026-01-03\): gaps/);
  assert.match(words, /Known in part: 2026-01-04\. The last day goes on\./);
});

test("a day that the browser's clock does not know yet belongs to the axis", () => {
  const { dates } = historyLines([{ symbol: "ETH", name: "Ether", prices: [point("2026-01-03", 1)] }], 2, "2026-01-02");
  assert.deepEqual(dates, ["2026-01-01", "2026-01-02", "2026-01-03"]);
});

test("a history without any day says so", () => {
  const { dates, lines } = historyLines([{ symbol: "ETH", name: "Ether", prices: [] }], 2, "2026-01-02");
  assert.ok(lines[0]);
  assert.equal(lineSummary(lines[0], dates, "EUR"), "ETH: no day of the range has a price.");
});

test("prices and lists in words", () => {
  assert.deepEqual([money(12.5, "EUR"), money(1.0001, "USD"), money(0.12346, "USD"), money(0, "USD")], ["€12.50", "$1.0001", "$0.1235", "$0"]);
  assert.equal(listed(["a", "b", "c"], 2), "a, b and 1 more");
});
