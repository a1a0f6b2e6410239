import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { jsonRpc, Reason, WaypostError } from "../src/jsonrpc.js";

type Sent = { id: number; method: string; params: any };

/** A gateway's side of sockets: `answer` is called with each message, and `opened` counts the sockets. */
class Gateway {
  opened = 0;
  open = new Set<EventTarget>();
  sent: Sent[] = [];
  isDown = false;

  constructor(readonly answer: (message: Sent, send: (message: object) => void, close: () => void) => void) {}

  get webSocket(): new (url: string) => WebSocket {
    const gateway = this;
    return class extends EventTarget {
      readyState = 0;

      constructor(readonly url: string) {
        super();
        gateway.opened++;
        setImmediate(() => {
          if (gateway.isDown) return this.close();
          gateway.open.add(this);
          this.readyState = 1;
          this.dispatchEvent(new Event("open"));
        });
      }

      send(text: string) {
        const message = JSON.parse(text) as Sent;
        gateway.sent.push(message);
        const send = (answer: object) =>
          setImmediate(() => this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify({ jsonrpc: "2.0", ...answer }) })));
        setImmediate(() => gateway.answer(message, send, () => this.close()));
      }

      close() {
        gateway.open.delete(this);
        this.readyState = 3;
        setImmediate(() => this.dispatchEvent(new Event("close")));
      }
    } as unknown as new (url: string) => WebSocket;
  }

  get client() {
    return jsonRpc("http://gateway.example/key/v1", { webSocket: this.webSocket });
  }
}

function block(number: number) {
  return { cursor: `at-${number}`, kind: "ADDED", blockNumber: number, blockHash: `0x${number}` };
}

/** Plays scripts, one a subscription: events, an error, or the end of the socket. */
function playing(...scripts: (object | "close" | "end")[][]) {
  let count = 0;
  return ({ id, method, params }: Sent, send: (message: object) => void, close: () => void) => {
    if (method === "unsubscribe") return send({ id, result: true });
    assert.equal(method, "subscribe");
    assert.ok(params.watch);
    const subscription = `s${count}`;
    const script = scripts[Math.min(count++, scripts.length - 1)]!;
    send({ id, result: subscription });
    for (const step of script) {
      if (step === "close") setImmediate(close);
      else if (step === "end") send({ method: "subscription", params: { subscription, end: true } });
      else if ("reason" in step) send({ method: "subscription", params: { subscription, error: { code: 429, message: "said so", data: step } } });
      else send({ method: "subscription", params: { subscription, event: step } });
    }
  };
}

async function read<E>(events: AsyncIterable<E>, most: number): Promise<E[]> {
  const found: E[] = [];
  for await (const event of events) {
    found.push(event);
    if (found.length === most) break;
  }
  return found;
}

function subscribed({ sent }: Gateway) {
  return sent.filter(({ method }) => method === "subscribe").map(({ params }) => params);
}

for (const ending of ["close", { reason: "SLOW_CONSUMER" }, { reason: "RATE_LIMITED", retryAfterMs: 1 }] as const) {
  test(`a stream goes on at its cursor after ${typeof ending === "string" ? ending : ending.reason}`, async () => {
    const gateway = new Gateway(playing([block(1), block(2), ending], [block(2), block(3)]));
    const events = await read(gateway.client.watchBlocks({ chain: "ethereum" }), 3);
    assert.deepEqual(events, [block(1), block(2), block(3)]);
    assert.deepEqual(subscribed(gateway), [
      { watch: "watchBlocks", params: { chain: "ethereum" } },
      { watch: "watchBlocks", params: { chain: "ethereum", cursor: "at-2" } },
    ]);
    assert.equal(gateway.open.size, 0);
  });
}

test("what does not pass is thrown", async () => {
  const gateway = new Gateway(playing([block(1), { reason: "CURSOR_TOO_OLD" }]));
  await assert.rejects(read(gateway.client.watchBlocks({ chain: "ethereum" }), 9), (thrown) => {
    assert.ok(thrown instanceof WaypostError);
    assert.equal(thrown.reason, Reason.CURSOR_TOO_OLD);
    return true;
  });
  const refusing = new Gateway(({ id }, send) => send({ id, error: { code: 400, message: "no", data: { reason: "INVALID_ARGUMENT" } } }));
  await assert.rejects(read(refusing.client.watchBlocks({ chain: "" }), 1), /no/);
  assert.equal(subscribed(refusing).length, 1);
});

