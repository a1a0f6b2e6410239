/** Returns how long something lasts: `0.4 s`, `12 s`, `3 min`, `5 h`, `2 d`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 99.5) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** Returns milliseconds of a latency: `0.4 ms`, `12 ms`, `1.2 s`. */
export function latency(ms: number): string {
  return ms < 9.95 ? `${ms.toFixed(1)} ms` : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Returns a moment in UTC: `2026-11-23 11:03:39`. */
export const moment = (iso: string | number | Date): string => new Date(iso).toISOString().slice(0, 19).replace("T", " ");

/** Returns a day in UTC: `2026-11-23`. */
export const day = (iso: string | number | Date): string => new Date(iso).toISOString().slice(0, 10);
