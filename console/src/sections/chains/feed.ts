/**
 * Keeps a board current: getHealth every ten seconds, streams of the rows that are seen, their health once a minute; polls where
 * the gateway opens no socket. It rests while the tab is hidden, when it is paused, and after ten minutes untouched.
 */
import { callAll, MOST_ITEMS, post, type Call, type Outcome } from "../../gateway/calls.ts";
import { Failure } from "../../gateway/failure.ts";
import { isDemo, key } from "../../gateway/session.ts";
import { socketState, subscribe } from "../../gateway/socket.ts";
import { store } from "../../store.ts";
import { announce, SILENT, type Spoken } from "./announcements.ts";
import { due, EMPTY, reduce, wanted, type Action, type Board, type BlockEvent, type ChainHealth, type Health } from "./board.ts";

export const HEALTH_EVERY_MS = 10_000;
export const CHAIN_HEALTH_EVERY_MS = 60_000;
export const POLL_EVERY_MS = 5000;
export const UNTOUCHED_MS = 600_000;
const SOCKET_AGAIN_MS = 60_000;
/** A row that is scrolled past and back keeps its stream. */
const SEEN_LASTS_MS = 3000;
const NOTICED_AFTER_MS = 50;
const SHOWN_EVERY_MS = 200;
const TICK_MS = 1000;
/** The opening of a socket and the subscription on it are two requests. */
const DEMO_PAUSE_MS = 2200;
const TOUCHES = ["pointerdown", "pointermove", "keydown", "scroll", "wheel", "touchstart"] as const;

/** Why nothing is read: the reader paused it, or touched nothing for ten minutes. */
export type Rest = "running" | "paused" | "untouched";

export class Feed {
  readonly board = store<Board>(EMPTY);
  readonly rest = store<Rest>("running");
  /** Why the gateway's health cannot be read. */
  readonly failure = store<Failure | undefined>(undefined);
  /** Milliseconds since 1970, each second while the board is running. */
  readonly clock = store(Date.now());
  readonly announcement = store("");

  private current: Board = EMPTY;
  private spoken: Spoken = SILENT;
  /** Slugs of rows: when they were seen last, undefined while they are. */
  private readonly rows = new Map<string, number | undefined>();
  private readonly streams = new Map<string, () => void>();
  private ticking: ReturnType<typeof setInterval> | undefined;
  private noticing: ReturnType<typeof setTimeout> | undefined;
  private showing: ReturnType<typeof setTimeout> | undefined;
  private leaving = new AbortController();
  private isAsking = false;
  private healthAt = -Infinity;
  private touchedAt = Date.now();
  private socketAgainAt = 0;
  /** Without a key requests and openings of the socket go a second apart. */
  private quietUntil = 0;

  /** Begins; returns what ends it. */
  start(): () => void {
    const touch = () => void (this.touchedAt = Date.now());
    const look = () => {
      touch();
      this.settle();
    };
    for (const name of TOUCHES) addEventListener(name, touch, { passive: true, capture: true });
    document.addEventListener("visibilitychange", look);
    const forget = key.subscribe(() => this.restart());
    this.settle();
    return () => {
      for (const name of TOUCHES) removeEventListener(name, touch, { capture: true });
      document.removeEventListener("visibilitychange", look);
      forget();
      this.halt();
    };
  }

  /** Takes note that a row came into view, or left it. */
  see(slug: string, isSeen: boolean): void {
    if (isSeen) this.rows.set(slug, undefined);
    else if (this.rows.has(slug)) this.rows.set(slug, Date.now());
    if (!isSeen) return;
    // Rows come into view together.
    clearTimeout(this.noticing);
    this.noticing = setTimeout(() => this.tick(), NOTICED_AFTER_MS);
  }

  /** Looks at chains by the reader's wish: their health once, their streams while they are seen. Without a key at one alone. */
  look(slugs: readonly string[]): void {
    this.apply({ type: "looked", slugs, isAlone: isDemo() });
    this.tick();
  }

  pause(): void {
    this.rest.set("paused");
    this.settle();
  }

  goOn(): void {
    this.touchedAt = Date.now();
    this.rest.set("running");
    this.settle();
  }

  private restart(): void {
    this.halt();
    this.current = EMPTY;
    this.spoken = SILENT;
    this.announcement.set("");
    this.failure.set(undefined);
    this.show();
    this.settle();
  }

  private settle(): void {
    const mayRun = !document.hidden && this.rest.get() === "running";
    if (!mayRun) this.halt();
    else if (this.ticking === undefined) {
      this.leaving = new AbortController();
      this.ticking = setInterval(() => this.tick(), TICK_MS);
      this.healthAt = -Infinity;
      this.tick();
    }
  }

  private halt(): void {
    clearInterval(this.ticking);
    clearTimeout(this.noticing);
    this.ticking = undefined;
    this.leaving.abort();
    this.isAsking = false;
    for (const slug of [...this.streams.keys()]) this.leave(slug);
    if (this.current.isPolled) this.apply({ type: "polled", isPolled: false });
    this.show();
  }

