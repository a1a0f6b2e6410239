/** The board: what is known of every chain, made of health, events of streams and the clock. Nothing here waits or asks. */
import type { Failure } from "../../gateway/failure.ts";
import { KIND_OF } from "./kinds.ts";

/** How far the block times of a row go back, and the most blocks that are kept for them. */
export const KEPT_MS = 300_000;
export const KEPT_BLOCKS = 600;
export const REORGANISED_MS = 60_000;
/** A head that is read again within this time came since then. */
const POLLED_WITHIN_MS = 15_000;

export type State = "ok" | "degraded" | "down" | "unknown";
export const STATES: readonly State[] = ["ok", "degraded", "down", "unknown"];
/** What the row's stream does: none is begun, it has sent nothing yet, it sends, its chain makes no blocks, it ended. */
export type Stream = "none" | "starting" | "live" | "stalled" | "ended";
type Height = number | bigint;

export interface Head {
  readonly number: Height;
  readonly hash: string | undefined;
  /** Milliseconds since 1970 by the block; undefined where only its number is known. */
  readonly madeAt: number | undefined;
  /** When the page came to know it. */
  readonly seenAt: number;
  /** It was there before the page looked: it is older than `seenAt` says. */
  readonly isFirst: boolean;
}
export interface Block {
  readonly number: Height;
  readonly hash: string;
  readonly madeAt: number;
}
export interface Chain {
  readonly slug: string;
  readonly kind: string | undefined;
  readonly state: State;
  /** Why it is degraded or down, one word of the gateway. */
  readonly reason: string | undefined;
  readonly latencyMs: number | undefined;
  /** When its health was read of a node last, or was tried to. */
  readonly askedAt: number | undefined;
  /** Why its health could not be read. */
  readonly askFailure: Failure | undefined;
  readonly isLooked: boolean;
  readonly stream: Stream;
  /** Why the stream ended. */
  readonly failure: Failure | undefined;
  readonly head: Head | undefined;
  readonly blocks: readonly Block[];
  readonly reorganisedAt: number | undefined;
}
export interface Board {
  readonly chains: readonly Chain[];
  readonly version: string | undefined;
  readonly uptimeSeconds: number | undefined;
  readonly healthAt: number | undefined;
  /** The gateway's clock less the page's, in milliseconds; 0 while they agree within five seconds. */
  readonly clockOffset: number;
  /** Heads are polled, as the gateway opens no socket. */
  readonly isPolled: boolean;
}
export const EMPTY: Board = { chains: [], version: undefined, uptimeSeconds: undefined, healthAt: undefined, clockOffset: 0, isPolled: false };

/** Answer of getHealth. */
export interface Health {
  readonly version: string;
  readonly uptimeSeconds: number;
  readonly chains: Readonly<Partial<Record<State, readonly string[]>>>;
}
/** Answer of getChainHealth. */
export interface ChainHealth {
  readonly status: State;
  readonly type?: string;
  readonly blockHeight?: Height | null;
  readonly timestamp?: string;
  readonly latencyMs?: number | null;
  readonly reason?: string;
}
/** Event of watchBlocks. */
export interface BlockEvent {
  readonly kind: string;
  readonly blockNumber: Height;
  readonly blockHash: string;
  readonly block?: { readonly parentNumber: Height; readonly parentHash: string; readonly timestamp?: string | null };
}

export type Action =
  | { readonly type: "health"; readonly health: Health; readonly now: number }
  | { readonly type: "chainHealth"; readonly slug: string; readonly answer: ChainHealth | Failure; readonly now: number }
  | { readonly type: "looked"; readonly slugs: readonly string[]; readonly isAlone: boolean }
  | { readonly type: "started"; readonly slug: string }
  | { readonly type: "left"; readonly slug: string }
  | { readonly type: "ended"; readonly slug: string; readonly failure: Failure }
  | { readonly type: "event"; readonly slug: string; readonly event: BlockEvent; readonly now: number }
  | { readonly type: "polled"; readonly isPolled: boolean };

