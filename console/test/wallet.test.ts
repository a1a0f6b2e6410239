import assert from "node:assert/strict";
import { test } from "node:test";
import { familyOf, isName } from "../src/sections/wallet/address.ts";
import { shareOf, type Approval } from "../src/sections/wallet/allowance.ts";
import { attributesOf, idsOf, linksOf } from "../src/sections/wallet/nft.ts";
import { callsOf, inUnits, planOf, transfersFrom, unitsOf } from "../src/sections/wallet/plan.ts";
import { inWords, leftOut, merged, rowsOf, share, slicesOf, type Asset, type Chain, type Portfolio } from "../src/sections/wallet/portfolio.ts";
import { sorted } from "../src/sections/wallet/positions.ts";
import { counted, shifted } from "../src/sections/wallet/staking.ts";
import { squarified, type Box } from "../src/sections/wallet/treemap.ts";

const asset = (symbol: string, valueUsd: number | null, balanceRaw = "1000", decimals = 3): Asset => ({
  symbol,
  name: symbol,
  address: `0x${symbol}`,
  balance: "1",
  balanceRaw,
  decimals,
  priceUsd: valueUsd,
  valueUsd,
});
const read = (chain: string, assets: Asset[], unread: string[] = []): Chain => ({
  chain,
  status: "ok",
  blockHeight: 20_500,
  totalUsd: assets.reduce((sum, { valueUsd }) => sum + (valueUsd ?? 0), 0),
  unpriced: assets.filter(({ valueUsd }) => valueUsd === null).length,
  unread,
  assets,
});
const failed = (chain: string): Chain => ({ chain, status: "error", error: { code: 503, message: "no node answers", reason: "UPSTREAM_UNAVAILABLE" } });
const portfolio = (...chains: Chain[]): Portfolio => ({
  address: "0xa",
  totalUsd: chains.reduce((sum, chain) => sum + (chain.status === "ok" ? chain.totalUsd : 0), 0),
  unpriced: chains.reduce((sum, chain) => sum + (chain.status === "ok" ? chain.unpriced : 0), 0),
  chains,
  timestamp: "2026-11-23T11:00:00Z",
  notAllowed: [],
});

test("addresses belong to families by their form, names have a dot", () => {
  assert.equal(familyOf("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"), "evm");
  assert.equal(familyOf("0x3ab3c23f144e5d4d2dd2fe3b59a949ea0e27f650345c6d12ecf1a8c6442a099"), "starknet");
  assert.equal(familyOf("bc1qyemsszt4espcszn4zmvakl350gprskf3ac2uqq"), "bitcoin");
  assert.equal(familyOf("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"), "bitcoin");
  assert.equal(familyOf("cosmos1xxz4wxarq8ucu63hwukt3eldm67hssakt5jafr"), "cosmos");
  assert.equal(familyOf("6WhNY6knwiShFjQvDyuDv67kJEeGwzwfJPpaj6Q5Z3go"), "solana");
  assert.equal(familyOf("garbage"), undefined);
  assert.equal(isName("vitalik.eth"), true);
  assert.equal(isName("cosmos1xxz4wxarq8ucu63hwukt3eldm67hssakt5jafr"), false);
});

test("a chain read again takes its place, and the totals are added up anew", () => {
  const before = portfolio(read("ethereum", [asset("ETH", 10)]), failed("base"));
  const after = merged(before, [read("base", [asset("USDC", 5), asset("X", null)])]);
  assert.deepEqual(
    after.chains.map(({ chain, status }) => [chain, status]),
    [
      ["ethereum", "ok"],
      ["base", "ok"],
    ],
  );
  assert.equal(after.totalUsd, 15);
  assert.equal(after.unpriced, 1);
  assert.equal(merged(before, [failed("base")]).totalUsd, 10);
});

test("what is missing has rows and words of its own", () => {
  const whole = portfolio(read("ethereum", [asset("ETH", 10), asset("X", null)], ["0xbad"]), failed("base"), read("bsc", []));
  assert.deepEqual(
    rowsOf(whole).map(({ kind, chain }) => `${kind} ${chain}`),
    ["unread ethereum", "failed base", "asset ethereum", "asset ethereum"],
  );
  assert.deepEqual(leftOut({ ...whole, notAllowed: ["gnosis"] }), [
    "1 asset without a price",
    "1 token whose balance could not be read",
    "1 chain that could not be read",
    "1 chain that this key may not read",
  ]);
  assert.deepEqual(leftOut(portfolio(read("bsc", []))), []);
});

test("the picture has what has a value, the largest first, and says what is not in it", () => {
  const whole = portfolio(read("base", [asset("A", 1), asset("B", 2), asset("X", null), asset("Z", 0)]), read("ethereum", [asset("ETH", 10)]), failed("bsc"));
  assert.deepEqual(slicesOf(whole), [
    { name: "ethereum", value: 10, tokens: [{ name: "ETH", value: 10 }] },
    {
      name: "base",
      value: 3,
      tokens: [
        { name: "B", value: 2 },
        { name: "A", value: 1 },
      ],
    },
  ]);
  assert.equal(
    inWords(slicesOf(whole), leftOut(whole)),
    "$13.00 on 2 chains. The most is on ethereum: $10.00, 76.9 %, of which $10.00 in ETH. Not in it: 1 asset without a price, 1 chain that could not be read.",
  );
  assert.equal(inWords([], ["1 chain that could not be read"]), "Nothing with a known value. Not in it: 1 chain that could not be read.");
  assert.equal(share(1, 10_000), "under 0.1 %");
});

