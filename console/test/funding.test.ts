import assert from "node:assert/strict";
import { test } from "node:test";
import { joined, percentText, signed } from "../src/sections/markets/funding.ts";

const a = (coin: string, annualizedRate: number) => ({ coin, fundingRate: "0.0001", annualizedRate, markPrice: "1", openInterest: "1" });
const b = (ticker: string, annualizedRate: number) => ({ ticker, fundingRate: "0.0001", annualizedRate, nextFundingAt: "2026-01-01T01:00:00Z" });

test("venues are joined by the exact coin; one alone has no difference", () => {
  const rows = joined({ venueA: [a("BTC", 10), a("kPEPE", -80), a("constructor", 1)], venueB: [b("BTC-USD", -20), b("PEPE-USD", 5), b("A,B,0x1-USD", 30), b("X-USD-USD", 0)] });
  assert.deepEqual(
    rows.map(({ coin, difference }) => [coin, difference]),
    [
      ["kPEPE", undefined],
      ["A,B,0x1", undefined],
      ["BTC", 30],
      ["PEPE", undefined],
      ["constructor", undefined],
      ["X-USD", undefined],
    ],
  );
  assert.equal(rows[0]?.b, undefined);
  assert.equal(rows[1]?.a, undefined);
});

test("a venue that is away leaves the other one whole", () => {
  assert.deepEqual(
    joined({ venueA: [], venueB: [b("BTC-USD", 1)] }).map(({ coin, a: first, difference }) => [coin, first, difference]),
    [["BTC", undefined, undefined]],
  );
});

test("rates become per cent digit for digit", () => {
  assert.equal(percentText("-0.0001250"), "-0.01250 %");
  assert.equal(percentText("0.0000003"), "0.00003 %");
  assert.equal(percentText("1.5"), "150 %");
  assert.equal(percentText("0"), "0 %");
  assert.equal(percentText("<b>"), "<b>");
  assert.deepEqual([signed(1.234), signed(-1), signed(0)], ["+1.23", "-1.00", "0.00"]);
});