/** Returns the board after what happened. */
export function reduce(board: Board, action: Action): Board {
  switch (action.type) {
    case "health":
      return withHealth(board, action.health, action.now);
    case "chainHealth":
      return withChainHealth(board, action.slug, action.answer, action.now);
    case "looked": {
      const looked = new Set(action.slugs);
      const chains = board.chains.map((chain) => {
        if (!looked.has(chain.slug)) return action.isAlone ? { ...chain, isLooked: false } : chain;
        // A look is a new attempt: at its stream, and at its health.
        const stream = chain.stream === "ended" ? "none" : chain.stream;
        return { ...chain, isLooked: true, stream, failure: undefined, askedAt: undefined } satisfies Chain;
      });
      return { ...board, chains };
    }
    case "started":
      return changed(board, action.slug, () => ({ stream: "starting", failure: undefined }));
    case "left":
      return changed(board, action.slug, ({ stream }) => (stream === "ended" ? {} : { stream: "none" }));
    case "ended":
      return changed(board, action.slug, () => ({ stream: "ended", failure: action.failure }));
    case "event":
      return changed(board, action.slug, (chain) => afterEvent(chain, action.event, action.now));
    case "polled":
      return { ...board, isPolled: action.isPolled };
  }
}

function changed(board: Board, slug: string, change: (chain: Chain) => Partial<Chain>): Board {
  return { ...board, chains: board.chains.map((chain) => (chain.slug === slug ? { ...chain, ...change(chain) } : chain)) };
}

function withHealth(board: Board, health: Health, now: number): Board {
  const before = new Map(board.chains.map((chain) => [chain.slug, chain]));
  const chains = STATES.flatMap((state) =>
    (health.chains[state] ?? []).map((slug): Chain => {
      const chain = before.get(slug) ?? unread(slug);
      if (chain.state === state) return chain;
      const isTrouble = state === "degraded" || state === "down";
      // Why it is in trouble, its own health says; and a stream that no node served may be served again.
      const mayFollow = chain.failure?.reason === "UPSTREAM_UNAVAILABLE" && state === "ok";
      return {
        ...chain,
        state,
        reason: undefined,
        ...(isTrouble && { askedAt: undefined }),
        ...(mayFollow && { stream: "none", failure: undefined }),
      };
    }),
  );
  chains.sort((a, b) => (a.slug < b.slug ? -1 : 1));
  return { ...board, chains, version: health.version, uptimeSeconds: health.uptimeSeconds, healthAt: now };
}

const unread = (slug: string): Chain => ({
  slug,
  kind: KIND_OF.get(slug),
  state: "unknown",
  reason: undefined,
  latencyMs: undefined,
  askedAt: undefined,
  askFailure: undefined,
  isLooked: false,
  stream: "none",
  failure: undefined,
  head: undefined,
  blocks: [],
  reorganisedAt: undefined,
});

function withChainHealth(board: Board, slug: string, answer: ChainHealth | Failure, now: number): Board {
  if (answer instanceof Error) return changed(board, slug, () => ({ askedAt: now, askFailure: answer }));
  const difference = Date.parse(answer.timestamp ?? "") - now;
  const after = changed(board, slug, (chain) => ({
    state: answer.status,
    kind: answer.type ?? chain.kind,
    reason: answer.reason,
    latencyMs: answer.latencyMs ?? undefined,
    askedAt: now,
    askFailure: undefined,
    head: polledHead(chain, answer.blockHeight ?? undefined, now),
  }));
  if (Number.isNaN(difference)) return after;
  return { ...after, clockOffset: Math.abs(difference) > 5000 ? difference : 0 };
}

/** Of a chain whose stream runs, the stream's head counts: the health may be of another node. */
function polledHead({ head, stream, askedAt }: Chain, number: Height | undefined, now: number): Head | undefined {
  if (number === undefined || number === head?.number) return head;
  if (head !== undefined && (stream === "live" || stream === "stalled")) return head;
  const isPolled = head !== undefined && askedAt !== undefined && now - askedAt <= POLLED_WITHIN_MS;
  return { number, hash: undefined, madeAt: undefined, seenAt: now, isFirst: !isPolled };
}

