'use strict';

// Bitcoin Core's JSON-RPC (shapes of version 28) over bcoin's, whose shapes are those of 0.16.

const util = require('bcoin/lib/utils/util');
const bcoin = require('bcoin');

const { Address } = bcoin;

const TYPES = {
  NONSTANDARD: 'nonstandard',
  PUBKEY: 'pubkey',
  PUBKEYHASH: 'pubkeyhash',
  SCRIPTHASH: 'scripthash',
  MULTISIG: 'multisig',
  NULLDATA: 'nulldata',
  WITNESSPUBKEYHASH: 'witness_v0_keyhash',
  WITNESSSCRIPTHASH: 'witness_v0_scripthash',
  WITNESSMASTERHASH: 'witness_unknown'
};
const INVALID_ADDRESS_OR_KEY = -5;
const INVALID_PARAMETER = -8;
const METHOD_NOT_FOUND = -32601;
// Names of parameters in their order, where several are accepted with a bar between.
const PARAMETERS = {
  getblock: ['blockhash', 'verbosity|verbose'],
  getblockhash: ['height'],
  getblockheader: ['blockhash', 'verbose'],
  getmempoolentry: ['txid'],
  getrawtransaction: ['txid', 'verbosity|verbose', 'blockhash'],
  gettxout: ['txid', 'n', 'include_mempool'],
  decoderawtransaction: ['hexstring', 'iswitness'],
  decodescript: ['hexstring'],
  validateaddress: ['address'],
  estimatesmartfee: ['conf_target', 'estimate_mode']
};
const AMOUNT = /"btc:(-?[0-9.]+)"/g;

class CoreError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// The parameters of a call by name, by position; bcoin takes no names.
function positions(method, named) {
  const names = PARAMETERS[method] || [];
  for (const name of Object.keys(named)) {
    if (!names.some(alternatives => alternatives.split('|').includes(name)))
      throw new CoreError(INVALID_PARAMETER, `Unknown named parameter ${name}`);
  }
  const values = names.map(alternatives => alternatives.split('|').map(name => named[name]).find(value => value !== undefined));
  while (values.length && values[values.length - 1] === undefined)
    values.pop();
  return values;
}

class Core {
  constructor(node) {
    this.node = node;
    this.chain = node.chain;
    this.methods = {
      getblockchaininfo: () => this.chainInfo(),
      getblock: params => this.block(...params),
      getblockheader: params => this.header(...params),
      getblockhash: params => this.blockHash(...params),
      getrawtransaction: params => this.transaction(...params),
      gettxout: params => this.output(...params),
      scantxoutset: params => this.scan(...params),
      invalidateblock: params => this.invalidate(...params),
      uptime: () => Math.floor(process.uptime())
    };
  }

  // The HTTP status and body for a request body, as Core gives them: errors of old-style requests ride on 500 and 404.
  async answer(text) {
    let asked;
    try {
      asked = JSON.parse(text);
    } catch (error) {
      return [500, write({ result: null, error: { code: -32700, message: 'Parse error' }, id: null })];
    }
    if (Array.isArray(asked)) {
      const answers = [];
      for (const one of asked)
        answers.push((await this.single(one))[1]);
      return [200, write(answers)];
    }
    const [status, answer] = await this.single(asked);
    return [status, write(answer)];
  }

  async single(asked) {
    const id = asked.id === undefined ? null : asked.id;
    const isCurrent = asked.jsonrpc === '2.0';
    try {
      const result = await this.call(asked.method, asked.params || []);
      return [200, isCurrent ? { jsonrpc: '2.0', result, id } : { result, error: null, id }];
    } catch (error) {
      const refusal = { code: error.code, message: error.message };
      if (isCurrent)
        return [200, { jsonrpc: '2.0', error: refusal, id }];
      return [refusal.code === METHOD_NOT_FOUND ? 404 : 500, { result: null, error: refusal, id }];
    }
  }

  async call(method, asked) {
    const params = Array.isArray(asked) ? asked : positions(method, asked);
    if (Object.hasOwn(this.methods, method))
      return this.methods[method](params);
    const { result, error } = await this.node.rpc.call({ method, params });
    if (error)
      throw new CoreError(error.code, error.code === METHOD_NOT_FOUND ? 'Method not found' : error.message);
    return result;
  }

