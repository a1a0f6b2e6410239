/** Positions in protocols, each in its own form, as facts and rows that are shown alike. */
import { percent, usd } from "../../format/figures.ts";
import type { RowError } from "./portfolio.ts";

export interface Row {
  readonly protocol: string;
  readonly status: "ok" | "error" | "unsupported";
  readonly data: unknown;
  readonly error?: RowError;
}
export interface Summary {
  readonly blockHeight: number | null;
  readonly protocols: readonly Row[];
}
/** A figure of the whole protocol; `mark` where it calls for attention. */
export interface Fact {
  readonly name: string;
  readonly value: string;
  readonly mark?: "bad" | "good";
}
/** An amount as decimal text, its asset, and its value in dollars: null where its price is not known, undefined where none is stated. */
export interface Amount {
  readonly amount: string;
  readonly symbol: string;
  readonly usd?: number | null;
}
export interface Holding {
  readonly name: string;
  readonly address: string;
  readonly supplied: readonly Amount[];
  readonly collateral: readonly Amount[];
  readonly owed: readonly Amount[];
  readonly note?: string;
}
export interface Positions {
  readonly facts: readonly Fact[];
  readonly holdings: readonly Holding[];
}

interface Token {
  readonly symbol: string;
  readonly address: string;
  readonly balance: string;
}
interface LendAV3 {
  readonly totalCollateralUsd: number;
  readonly totalDebtUsd: number;
  readonly netWorthUsd: number;
  readonly availableBorrowsUsd: number;
  readonly healthFactor: number | null;
  readonly ltv: number;
  readonly liquidationThreshold: number;
  readonly isLiquidatable: boolean;
  readonly reserves: readonly (Token & { balanceUsd: number | null; isCollateral: boolean; debt: string; debtUsd: number | null })[];
}
interface LendAV2 {
  readonly totalCollateralUsd: number;
  readonly totalDebtUsd: number;
  readonly totalsUnit: string;
  readonly healthFactor: number | null;
  readonly ltv: number;
  readonly supplies: readonly Token[];
  readonly borrows: readonly Token[];
}
interface LendBV3 {
  readonly markets: readonly {
    readonly marketName: string;
    readonly marketAddress: string;
    readonly baseToken: { readonly symbol: string };
    readonly supplyBalance: string;
    readonly borrowBalance: string;
    readonly collateral: readonly Token[];
    readonly isLiquidatable: boolean | null;
  }[];
}
interface LendBV2 {
  readonly markets: readonly { cTokenSymbol: string; cTokenAddress: string; underlyingSymbol: string; supplyBalance: string; borrowBalance: string }[];
}
interface LendC {
  readonly markets: readonly {
    readonly marketId: string;
    readonly loanToken: { readonly symbol: string };
    readonly collateralToken: { readonly symbol: string };
    readonly supplyAssets: string;
    readonly borrowAssets: string;
    readonly collateral: string;
  }[];
}
interface StakeA {
  readonly stETH: { readonly balance: string } | null;
  readonly wstETH: { readonly balance: string };
  readonly totalEthEquivalent: string;
  readonly stakingApr: number;
}
interface PoolALend {
  readonly markets: readonly { readonly vaultAddress: string; readonly symbol: string; readonly assetAddress: string }[];
  readonly positions: readonly { readonly vaultAddress: string; readonly name: string; readonly shares: string; readonly assets: string }[];
}

const isSomething = (text: string): boolean => /[1-9]/.test(text);
const some = (amount: string, symbol: string, value?: number | null): Amount[] =>
  isSomething(amount) ? [{ amount, symbol, ...(value !== undefined && { usd: value }) }] : [];
const health = (factor: number | null): Fact => ({ name: "Health factor", value: factor === null ? "no debt" : String(factor) });
const fraction = (value: number): string => percent(value * 100);
const inUnit = (value: number, unit: string): string => (unit === "USD" ? usd(value) : `${value} ${unit}`);