function afterEvent(chain: Chain, event: BlockEvent, now: number): Partial<Chain> {
  const { blockNumber: number, blockHash: hash, block } = event;
  const { head, blocks } = chain;
  const newest = blocks.at(-1);
  switch (event.kind) {
    case "PROGRESS":
      return {
        stream: "live",
        head: head?.number === number ? { ...head, hash } : { number, hash, madeAt: undefined, seenAt: now, isFirst: true },
        // Blocks went by meanwhile: the time between is no block time.
        blocks: newest?.hash === hash ? blocks : [],
      };
    case "ADDED": {
      const parsed = Date.parse(block?.timestamp ?? "");
      const madeAt = Number.isNaN(parsed) ? undefined : parsed;
      return { stream: "live", head: { number, hash, madeAt, seenAt: now, isFirst: false }, blocks: withBlock(blocks, event, madeAt) };
    }
    case "REMOVED":
    case "ROLLED_BACK": {
      const isRemoved = event.kind === "REMOVED";
      const kept = blocks.filter((one) => (isRemoved ? one.number < number : one.number <= number));
      const top = isRemoved ? block && { number: block.parentNumber, hash: block.parentHash } : { number, hash };
      const known = kept.at(-1);
      const madeAt = known !== undefined && known.hash === top?.hash ? known.madeAt : undefined;
      return { stream: "live", reorganisedAt: now, blocks: kept, head: top && { ...top, madeAt, seenAt: now, isFirst: true } };
    }
    case "STALLED":
      return { stream: "stalled" };
    case "RESUMED":
      return { stream: "live" };
    default:
      return {};
  }
}

function withBlock(blocks: readonly Block[], { blockNumber: number, blockHash: hash, block }: BlockEvent, madeAt: number | undefined): readonly Block[] {
  if (madeAt === undefined) return [];
  const added = { number, hash, madeAt };
  if (blocks.at(-1)?.hash !== block?.parentHash) return [added];
  return [...blocks.filter((one) => one.madeAt > madeAt - KEPT_MS).slice(1 - KEPT_BLOCKS), added];
}

/** Returns whether the chain may be asked for without a click: the gateway, or the reader, has used it. */
export const isKnown = (chain: Chain): boolean => chain.state !== "unknown" || chain.isLooked;

/** Returns the slugs whose streams are wanted, of those that are seen; a tab without a key has one stream, of what it looked at. */
export function wanted(board: Board, seen: ReadonlySet<string>, isDemo: boolean): string[] {
  return board.chains
    .filter((chain) => seen.has(chain.slug) && chain.stream !== "ended" && (isDemo ? chain.isLooked : isKnown(chain)))
    .map((chain) => chain.slug);
}

/** Returns the slugs whose health is to be read now: all of one batch as soon as one is as old as `period`. */
export function due(board: Board, seen: ReadonlySet<string>, isDemo: boolean, now: number, period: number): string[] {
  const asked = board.chains.filter((chain) => (seen.has(chain.slug) || (chain.isLooked && chain.askedAt === undefined)) && (isDemo ? chain.isLooked : isKnown(chain)));
  const age = (chain: Chain): number => (chain.askedAt === undefined ? Infinity : now - chain.askedAt);
  const least = asked.some((chain) => age(chain) !== Infinity && age(chain) >= period) ? period / 2 : period;
  return asked.filter((chain) => age(chain) >= least).map((chain) => chain.slug);
}

/** Returns how many chains are in each state. */
export function counts(chains: readonly Chain[]): Readonly<Record<State, number>> {
  const found = { ok: 0, degraded: 0, down: 0, unknown: 0 };
  for (const chain of chains) found[chain.state]++;
  return found;
}
