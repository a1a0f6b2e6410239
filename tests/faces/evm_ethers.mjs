// ethers 6 on the gateway as on the node: provider, contracts, events, names, errors.

import assert from "node:assert/strict";
import test from "node:test";
import { Contract, FetchRequest, JsonRpcProvider, Network } from "ethers";
import { addresses, addressWith, comparing, comparingErrors, known, pair, until } from "./pairs.mjs";

const make = (url) => new JsonRpcProvider(url, undefined, { cacheTimeout: -1 });
const clients = pair("ethereum", make);
const same = comparing(clients);
const fails = comparingErrors(clients);
test.after(() => Object.values(clients).forEach((client) => client.destroy()));

const { holder, alice, untouched, developer, usdc, weth, prober, first, crowded, crowd } = known.ethereum;
const erc20 = [
  "function name() view returns (string)",
  "function decimals() view returns (uint8)",
  "function balanceOf(address) view returns (uint256)",
  "function transfer(address to, uint256 value) returns (bool)",
  "event Transfer(address indexed from, address indexed to, uint256 value)",
];
const failing = [
  "function fail_with_code(uint256) view",
  "function fail_with_reason(string) view",
  "function fail_with_panic() view",
  "function fail_silently() view",
  "error Failed(uint256 code)",
];
const token = (client) => new Contract(usdc, erc20, client);
const probed = (client) => new Contract(prober, failing, client);
// Blocks, transactions and logs carry the provider that they came from.
const plain = (answer) => (Array.isArray(answer) ? answer.map(plain) : (answer?.toJSON?.() ?? answer));

same("network", async (client) => plain(await client.getNetwork()), ({ chainId }) => assert.equal(chainId, "1"));
same("block number", (client) => client.getBlockNumber());
same("balance", (client) => client.getBalance(holder), (held) => assert.ok(held > 0n));
same("balance at a block", (client) => client.getBalance(holder, first));
same("transaction count", (client) => client.getTransactionCount(alice));
same("code", (client) => client.getCode(usdc));
same("storage", (client) => client.getStorage(usdc, 0));
same("fees", async (client) => plain(await client.getFeeData()));
same("block", async (client) => plain(await client.getBlock(crowded)));
same("block with transactions", async (client) => plain(await client.getBlock(crowded, true)));
for (const tag of ["latest", "safe", "finalized"]) same(`block ${tag}`, async (client) => plain(await client.getBlock(tag)));
same("a block of the future is null", (client) => client.getBlock(10 ** 9), (block) => assert.equal(block, null));
same("transaction and receipt", async (client) => {
  const { transactions } = await client.getBlock(crowded);
  return [
    plain(await client.getTransaction(transactions[0])),
    plain(await client.getTransactionReceipt(transactions[0])),
    plain(await client.waitForTransaction(transactions[0], 1, 5_000)),
  ];
});
same("an unknown transaction is null", (client) => client.getTransaction(`0x${"ab".repeat(32)}`), (found) => assert.equal(found, null));
same("logs", async (client) => plain(await client.getLogs({ address: weth, fromBlock: crowded, toBlock: crowded })), (logs) =>
  assert.equal(logs.length, crowd),
);
same("events of a contract", async (client) => {
  const events = await token(client).queryFilter("Transfer", first, first + 20);
  return events.map((event) => [event.blockNumber, event.transactionHash, event.index, [...event.args]]);
}, (events) => assert.ok(events.length));
same("events of a contract by member", async (client) => {
  const contract = token(client);
  return plain(await contract.queryFilter(contract.filters.Transfer(null, holder), first, first + 20));
});
same("contract", async (client) => {
  const contract = token(client);
  return Promise.all([contract.name(), contract.decimals(), contract.balanceOf(holder), contract.balanceOf(holder, { blockTag: first })]);
});
same("a call of a function that writes", (client) => token(client).transfer.staticCall(alice, 1n, { from: holder }));
same("gas of a contract's function", (client) => token(client).transfer.estimateGas(alice, 1n, { from: holder }));
same("gas of a transfer", (client) => client.estimateGas({ from: holder, to: alice, value: 1n }));
for (const name of ["vitalik.eth", "pay.alice.eth", "empty.eth"]) {
  same(`address of ${name}`, (client) => client.resolveName(name));
}
same("name of an address", (client) => client.lookupAddress(holder), (name) => assert.equal(name, "vitalik.eth"));
same("avatar and text of a name", async (client) => {
  const resolver = await client.getResolver("vitalik.eth");
  return [resolver.address, await resolver.getText("url"), await resolver.getContentHash().catch(({ code }) => code)];
});
same("one moment's requests are one batch", (client) =>
  Promise.all(Array.from({ length: 120 }, (_, index) => client.getBalance(holder, first + (index % 20)))),
);
same("a method by its name", (client) => client.send("eth_feeHistory", ["0x4", "latest", [50]]));

