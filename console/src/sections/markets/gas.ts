/** Gas of the EVM chains, and the logarithmic picture of what a transfer costs. */
export interface ChainGas {
  readonly chain: string;
  readonly baseFeeGwei: number;
  readonly priorityFeeGwei: number;
  readonly estimatedTxCostUsd?: number | null;
  readonly l1FeeUsd?: number;
  readonly updatedAt: string;
}
export interface GasComparison {
  readonly results: readonly ChainGas[];
  readonly notAllowed: readonly string[];
}
export interface Bar {
  readonly chain: string;
  /** US dollars; undefined where the native coin has no price. */
  readonly cost: number | undefined;
  /** From 0 to 1 of the scale's width; undefined where nothing can be drawn: no price, or no cost at all. */
  readonly length: number | undefined;
}

/** Returns bars on a scale of whole powers of ten, and these powers; each step is ten times the one before. */
export function logarithmicBars(rows: readonly ChainGas[]): { bars: Bar[]; powers: number[] } {
  const costs = rows.map(({ estimatedTxCostUsd: cost }) => cost ?? undefined);
  const sizes = costs.filter((cost) => cost !== undefined && cost > 0).map((cost) => Math.log10(cost as number));
  // Below the least one, so that every cost has a bar.
  const low = sizes.length === 0 ? 0 : Math.ceil(Math.min(...sizes)) - 1;
  const high = Math.max(low + 1, ...sizes.map(Math.ceil));
  const bars = rows.map(({ chain }, place): Bar => {
    const cost = costs[place];
    return { chain, cost, length: cost === undefined || cost <= 0 ? undefined : (Math.log10(cost) - low) / (high - low) };
  });
  return { bars, powers: sizes.length === 0 ? [] : Array.from({ length: high - low + 1 }, (_, step) => low + step) };
}

/** Returns which of the expected chains the answer has neither a row of nor names as not allowed: they did not answer in time. */
export const silent = (expected: Iterable<string>, { results, notAllowed }: GasComparison): string[] => {
  const named = new Set([...results.map(({ chain }) => chain), ...notAllowed]);
  return [...expected].filter((chain) => !named.has(chain));
};

/** Returns how many times the dearest cost is the cheapest, of costs above zero. */
export function spread(rows: readonly ChainGas[]): number | undefined {
  const costs = rows.flatMap(({ estimatedTxCostUsd: cost }) => (typeof cost === "number" && cost > 0 ? [cost] : []));
  return costs.length < 2 ? undefined : Math.max(...costs) / Math.min(...costs);
}
