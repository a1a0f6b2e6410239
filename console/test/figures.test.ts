import assert from "node:assert/strict";
import { test } from "node:test";
import { amount, group, significant, usd } from "../src/format/figures.ts";

test("amounts stay text: cut, grouped, never rounded to nothing", () => {
  assert.equal(amount("12445928901000000000000.123456789"), "12\u202f445\u202f928\u202f901\u202f000\u202f000\u202f000\u202f000.123456");
  assert.equal(amount("0.000000001234"), "0.0000000012");
  assert.equal(amount("1.5000"), "1.5");
  assert.equal(amount("0"), "0");
  assert.equal(amount("no amount"), "no amount");
});

test("dollars and numbers keep what counts", () => {
  assert.equal(usd(0), "$0");
  assert.equal(usd(2512.346), "$2\u202f512.35");
  assert.equal(usd(-0.00012346), "-$0.0001235");
  assert.equal(usd(17591922622), "$17.59B");
  assert.equal(group(1234567n), "1\u202f234\u202f567");
  assert.equal(significant(7e-9), "0.000000007");
});
