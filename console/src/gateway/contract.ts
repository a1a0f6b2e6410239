/** What the contract fixes and no answer repeats; `test/contract.test.ts` compares it with the gateway's own. */

/** Symbols with a history and a watch: getTopPrices knows further ones. */
const SYMBOLS =
  "BTC ETH SOL USDC USDT LINK HYPE wstETH stETH DOT TON NEAR MORPHO SSV MOVR KSM sUSDe MRE7YIELD sUSDS APT STORY AKT TRX EIGEN HBAR INIT IOTA STRK MON SPK stSPK GLMR BABY FUEL SSS SAGA stLINK ETHV ETHW";
export const PRICED: ReadonlySet<string> = new Set(SYMBOLS.split(" "));

/** Units that one call costs. */
export const UNITS = {
  getTopPrices: 5,
  getPriceHistory: 1,
  getYieldsBest: 10,
  getFundingRates: 1,
  compareGas: 5,
  getUsage: 5,
} as const;