test("values begin anew, and those that did not change are not delivered again", async () => {
  const price = (item: number, usd: number, lastUpdated: string) => ({ item, symbol: "ETH", price: { usd, eur: null, lastUpdated } });
  const gateway = new Gateway(playing([price(0, 1, "a"), price(1, 2, "a"), "close"], [price(0, 1, "b"), price(1, 3, "b"), "end"]));
  const values = await read(gateway.client.watchPrices({ items: [{ symbol: "ETH" }, { symbol: "BTC" }] }), 9);
  assert.deepEqual(values, [price(0, 1, "a"), price(1, 2, "a"), price(1, 3, "b")]);
});

test("the block of a transaction is a change and that of a balance is none", async () => {
  const receipt = (blockNumber: number) => ({ chain: "ethereum", hash: "0x1", transaction: { state: "INCLUDED", blockNumber } });
  const receipts = new Gateway(playing([receipt(7), "close"], [receipt(8), "end"]));
  assert.equal((await read(receipts.client.watchReceipt({ chain: "ethereum", hash: "0x1" }), 9)).length, 2);
  const balance = (blockNumber: number) => ({ item: 0, chain: "ethereum", balance: { raw: "5", blockNumber } });
  const balances = new Gateway(playing([balance(7), "close"], [balance(8), "end"]));
  assert.equal((await read(balances.client.watchBalances({ items: [{ chain: "ethereum", address: "0x1" }] }), 9)).length, 1);
});

test("streams share a socket, and the last one closes it", async () => {
  const gateway = new Gateway(playing([block(1)]));
  const { client } = gateway;
  const one = client.watchBlocks({ chain: "ethereum" });
  const other = client.watchBlocks({ chain: "base" });
  await Promise.all([one.next(), other.next()]);
  assert.equal(gateway.opened, 1);
  await one.return();
  assert.equal(gateway.open.size, 1);
  await other.return();
  assert.equal(gateway.open.size, 0);
  assert.equal(gateway.sent.filter(({ method }) => method === "unsubscribe").length, 2);
});

test("a signal ends a stream wherever it is", async () => {
  const ending = new AbortController();
  const silent = new Gateway(() => undefined);
  const waiting = silent.client.watchBlocks({ chain: "ethereum" }, { signal: ending.signal }).next();
  setTimeout(() => ending.abort(), 20);
  await assert.rejects(waiting, (thrown) => thrown instanceof WaypostError);
  const gateway = new Gateway(playing([block(1)]));
  const later = new AbortController();
  const events = gateway.client.watchBlocks({ chain: "ethereum" }, { signal: later.signal });
  await events.next();
  const next = events.next();
  later.abort();
  await assert.rejects(next, (thrown) => thrown instanceof WaypostError);
  assert.equal(gateway.open.size, 0);
});

test("a reader that is too slow begins again where it is, and loses nothing", async () => {
  const many = Array.from({ length: 1500 }, (_, number) => block(number));
  const gateway = new Gateway(playing(many, many.slice(1)));
  const events = gateway.client.watchBlocks({ chain: "ethereum" });
  const first = await events.next();
  assert.equal(first.value && first.value.blockNumber, 0);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const second = await events.next();
  assert.equal(second.value && second.value.blockNumber, 1);
  assert.equal(subscribed(gateway)[1].params.cursor, "at-0");
  await events.return();
});

test("where the socket does not open, the gateway is asked why", async () => {
  const answer = { jsonrpc: "2.0", id: 1, error: { code: 401, message: "no such key", data: { reason: "KEY_INVALID" } } };
  const server = createServer((_, response) => response.writeHead(401).end(JSON.stringify(answer)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const gateway = new Gateway(() => undefined);
    gateway.isDown = true;
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/key/v1`;
    const client = jsonRpc(url, { webSocket: gateway.webSocket });
    await assert.rejects(client.watchBlocks({ chain: "ethereum" }).next(), /no such key/);
    assert.equal(gateway.opened, 1);
  } finally {
    server.close();
  }
});
