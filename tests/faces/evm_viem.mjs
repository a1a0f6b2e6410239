// viem on the gateway as on the node: public actions, contracts, multicall, ENS, errors, watching.

import assert from "node:assert/strict";
import test from "node:test";
import { createPublicClient, createTestClient, erc20Abi, http, parseAbi, parseAbiItem } from "viem";
import { mainnet } from "viem/chains";
import { addresses, addressWith, comparing, comparingErrors, known, pair, until } from "./pairs.mjs";

const make = (url) => createPublicClient({ chain: mainnet, transport: http(url, { retryCount: 0 }) });
const batching = (url) =>
  createPublicClient({ chain: mainnet, transport: http(url, { batch: true, retryCount: 0 }), batch: { multicall: true } });

const clients = pair("ethereum", make);
const miner = createTestClient({ mode: "anvil", chain: mainnet, transport: http(addresses("ethereum").node.http) });
const same = comparing(clients);
const fails = comparingErrors(clients);

const { holder, alice, untouched, developer, usdc, weth, prober, first, crowded, crowd } = known.ethereum;
const token = { address: usdc, abi: erc20Abi };
const proberAbi = parseAbi([
  "function answer() view returns (uint256)",
  "function pair(address) view returns (uint256, address)",
  "function say(uint256 number, string text) returns (uint256)",
  "function fail_with_code(uint256) view",
  "function fail_with_reason(string) view",
  "function fail_with_panic() view",
  "function fail_silently() view",
  "error Failed(uint256 code)",
]);
const probed = { address: prober, abi: proberAbi };
const transfer = parseAbiItem("event Transfer(address indexed from, address indexed to, uint256 value)");
const at = { blockNumber: BigInt(crowded) };

same("chain id", (client) => client.getChainId(), (id) => assert.equal(id, 1));
same("block number", (client) => client.getBlockNumber());
same("balance", (client) => client.getBalance({ address: holder }));
same("balance at a block", (client) => client.getBalance({ address: holder, ...at }));
same("transaction count", (client) => client.getTransactionCount({ address: alice }));
same("code", (client) => client.getCode({ address: usdc }));
same("code of an account", (client) => client.getCode({ address: untouched }));
same("storage", (client) => client.getStorageAt({ address: usdc, slot: "0x0" }));
same("gas price", (client) => client.getGasPrice());
same("priority fee", (client) => client.estimateMaxPriorityFeePerGas());
same("fees", (client) => client.estimateFeesPerGas());
same("fee history", (client) => client.getFeeHistory({ blockCount: 4, rewardPercentiles: [25, 75] }));
same("blob base fee", (client) => client.getBlobBaseFee());
same("block by number", (client) => client.getBlock(at));
same("block with transactions", (client) => client.getBlock({ ...at, includeTransactions: true }));
for (const blockTag of ["latest", "safe", "finalized", "earliest", "pending"]) {
  same(`block ${blockTag}`, async (client) => {
    const { timestamp, hash, ...block } = await client.getBlock({ blockTag });
    return blockTag === "pending" ? { number: block.number } : { timestamp, hash, ...block };
  });
}
same("transactions of a block", (client) => client.getBlockTransactionCount(at));
same("transaction, receipt and block by hash", async (client) => {
  const { hash, transactions } = await client.getBlock(at);
  return [
    await client.getBlock({ blockHash: hash }),
    await client.getTransaction({ hash: transactions[0] }),
    await client.getTransaction({ ...at, index: 0 }),
    await client.getTransactionReceipt({ hash: transactions[0] }),
    await client.waitForTransactionReceipt({ hash: transactions[0], timeout: 5_000 }),
    await client.getTransactionConfirmations({ hash: transactions[0] }),
  ];
});
same("proof", (client) => client.getProof({ address: usdc, storageKeys: [`0x${"0".repeat(64)}`] }));
// The node lists addresses in the order of the moment.
same("access list", async (client) => {
  const { accessList, gasUsed } = await client.createAccessList({ account: holder, to: usdc, data: "0x18160ddd" });
  return { gasUsed, accessList: accessList.toSorted((one, other) => one.address.localeCompare(other.address)) };
});
same("gas of a transfer", (client) => client.estimateGas({ account: holder, to: alice, value: 1n }));
same("gas of a contract's function", (client) =>
  client.estimateContractGas({ ...token, functionName: "transfer", args: [alice, 1n], account: holder }),
);
same("call", (client) => client.call({ to: usdc, data: "0x18160ddd", ...at }));
same("call with state override", (client) =>
  client.call({ account: untouched, to: alice, value: 5n, stateOverride: [{ address: untouched, balance: 10n ** 20n }] }),
);
same("read of a contract", (client) => client.readContract({ ...token, functionName: "balanceOf", args: [holder] }), (held) =>
  assert.ok(held > 0n),
);
same("simulated transfer", async (client) => {
  const { result, request } = await client.simulateContract({
    ...token,
    functionName: "transfer",
    args: [alice, 1n],
    account: holder,
  });
  return { result, args: request.args };
});
same("multicall with a failing row", async (client) => {
  const rows = await client.multicall({
    contracts: [
      { ...token, functionName: "balanceOf", args: [holder] },
      { ...token, functionName: "symbol" },
      { ...probed, functionName: "fail_with_code", args: [7n] },
      { address: untouched, abi: erc20Abi, functionName: "decimals" },
    ],
  });
  assert.deepEqual(rows.map(({ status }) => status), ["success", "success", "failure", "failure"]);
  return rows.map(({ status, result, error }) => ({ status, result, error: error?.shortMessage }));
});
same("logs", (client) => client.getLogs({ address: weth, event: transfer, fromBlock: at.blockNumber, toBlock: at.blockNumber }), (logs) =>
  assert.equal(logs.length, crowd),
);
same("logs by topics", (client) =>
  client.getLogs({ event: transfer, args: { to: [holder, alice] }, fromBlock: BigInt(first), toBlock: BigInt(first + 20) }),
);
same("logs of a block", async (client) => {
  const { hash } = await client.getBlock(at);
  return client.getLogs({ address: [weth, usdc], blockHash: hash });
});
same("events of a contract", (client) =>
  client.getContractEvents({ ...token, eventName: "Transfer", fromBlock: BigInt(first), toBlock: BigInt(first + 20) }),
);

