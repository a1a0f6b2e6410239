'use strict';

// The routes of Esplora that return the tip, blocks and of addresses, over bcoin's address index.

const util = require('bcoin/lib/utils/util');

const { parseAddress } = require('./core');

const HASH = '([0-9a-fA-F]{64})';
// bcoin knows no taproot: nothing on this chain is ever paid to such an address.
const TAPROOT = /^bc1p[02-9ac-hj-np-z]{58}$/;

class Esplora {
  constructor(node) {
    this.node = node;
    this.chain = node.chain;
    this.routes = [
      ['/blocks/tip/height', () => String(this.chain.height)],
      ['/blocks/tip/hash', () => this.chain.tip.rhash()],
      ['/blocks(?:/([0-9]{1,9}))?', from => this.blocks(from)],
      ['/block-height/([^/]+)', height => this.blockHash(height)],
      [`/block/${HASH}`, hash => this.block(hash)],
      [`/block/${HASH}/status`, hash => this.status(hash)],
      [`/block/${HASH}/txids`, hash => this.txids(hash)],
      ['/address/([^/]+)', address => this.address(address)]
    ].map(([path, read]) => [new RegExp(`^${path}$`), read]);
  }

  // The HTTP status and the body for a path: text, or an object to be written as JSON.
  async answer(path) {
    for (const [route, read] of this.routes) {
      const found = route.exec(path);
      if (found) {
        const answer = await read(...found.slice(1));
        return Array.isArray(answer) && typeof answer[0] === 'number' ? answer : [200, answer];
      }
    }
    return [404, 'endpoint does not exist ' + path];
  }

  async blockHash(text) {
    if (!/^[0-9]{1,9}$/.test(text))
      return [400, 'Invalid number'];
    const hash = Number(text) <= this.chain.height ? await this.chain.getHash(Number(text)) : null;
    return hash ? util.revHex(hash) : [404, 'Block not found'];
  }

  // Ten blocks from a height downwards, the newest first.
  async blocks(from) {
    const answers = [];
    const first = Math.min(from === undefined ? this.chain.height : Number(from), this.chain.height);
    for (let height = first; height >= 0 && height > first - 10; height--)
      answers.push(await this.block(util.revHex(await this.chain.getHash(height))));
    return answers;
  }

  async block(text) {
    const entry = await this.chain.getEntry(util.revHex(text));
    if (!entry)
      return [404, 'Block not found'];
    const block = await this.chain.getBlock(entry.hash);
    return {
      id: entry.rhash(),
      height: entry.height,
      version: entry.version,
      timestamp: entry.time,
      tx_count: block.txs.length,
      size: block.getSize(),
      weight: block.getWeight(),
      merkle_root: util.revHex(entry.merkleRoot),
      previousblockhash: entry.height > 0 ? util.revHex(entry.prevBlock) : null,
      mediantime: await this.chain.getMedianTime(entry),
      nonce: entry.nonce,
      bits: entry.bits
    };
  }

  async status(text) {
    const entry = await this.chain.getEntry(util.revHex(text));
    if (!entry || !(await this.chain.isMainChain(entry)))
      return { in_best_chain: false };
    const next = await this.chain.getNextHash(entry.hash);
    return { in_best_chain: true, height: entry.height, next_best: next ? util.revHex(next) : null };
  }

  async txids(text) {
    const block = await this.chain.getBlock(util.revHex(text));
    return block ? block.txs.map(tx => tx.txid()) : [404, 'Block not found'];
  }

  async address(text) {
    const written = TAPROOT.test(text) ? text : parseAddress(text, this.node.network)?.toString(this.node.network);
    if (!written)
      return [400, 'Invalid Bitcoin address'];
    const answer = { address: written, chain_stats: noStats(), mempool_stats: noStats() };
    if (TAPROOT.test(text))
      return answer;
    for (const meta of await this.node.getMetaByAddress([parseAddress(text, this.node.network)])) {
      const stats = meta.height < 0 ? answer.mempool_stats : answer.chain_stats;
      const view = await this.node.getMetaView(meta);
      const isOurs = output => output && output.getAddress()?.toString(this.node.network) === written;
      const funded = meta.tx.outputs.filter(isOurs);
      const spent = meta.tx.inputs.map(input => view.getOutputFor(input)).filter(isOurs);
      if (funded.length + spent.length === 0)
        continue; // the index knows hashes, and the same hash stands in addresses of several kinds
      stats.tx_count += 1;
      stats.funded_txo_count += funded.length;
      stats.funded_txo_sum += funded.reduce((sum, output) => sum + output.value, 0);
      stats.spent_txo_count += spent.length;
      stats.spent_txo_sum += spent.reduce((sum, output) => sum + output.value, 0);
    }
    return answer;
  }
}

function noStats() {
  return { funded_txo_count: 0, funded_txo_sum: 0, spent_txo_count: 0, spent_txo_sum: 0, tx_count: 0 };
}

module.exports = { Esplora };
