/** What a key has used, as series over time and as shares. */
import { count, group } from "../../format/figures.ts";

export interface UsageFigures {
  readonly requests: number | bigint;
  readonly items: number | bigint;
  readonly units: number | bigint;
  readonly cacheHits: number | bigint;
  readonly errors: Readonly<Record<string, number | bigint>>;
  readonly upstreamRequests: number | bigint;
  readonly upstreamBytesSent: number | bigint;
  readonly upstreamBytesReceived: number | bigint;
  readonly joined: number | bigint;
  readonly folded: number | bigint;
}
export interface UsageRow extends UsageFigures {
  readonly start?: string;
  readonly operation?: string;
  readonly chain?: string;
}
export type Step = "hour" | "day";
export type Group = Step | "operation" | "chain";
export interface UsagePage {
  readonly account: string;
  readonly from: string;
  readonly to: string;
  readonly rows: readonly UsageRow[];
  readonly total: UsageFigures;
  readonly cursor: string | null;
}

const STEP_S: Readonly<Record<Step, number>> = { hour: 3600, day: 86_400 };
export const HOURS_KEPT_DAYS = 90;

/** Returns the part of the requests that caches alone answered, in per cent; undefined where there was no request. */
export function cacheShare({ requests, cacheHits }: Pick<UsageFigures, "requests" | "cacheHits">): number | undefined {
  return Number(requests) === 0 ? undefined : (Number(cacheHits) / Number(requests)) * 100;
}

/** Returns how many requests failed, over all reasons. */
export const failed = ({ errors }: Pick<UsageFigures, "errors">): number => Object.values(errors).reduce<number>((sum, one) => sum + Number(one), 0);

/** Returns the reasons of failures, most frequent first. */
export const reasons = ({ errors }: Pick<UsageFigures, "errors">): [string, number][] =>
  Object.entries(errors)
    .map(([reason, times]): [string, number] => [reason, Number(times)])
    .sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));

export interface Series {
  /** Beginnings of the steps, seconds since 1970. */
  readonly times: readonly number[];
  readonly requests: readonly number[];
  readonly units: readonly number[];
  readonly errors: readonly number[];
  /** In per cent; null in steps without a request. */
  readonly cache: readonly (number | null)[];
}

/**
 * Returns every hour or day from the first day to the last one, none that begins after `now`. Steps without a row were without
 * use: 0 requests, and no share.
 */
export function seriesOf(rows: readonly UsageRow[], step: Step, from: string, to: string, now: Date): Series {
  const begin = Date.parse(`${from}T00:00:00Z`) / 1000;
  const end = Math.min(Date.parse(`${to}T00:00:00Z`) / 1000 + STEP_S.day, now.getTime() / 1000);
  const byStart = new Map(rows.flatMap((row) => (row.start === undefined ? [] : [[Date.parse(row.start) / 1000, row] as const])));
  const last = Math.max(end - 1, ...byStart.keys());
  const times = Array.from({ length: Math.max(0, Math.floor((last - begin) / STEP_S[step]) + 1) }, (_, place) => begin + place * STEP_S[step]);
  const found = times.map((time) => byStart.get(time));
  return {
    times,
    requests: found.map((row) => Number(row?.requests ?? 0)),
    units: found.map((row) => Number(row?.units ?? 0)),
    errors: found.map((row) => (row === undefined ? 0 : failed(row))),
    cache: found.map((row) => (row === undefined ? null : (cacheShare(row) ?? null))),
  };
}

/** Returns in words what a series of counts shows. `when` says a step's beginning. */
export function countSummary(values: readonly number[], times: readonly number[], step: Step, noun: string, when: (seconds: number) => string): string {
  const sum = values.reduce((a, b) => a + b, 0);
  const steps = count(values.length, step);
  if (sum === 0) return `No ${noun}s in ${steps}.`;
  const most = values.indexOf(Math.max(...values));
  const used = values.filter((value) => value > 0).length;
  return `${count(sum, noun)} in ${group(used)} of ${steps}; most in the ${step} of ${when(times[most] ?? 0)}: ${group(values[most] ?? 0)}.`;
}

/** Returns bytes: `512 B`, `1.2 kB`, `3.4 MB`. */
export function bytes(size: number | bigint): string {
  let value = Number(size);
  if (value < 1000) return `${value} B`;
  for (const unit of ["kB", "MB", "GB"]) {
    value /= 1000;
    if (value < 999.5) return `${value.toFixed(value < 9.95 ? 1 : 0)} ${unit}`;
  }
  return `${(value / 1000).toFixed(1)} TB`;
}

/** Returns the first and the last day (UTC) of the range that ends on the day of `now`. */
export function lastDays(days: number, now: Date): { from: string; to: string } {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  return { from: day(now.getTime() - (days - 1) * STEP_S.day * 1000), to: day(now.getTime()) };
}
