import assert from "node:assert/strict";
import { test } from "node:test";
import { parseExact, printExact } from "../src/gateway/exact.ts";

test("integers beyond 2^53 survive reading and printing", () => {
  const text = '{"a":115792089237316195423570985008687907853269984665640564039457584007913129639935,"b":1.5,"c":7e-9}';
  const value = parseExact(text) as { a: bigint; b: number };
  assert.equal(value.a, 2n ** 256n - 1n);
  assert.equal(value.b, 1.5);
  assert.equal(printExact(value), text);
});
