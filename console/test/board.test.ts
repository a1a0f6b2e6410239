import assert from "node:assert/strict";
import { test } from "node:test";
import { Failure } from "../src/gateway/failure.ts";
import { counts, due, EMPTY, KEPT_BLOCKS, KEPT_MS, reduce, wanted, type Action, type Board, type BlockEvent, type Chain, type ChainHealth, type State } from "../src/sections/chains/board.ts";
import { blockTimes, rhythm } from "../src/sections/chains/figures.ts";

const START = Date.parse("2026-11-23T12:00:00Z");
const ALL = new Set(["base", "bitcoin", "ethereum", "solana"]);

const health = (chains: Partial<Record<State, string[]>>, now = START): Action => ({ type: "health", health: { version: "1.2.3", uptimeSeconds: 7, chains }, now });
const after = (board: Board, ...actions: Action[]): Board => actions.reduce(reduce, board);
const of = (board: Board, slug: string): Chain => board.chains.find((chain) => chain.slug === slug) as Chain;
const asked = (slug: string, answer: ChainHealth | Failure, now = START): Action => ({ type: "chainHealth", slug, answer, now });
const sent = (event: BlockEvent, now = START): Action => ({ type: "event", slug: "base", event, now });
const hashOf = (number: number, fork = "") => `0x${number}${fork}`;
const progress = (number: number, now = START): Action => sent({ kind: "PROGRESS", blockNumber: number, blockHash: hashOf(number) }, now);
/** A block made so many seconds after the start. */
const added = (number: number, seconds: number, { fork = "", parent = hashOf(number - 1) } = {}): Action =>
  sent(
    {
      kind: "ADDED",
      blockNumber: number,
      blockHash: hashOf(number, fork),
      block: { parentNumber: number - 1, parentHash: parent, timestamp: new Date(START + seconds * 1000).toISOString() },
    },
    START + seconds * 1000 + 200,
  );

const FRESH = after(EMPTY, health({ ok: ["ethereum", "base"], unknown: ["solana", "bitcoin"] }));

test("health fills the board: every chain by name, its kind known without a node", () => {
  assert.deepEqual(
    FRESH.chains.map((chain) => [chain.slug, chain.kind, chain.state]),
    [
      ["base", "EVM", "ok"],
      ["bitcoin", "UTXO", "unknown"],
      ["ethereum", "EVM", "ok"],
      ["solana", "SVM", "unknown"],
    ],
  );
  assert.deepEqual(counts(FRESH.chains), { ok: 2, degraded: 0, down: 0, unknown: 2 });
  assert.equal(FRESH.version, "1.2.3");
  assert.equal(of(FRESH, "base").head, undefined);
  assert.equal(of(FRESH, "base").latencyMs, undefined);
});

test("streams and health are wanted of seen chains that were used; idle ones cost nothing until they are looked at", () => {
  assert.deepEqual(wanted(FRESH, ALL, false), ["base", "ethereum"]);
  assert.deepEqual(wanted(FRESH, new Set(["base"]), false), ["base"]);
  assert.deepEqual(wanted(FRESH, new Set(), false), []);
  assert.deepEqual(due(FRESH, ALL, false, START, 60_000), ["base", "ethereum"]);
  const looked = reduce(FRESH, { type: "looked", slugs: ["solana"], isAlone: false });
  assert.deepEqual(wanted(looked, ALL, false), ["base", "ethereum", "solana"]);
  // A look reads the health once also of a row that is not in view, its stream waits.
  assert.deepEqual(due(looked, new Set(["base"]), false, START, 60_000), ["base", "solana"]);
  assert.deepEqual(wanted(looked, new Set(["base"]), false), ["base"]);
});

test("without a key one chain is looked at: the next look leaves it", () => {
  assert.deepEqual(wanted(FRESH, ALL, true), []);
  assert.deepEqual(due(FRESH, ALL, true, START, 60_000), []);
  const first = reduce(FRESH, { type: "looked", slugs: ["base"], isAlone: true });
  assert.deepEqual(wanted(first, ALL, true), ["base"]);
  const second = reduce(first, { type: "looked", slugs: ["solana"], isAlone: true });
  assert.deepEqual(wanted(second, ALL, true), ["solana"]);
  assert.deepEqual(due(second, ALL, true, START, 60_000), ["solana"]);
});

