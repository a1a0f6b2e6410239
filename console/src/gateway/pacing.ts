/** A second, and what requests sent at different times may come nearer to each other on their way. */
const SECOND = 1050;

/** Spreads calls over time: in any second so many at most, in the order in which they were asked for. */
export class Pacing {
  private readonly gone: { readonly at: number; readonly count: number }[] = [];

  /** Waits until `count` more calls may go. `perSecond` may differ from one time to the next. */
  async wait(count: number, perSecond: number, signal?: AbortSignal): Promise<void> {
    const now = performance.now();
    while (this.gone[0] !== undefined && this.gone[0].at <= now - SECOND) this.gone.shift();
    let at = Math.max(now, this.gone.at(-1)?.at ?? 0);
    // In any second there are no more: they go once enough of those before are a second old.
    for (let place = this.gone.length - 1, together = count; place >= 0; place--) {
      const before = this.gone[place];
      if (before === undefined || (together += before.count) <= perSecond) continue;
      at = Math.max(at, before.at + SECOND);
      break;
    }
    this.gone.push({ at, count });
    if (at > now) await pause(at - now, signal);
    signal?.throwIfAborted();
  }
}

/** Waits for so many milliseconds. Throws the signal's reason when it is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}