  // bcoin's memory pool does not follow an invalidated block, and no block can be made on another tip than its own.
  async invalidate(hash) {
    await this.chain.invalidate(util.revHex(hash));
    await this.node.mempool.reset();
    return null;
  }

  async chainInfo() {
    const tip = this.chain.tip;
    return {
      chain: 'main',
      blocks: tip.height,
      headers: tip.height,
      bestblockhash: tip.rhash(),
      difficulty: difficulty(tip.bits),
      time: tip.time,
      mediantime: await this.chain.getMedianTime(tip),
      verificationprogress: 1,
      initialblockdownload: false,
      chainwork: tip.chainwork.toString('hex', 64),
      size_on_disk: 0,
      pruned: false,
      warnings: []
    };
  }

  async blockHash(height) {
    if (!Number.isInteger(height))
      throw new CoreError(-3, 'JSON value of type string is not of expected type number');
    const hash = height >= 0 && height <= this.chain.height ? await this.chain.getHash(height) : null;
    if (!hash)
      throw new CoreError(INVALID_PARAMETER, 'Block height out of range');
    return util.revHex(hash);
  }

  async header(text, verbose = true) {
    const entry = await this.entry(text);
    const block = await this.chain.getBlock(entry.hash);
    return verbose ? this.describeHeader(entry, block) : entry.toRaw().toString('hex', 0, 80);
  }

  async block(text, verbosity = 1) {
    const entry = await this.entry(text);
    const block = await this.chain.getBlock(entry.hash);
    if (verbosity === 0 || verbosity === false)
      return block.toRaw().toString('hex');
    const view = await this.chain.getBlockView(block);
    return {
      ...(await this.describeHeader(entry, block)),
      strippedsize: block.getBaseSize(),
      size: block.getSize(),
      weight: block.getWeight(),
      tx: block.txs.map(tx => (verbosity >= 2 ? this.describe(tx, view) : tx.txid()))
    };
  }

  async entry(text) {
    if (typeof text !== 'string' || !/^[0-9a-fA-F]{64}$/.test(text))
      throw new CoreError(INVALID_PARAMETER, `blockhash must be of length 64 (not ${String(text).length}, for '${text}')`);
    const entry = await this.chain.getEntry(util.revHex(text.toLowerCase()));
    if (!entry)
      throw new CoreError(INVALID_ADDRESS_OR_KEY, 'Block not found');
    return entry;
  }

  async describeHeader(entry, block) {
    const isMain = await this.chain.isMainChain(entry);
    const next = isMain ? await this.chain.getNextHash(entry.hash) : null;
    const header = {
      hash: entry.rhash(),
      confirmations: isMain ? this.chain.height - entry.height + 1 : -1,
      height: entry.height,
      version: entry.version,
      versionHex: (entry.version >>> 0).toString(16).padStart(8, '0'),
      merkleroot: util.revHex(entry.merkleRoot),
      time: entry.time,
      mediantime: await this.chain.getMedianTime(entry),
      nonce: entry.nonce,
      bits: entry.bits.toString(16).padStart(8, '0'),
      difficulty: difficulty(entry.bits),
      chainwork: entry.chainwork.toString('hex', 64),
      nTx: block.txs.length
    };
    if (entry.height > 0)
      header.previousblockhash = util.revHex(entry.prevBlock);
    if (next)
      header.nextblockhash = util.revHex(next);
    return header;
  }

  async transaction(txid, verbosity = 0) {
    if (typeof txid !== 'string' || !/^[0-9a-fA-F]{64}$/.test(txid))
      throw new CoreError(INVALID_PARAMETER, `parameter 1 must be of length 64 (not ${String(txid).length}, for '${txid}')`);
    const meta = await this.node.getMeta(util.revHex(txid.toLowerCase()));
    if (!meta) {
      const message = 'No such mempool or blockchain transaction. Use gettransaction for wallet transactions.';
      throw new CoreError(INVALID_ADDRESS_OR_KEY, message);
    }
    if (!verbosity)
      return meta.tx.toRaw().toString('hex');
    const answer = this.describe(meta.tx, await this.node.getMetaView(meta));
    if (meta.height < 0)
      return answer;
    const entry = await this.chain.getEntry(meta.height);
    return {
      ...answer,
      blockhash: entry.rhash(),
      confirmations: this.chain.height - meta.height + 1,
      time: entry.time,
      blocktime: entry.time
    };
  }