test("health of nodes is read once a minute and together", () => {
  const board = after(FRESH, asked("base", { status: "ok", latencyMs: 2 }), asked("ethereum", { status: "ok", latencyMs: 3 }, START + 20_000));
  assert.deepEqual(due(board, ALL, false, START + 59_999, 60_000), []);
  assert.deepEqual(due(board, ALL, false, START + 60_000, 60_000), ["base", "ethereum"]);
});

test("trouble has its reason: asked for when a chain gets into it, gone when it is over", () => {
  const fine = after(FRESH, asked("base", { status: "ok", latencyMs: 2, blockHeight: 5 }), asked("ethereum", { status: "ok" }));
  const down = reduce(fine, health({ down: ["base"], ok: ["ethereum"] }));
  assert.deepEqual(due(down, ALL, false, START + 1000, 60_000), ["base"]);
  const known = reduce(down, asked("base", { status: "down", reason: "refused", blockHeight: 5, latencyMs: null }, START + 1000));
  assert.equal(of(known, "base").reason, "refused");
  assert.equal(of(known, "base").latencyMs, undefined);
  assert.deepEqual(due(reduce(known, health({ down: ["base"], ok: ["ethereum"] })), ALL, false, START + 2000, 60_000), []);
  assert.equal(of(reduce(known, health({ ok: ["base", "ethereum"] })), "base").reason, undefined);
});

test("health that cannot be read is said and tried again a minute later; what was known stays", () => {
  const failure = new Failure("too many", "RATE_LIMITED", 429);
  const board = after(FRESH, asked("base", { status: "ok", latencyMs: 2, blockHeight: 5 }), asked("ethereum", { status: "ok" }), asked("base", failure, START + 60_000));
  assert.equal(of(board, "base").askFailure, failure);
  assert.equal(of(board, "base").latencyMs, 2);
  assert.equal(of(board, "base").head?.number, 5);
  assert.equal(of(reduce(board, asked("base", { status: "ok" }, START + 120_000)), "base").askFailure, undefined);
});

test("heads: first its number, then with time and hash; a polled number does not overrule a stream", () => {
  const begun = after(FRESH, { type: "started", slug: "base" }, asked("base", { status: "ok", blockHeight: 10 }));
  assert.deepEqual(of(begun, "base").head, { number: 10, hash: undefined, madeAt: undefined, seenAt: START, isFirst: true });
  const first = reduce(begun, progress(10, START + 500));
  assert.deepEqual(of(first, "base").head, { number: 10, hash: "0x10", madeAt: undefined, seenAt: START, isFirst: true });
  const next = reduce(first, added(11, 2));
  assert.deepEqual(of(next, "base").head, { number: 11, hash: "0x11", madeAt: START + 2000, seenAt: START + 2200, isFirst: false });
  assert.equal(of(reduce(next, asked("base", { status: "ok", blockHeight: 12 })), "base").head?.number, 11);
});

test("a polled head is younger than the poll before, and of unknown age after a gap", () => {
  const polled = after(FRESH, asked("base", { status: "ok", blockHeight: 10 }), asked("base", { status: "ok", blockHeight: 11 }, START + 5000));
  assert.equal(of(polled, "base").head?.isFirst, false);
  const later = reduce(polled, asked("base", { status: "ok", blockHeight: 90 }, START + 600_000));
  assert.equal(of(later, "base").head?.isFirst, true);
});

test("a reorganisation takes blocks back and marks the chain; the time of the block below is known again", () => {
  const before = after(FRESH, progress(10), added(11, 2), added(12, 4), added(13, 6));
  const back = after(
    before,
    sent({ kind: "REMOVED", blockNumber: 13, blockHash: "0x13", block: { parentNumber: 12, parentHash: "0x12" } }, START + 8000),
    sent({ kind: "REMOVED", blockNumber: 12, blockHash: "0x12", block: { parentNumber: 11, parentHash: "0x11" } }, START + 8000),
  );
  assert.equal(of(back, "base").reorganisedAt, START + 8000);
  assert.deepEqual(of(back, "base").head, { number: 11, hash: "0x11", madeAt: START + 2000, seenAt: START + 8000, isFirst: true });
  const other = reduce(back, added(12, 5, { fork: "b" }));
  assert.deepEqual(
    of(other, "base").blocks.map((block) => block.hash),
    ["0x11", "0x12b"],
  );
  const rolled = reduce(other, sent({ kind: "ROLLED_BACK", blockNumber: 9, blockHash: "0x9" }, START + 9000));
  assert.equal(of(rolled, "base").head?.number, 9);
  assert.deepEqual(of(rolled, "base").blocks, []);
});

