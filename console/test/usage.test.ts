import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, cacheShare, countSummary, failed, lastDays, reasons, seriesOf, type UsageRow } from "../src/sections/usage/series.ts";

const row = (members: Partial<UsageRow>): UsageRow => ({
  requests: 0,
  items: 0,
  units: 0,
  cacheHits: 0,
  errors: {},
  upstreamRequests: 0,
  upstreamBytesSent: 0,
  upstreamBytesReceived: 0,
  joined: 0,
  folded: 0,
  ...members,
});

test("a share of no requests is no share", () => {
  assert.equal(cacheShare(row({})), undefined);
  assert.equal(cacheShare(row({ requests: 4, cacheHits: 0 })), 0);
  assert.equal(cacheShare(row({ requests: 8n, cacheHits: 2 })), 25);
});

test("failures are summed over their reasons, most frequent first", () => {
  const errors = { NOT_FOUND: 2, CANCELLED: 2, RATE_LIMITED: 7n };
  assert.equal(failed({ errors }), 11);
  assert.deepEqual(reasons({ errors }), [
    ["RATE_LIMITED", 7],
    ["CANCELLED", 2],
    ["NOT_FOUND", 2],
  ]);
});

test("days without a row are days without use, and gaps of the share", () => {
  const rows = [row({ start: "2026-01-02T00:00:00Z", requests: 10, units: 30, cacheHits: 5, errors: { NOT_FOUND: 1 } })];
  const series = seriesOf(rows, "day", "2026-01-01", "2026-01-03", new Date("2026-02-01T00:00:00Z"));
  assert.deepEqual(series.requests, [0, 10, 0]);
  assert.deepEqual(series.units, [0, 30, 0]);
  assert.deepEqual(series.errors, [0, 1, 0]);
  assert.deepEqual(series.cache, [null, 50, null]);
  assert.equal(series.times[0], Date.parse("2026-01-01") / 1000);
});

test("hours end with the one that goes on, unless the gateway has later ones; whole days end at midnight", () => {
  const now = new Date("2026-01-01T02:30:00Z");
  assert.equal(seriesOf([], "hour", "2026-01-01", "2026-01-01", now).times.length, 3);
  assert.equal(seriesOf([row({ start: "2026-01-01T04:00:00Z", requests: 1 })], "hour", "2026-01-01", "2026-01-01", now).times.length, 5);
  assert.equal(seriesOf([], "hour", "2025-12-31", "2025-12-31", now).times.length, 24);
  assert.equal(seriesOf([], "day", "2026-01-05", "2026-01-06", now).times.length, 0);
});

test("series, sizes and ranges in words", () => {
  const when = (seconds: number) => String(seconds);
  assert.equal(countSummary([0, 3, 1], [1, 2, 3], "hour", "request", when), "4 requests in 2 of 3 hours; most in the hour of 2: 3.");
  assert.equal(countSummary([0], [1], "day", "error", when), "No errors in 1 day.");
  assert.deepEqual([bytes(0), bytes(999), bytes(1234), bytes(12_345_678), bytes(5_000_000_000_000n)], ["0 B", "999 B", "1.2 kB", "12 MB", "5.0 TB"]);
  assert.deepEqual(lastDays(7, new Date("2026-01-07T23:59:00Z")), { from: "2026-01-01", to: "2026-01-07" });
});
