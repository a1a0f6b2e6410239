import assert from "node:assert/strict";
import { test } from "node:test";
import { Pacing } from "../src/gateway/pacing.ts";

/** Returns when each of the batches went, in milliseconds since the first. */
async function gone(counts: readonly number[], perSecond: number): Promise<number[]> {
  const pacing = new Pacing();
  const began = performance.now();
  return Promise.all(counts.map((count) => pacing.wait(count, perSecond).then(() => performance.now() - began)));
}

test("as many as fit into a second go at once, the next when the second is over", async () => {
  const [first = 0, second = 0, third = 0, fourth = 0] = await gone([3, 3, 3, 3], 10);
  assert.ok(first < 500 && second < 500 && third < 500);
  assert.ok(fourth - first >= 1000);
});

test("no second has more than its calls", async () => {
  const counts = [4, 4, 4, 4, 4];
  const times = await gone(counts, 10);
  for (const begin of times) {
    const within = counts.filter((_, place) => (times[place] ?? 0) >= begin && (times[place] ?? 0) < begin + 1000);
    assert.ok(within.reduce((sum, count) => sum + count, 0) <= 10, String(times));
  }
});

test("what is aborted while it waits is thrown", async () => {
  const pacing = new Pacing();
  const leaving = new AbortController();
  await pacing.wait(1, 1);
  const waiting = pacing.wait(1, 1, leaving.signal);
  leaving.abort(new Error("left"));
  await assert.rejects(waiting, /left/);
});
