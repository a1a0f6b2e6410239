import assert from "node:assert/strict";
import { test } from "node:test";
import { Failure } from "../src/gateway/failure.ts";
import { announce, ANNOUNCED_EVERY_MS, SILENT } from "../src/sections/chains/announcements.ts";
import { EMPTY, reduce, type Action, type Board } from "../src/sections/chains/board.ts";
import { age } from "../src/sections/chains/figures.ts";

const START = Date.parse("2026-11-23T12:00:00Z");
const SLUGS = ["arbitrum", "base", "bitcoin", "ethereum", "gnosis", "solana"];

const after = (board: Board, ...actions: Action[]): Board => actions.reduce(reduce, board);
const health = (ok: string[], down: string[] = [], unknown: string[] = []): Action => ({ type: "health", health: { version: "1", uptimeSeconds: 1, chains: { ok, down, unknown } }, now: START });
const at = (slug: string, number: number): Action => ({ type: "event", slug, event: { kind: "PROGRESS", blockNumber: number, blockHash: `0x${number}` }, now: START });
const later = (times: number): number => START + times * ANNOUNCED_EVERY_MS;

test("first the whole in a sentence; then what moved, every ten seconds at most", () => {
  const board = after(EMPTY, health(["base", "ethereum"], [], ["solana"]));
  assert.equal(announce(SILENT, EMPTY, START), undefined);
  const first = announce(SILENT, board, START);
  assert.equal(first?.text, "3 chains: 2 ok, 1 idle.");
  const moved = after(board, at("base", 7), at("ethereum", 26050040));
  assert.equal(announce(first!.spoken, moved, later(1) - 1), undefined);
  const second = announce(first!.spoken, moved, later(1));
  assert.equal(second?.text, "base at block 7, ethereum at block 26050040.");
  assert.equal(announce(second!.spoken, moved, later(2)), undefined);
  // Silence uses nothing up: what comes then is said at once.
  assert.equal(announce(second!.spoken, after(moved, at("base", 8)), later(2) + 1)?.text, "base at block 8.");
});

test("states that changed come first, with their reasons", () => {
  const board = after(EMPTY, health(["base", "ethereum"], [], ["solana"]));
  const { spoken } = announce(SILENT, board, START)!;
  const worse = after(
    board,
    at("ethereum", 9),
    { type: "chainHealth", slug: "base", answer: { status: "down", reason: "no endpoint" }, now: START },
    { type: "event", slug: "ethereum", event: { kind: "STALLED", blockNumber: 9, blockHash: "0x9" }, now: START },
    { type: "ended", slug: "solana", failure: new Failure("no units are left", "RATE_LIMITED") },
  );
  const said = announce(spoken, after(worse, at("ethereum", 10), { type: "event", slug: "ethereum", event: { kind: "ROLLED_BACK", blockNumber: 8, blockHash: "0x8" }, now: START }), later(1));
  assert.equal(said?.text, "base is down, no node is configured; ethereum is ok, reorganised; solana is idle, its stream ended, RATE_LIMITED. ethereum at block 8.");
  assert.match(announce(spoken, worse, later(1))!.text, /^base is down.*; ethereum is ok, stalled;/);
});

test("that no node serves a chain that is down is said once", () => {
  const failure = new Failure("no endpoint answered", "UPSTREAM_UNAVAILABLE", 503);
  const board = after(EMPTY, health(["base"]));
  const { spoken } = announce(SILENT, board, START)!;
  const away = after(board, { type: "ended", slug: "base", failure });
  assert.equal(announce(spoken, away, later(1))?.text, "base is ok, its stream ended, UPSTREAM_UNAVAILABLE.");
  assert.equal(announce(spoken, after(away, health([], ["base"])), later(1))?.text, "base is down.");
});

test("many at once are summarised", () => {
  const board = after(EMPTY, health(SLUGS));
  const { spoken } = announce(SILENT, board, START)!;
  const moved = after(board, ...SLUGS.map((slug, number) => at(slug, number)));
  assert.equal(announce(spoken, moved, later(1))?.text, "arbitrum at block 0, base at block 1, bitcoin at block 2, ethereum at block 3 and 2 more with new blocks.");
  assert.match(announce(spoken, after(board, health([], SLUGS)), later(1))!.text, /^arbitrum is down; .*; ethereum is down and 2 more with new states\.$/);
});

test("ages: by the block's time, else since when it is seen; a block of the future is said to be one", () => {
  const head = { number: 1, hash: undefined, seenAt: START, isFirst: false };
  assert.equal(age({ ...head, madeAt: START }, START + 2999, 0), "2 s");
  assert.equal(age({ ...head, madeAt: START }, START - 3_600_000, 3_605_000), "5 s");
  assert.equal(age({ ...head, madeAt: START + 2000 }, START, 0), "0 s");
  assert.equal(age({ ...head, madeAt: START + 3_600_000 }, START, 0), "60 min ahead");
  assert.equal(age({ ...head, madeAt: undefined }, START + 12_000, 0), "about 12 s");
  assert.equal(age({ ...head, madeAt: undefined, isFirst: true }, START + 600_000, 0), "over 10 min");
});