for (const name of [...Object.keys(known.ethereum.names), "unused.eth", "nobody-has-this.eth", "traveller.offchain.eth"]) {
  same(`address of ${name}`, (client) => client.getEnsAddress({ name: name.toLowerCase() }));
}
same("name of an address", (client) => client.getEnsName({ address: holder }), (name) => assert.equal(name, "vitalik.eth"));
same("text of a name", (client) => client.getEnsText({ name: "vitalik.eth", key: "url" }));

fails(
  "a contract's own error is decoded",
  (client) => client.readContract({ ...probed, functionName: "fail_with_code", args: [42n] }),
  /"errorName":"Failed","args":\["42"\]|Failed\(uint256 code\)/,
);
fails("and by simulation", (client) => client.simulateContract({ ...probed, functionName: "fail_with_code", args: [9n] }), /Failed/);
fails("a reason", (client) => client.readContract({ ...probed, functionName: "fail_with_reason", args: ["no such luck"] }), /no such luck/);
fails("a panic", (client) => client.readContract({ ...probed, functionName: "fail_with_panic" }), /Arithmetic|panic/i);
fails("no words at all", (client) => client.readContract({ ...probed, functionName: "fail_silently" }), /revert/);
fails("gas of what reverts", (client) => client.estimateContractGas({ ...probed, functionName: "fail_with_code", args: [3n] }), /revert/);
fails("a call that reverts", (client) => client.call({ to: prober, data: "0xffffffff" }), /revert/);
fails("an account without funds", (client) => client.call({ account: untouched, to: alice, value: 1n }), /fund|balance/i);
fails("a block of the future", (client) => client.getBlock({ blockNumber: 10n ** 9n }), /BlockNotFound/);
fails("an unknown transaction", (client) => client.getTransaction({ hash: `0x${"ab".repeat(32)}` }), /TransactionNotFound/);
fails("an unknown receipt", (client) => client.getTransactionReceipt({ hash: `0x${"ab".repeat(32)}` }), /ReceiptNotFound/);
fails("a balance of a block of the future", (client) => client.getBalance({ address: holder, blockNumber: 10n ** 9n }), /.*/);

