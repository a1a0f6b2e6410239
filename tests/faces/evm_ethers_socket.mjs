// ethers 6 over a WebSocket on the gateway as on the node.

import assert from "node:assert/strict";
import test from "node:test";
import { Contract, WebSocketProvider } from "ethers";
import { comparing, comparingErrors, known, pair, until } from "./pairs.mjs";

const clients = pair("ethereum", (url) => new WebSocketProvider(url, 1), "ws");
const same = comparing(clients);
const fails = comparingErrors(clients);
const { holder, developer, usdc, weth, prober, crowded } = known.ethereum;
test.after(() => Promise.all(Object.values(clients).map((client) => client.destroy())));

same("network", async (client) => (await client.getNetwork()).toJSON());
same("balance", (client) => client.getBalance(holder));
same("block", async (client) => (await client.getBlock(crowded)).toJSON());
same("contract", (client) => new Contract(usdc, ["function balanceOf(address) view returns (uint256)"], client).balanceOf(holder));
same("name of an address", (client) => client.lookupAddress(holder));
fails("a contract's own error", (client) =>
  new Contract(prober, ["function fail_with_code(uint256) view", "error Failed(uint256 code)"], client).fail_with_code(42n), /Failed/,
);

test("blocks and events are watched", { timeout: 30_000 }, async () => {
  const seen = { node: { blocks: [], events: [] }, gateway: { blocks: [], events: [] } };
  for (const [name, client] of Object.entries(clients)) {
    await client.on("block", (number) => seen[name].blocks.push(number));
    const contract = new Contract(weth, ["event Deposit(address indexed dst, uint256 wad)"], client);
    await contract.on("Deposit", (dst, wad, { log }) => seen[name].events.push([dst, wad, log.transactionHash, log.index]));
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
  await clients.node.send("eth_sendTransaction", [{ from: developer, to: weth, value: "0x9" }]);
  await clients.node.send("evm_mine", []);
  await until(() => Object.values(seen).every(({ blocks, events }) => blocks.length && events.length));
  assert.deepStrictEqual(seen.gateway, seen.node);
  assert.equal(seen.node.events[0][1], 9n);
  for (const client of Object.values(clients)) await client.removeAllListeners();
  // It does not wait for what it sends then.
  await new Promise((resolve) => setTimeout(resolve, 500));
});
