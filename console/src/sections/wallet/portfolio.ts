/** A wallet's holdings as `getPortfolio` returns them: rows, totals, and what the totals leave out. */
import { count, usd } from "../../format/figures.ts";

export interface Asset {
  readonly symbol: string;
  readonly name: string;
  readonly address: string;
  readonly balance: string;
  readonly balanceRaw: string;
  readonly decimals: number;
  readonly priceUsd: number | null;
  readonly valueUsd: number | null;
}
export interface RowError {
  readonly code: number;
  readonly message: string;
  readonly reason: string;
}
export interface ReadChain {
  readonly chain: string;
  readonly status: "ok";
  readonly blockHeight?: number;
  readonly totalUsd: number;
  readonly unpriced: number;
  readonly unread: readonly string[];
  readonly assets: readonly Asset[];
}
export interface FailedChain {
  readonly chain: string;
  readonly status: "error";
  readonly error: RowError;
}
export type Chain = ReadChain | FailedChain;
export interface Portfolio {
  readonly address: string;
  readonly totalUsd: number;
  readonly unpriced: number;
  readonly chains: readonly Chain[];
  readonly timestamp: string;
  readonly notAllowed: readonly string[];
}

/** A row of the table of assets: something held, a token whose balance was refused, or a chain that could not be read. */
export type AssetRow =
  | { readonly kind: "asset"; readonly chain: string; readonly asset: Asset }
  | { readonly kind: "unread"; readonly chain: string; readonly address: string }
  | { readonly kind: "failed"; readonly chain: string; readonly error: RowError };

export const isRead = (chain: Chain): chain is ReadChain => chain.status === "ok";
export const hasSomething = (chain: Chain): boolean => isRead(chain) && (chain.assets.length > 0 || chain.unread.length > 0);

/** Returns the portfolio with the chains that were read again in their places, its totals added up anew. */
export function merged(portfolio: Portfolio, again: readonly Chain[]): Portfolio {
  const fresh = new Map(again.map((chain) => [chain.chain, chain]));
  const chains = portfolio.chains.map((chain) => fresh.get(chain.chain) ?? chain);
  const read = chains.filter(isRead);
  return {
    ...portfolio,
    chains,
    totalUsd: read.reduce((sum, { totalUsd }) => sum + totalUsd, 0),
    unpriced: read.reduce((sum, { unpriced }) => sum + unpriced, 0),
  };
}

/** Returns the rows of all chains: what could not be read first, then in the order of the answer. */
export function rowsOf({ chains }: Portfolio): AssetRow[] {
  const missing: AssetRow[] = [];
  const assets: AssetRow[] = [];
  for (const row of chains) {
    if (!isRead(row)) {
      missing.push({ kind: "failed", chain: row.chain, error: row.error });
      continue;
    }
    missing.push(...row.unread.map((address) => ({ kind: "unread", chain: row.chain, address }) as const));
    assets.push(...row.assets.map((asset) => ({ kind: "asset", chain: row.chain, asset }) as const));
  }
  return [...missing, ...assets];
}

/** Returns what the total leaves out, one phrase each; empty where it leaves nothing out. */
export function leftOut({ chains, unpriced, notAllowed }: Portfolio): string[] {
  const failed = chains.filter((chain) => !isRead(chain)).length;
  const unread = chains.filter(isRead).reduce((sum, chain) => sum + chain.unread.length, 0);
  return [
    ...(unpriced > 0 ? [`${count(unpriced, "asset")} without a price`] : []),
    ...(unread > 0 ? [`${count(unread, "token")} whose balance could not be read`] : []),
    ...(failed > 0 ? [`${count(failed, "chain")} that could not be read`] : []),
    ...(notAllowed.length > 0 ? [`${count(notAllowed.length, "chain")} that this key may not read`] : []),
  ];
}

export interface Slice {
  readonly name: string;
  readonly value: number;
}
export interface ChainSlice extends Slice {
  readonly tokens: readonly Slice[];
}

/** Returns what has a value, by chain and token, the largest first. */
export function slicesOf({ chains }: Portfolio): ChainSlice[] {
  const byValue = (a: Slice, b: Slice): number => b.value - a.value;
  return chains
    .filter(isRead)
    .map(({ chain, assets }) => {
      const tokens = assets
        .filter((asset): asset is Asset & { valueUsd: number } => asset.valueUsd !== null && asset.valueUsd > 0)
        .map(({ symbol, valueUsd }) => ({ name: symbol, value: valueUsd }))
        .sort(byValue);
      return { name: chain, value: tokens.reduce((sum, { value }) => sum + value, 0), tokens };
    })
    .filter(({ value }) => value > 0)
    .sort(byValue);
}

/** Returns a share in words: `12.3 %`, `under 0.1 %`. */
export function share(part: number, whole: number): string {
  const inPercent = (part / whole) * 100;
  return inPercent < 0.1 ? "under 0.1 %" : `${inPercent.toFixed(1)} %`;
}

/** Returns the picture in words; symbols are text of strangers, which the caller reveals. */
export function inWords(slices: readonly ChainSlice[], missing: readonly string[]): string {
  const total = slices.reduce((sum, { value }) => sum + value, 0);
  const largest = slices[0];
  const without = missing.length === 0 ? "" : ` Not in it: ${missing.join(", ")}.`;
  if (largest === undefined) return `Nothing with a known value.${without}`;
  const token = largest.tokens[0];
  return (
    `${usd(total)} on ${count(slices.length, "chain")}. The most is on ${largest.name}: ${usd(largest.value)}, ${share(largest.value, total)}` +
    (token === undefined ? "." : `, of which ${usd(token.value)} in ${token.name}.`) +
    without
  );
}