test("requests of one moment go as one batch, calls of one moment as one call", async () => {
  const reads = (client) =>
    Promise.all([
      client.getBalance({ address: holder }),
      client.getTransactionCount({ address: alice }),
      client.getBlock(at),
      client.readContract({ ...token, functionName: "balanceOf", args: [holder] }),
      client.readContract({ ...token, functionName: "decimals" }),
    ]);
  const { node, gateway } = pair("ethereum", batching);
  assert.deepStrictEqual(await reads(gateway), await reads(node));
});

test("what writes and what leaves state in a node is refused", async () => {
  const gateway = clients.gateway;
  await assert.rejects(gateway.sendRawTransaction({ serializedTransaction: "0x02" }), { name: "MethodNotFoundRpcError", code: -32601 });
  await assert.rejects(gateway.request({ method: "eth_newBlockFilter" }), { name: "MethodNotFoundRpcError", code: -32601 });
  await assert.rejects(gateway.request({ method: "anvil_mine" }), { code: -32601 });
});

test("a wrong key and a chain that is not there are refused", async () => {
  await assert.rejects(make(addressWith("wrong", "ethereum")).getChainId(), ({ message }) => /401|-32001/.test(message));
  await assert.rejects(make(addresses("ethereum").gateway.http + "-no-such").getChainId(), ({ message }) => /404|unknown/.test(message));
});

test("a quota is waited out", async () => {
  const patient = createPublicClient({ transport: http(addressWith("tight", "ethereum"), { retryDelay: 400 }) });
  const impatient = make(addressWith("tight", "ethereum"));
  await patient.getChainId();
  await assert.rejects(impatient.getBlockNumber(), ({ message }) => /429|-32005/.test(message) || /limit/i.test(message));
  assert.equal(await patient.getBalance({ address: holder }), await clients.node.getBalance({ address: holder }));
});

test("blocks are watched by asking", { timeout: 60_000 }, async () => {
  const watched = pair("ethereum", (url) => createPublicClient({ chain: mainnet, transport: http(url), pollingInterval: 100 }));
  const seen = { node: [], gateway: [] };
  const first = await clients.node.getBlockNumber();
  const stops = Object.entries(watched).map(([name, client]) =>
    client.watchBlocks({ emitMissed: true, emitOnBegin: true, onBlock: ({ number, hash }) => seen[name].push([number, hash]) }),
  );
  await until(() => Object.values(seen).every((blocks) => blocks.length));
  await miner.mine({ blocks: 1 });
  await until(() => Object.values(seen).every((blocks) => blocks.at(-1)[0] === first + 1n));
  await miner.mine({ blocks: 2 });
  await until(() => Object.values(seen).every((blocks) => blocks.at(-1)[0] === first + 3n));
  for (const stop of stops) stop();
  assert.deepStrictEqual(seen.gateway, seen.node);
  assert.equal(seen.gateway.length, 4);
});

test("events are watched by asking: no filter is left in a node", { timeout: 60_000 }, async () => {
  const client = createPublicClient({ chain: mainnet, transport: http(addresses("ethereum").gateway.http), pollingInterval: 100 });
  const seen = [];
  const stop = client.watchContractEvent({
    address: weth,
    abi: parseAbi(["event Deposit(address indexed dst, uint256 wad)"]),
    onLogs: (logs) => seen.push(...logs),
    onError: (error) => seen.push(error),
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  const hash = await miner.request({ method: "eth_sendTransaction", params: [{ from: developer, to: weth, value: "0x7" }] });
  await miner.mine({ blocks: 1 });
  await until(() => seen.length);
  stop();
  assert.deepEqual([seen[0].transactionHash, seen[0].args], [hash, { dst: developer, wad: 7n }]);
});