test("silence is shown until a block comes", () => {
  const silent = after(FRESH, progress(10), sent({ kind: "STALLED", blockNumber: 10, blockHash: "0x10" }));
  assert.equal(of(silent, "base").stream, "stalled");
  assert.equal(of(reduce(silent, sent({ kind: "RESUMED", blockNumber: 10, blockHash: "0x10" })), "base").stream, "live");
  assert.equal(of(reduce(silent, added(11, 30)), "base").stream, "live");
});

test("a stream that ended says why and is not begun again by itself, but by a look", () => {
  const failure = new Failure("no units are left", "RATE_LIMITED", 429);
  const ended = after(FRESH, progress(10), { type: "ended", slug: "base", failure });
  assert.equal(of(ended, "base").failure, failure);
  assert.deepEqual(wanted(ended, ALL, false), ["ethereum"]);
  assert.equal(of(reduce(ended, { type: "left", slug: "base" }), "base").stream, "ended");
  const looked = reduce(ended, { type: "looked", slugs: ["base"], isAlone: false });
  assert.deepEqual(wanted(looked, ALL, false), ["base", "ethereum"]);
  assert.equal(of(looked, "base").failure, undefined);
});

test("a chain that no node served is followed again once it is served", () => {
  const failure = new Failure("no endpoint answered", "UPSTREAM_UNAVAILABLE", 503);
  const away = after(FRESH, { type: "ended", slug: "base", failure }, health({ down: ["base"], ok: ["ethereum"] }));
  assert.deepEqual(wanted(away, ALL, false), ["ethereum"]);
  assert.deepEqual(wanted(reduce(away, health({ ok: ["base", "ethereum"] })), ALL, false), ["base", "ethereum"]);
});

test("block times: blocks of one second share it; a gap begins anew; what is kept is bounded", () => {
  const quick = after(FRESH, progress(10), added(11, 1), added(12, 2), added(13, 2), added(14, 2), added(15, 2), added(16, 3));
  assert.deepEqual(
    blockTimes(of(quick, "base").blocks).map((time) => time.seconds),
    [0.25, 1],
  );
  assert.deepEqual(rhythm(of(quick, "base").blocks), { average: 0.4, shortest: 0.25, longest: 1, blocks: 6, lastsMs: 2000 });
  assert.equal(of(reduce(quick, added(20, 9)), "base").blocks.length, 1);
  assert.equal(of(reduce(quick, progress(20)), "base").blocks.length, 0);
  assert.equal(rhythm(of(FRESH, "base").blocks), undefined);
  let long = FRESH;
  for (let number = 1; number <= KEPT_BLOCKS + 100; number++) long = reduce(long, added(number, number / 100));
  assert.equal(of(long, "base").blocks.length, KEPT_BLOCKS);
  const late = reduce(long, added(KEPT_BLOCKS + 101, KEPT_MS / 1000 + 60));
  assert.equal(of(late, "base").blocks.length, 1);
});

test("a block without a time, or with one that is none, has no age instead of a wrong one", () => {
  for (const timestamp of [null, "soon"]) {
    const event = { kind: "ADDED", blockNumber: 11, blockHash: "0x11", block: { parentNumber: 10, parentHash: "0x10", timestamp } };
    const board = after(FRESH, progress(10), sent(event));
    assert.equal(of(board, "base").head?.madeAt, undefined);
    assert.deepEqual(of(board, "base").blocks, []);
  }
});

test("a page whose clock is wrong goes by the gateway's", () => {
  const timestamp = (ms: number) => new Date(START + ms).toISOString();
  assert.equal(reduce(FRESH, asked("base", { status: "ok", timestamp: timestamp(-800) })).clockOffset, 0);
  assert.equal(reduce(FRESH, asked("base", { status: "ok", timestamp: timestamp(3_600_000) })).clockOffset, 3_600_000);
  assert.equal(reduce(FRESH, asked("base", { status: "ok" })).clockOffset, 0);
});