test("boxes fill the whole, keep the proportions and do not overlap", () => {
  const values = [600, 300, 200, 100, 50, 25, 1];
  const whole: Box = { x: 10, y: 20, width: 300, height: 200 };
  const boxes = squarified(values, whole);
  const total = values.reduce((sum, value) => sum + value, 0);
  boxes.forEach((box, place) => assert.ok(Math.abs(box.width * box.height - ((values[place] ?? 0) / total) * 60_000) < 0.01));
  for (const box of boxes) {
    assert.ok(box.x >= 10 - 1e-6 && box.y >= 20 - 1e-6);
    assert.ok(box.x + box.width <= 310 + 1e-6 && box.y + box.height <= 220 + 1e-6);
  }
  boxes.forEach((a, i) =>
    boxes.slice(i + 1).forEach((b) => {
      const across = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
      const down = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
      assert.ok(across < 1e-6 || down < 1e-6);
    }),
  );
  const [first] = boxes;
  assert.ok(first !== undefined && Math.max(first.width / first.height, first.height / first.width) < 2);
  assert.deepEqual(squarified([], whole), []);
  assert.deepEqual(squarified([1], { x: 0, y: 0, width: 0, height: 5 }), [{ x: 0, y: 0, width: 0, height: 0 }]);
});

test("an allowance is unlimited or a share of the balance, in integers", () => {
  const held = read("ethereum", [asset("USDC", 1, "100000000000000000000000")], ["0xDAI"]);
  const approval = (allowanceRaw: string, isUnlimited = false, symbol = "usdc"): Approval => ({
    token: { symbol, address: `0x${symbol}` },
    spender: { name: "s", address: "0xs" },
    allowance: "1",
    allowanceRaw,
    isUnlimited,
  });
  assert.equal(shareOf(approval(String(2n ** 255n), true), held), "unlimited");
  assert.equal(shareOf(approval(String(2n ** 255n), true), failed("ethereum")), "unlimited");
  assert.equal(shareOf(approval("12000000000000000000000"), held), "12 % of the balance");
  assert.equal(shareOf(approval("12050000000000000000000"), held), "12.05 % of the balance");
  assert.equal(shareOf(approval("1"), held), "under 0.01 % of the balance");
  assert.equal(shareOf(approval("99999999999999999999999"), held), "99.99 % of the balance");
  assert.equal(shareOf(approval("100000000000000000000000"), held), "100 % of the balance");
  assert.equal(shareOf(approval("100000000000000000000001"), held), "more than the balance");
  assert.equal(shareOf(approval("1", false, "dai"), held), "the balance could not be read");
  assert.equal(shareOf(approval("1"), failed("ethereum")), "the balance could not be read");
  assert.equal(shareOf(approval("1", false, "link"), held), "the portfolio lists no balance of it");
});

test("what is read of a chain follows from the family, its cost from the document", () => {
  const costs = new Map([
    ["getApprovals", 1],
    ["getDefiSummary", 7],
    ["getTransfers", 5],
  ]);
  const evm = planOf("evm");
  const methods = evm.steps.map(({ method }) => method);
  assert.equal(unitsOf(methods, costs), 13);
  assert.equal(unitsOf(methods, new Map([["getApprovals", 1]])), undefined);
  assert.equal(unitsOf(methods, undefined), undefined);
  assert.equal(inUnits(13), "13 units");
  assert.equal(inUnits(undefined), "units not known");
  const where = { chain: "base", address: "0xa", fromBlock: transfersFrom(20_500) };
  assert.deepEqual(
    callsOf(evm, where).map(({ part, call }) => [part, call]),
    [
      ["approvals", { method: "getApprovals", params: { chain: "base", address: "0xa" } }],
      ["positions", { method: "getDefiSummary", params: { chain: "base", address: "0xa" } }],
      ["transfers", { method: "getTransfers", params: { chain: "base", address: "0xa", fromBlock: 10_500 } }],
    ],
  );
  assert.deepEqual(callsOf(evm, { ...where, fromBlock: undefined }, "transfers"), [{ part: "transfers", call: { method: "getTransfers", params: { chain: "base", address: "0xa" } } }]);
  assert.equal(transfersFrom(31), 0);
  assert.equal(transfersFrom(undefined), undefined);
  assert.deepEqual(callsOf(planOf("cosmos"), { chain: "cosmoshub", address: "cosmos1a", fromBlock: undefined }, "rewards")[0]?.call.params, { chain: "cosmoshub", delegator: "cosmos1a" });
  assert.equal(planOf("bitcoin").steps.length, 0);
  assert.ok(planOf(undefined).without);
});

