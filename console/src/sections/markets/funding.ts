/** Funding rates of both venues by coin. */
export interface VenueA {
  readonly coin: string;
  readonly fundingRate: string;
  readonly annualizedRate: number;
  readonly markPrice: string;
  readonly openInterest: string;
}
export interface VenueB {
  readonly ticker: string;
  readonly fundingRate: string;
  readonly annualizedRate: number;
  readonly nextFundingAt: string;
}
export interface FundingRates {
  readonly venueA: readonly VenueA[];
  readonly venueB: readonly VenueB[];
  readonly timestamp: string;
  readonly unavailable?: readonly string[];
}
export interface FundingRow {
  readonly coin: string;
  readonly a: VenueA | undefined;
  readonly b: VenueB | undefined;
  /** Annualised rate of venue-a less that of venue-b, in points of per cent; undefined unless both have the coin. */
  readonly difference: number | undefined;
}

const QUOTE = "-USD";

/** Returns a row per coin, the two venues side by side; joined by the exact name, as `kPEPE` is not `PEPE`. Greatest rates first. */
export function joined({ venueA, venueB }: Pick<FundingRates, "venueA" | "venueB">): FundingRow[] {
  const left = new Map(venueB.map((row) => [row.ticker.endsWith(QUOTE) ? row.ticker.slice(0, -QUOTE.length) : row.ticker, row]));
  const rows = venueA.map((a): FundingRow => {
    const b = left.get(a.coin);
    left.delete(a.coin);
    return { coin: a.coin, a, b, difference: b === undefined ? undefined : a.annualizedRate - b.annualizedRate };
  });
  for (const [coin, b] of left) rows.push({ coin, a: undefined, b, difference: undefined });
  return rows.sort((x, y) => largest(y) - largest(x));
}
const largest = ({ a, b }: FundingRow): number => Math.max(Math.abs(a?.annualizedRate ?? 0), Math.abs(b?.annualizedRate ?? 0));

/** Returns a fraction's decimal text as per cent, digit for digit; other text as it is. */
export function percentText(fraction: string): string {
  const found = /^(-?)([0-9]+)(?:\.([0-9]+))?$/.exec(fraction);
  if (found === null) return fraction;
  const [, sign = "", whole = "0", rest = ""] = found;
  const digits = rest.padEnd(2, "0");
  const left = (whole + digits.slice(0, 2)).replace(/^0+(?=.)/, "");
  return `${sign}${left}${digits.length > 2 ? `.${digits.slice(2)}` : ""} %`;
}

/** Returns a signed figure with its sign, also where it is above zero. */
export const signed = (value: number, digits = 2): string => (value > 0 ? "+" : "") + value.toFixed(digits);
