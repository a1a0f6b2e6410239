// starknet.js on the gateway as on the node.

import assert from "node:assert/strict";
import test from "node:test";
import { RpcProvider } from "starknet";
import { comparing, comparingErrors, known, pair } from "./pairs.mjs";

const clients = pair("starknet", (nodeUrl) => new RpcProvider({ nodeUrl }));
const same = comparing(clients);
const fails = comparingErrors(clients);
const { strk, alice, bob, crowded, height } = known.starknet;
const held = (owner) => ({ contractAddress: strk, entrypoint: "balance_of", calldata: [owner] });

same("chain id", (provider) => provider.getChainId());
same("version of the interface", (provider) => provider.getSpecVersion());
same("block number", (provider) => provider.getBlockNumber(), (number) => assert.ok(number >= height));
same("newest block", (provider) => provider.getBlockLatestAccepted());
for (const block of ["latest", crowded]) {
  same(`block ${block}`, (provider) => provider.getBlock(block));
  same(`block ${block} with hashes`, (provider) => provider.getBlockWithTxHashes(block));
  same(`block ${block} with transactions`, (provider) => provider.getBlockWithTxs(block));
  same(`transactions of block ${block}`, (provider) => provider.getBlockTransactionCount(block));
}
same("block by hash", async (provider) => provider.getBlockWithTxHashes((await provider.getBlock(crowded)).block_hash));
same("syncing", (provider) => provider.getSyncingStats());
same("transaction and receipt", async (provider) => {
  const { transactions } = await provider.getBlockWithTxHashes(crowded);
  return [await provider.getTransactionByHash(transactions[0]), (await provider.getTransactionReceipt(transactions[0])).value];
});
same("a call", (provider) => provider.callContract(held(bob)), (felts) => assert.ok(BigInt(felts[0]) > 0n));
same("a call at a block", (provider) => provider.callContract(held(bob), crowded));
same("class of a contract", (provider) => provider.getClassHashAt(alice));
same("nonce", (provider) => provider.getNonceForAddress(alice));

fails("a block of the future", (provider) => provider.getBlock(10 ** 9), /BLOCK_NOT_FOUND|24/);
fails("an unknown transaction", (provider) => provider.getTransactionByHash("0xabcdef"), /29|TXN_HASH_NOT_FOUND/);
fails("a contract that is not there", (provider) => provider.callContract({ ...held(bob), contractAddress: "0x1234" }), /20|CONTRACT_NOT_FOUND/);
fails("an entry point that is not there", (provider) => provider.callContract({ ...held(bob), entrypoint: "no_such_thing" }), /21|40|ENTRYPOINT/i);

test("one moment's requests are one batch", async () => {
  const batching = pair("starknet", (nodeUrl) => new RpcProvider({ nodeUrl, batch: 0 }));
  const reads = (provider) => Promise.all([provider.getBlockNumber(), provider.getChainId(), provider.callContract(held(bob), crowded)]);
  assert.deepStrictEqual(await reads(batching.gateway), await reads(batching.node));
});