test("a summary's rows part into held, failed, empty, unsupported and unknown", () => {
  const error = { code: 503, message: "no node answers", reason: "UPSTREAM_UNAVAILABLE" };
  const found = sorted({
    blockHeight: 1,
    protocols: [
      {
        protocol: "lend-a-v2",
        status: "ok",
        data: { totalCollateralUsd: 7.6, totalDebtUsd: 0.5, totalsUnit: "ETH", healthFactor: 12.25, ltv: 0.7, supplies: [{ symbol: "WETH", address: "0x1", balance: "6" }], borrows: [] },
      },
      {
        protocol: "lend-a-v3",
        status: "ok",
        data: {
          totalCollateralUsd: 2,
          totalDebtUsd: 0,
          netWorthUsd: 2,
          availableBorrowsUsd: 1,
          healthFactor: null,
          ltv: 0.5,
          liquidationThreshold: 0.6,
          isLiquidatable: false,
          reserves: [{ symbol: "DAI", address: "0x2", balance: "2", balanceUsd: null, isCollateral: true, debt: "0", debtUsd: 0 }],
        },
      },
      { protocol: "lend-b-v2", status: "ok", data: { markets: [] } },
      {
        protocol: "lend-b-v3",
        status: "ok",
        data: { markets: [{ marketName: "m", marketAddress: "0x3", baseToken: { symbol: "USDC" }, supplyBalance: "0", borrowBalance: "1", collateral: [], isLiquidatable: null }] },
      },
      { protocol: "lend-c", status: "error", data: null, error },
      { protocol: "stake-a", status: "unsupported", data: null },
      { protocol: "lend-z", status: "ok", data: { anything: 1 } },
    ],
  });
  assert.deepEqual(
    found.held.map(({ protocol }) => protocol),
    ["lend-a-v2", "lend-a-v3", "lend-b-v3"],
  );
  assert.deepEqual(found.held[0]?.positions.facts.slice(0, 3), [
    { name: "Health factor", value: "12.25" },
    { name: "Collateral", value: "7.6 ETH" },
    { name: "Debt", value: "0.5 ETH" },
  ]);
  assert.deepEqual(found.held[1]?.positions.facts.slice(0, 2), [
    { name: "Health factor", value: "no debt" },
    { name: "Can be liquidated now", value: "no", mark: "good" },
  ]);
  assert.deepEqual(found.held[1]?.positions.holdings, [{ name: "DAI", address: "0x2", supplied: [], collateral: [{ amount: "2", symbol: "DAI", usd: null }], owed: [] }]);
  assert.match(found.held[2]?.positions.holdings[0]?.note ?? "", /not known/);
  assert.deepEqual(found.failed, [{ protocol: "lend-c", error }]);
  assert.deepEqual(found.empty, ["lend-b-v2"]);
  assert.deepEqual(found.unsupported, ["stake-a"]);
  assert.deepEqual(
    found.unknown.map(({ protocol }) => protocol),
    ["lend-z"],
  );
});

test("base units become whole ones exactly", () => {
  assert.equal(shifted("23000000", 6), "23");
  assert.equal(shifted("115.500000000000000000", 6), "0.0001155");
  assert.equal(shifted("1", 18), "0.000000000000000001");
  assert.equal(shifted("12345678901234567890123", 0), "12345678901234567890123");
  assert.equal(shifted("1.50", 0), "1.5");
  assert.equal(shifted("odd", 6), "odd");
  const atom = { ...asset("ATOM", 1, "1", 6), address: "uatom" };
  assert.deepEqual(counted({ denom: "uatom", amount: "2500000" }, [atom]), { amount: "2.5", unit: "ATOM" });
  assert.deepEqual(counted({ denom: "ibc/X", amount: "2500000" }, [atom]), { amount: "2500000", unit: "ibc/X" });
});

test("documents of tokens: attributes of any shape, links, ids", () => {
  assert.deepEqual(attributesOf({ attributes: [{ trait_type: "height", value: 20 }, { value: "bare" }, "loose", null, { trait_type: "big", value: 2n ** 256n }] }), {
    shown: [
      { name: "height", value: "20" },
      { name: "", value: "bare" },
      { name: "", value: "loose" },
      { name: "", value: "null" },
      { name: "big", value: String(2n ** 256n) },
    ],
    total: 5,
  });
  assert.deepEqual(attributesOf({ properties: { colour: "red" } }), { shown: [{ name: "colour", value: "red" }], total: 1 });
  assert.deepEqual(attributesOf({ attributes: "none" }), { shown: [], total: 0 });
  assert.equal(attributesOf({ attributes: Array(50).fill("x") }).shown.length, 40);
  assert.deepEqual(linksOf({ image: "https://a/1.png", external_url: 7 }), [{ name: "Image", value: "https://a/1.png" }]);
  assert.deepEqual(idsOf("1, 2 2\n3"), ["1", "2", "3"]);
  assert.deepEqual(idsOf(""), []);
  assert.equal(idsOf("1, x"), undefined);
});
