// viem over a WebSocket on the gateway as on the node: reads, blocks and events as the chain has them.

import assert from "node:assert/strict";
import test from "node:test";
import { createPublicClient, createTestClient, erc20Abi, http, parseAbi, webSocket } from "viem";
import { mainnet } from "viem/chains";
import { addresses, comparing, comparingErrors, known, pair, until } from "./pairs.mjs";

const make = (url) => createPublicClient({ chain: mainnet, transport: webSocket(url, { retryCount: 0, reconnect: false }) });
const clients = pair("ethereum", make, "ws");
const miner = createTestClient({ mode: "anvil", chain: mainnet, transport: http(addresses("ethereum").node.http) });
const same = comparing(clients);
const fails = comparingErrors(clients);
const { holder, developer, usdc, weth, prober, first, crowded } = known.ethereum;
// What geth sends of a head.
const HEADER = [
  ...["number", "hash", "parentHash", "timestamp", "miner", "difficulty", "extraData", "gasLimit", "gasUsed", "logsBloom", "mixHash"],
  ...["nonce", "receiptsRoot", "sha3Uncles", "stateRoot", "transactionsRoot", "baseFeePerGas", "withdrawalsRoot"],
];
test.after(async () => {
  for (const client of Object.values(clients)) (await client.transport.getRpcClient()).close();
});

same("chain id", (client) => client.getChainId());
same("balance", (client) => client.getBalance({ address: holder }));
same("block", (client) => client.getBlock({ blockNumber: BigInt(crowded), includeTransactions: true }));
same("contract", (client) => client.readContract({ address: usdc, abi: erc20Abi, functionName: "balanceOf", args: [holder] }));
same("many reads of one moment", (client) =>
  Promise.all(Array.from({ length: 50 }, (_, index) => client.getBalance({ address: holder, blockNumber: BigInt(first + (index % 20)) }))),
);
fails("a contract's own error", (client) =>
  client.readContract({
    address: prober,
    abi: parseAbi(["function fail_with_code(uint256) view", "error Failed(uint256 code)"]),
    functionName: "fail_with_code",
    args: [42n],
  }), /Failed/,
);

/** Subscribe on both sides, make something happen, and return what both were sent. */
async function subscribed(params, act, enough) {
  const sent = { node: [], gateway: [] };
  const subscriptions = await Promise.all(
    Object.entries(clients).map(([name, client]) =>
      client.transport.subscribe({ params, onData: ({ result }) => sent[name].push(result), onError: (error) => sent[name].push(error) }),
    ),
  );
  await act();
  await until(() => Object.values(sent).every(({ length }) => length >= enough));
  for (const { unsubscribe } of subscriptions) await unsubscribe();
  return sent;
}

test("heads are the node's, with every member of the header", { timeout: 30_000 }, async () => {
  const { node, gateway } = await subscribed(
    ["newHeads"],
    async () => {
      for (let count = 0; count < 3; count++) {
        await miner.mine({ blocks: 1 });
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
    },
    3,
  );
  // Nodes differ in what they send beside the header itself; every member of it is the node's.
  const header = (head) => Object.fromEntries(Object.entries(head).filter(([name]) => name in gateway[0]));
  assert.deepStrictEqual(gateway, node.map(header));
  for (const name of HEADER) assert.ok(name in gateway[0], name);
});

test("logs are the node's, by address and topic", { timeout: 30_000 }, async () => {
  const { node, gateway } = await subscribed(
    ["logs", { address: weth, topics: [["0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c"]] }],
    async () => {
      for (const value of ["0x5", "0x6"]) {
        await miner.request({ method: "eth_sendTransaction", params: [{ from: developer, to: weth, value }] });
      }
      await miner.mine({ blocks: 1 });
    },
    2,
  );
  // Not every node states a block's time in its logs, and the gateway does not.
  assert.deepStrictEqual(gateway, node.map(({ blockTimestamp, ...log }) => log));
});

test("blocks and events are watched", { timeout: 30_000 }, async () => {
  const [blocks, events] = [[], []];
  const gateway = clients.gateway;
  const stops = [
    gateway.watchBlocks({ onBlock: ({ number }) => blocks.push(number) }),
    gateway.watchContractEvent({
      address: weth,
      abi: parseAbi(["event Deposit(address indexed dst, uint256 wad)"]),
      onLogs: (logs) => events.push(...logs),
    }),
  ];
  await new Promise((resolve) => setTimeout(resolve, 500));
  await miner.request({ method: "eth_sendTransaction", params: [{ from: developer, to: weth, value: "0x3" }] });
  await miner.mine({ blocks: 1 });
  await until(() => events.length && blocks.length);
  for (const stop of stops) stop();
  assert.deepEqual(events[0].args, { dst: developer, wad: 3n });
  assert.equal(blocks[0], events[0].blockNumber);
});

test("a log of a block that is replaced comes once more as removed", { timeout: 30_000 }, async () => {
  const events = [];
  const stop = clients.gateway.watchContractEvent({
    address: weth,
    abi: parseAbi(["event Deposit(address indexed dst, uint256 wad)"]),
    onLogs: (logs) => events.push(...logs),
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  await miner.request({ method: "eth_sendTransaction", params: [{ from: developer, to: weth, value: "0x4" }] });
  await miner.mine({ blocks: 1 });
  await until(() => events.length);
  await miner.request({ method: "anvil_reorg", params: [1, []] });
  // The node itself tells of no removal when it is made to do so.
  await until(() => events.length > 1);
  stop();
  assert.deepStrictEqual(events[1], { ...events[0], removed: true });
});

test("other kinds of subscription are refused", async () => {
  const subscribing = clients.gateway.transport.subscribe({ params: ["newPendingTransactions"], onData() {}, onError() {} });
  await assert.rejects(subscribing, ({ code, message }) => code === -32602 || /-32602|newPendingTransactions/.test(message));
});
