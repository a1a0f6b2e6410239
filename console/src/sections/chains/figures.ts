/** What a row says in words and figures. */
import { duration } from "../../format/times.ts";
import { REORGANISED_MS, type Block, type Board, type Chain, type Head, type State } from "./board.ts";

const MOST_TIMES = 60;
/** Clocks of chains are not exact to the second; what is further ahead is said. */
const AHEAD_MS = 15_000;

export const STATE_WORDS: Readonly<Record<State, string>> = { ok: "ok", degraded: "degraded", down: "down", unknown: "idle" };

const REASON_WORDS: Readonly<Record<string, string>> = {
  "wrong chain": "the nodes serve another chain",
  hangs: "the nodes do not answer in time",
  refused: "the nodes refuse connections or are not found",
  throttled: "the nodes say that too much is asked of them",
  fails: "the nodes answer with errors",
  behind: "the newest block is old",
  "no endpoint": "no node is configured",
  forked: "the nodes have other blocks than most",
  ahead: "the nodes claim a block that cannot be",
};
/** Returns why a chain is in trouble, as a clause. */
export const reasonWords = (reason: string): string => REASON_WORDS[reason] ?? reason;

/** Returns how old the head is: of its timestamp, else since when it is seen (`over`: it was there before). */
export function age(head: Head, now: number, clockOffset: number): string {
  if (head.madeAt === undefined) return `${head.isFirst ? "over" : "about"} ${seconds(now - head.seenAt)}`;
  const passed = now + clockOffset - head.madeAt;
  return passed < -AHEAD_MS ? `${seconds(-passed)} ahead` : seconds(passed);
}

/** Returns a time of at least a second without tenths: they would jump. */
const seconds = (ms: number): string => (ms < 9950 ? `${Math.max(0, Math.floor(ms / 1000))} s` : duration(ms));

/** Returns whether blocks of the chain were replaced within the last minute. */
export const isReorganised = (chain: Chain, now: number): boolean => chain.reorganisedAt !== undefined && now - chain.reorganisedAt < REORGANISED_MS;

export interface BlockTime {
  readonly madeAt: number;
  readonly seconds: number;
}
/** Returns the times between blocks. Those that share a timestamp, of chains faster than their seconds, share the time too. */
export function blockTimes(blocks: readonly Block[]): BlockTime[] {
  const times: BlockTime[] = [];
  let before: number | undefined;
  for (let place = 0; place < blocks.length; ) {
    const { madeAt } = blocks[place] as Block;
    let together = 0;
    while (blocks[place]?.madeAt === madeAt) {
      together++;
      place++;
    }
    if (before !== undefined) times.push({ madeAt, seconds: Math.max(0, madeAt - before) / 1000 / together });
    before = madeAt;
  }
  return times.slice(-MOST_TIMES);
}

export interface Rhythm {
  readonly average: number;
  readonly shortest: number;
  readonly longest: number;
  readonly blocks: number;
  readonly lastsMs: number;
}
/** Returns the blocks' average and extremes in seconds; undefined before there are two. */
export function rhythm(blocks: readonly Block[]): Rhythm | undefined {
  const first = blocks[0];
  const last = blocks.at(-1);
  const times = blockTimes(blocks).map((time) => time.seconds);
  if (first === undefined || last === undefined || times.length === 0) return undefined;
  const lastsMs = last.madeAt - first.madeAt;
  return { average: Math.max(0, lastsMs) / 1000 / (blocks.length - 1), shortest: Math.min(...times), longest: Math.max(...times), blocks: blocks.length, lastsMs };
}

/** Returns seconds as `0.25 s` or `2.0 s`. */
export const blockTime = (value: number): string => (value < 1 ? `${value.toFixed(2)} s` : duration(value * 1000));

/** Returns the rhythm as a sentence. */
export const rhythmWords = ({ average, longest, blocks, lastsMs }: Rhythm): string =>
  `a block every ${blockTime(average)} on average, ${blockTime(longest)} at most, over ${blocks} blocks in ${duration(lastsMs)}`;

/** Returns whether the stream's end is news: that no node serves a chain that is down, is not. */
export const hasEnded = ({ stream, state, failure }: Chain): boolean => stream === "ended" && !(state === "down" && failure?.reason === "UPSTREAM_UNAVAILABLE");

/** Returns what a chain's condition is, in a few words; two of them are compared to see a change. */
export function condition(chain: Chain, now: number): string {
  const words = chain.state === "unknown" ? ["idle"] : [STATE_WORDS[chain.state]];
  if (chain.reason !== undefined) words.push(reasonWords(chain.reason));
  if (chain.stream === "stalled") words.push("stalled");
  if (hasEnded(chain)) words.push(`its stream ended, ${chain.failure?.reason ?? "complete"}`);
  if (isReorganised(chain, now)) words.push("reorganised");
  return words.join(", ");
}

/** Returns the board in one sentence. */
export function summary(board: Board, of: Readonly<Record<State, number>>): string {
  const parts = (["ok", "degraded", "down", "unknown"] as const).filter((state) => of[state] > 0).map((state) => `${of[state]} ${STATE_WORDS[state]}`);
  return `${board.chains.length} chains: ${parts.join(", ")}`;
}
