import assert from "node:assert/strict";
import { createServer, type Http2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { createPublicClient, erc20Abi } from "viem";
import { mainnet } from "viem/chains";
import { AccountService, BlockService, connect, EventKind, LogService, pages, Reason, StreamService, WaypostError } from "../src/index.js";
import { jsonRpc } from "../src/jsonrpc.js";
import { parseJson, printJson } from "../src/json.js";
import { waypost } from "../src/viem.js";

const { env } = process;
const skip = env["WAYPOST_GRPC"] ? false : "no gateway: `make clients` serves one";

function given(name: string): string {
  const value = env[name];
  assert.ok(value, name);
  return value;
}

function over(key: string, retries = 3) {
  return connect(`http://${given("WAYPOST_GRPC")}`, { key: given(key), retries });
}

function posting(key: string) {
  return `${given("WAYPOST_HTTP")}/${given(key)}/v1`;
}

test("reads a balance over both faces", { skip }, async () => {
  const account = { chain: "ethereum", address: given("WAYPOST_HOLDER") };
  const balance = await over("WAYPOST_KEY")(AccountService).getBalance(account);
  const { data } = await jsonRpc(posting("WAYPOST_KEY")).getBalance(account);
  assert.equal(balance.balanceRaw, given("WAYPOST_BALANCE"));
  assert.equal(data.balanceRaw, given("WAYPOST_BALANCE"));
});

test("fails with reason and field over both faces", { skip }, async () => {
  const account = { chain: "ethereum", address: "0x12" };
  for (const failing of [
    () => over("WAYPOST_KEY")(AccountService).getBalance(account),
    () => jsonRpc(posting("WAYPOST_KEY")).getBalance(account),
  ]) {
    await assert.rejects(failing, (failure) => {
      assert.ok(failure instanceof WaypostError);
      assert.equal(failure.reason, Reason.INVALID_ARGUMENT);
      assert.equal(failure.field, "address");
      assert.ok(failure.requestId);
      return true;
    });
  }
});

test("rows fail by themselves", { skip }, async () => {
  const items = [
    { chain: "ethereum", block: BigInt(given("WAYPOST_LOGS_FROM")) },
    { chain: "ethereum", block: 1n << 40n },
  ];
  const { results } = await over("WAYPOST_KEY")(BlockService).getBlockByNumber({ items });
  assert.deepEqual(results.map((row) => row.outcome.case), ["value", "error"]);
  const missing = results[1]?.outcome;
  assert.ok(missing?.case === "error");
  assert.equal(missing.value.reason, Reason.NOT_FOUND);
});

test("walks through pages", { skip }, async () => {
  const logs = over("WAYPOST_KEY")(LogService);
  const seen = new Set<string>();
  let count = 0;
  const window = {
    chain: "ethereum",
    address: given("WAYPOST_LOGS_ADDRESS"),
    fromBlock: BigInt(given("WAYPOST_LOGS_FROM")),
    toBlock: BigInt(given("WAYPOST_LOGS_TO")),
    pageSize: 2,
  };
  for await (const page of pages(logs.getLogs, window)) {
    count++;
    for (const log of page.logs) seen.add(`${log.transactionHash}:${log.logIndex}`);
  }
  assert.equal(seen.size, Number(given("WAYPOST_LOGS_COUNT")));
  assert.ok(count > 1);
});

test("waits where the quota is used up, over both faces", { skip }, async () => {
  const request = { chain: "ethereum" };
  const hasty = over("WAYPOST_TIGHT_KEY", 0)(BlockService);
  await assert.rejects(
    async () => {
      for (let call = 0; call < 50; call++) await hasty.getBlockHeight(request);
    },
    (failure) => failure instanceof WaypostError && failure.reason === Reason.RATE_LIMITED && failure.retryAfterMs! > 0,
  );
  const patient = over("WAYPOST_TIGHT_KEY")(BlockService);
  for (let call = 0; call < 2; call++) await patient.getBlockHeight(request);
  const posted = jsonRpc(posting("WAYPOST_TIGHT_KEY"));
  for (let call = 0; call < 2; call++) await posted.getBlockHeight(request);
});

/** Returns the hashes of the next two blocks, the second one's parent between them. */
async function twoBlocks<E extends { kind: unknown; block?: { hash: string; parentHash: string } | null | undefined }>(
  events: AsyncIterable<E>,
): Promise<string[]> {
  const hashes: string[] = [];
  for await (const { kind, block } of events) {
    if (!block || (kind !== "ADDED" && kind !== EventKind.ADDED)) continue;
    if (hashes.length > 0) return [...hashes, block.parentHash, block.hash];
    hashes.push(block.hash);
  }
  assert.fail("the stream ended");
}

test("follows a chain over both faces", { skip }, async () => {
  const chain = "base";
  for (const events of [
    over("WAYPOST_KEY")(StreamService).watchBlocks({ chain }),
    jsonRpc(posting("WAYPOST_KEY")).watchBlocks({ chain }),
  ]) {
    const [first, parent, second] = await twoBlocks<any>(events);
    assert.equal(parent, first);
    assert.notEqual(second, first);
  }
});

test("prices are values over both faces", { skip }, async () => {
  const items = [{ symbol: "ETH" }, { symbol: "BTC" }];
  for await (const { symbol, outcome } of over("WAYPOST_KEY")(StreamService).watchPrices({ items })) {
    assert.equal(symbol, "ETH");
    assert.ok(outcome.case === "value" && outcome.value.usd > 0);
    break;
  }
  for await (const { symbol, price } of jsonRpc(posting("WAYPOST_KEY")).watchPrices({ items })) {
    assert.equal(symbol, "ETH");
    assert.ok(price && price.usd > 0);
    break;
  }
});

test("streams fail with reason and field over both faces", { skip }, async () => {
  const asked = { chain: "ethereum", cursor: "none" };
  for (const events of [
    over("WAYPOST_KEY")(StreamService).watchBlocks(asked),
    jsonRpc(posting("WAYPOST_KEY")).watchBlocks(asked),
  ]) {
    await assert.rejects(twoBlocks<any>(events), (failure) => {
      assert.ok(failure instanceof WaypostError);
      assert.equal(failure.reason, Reason.INVALID_ARGUMENT);
      assert.equal(failure.field, "cursor");
      return true;
    });
  }
  await assert.rejects(twoBlocks<any>(jsonRpc(`${given("WAYPOST_HTTP")}/wp_none/v1`).watchBlocks({ chain: "ethereum" })), (failure) => {
    return failure instanceof WaypostError && failure.reason === Reason.KEY_INVALID;
  });
});

test("viem reads over chainRpc", { skip }, async () => {
  const client = createPublicClient({ chain: mainnet, transport: waypost(posting("WAYPOST_KEY"), "ethereum") });
  assert.equal(await client.getBalance({ address: given("WAYPOST_HOLDER") as `0x${string}` }), BigInt(given("WAYPOST_BALANCE")));
  const usdc = given("WAYPOST_LOGS_ADDRESS") as `0x${string}`;
  assert.equal(await client.readContract({ address: usdc, abi: erc20Abi, functionName: "decimals" }), 6);
  await assert.rejects(client.request({ method: "eth_unknown" as never }), /eth_unknown/);
});

test("deadlines and repeated calls are those of the service config", async () => {
  const asked: unknown[] = [];
  const server = createServer().on("stream", (stream, headers) => {
    asked.push(headers["grpc-timeout"]);
    const trailers = { "grpc-status": "14", "grpc-retry-pushback-ms": asked.length < 3 ? "1" : "-1" };
    stream.respond({ ":status": 200, "content-type": "application/grpc", ...trailers }, { endStream: true });
  });
  const sessions: Http2Session[] = [];
  server.on("session", (session) => sessions.push(session));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const logs = connect(`http://127.0.0.1:${port}`, { key: "local" })(LogService);
    await assert.rejects(logs.getLogs({ chain: "ethereum" }), (failure) => failure instanceof WaypostError);
    assert.deepEqual(asked, ["30000m", "30000m", "30000m"]);
  } finally {
    for (const session of sessions) session.destroy();
    server.close();
  }
});

test("no plaintext to other machines unless asked", () => {
  assert.throws(() => connect("http://gateway.example:50051", { key: "secret" }), /https:/);
  connect("http://gateway.example:50051", { key: "secret", plaintext: true });
});

test("JSON keeps every integer", (_: TestContext) => {
  const text = '{"raw":115792089237316195423570985008687907853269984665640564039457584007913129639935,"small":1,"share":0.5}';
  const value = parseJson(text) as { raw: unknown; small: unknown; share: unknown };
  assert.equal(typeof value.raw, "bigint");
  assert.equal(value.small, 1);
  assert.equal(value.share, 0.5);
  assert.equal(printJson(value), text);
});