  private tick(): void {
    const now = Date.now();
    if (this.ticking === undefined) return;
    if (now - this.touchedAt >= UNTOUCHED_MS) {
      this.rest.set("untouched");
      this.settle();
      return;
    }
    this.clock.set(now);
    this.follow(now);
    void this.ask(now);
    const said = announce(this.spoken, this.current, now);
    if (said === undefined) return;
    this.spoken = said.spoken;
    this.announcement.set(said.text);
  }

  private seen(now: number): Set<string> {
    for (const [slug, leftAt] of this.rows) if (leftAt !== undefined && now - leftAt > SEEN_LASTS_MS) this.rows.delete(slug);
    return new Set(this.rows.keys());
  }

  /** Begins the streams that are wanted and ends the others. */
  private follow(now: number): void {
    let slugs = wanted(this.current, this.seen(now), isDemo());
    // One stream finds out whether there is a socket again.
    if (this.current.isPolled) slugs = now >= this.socketAgainAt || this.streams.size > 0 ? slugs.slice(0, 1) : [];
    for (const slug of [...this.streams.keys()]) if (!slugs.includes(slug)) this.leave(slug);
    if (isDemo() && (this.isAsking || now < this.quietUntil)) return;
    for (const slug of slugs) if (!this.streams.has(slug)) this.begin(slug);
  }

  private begin(slug: string): void {
    this.keepQuiet();
    this.apply({ type: "started", slug });
    const leave = subscribe<BlockEvent>(
      "watchBlocks",
      { chain: slug },
      {
        event: (event) => {
          if (this.current.isPolled) this.apply({ type: "polled", isPolled: false });
          this.apply({ type: "event", slug, event, now: Date.now() });
        },
        end: (failure) => {
          this.streams.delete(slug);
          if (socketState.get() === "refused") {
            this.socketAgainAt = Date.now() + SOCKET_AGAIN_MS;
            this.apply({ type: "left", slug });
            this.apply({ type: "polled", isPolled: true });
          } else this.apply({ type: "ended", slug, failure: failure ?? new Failure("the stream is complete", "COMPLETE") });
        },
      },
    );
    this.streams.set(slug, leave);
  }

  private leave(slug: string): void {
    this.streams.get(slug)?.();
    this.streams.delete(slug);
    this.apply({ type: "left", slug });
  }

  /** Reads what is due, in one batch; one at a time, and without a key at its pace. */
  private async ask(now: number): Promise<void> {
    if (this.isAsking || now < this.quietUntil) return;
    const { isPolled } = this.current;
    const isHealthDue = now - this.healthAt >= (isPolled && !isDemo() ? POLL_EVERY_MS : HEALTH_EVERY_MS);
    // Polls read all in one batch.
    const period = isPolled ? (isHealthDue ? 0 : Infinity) : CHAIN_HEALTH_EVERY_MS;
    const slugs = this.current.healthAt === undefined ? [] : due(this.current, this.seen(now), isDemo(), now, period).slice(0, MOST_ITEMS - 1);
    if (!isHealthDue && (slugs.length === 0 || this.failure.get() !== undefined)) return;
    this.isAsking = true;
    const { signal } = this.leaving;
    const calls: Call[] = slugs.map((chain) => ({ method: "getChainHealth", params: { chain } }));
    if (isHealthDue) {
      this.healthAt = now;
      calls.unshift({ method: "getHealth" });
    }
    const take = (outcome: Outcome, place: number) => {
      if (signal.aborted) return;
      const slug = slugs[isHealthDue ? place - 1 : place];
      if (slug === undefined) this.takeHealth(outcome as Outcome<Health>);
      else this.apply({ type: "chainHealth", slug, answer: outcome.ok ? (outcome.data as ChainHealth) : outcome.failure, now: Date.now() });
    };
    try {
      if (isDemo()) await callAll(calls, take, { signal });
      else (await post(calls, signal)).outcomes.forEach(take);
    } catch (error) {
      // Of all calls alike, so it is said once.
      if (!signal.aborted) this.failure.set(Failure.from(error));
    }
    if (signal.aborted) return;
    this.isAsking = false;
    this.keepQuiet();
    // Now it is known what may be followed, and whose health is to be read.
    this.follow(Date.now());
    if (isHealthDue && this.failure.get() === undefined) void this.ask(Date.now());
  }

  private keepQuiet(): void {
    if (isDemo()) this.quietUntil = Date.now() + DEMO_PAUSE_MS;
  }

  private takeHealth(outcome: Outcome<Health>): void {
    if (!outcome.ok) {
      this.failure.set(outcome.failure);
      return;
    }
    // The gateway was away and is there again: so may its socket be.
    if (this.failure.get() !== undefined) this.socketAgainAt = 0;
    this.failure.set(undefined);
    this.apply({ type: "health", health: outcome.data, now: Date.now() });
  }

  private apply(action: Action): void {
    this.current = reduce(this.current, action);
    this.showing ??= setTimeout(() => this.show(), action.type === "health" && this.board.get().chains.length === 0 ? 0 : SHOWN_EVERY_MS);
  }

  private show(): void {
    clearTimeout(this.showing);
    this.showing = undefined;
    this.board.set(this.current);
  }
}