/** The readers of the protocols' forms, by the name that the summary gives them. */
const READERS: Readonly<Record<string, (data: never) => Positions>> = {
  "lend-a-v3": (data: LendAV3) => ({
    facts: [
      health(data.healthFactor),
      { name: "Can be liquidated now", value: data.isLiquidatable ? "yes" : "no", mark: data.isLiquidatable ? "bad" : "good" },
      { name: "Collateral", value: usd(data.totalCollateralUsd) },
      { name: "Debt", value: usd(data.totalDebtUsd) },
      { name: "Collateral less debt", value: usd(data.netWorthUsd) },
      { name: "May still be borrowed", value: usd(data.availableBorrowsUsd) },
      { name: "Most that may be borrowed", value: `${fraction(data.ltv)} of the collateral` },
      { name: "Liquidated from", value: `${fraction(data.liquidationThreshold)} of the collateral` },
    ],
    holdings: data.reserves.map(({ symbol, address, balance, balanceUsd, isCollateral, debt, debtUsd }) => ({
      name: symbol,
      address,
      supplied: isCollateral ? [] : some(balance, symbol, balanceUsd),
      collateral: isCollateral ? some(balance, symbol, balanceUsd) : [],
      owed: some(debt, symbol, debtUsd),
    })),
  }),
  "lend-a-v2": (data: LendAV2) => ({
    facts: [
      health(data.healthFactor),
      { name: "Collateral", value: inUnit(data.totalCollateralUsd, data.totalsUnit) },
      { name: "Debt", value: inUnit(data.totalDebtUsd, data.totalsUnit) },
      { name: "Most that may be borrowed", value: `${fraction(data.ltv)} of the collateral` },
    ],
    holdings: [
      ...data.supplies.map(({ symbol, address, balance }) => ({ name: symbol, address, supplied: some(balance, symbol), collateral: [], owed: [] })),
      ...data.borrows.map(({ symbol, address, balance }) => ({ name: symbol, address, supplied: [], collateral: [], owed: some(balance, symbol) })),
    ],
  }),
  "lend-b-v3": (data: LendBV3) => ({
    facts: [],
    holdings: data.markets.map(({ marketName, marketAddress, baseToken, supplyBalance, borrowBalance, collateral, isLiquidatable }) => ({
      name: marketName,
      address: marketAddress,
      supplied: some(supplyBalance, baseToken.symbol),
      collateral: collateral.flatMap(({ symbol, balance }) => some(balance, symbol)),
      owed: some(borrowBalance, baseToken.symbol),
      note:
        isLiquidatable === null
          ? "whether it can be liquidated is not known: a price feed does not answer"
          : isLiquidatable
            ? "can be liquidated now"
            : isSomething(borrowBalance)
              ? "cannot be liquidated now"
              : "no debt",
    })),
  }),
  "lend-b-v2": (data: LendBV2) => ({
    facts: [],
    holdings: data.markets.map(({ cTokenSymbol, cTokenAddress, underlyingSymbol, supplyBalance, borrowBalance }) => ({
      name: cTokenSymbol,
      address: cTokenAddress,
      supplied: some(supplyBalance, underlyingSymbol),
      collateral: [],
      owed: some(borrowBalance, underlyingSymbol),
    })),
  }),
  "lend-c": (data: LendC) => ({
    facts: [],
    holdings: data.markets.map(({ marketId, loanToken, collateralToken, supplyAssets, borrowAssets, collateral }) => ({
      name: `${loanToken.symbol} against ${collateralToken.symbol}`,
      address: marketId,
      supplied: some(supplyAssets, loanToken.symbol),
      collateral: some(collateral, collateralToken.symbol),
      owed: some(borrowAssets, loanToken.symbol),
    })),
  }),
  "stake-a": (data: StakeA) => {
    const supplied = [...(data.stETH === null ? [] : some(data.stETH.balance, "stETH")), ...some(data.wstETH.balance, "wstETH")];
    if (supplied.length === 0) return { facts: [], holdings: [] };
    return {
      facts: [{ name: "Together", value: `${data.totalEthEquivalent} ETH` }],
      holdings: supplied.map((held) => ({ name: held.symbol, address: "", supplied: [held], collateral: [], owed: [] })),
    };
  },
  "pool-a-lend": (data: PoolALend) => ({
    facts: [],
    holdings: data.positions.map(({ vaultAddress, name, shares, assets }) => ({
      name,
      address: vaultAddress,
      supplied: some(assets, "of the vault's asset"),
      collateral: [],
      owed: [],
      note: `${shares} shares`,
    })),
  }),
};

/** Returns the row's positions; undefined for a protocol whose form is not known here. */
export function positionsOf({ protocol, data }: Row): Positions | undefined {
  const reader = READERS[protocol];
  if (reader === undefined || data === null || typeof data !== "object") return undefined;
  return reader(data as never);
}

/** The rows of a summary by what became of them. */
export interface Sorted {
  readonly held: readonly { readonly protocol: string; readonly positions: Positions }[];
  readonly failed: readonly { readonly protocol: string; readonly error: RowError | undefined }[];
  /** Of a protocol that the page has no form for: shown as they came. */
  readonly unknown: readonly Row[];
  readonly empty: readonly string[];
  readonly unsupported: readonly string[];
}

/** Returns the rows by what became of them, each in the summary's order. */
export function sorted({ protocols }: Summary): Sorted {
  const held: Sorted["held"][number][] = [];
  const empty: string[] = [];
  const unknown: Row[] = [];
  for (const row of protocols) {
    if (row.status !== "ok") continue;
    const positions = positionsOf(row);
    if (positions === undefined) unknown.push(row);
    else if (positions.holdings.length === 0) empty.push(row.protocol);
    else held.push({ protocol: row.protocol, positions });
  }
  return {
    held,
    empty,
    unknown,
    failed: protocols.filter(({ status }) => status === "error").map(({ protocol, error }) => ({ protocol, error })),
    unsupported: protocols.filter(({ status }) => status === "unsupported").map(({ protocol }) => protocol),
  };
}
