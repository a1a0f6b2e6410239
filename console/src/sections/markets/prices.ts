/** Prices of the overview, live ones over them, and histories on one axis of days. */
import { usd } from "../../format/figures.ts";

export type Currency = "USD" | "EUR";
export interface TopPrice {
  readonly symbol: string;
  readonly name: string;
  readonly price: number;
  readonly chains: number;
  readonly lastUpdated: string;
}
export interface Top {
  readonly results: readonly TopPrice[];
}
/** An event of watchPrices: a price, or why there is none now. */
export interface Watched {
  readonly symbol: string;
  readonly price?: { readonly usd: number; readonly eur?: number | null; readonly lastUpdated: string };
  readonly error?: { readonly reason: string; readonly message: string };
}
export interface PriceRow {
  readonly symbol: string;
  readonly name: string;
  readonly chains: number;
  /** Undefined where there is no price now. */
  readonly usd: number | undefined;
  readonly eur: number | undefined;
  readonly lastUpdated: string | undefined;
  readonly isLive: boolean;
  readonly error: string | undefined;
}

const SIGNS: Readonly<Record<Currency, string>> = { USD: "$", EUR: "€" };

/** Returns a price with its currency's sign; below ten with four decimals, as stablecoins differ there. */
export const money = (value: number, currency: Currency): string =>
  value >= 1 && value < 10 ? `${SIGNS[currency]}${value.toFixed(4)}` : usd(value).replace("$", SIGNS[currency]);

/** Returns the rows of the overview: euros by symbol, and over both what the watch says. */
export function priceRows(dollars: readonly TopPrice[], euros: readonly TopPrice[], live: ReadonlyMap<string, Watched>): PriceRow[] {
  const inEuros = new Map(euros.map((row) => [row.symbol, row.price]));
  return dollars.map(({ symbol, name, chains, price, lastUpdated }) => {
    const event = live.get(symbol);
    const base = { symbol, name, chains };
    if (event?.error !== undefined)
      return { ...base, usd: undefined, eur: undefined, lastUpdated: undefined, isLive: true, error: `${event.error.reason}: ${event.error.message}` };
    if (event?.price !== undefined)
      return { ...base, usd: event.price.usd, eur: event.price.eur ?? undefined, lastUpdated: event.price.lastUpdated, isLive: true, error: undefined };
    return { ...base, usd: price, eur: inEuros.get(symbol), lastUpdated, isLive: false, error: undefined };
  });
}

/** Returns the symbols to watch: those chosen, then the first of the table, of those that can be; in the table's order. */
export function watchedSymbols(symbols: readonly string[], chosen: readonly string[], can: ReadonlySet<string>, most = 10): string[] {
  const possible = symbols.filter((symbol) => can.has(symbol));
  const wanted = new Set([...possible.filter((symbol) => chosen.includes(symbol)), ...possible]);
  const kept = new Set([...wanted].slice(0, most));
  return possible.filter((symbol) => kept.has(symbol));
}

export interface HistoryPoint {
  readonly date: string;
  readonly price: number;
  readonly complete: boolean;
}
export interface History {
  readonly symbol: string;
  readonly name: string;
  readonly prices: readonly HistoryPoint[];
}
export interface DayLine {
  readonly symbol: string;
  /** By day of the axis; null is a gap. */
  readonly prices: readonly (number | null)[];
  /** Change in per cent since the line's first known day. */
  readonly changes: readonly (number | null)[];
  /** Days without any price. */
  readonly missing: readonly string[];
  /** Days that are over and known in part only. */
  readonly partial: readonly string[];
}
const DAY_S = 86_400;
const secondsOf = (date: string): number => Date.parse(`${date}T00:00:00Z`) / 1000;
const dateOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10);

/** Returns every day of the last `days` up to `today` (and whatever the answers have besides), and each history on them. */
export function historyLines(histories: readonly History[], days: number, today: string): { dates: string[]; times: number[]; lines: DayLine[] } {
  const known = histories.flatMap(({ prices }) => prices.map(({ date }) => secondsOf(date)));
  const last = Math.max(secondsOf(today), ...known);
  const first = Math.min(secondsOf(today) - (days - 1) * DAY_S, ...known);
  const times = Array.from({ length: Math.round((last - first) / DAY_S) + 1 }, (_, place) => first + place * DAY_S);
  const dates = times.map(dateOf);
  const lines = histories.map(({ symbol, prices }): DayLine => {
    const points = new Map(prices.map((point) => [point.date, point]));
    const values = dates.map((date) => points.get(date)?.price ?? null);
    const base = values.find((value) => value !== null && value > 0);
    return {
      symbol,
      prices: values,
      changes: values.map((value) => (value === null || base === undefined || base === null ? null : (value / base - 1) * 100)),
      missing: dates.filter((date) => !points.has(date)),
      partial: prices.filter(({ date, complete }) => !complete && date !== dates.at(-1)).map(({ date }) => date),
    };
  });
  return { dates, times, lines };
}

/** Returns in words what a line shows: its ends, its extremes, what is not known. */
export function lineSummary(line: DayLine, dates: readonly string[], currency: Currency): string {
  const known = line.prices.flatMap((value, place) => (value === null ? [] : [{ value, date: dates[place] ?? "" }]));
  const [from, to] = [known[0], known.at(-1)];
  if (from === undefined || to === undefined) return `${line.symbol}: no day of the range has a price.`;
  const low = known.reduce((a, b) => (b.value < a.value ? b : a));
  const high = known.reduce((a, b) => (b.value > a.value ? b : a));
  const parts = [
    `${line.symbol}: ${money(from.value, currency)} on ${from.date}, ${money(to.value, currency)} on ${to.date}; lowest ${money(low.value, currency)} on ${low.date}, highest ${money(high.value, currency)} on ${high.date}.`,
  ];
  if (line.missing.length > 0) parts.push(`${line.missing.length} of ${dates.length} days have no price (${listed(line.missing)}): gaps.`);
  if (line.partial.length > 0) parts.push(`Known in part: ${listed(line.partial)}.`);
  if (to.date === dates.at(-1)) parts.push("The last day goes on.");
  return parts.join(" ");
}

/** Returns the first few of a list in words. */
export const listed = (items: readonly string[], most = 4): string =>
  items.length <= most ? items.join(", ") : `${items.slice(0, most).join(", ")} and ${items.length - most} more`;
