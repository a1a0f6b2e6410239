import assert from "node:assert/strict";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { ErrorInfoSchema, RetryInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import {
  connect,
  EventKind,
  Reason,
  StreamService,
  WaypostError,
  type WatchBlocksRequest,
  WatchBlocksResponseSchema,
  WatchPricesResponseSchema,
} from "../src/index.js";
import { Position } from "../src/streams.js";

type Step = object | ConnectError;

/** Serves scripts, the last one for every further call: events, then a failure, or nothing for as long as it is read. */
async function scripted(scripts: Step[][], use: (url: string, cursors: string[], left: Promise<void>) => Promise<void>, port = 0) {
  const cursors: string[] = [];
  let leave = () => {};
  const left = new Promise<void>((resolve) => (leave = resolve));
  async function* play(request: object, { signal }: { signal: AbortSignal }): AsyncGenerator<any> {
    const cursor = "cursor" in request ? String(request.cursor) : "";
    const script = scripts[Math.min(cursors.push(cursor), scripts.length) - 1]!;
    for (const step of script) {
      if (step instanceof ConnectError) throw step;
      yield step;
    }
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    leave();
  }
  const handler = connectNodeAdapter({
    routes: (router) => void router.service(StreamService, { watchBlocks: play, watchPrices: play }),
  });
  const sessions = new Set<{ destroy(): void }>();
  const server = createServer(handler).on("session", (session) => sessions.add(session));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, cursors, left);
  } finally {
    for (const session of sessions) session.destroy();
    server.close();
  }
}

function failing(code: Code, reason?: string, retryMs?: number): ConnectError {
  const info = reason === undefined ? [] : [{ desc: ErrorInfoSchema, value: { reason, domain: "waypost" } }];
  const retry = retryMs === undefined ? [] : [{ desc: RetryInfoSchema, value: { retryDelay: { nanos: retryMs * 1e6 } } }];
  return new ConnectError("said so", code, undefined, [...info, ...retry]);
}

function block(number: number, kind = EventKind.ADDED, cursor = `at-${number}`) {
  return create(WatchBlocksResponseSchema, { kind, blockNumber: BigInt(number), blockHash: `0x${number}`, cursor });
}

function price(item: number, usd: number, seconds = 1n) {
  return create(WatchPricesResponseSchema, { item, outcome: { case: "value", value: { usd, lastUpdated: { seconds } } } });
}

async function read<E>(events: AsyncIterable<E>, most: number): Promise<E[]> {
  const found: E[] = [];
  for await (const event of events) {
    found.push(event);
    if (found.length === most) break;
  }
  return found;
}

const passing = [
  failing(Code.Unavailable, "UPSTREAM_UNAVAILABLE", 1),
  failing(Code.ResourceExhausted, "SLOW_CONSUMER"),
  failing(Code.ResourceExhausted, "RATE_LIMITED", 1),
  failing(Code.DeadlineExceeded, "DEADLINE_EXCEEDED"),
  failing(Code.Unavailable),
];

for (const [number, failure] of passing.entries()) {
  test(`a stream goes on at its cursor after what passes, case ${number}`, () =>
    scripted([[block(1), block(2), failure], [block(2), block(3)]], async (url, cursors, left) => {
      const streams = connect(url, { key: "local" })(StreamService);
      const events = await read(streams.watchBlocks({ chain: "ethereum" }), 3);
      assert.deepEqual(events.map((event) => event.blockNumber), [1n, 2n, 3n]);
      assert.deepEqual(cursors, ["", "at-2"]);
      await left;
    }));
}

const lasting = [
  failing(Code.OutOfRange, "CURSOR_TOO_OLD"),
  failing(Code.Unauthenticated, "KEY_INVALID"),
  failing(Code.InvalidArgument, "INVALID_ARGUMENT"),
  failing(Code.Unavailable, "UPSTREAM_DISAGREES", 1),
  failing(Code.ResourceExhausted, "RATE_LIMITED"),
  failing(Code.Unimplemented),
];

for (const [number, failure] of lasting.entries()) {
  test(`what does not pass is thrown, case ${number}`, () =>
    scripted([[block(1), failure]], async (url, cursors) => {
      const streams = connect(url, { key: "local" })(StreamService);
      await assert.rejects(read(streams.watchBlocks({ chain: "ethereum" }), 9), (thrown) => {
        assert.ok(thrown instanceof WaypostError);
        assert.equal(thrown.code, failure.code);
        return true;
      });
      assert.equal(cursors.length, 1);
    }));
}

