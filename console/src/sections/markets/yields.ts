/** Pools of the comparison, and which of them are shown. */
export interface BestYield {
  readonly chain: string;
  readonly protocol: string;
  readonly type: string;
  readonly pool: string;
  readonly symbol: string;
  readonly apy: number;
  readonly tvl?: number | null;
  readonly updatedAt: string;
}
export interface Unavailable {
  readonly protocol: string;
  readonly chain: string;
  readonly reason: string;
  readonly message: string;
}
export interface BestYields {
  readonly results: readonly BestYield[];
  readonly unavailable: readonly Unavailable[];
}
export interface YieldFilter {
  readonly token: string;
  readonly chain: string;
  readonly protocol: string;
  readonly type: string;
  /** As it was written; empty keeps all. */
  readonly minTvl: string;
}
export const NO_FILTER: YieldFilter = { token: "", chain: "", protocol: "", type: "", minTvl: "" };

/** Returns US dollars written as `1000000`, `1 000 000`, `1.5M`, `250k`; undefined for nothing, NaN for anything else. */
export function dollarsOf(text: string): number | undefined {
  const found = /^([0-9]+(?:\.[0-9]+)?)([kmb]?)$/i.exec(text.replace(/[\s_,$\u202f]/g, ""));
  if (text.trim() === "") return undefined;
  if (found === null) return NaN;
  return Number(found[1]) * { "": 1, k: 1e3, m: 1e6, b: 1e9 }[(found[2] ?? "").toLowerCase() as "" | "k" | "m" | "b"];
}

/** Returns the pools that the filter keeps, and how many it dropped only because their size is unknown. */
export function filtered(rows: readonly BestYield[], filter: YieldFilter): { shown: BestYield[]; unsized: number } {
  const token = filter.token.trim().toLowerCase();
  const least = dollarsOf(filter.minTvl);
  let unsized = 0;
  const shown = rows.filter((row) => {
    if (token !== "" && !row.symbol.toLowerCase().includes(token)) return false;
    if (filter.chain !== "" && row.chain !== filter.chain) return false;
    if (filter.protocol !== "" && row.protocol !== filter.protocol) return false;
    if (filter.type !== "" && row.type !== filter.type) return false;
    if (least === undefined || Number.isNaN(least)) return true;
    if (typeof row.tvl !== "number") {
      unsized++;
      return false;
    }
    return row.tvl >= least;
  });
  return { shown, unsized };
}

/** Returns each value of a member once, in order. */
export const valuesOf = (rows: readonly BestYield[], member: "chain" | "protocol" | "type"): string[] =>
  [...new Set(rows.map((row) => row[member]))].sort();
