'use strict';

// bcoin's node on a regtest network that looks like the main one from outside: mainnet's genesis block and address
// formats, but blocks that are found without work, in memory alone. `open` returns the node with the world of world.json.

const crypto = require('crypto');
const Module = require('module');

// The native database does not build on current Node.js, and a chain in memory needs none: bcoin only wants its class.
const load = Module._load;
Module._load = (name, ...rest) => (name === 'leveldown' ? class {} : load(name, ...rest));
process.env.NODE_BACKEND = 'js';

const networks = require('bcoin/lib/protocol/networks');
const { main, regtest } = networks;
for (const part of ['genesis', 'genesisBlock', 'addressPrefix', 'keyPrefix'])
  regtest[part] = main[part];

const bcoin = require('bcoin');
const world = require('./world.json');

const { Address, KeyRing, MTX, Script } = bcoin;

async function open() {
  const node = new bcoin.FullNode({
    network: 'regtest',
    memory: true,
    workers: false,
    listen: false,
    logLevel: 'none',
    indexTX: true,
    indexAddress: true,
    config: false,
    noDns: true
  });
  // mainnet's genesis has a difficulty that would be looked back to.
  node.chain.getTarget = async () => regtest.pow.bits;
  // http and peers are bcoin's own; the facade listens instead.
  node.http.open = node.http.close = async () => {};
  await node.open();
  const random = Math.random;
  Math.random = seeded(1);
  try {
    await seed(node);
  } finally {
    Math.random = random;
  }
  return node;
}

async function seed(node) {
  const rings = makeRings();
  let time = world.first_time;
  const next = async () => mine(node, rings.miner.getAddress(), (time += world.spacing));
  for (let height = 1; height <= world.blocks; height++)
    await next();
  const coins = [];
  for (const height of world.blocks_paid[0].from_blocks) {
    const block = await node.chain.getBlock(await node.chain.getHash(height));
    coins.push([block.txs[0], 0, 'miner']);
  }
  for (const wanted of world.blocks_paid) {
    await send(node, rings, coins, wanted);
    await next();
  }
  // A block of the present, so that the chain's age is plausible.
  await mine(node, rings.miner.getAddress(), Math.floor(Date.now() / 1000));
  await send(node, rings, coins, world.unconfirmed);
}

// Spend every coin of an account; what is not paid is the fee.
async function send(node, rings, coins, wanted) {
  const mtx = new MTX();
  for (let at = coins.length - 1; at >= 0; at--) {
    const [tx, index, owner] = coins[at];
    if (owner === wanted.from) {
      mtx.addTX(tx, index, node.chain.height);
      coins.splice(at, 1);
    }
  }
  for (const [owner, value] of wanted.pay)
    mtx.addOutput(addressOf(rings, owner), value);
  if (wanted.note)
    mtx.addOutput(Script.fromNulldata(Buffer.from(wanted.note)), 0);
  const change = mtx.getInputValue() - mtx.getOutputValue();
  if (wanted.from === 'miner')
    mtx.addOutput(rings.miner.getAddress(), change - 10000);
  mtx.sign(rings[wanted.from]);
  const tx = mtx.toTX();
  wanted.pay.forEach(([owner], index) => coins.push([tx, index, owner]));
  const missing = await node.mempool.addTX(tx);
  if (missing)
    throw new Error('a seeded transaction spends what is not there');
}

async function mine(node, address, time) {
  const attempt = await node.miner.createBlock(null, address);
  attempt.time = Math.max(time, attempt.mtp + 1);
  for (let nonce = 0; ; nonce++) {
    const proof = attempt.getProof(0, 0, attempt.time, nonce);
    if (proof.verify(attempt.target)) {
      const block = attempt.commit(proof);
      if (!(await node.chain.add(block)))
        throw new Error('a mined block was refused');
      return block;
    }
  }
}

function makeRings() {
  const rings = {};
  for (const owner of ['miner', 'p2pkh', 'p2sh', 'p2wpkh', 'p2wsh']) {
    const secret = crypto.createHash('sha256').update(`waypost devnet bitcoin ${owner}`).digest();
    rings[owner] = KeyRing.fromPrivate(secret, true, 'regtest');
    rings[owner].witness = owner === 'p2wpkh' || owner === 'p2sh';
  }
  return rings;
}

function addressOf(rings, owner) {
  const ring = rings[owner];
  if (owner === 'p2sh')
    return ring.getNestedAddress();
  if (owner === 'p2wsh')
    return Address.fromWitnessScripthash(Script.fromPubkey(ring.publicKey).sha256());
  return ring.getAddress();
}

function seeded(state) {
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 0x100000000;
  };
}

module.exports = { open, mine };