  describe(tx, view) {
    const answer = {
      txid: tx.txid(),
      hash: tx.wtxid(),
      version: tx.version,
      size: tx.getSize(),
      vsize: tx.getVirtualSize(),
      weight: tx.getWeight(),
      locktime: tx.locktime,
      vin: tx.inputs.map(input => describeInput(input, tx.isCoinbase())),
      vout: tx.outputs.map((output, n) => ({
        value: amount(output.value),
        n,
        scriptPubKey: this.describeScript(output.script)
      }))
    };
    if (!tx.isCoinbase() && tx.hasCoins(view))
      answer.fee = amount(tx.getFee(view));
    answer.hex = tx.toRaw().toString('hex');
    return answer;
  }

  // Without `desc`: bcoin knows no output descriptors.
  describeScript(script) {
    const answer = { asm: script.toASM(), hex: script.toJSON() };
    const address = script.getAddress();
    if (address && !script.isPubkey() && !script.isMultisig())
      answer.address = address.toString(this.node.network);
    answer.type = TYPES[bcoin.Script.typesByVal[script.getType()]];
    return answer;
  }

  async output(txid, index, withMempool = true) {
    const hash = util.revHex(txid);
    const pooled = withMempool ? this.node.mempool.getCoin(hash, index) : null;
    if (withMempool && this.node.mempool.isSpent(hash, index))
      return null;
    const coin = pooled || (await this.chain.getCoin(hash, index));
    if (!coin)
      return null;
    return {
      bestblock: this.chain.tip.rhash(),
      confirmations: coin.height < 0 ? 0 : this.chain.height - coin.height + 1,
      value: amount(coin.value),
      scriptPubKey: this.describeScript(coin.script),
      coinbase: coin.coinbase
    };
  }

  async scan(action, wanted) {
    if (action !== 'start')
      return action === 'status' ? null : false;
    const unspents = [];
    let total = 0;
    const tip = this.chain.tip;
    for (const descriptor of wanted) {
      const found = /^addr\(([0-9A-Za-z]+)\)/.exec(descriptor);
      const address = found && parseAddress(found[1], this.node.network);
      if (!address)
        throw new CoreError(INVALID_ADDRESS_OR_KEY, 'Address is not valid');
      for (const coin of await this.chain.getCoinsByAddress([address])) {
        if (String(coin.getAddress()?.toString(this.node.network)) !== found[1])
          continue;
        total += coin.value;
        const script = coin.script.toJSON();
        const from = { txid: util.revHex(coin.hash), vout: coin.index, scriptPubKey: script };
        unspents.push({ ...from, desc: descriptor, amount: amount(coin.value), coinbase: coin.coinbase, height: coin.height });
      }
    }
    return {
      success: true,
      txouts: unspents.length,
      height: tip.height,
      bestblock: tip.rhash(),
      unspents,
      total_amount: amount(total)
    };
  }
}

function describeInput(input, isCoinbase) {
  const answer = isCoinbase
    ? { coinbase: input.script.toJSON() }
    : {
        txid: input.prevout.txid(),
        vout: input.prevout.index,
        scriptSig: { asm: input.script.toASM(), hex: input.script.toJSON() }
      };
  if (input.witness.items.length > 0)
    answer.txinwitness = input.witness.items.map(item => item.toString('hex'));
  answer.sequence = input.sequence;
  return answer;
}

function parseAddress(text, network) {
  try {
    return Address.fromString(text, network);
  } catch (error) {
    return null;
  }
}

function difficulty(bits) {
  const shift = 8 * (0x1d - (bits >>> 24));
  return (0xffff / (bits & 0xffffff)) * 2 ** shift;
}

// Core writes amounts as numbers with eight decimals, which no number of JavaScript's does: they go through text.
function amount(satoshi) {
  const digits = String(satoshi).padStart(9, '0');
  return `btc:${digits.slice(0, -8)}.${digits.slice(-8)}`;
}

function write(answer) {
  return JSON.stringify(answer).replace(AMOUNT, '$1');
}

module.exports = { Core, parseAddress };
