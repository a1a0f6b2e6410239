import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { KIND_OF } from "../src/sections/chains/kinds.ts";

test("the kinds are those of the contract's table", () => {
  const table = readFileSync(new URL("../../tests/golden/chains.txt", import.meta.url), "utf8");
  const rows = table
    .trim()
    .split("\n")
    .map((line) => /^(\S+) (.+)$/.exec(line)?.slice(1));
  assert.deepEqual([...KIND_OF].sort(), rows.sort());
});