fails("a name that is not there", (client) => client.resolveName("nobody-has-this.eth"), /ResolverNotFound/);
fails("a contract's own error is decoded", (client) => probed(client).fail_with_code(42n), /"name":"Failed"|Failed\(uint256\)/);
fails("gas of what reverts", (client) => probed(client).fail_with_code.estimateGas(42n), /CALL_EXCEPTION/);
fails("a reason", (client) => probed(client).fail_with_reason("no such luck"), /no such luck/);
fails("a panic", (client) => probed(client).fail_with_panic(), /Panic/i);
fails("no words at all", (client) => probed(client).fail_silently(), /CALL_EXCEPTION/);
fails("a token that is not there", (client) => new Contract(untouched, erc20, client).name(), /BAD_DATA/);
fails("a balance of a block of the future", (client) => client.getBalance(holder, 10 ** 9), /.*/);

test("what writes and what leaves state in a node is refused", async () => {
  for (const method of ["eth_newFilter", "eth_newBlockFilter", "eth_getFilterChanges", "eth_sendTransaction", "eth_accounts"]) {
    await assert.rejects(clients.gateway.send(method, [{}]), ({ error, info }) => (error ?? info.error).code === -32601, method);
  }
});

test("a wrong key is refused, a quota waited out", { timeout: 60_000 }, async (context) => {
  const alone = { staticNetwork: Network.from(1), batchMaxCount: 1 };
  const patient = new FetchRequest(addressWith("tight", "ethereum"));
  // By itself it takes the seconds of Retry-After for milliseconds.
  patient.retryFunc = async (_request, response) => {
    await new Promise((resolve) => setTimeout(resolve, 1000 * Number(response.headers["retry-after"])));
    return true;
  };
  const [refused, tight] = [addressWith("wrong", "ethereum"), patient].map((target) => new JsonRpcProvider(target, 1, alone));
  context.after(() => [refused, tight].forEach((provider) => provider.destroy()));
  await assert.rejects(refused.getBlockNumber(), /401|-32001/);
  await tight.getBlockNumber();
  assert.equal(await tight.getBalance(holder), await clients.node.getBalance(holder));
});

test("blocks and events are watched with default options", { timeout: 30_000 }, async (context) => {
  const provider = new JsonRpcProvider(addresses("ethereum").gateway.http, 1, { staticNetwork: Network.from(1), pollingInterval: 100 });
  context.after(() => provider.destroy());
  const wrapped = new Contract(weth, ["event Deposit(address indexed dst, uint256 wad)"], provider);
  const [blocks, events] = [[], []];
  const node = clients.node;
  await provider.on("block", (number) => blocks.push(number));
  await wrapped.on("Deposit", (dst, wad) => events.push([dst, wad]));
  // Both begin behind the block that the first poll finds.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await node.send("eth_sendTransaction", [{ from: developer, to: weth, value: "0x9" }]);
  await node.send("evm_mine", []);
  await until(() => events.length);
  assert.deepEqual(events[0], [developer, 9n]);
  const head = await node.getBlockNumber();
  await until(() => blocks.at(-1) === head);
});
