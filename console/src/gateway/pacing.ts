/** Spreads calls over time: so many a second at most, in the order in which they were asked for. */
export class Pacing {
  private next = 0;

  /** Waits until `count` more calls may go. `perSecond` may differ from one time to the next. */
  async wait(count: number, perSecond: number, signal?: AbortSignal): Promise<void> {
    const now = performance.now();
    const at = Math.max(now, this.next);
    this.next = at + (count * 1000) / perSecond;
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