test("a stream that does not begin is given up like a call", () =>
  scripted([[failing(Code.Unavailable, "UPSTREAM_UNAVAILABLE", 1)]], async (url, cursors) => {
    const streams = connect(url, { key: "local", retries: 2 })(StreamService);
    await assert.rejects(read(streams.watchBlocks({ chain: "ethereum" }), 1), /said so/);
    assert.equal(cursors.length, 3);
  }));

test("values begin anew, and those that did not change are not delivered again", () =>
  scripted(
    [
      [price(0, 2000), price(1, 60000), failing(Code.Unavailable, "UPSTREAM_UNAVAILABLE", 1)],
      [price(0, 2000, 2n), price(1, 61000)],
    ],
    async (url) => {
      const streams = connect(url, { key: "local" })(StreamService);
      const values = await read(streams.watchPrices({ items: [{ symbol: "ETH" }, { symbol: "BTC" }] }), 3);
      assert.deepEqual(values.map((value) => [value.item, value.outcome.case === "value" && value.outcome.value.usd]), [
        [0, 2000],
        [1, 60000],
        [1, 61000],
      ]);
    },
  ));

test("a gateway that restarts loses nothing", async () => {
  let port = 0;
  let events: AsyncIterator<{ blockNumber: bigint }> | undefined;
  await scripted([[block(1), block(2)]], async (url) => {
    port = Number(new URL(url).port);
    events = connect(url, { key: "local" })(StreamService).watchBlocks({ chain: "ethereum" })[Symbol.asyncIterator]();
    assert.equal((await events.next()).value.blockNumber, 1n);
    assert.equal((await events.next()).value.blockNumber, 2n);
  });
  await scripted(
    [[block(2), block(3)]],
    async (_, cursors) => {
      assert.equal((await events!.next()).value.blockNumber, 3n);
      assert.equal(cursors.at(-1), "at-2");
      await events!.return!();
    },
    port,
  );
});

test("a signal ends a stream, and a deadline as well", () =>
  scripted([[block(1)]], async (url, _, left) => {
    const streams = connect(url, { key: "local" })(StreamService);
    const ending = new AbortController();
    const events = streams.watchBlocks({ chain: "ethereum" }, { signal: ending.signal })[Symbol.asyncIterator]();
    assert.equal((await events.next()).value.blockNumber, 1n);
    const waiting = events.next();
    ending.abort();
    await assert.rejects(waiting, (thrown) => thrown instanceof WaypostError && thrown.code === Code.Canceled);
    await left;
    const late = read(streams.watchBlocks({ chain: "ethereum" }, { timeoutMs: 50 }), 2);
    await assert.rejects(late, (thrown) => thrown instanceof WaypostError && thrown.code === Code.DeadlineExceeded);
  }));

function delivered(...calls: WatchBlocksResponse[][]): (readonly [bigint, EventKind])[] {
  const position = new Position();
  return calls.flatMap((events) => {
    position.resume();
    return events.filter((event) => position.take(event)).map(({ blockNumber, kind }) => [blockNumber, kind] as const);
  });
}

type WatchBlocksResponse = ReturnType<typeof block>;

test("the position of a cursor is delivered once, what came back again", () => {
  const { ADDED, REMOVED, ROLLED_BACK, PROGRESS } = EventKind;
  assert.deepEqual(delivered([block(1), block(2)], [block(2, ADDED, "another"), block(3)]).length, 3);
  const back = [block(2), block(2, REMOVED), block(2), block(2, ROLLED_BACK), block(1, ROLLED_BACK), block(2)];
  assert.deepEqual(delivered([block(1), block(2)], back).map(([, kind]) => kind), [
    ADDED,
    ADDED,
    REMOVED,
    ADDED,
    ROLLED_BACK,
    ROLLED_BACK,
    ADDED,
  ]);
  assert.deepEqual(delivered([block(5, PROGRESS)], [block(5, PROGRESS), block(6, PROGRESS)]).length, 2);
  assert.deepEqual(delivered([block(1), block(1)]).length, 2);
});

test("the reason of a failure is known to whoever catches it", () =>
  scripted([[failing(Code.OutOfRange, "CURSOR_TOO_OLD")]], async (url) => {
    const streams = connect(url, { key: "local" })(StreamService);
    const request: Partial<WatchBlocksRequest> = { chain: "ethereum", cursor: "old" };
    await assert.rejects(read(streams.watchBlocks(request as never), 1), (thrown) => (thrown as WaypostError).reason === Reason.CURSOR_TOO_OLD);
  }));
