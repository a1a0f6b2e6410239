/** What a screen reader says of the board: politely, at most every ten seconds, states that changed first. */
import { counts, type Board } from "./board.ts";
import { condition, summary } from "./figures.ts";

export const ANNOUNCED_EVERY_MS = 10_000;
const MOST_NAMED = 4;

/** What was said last, and when. */
export interface Spoken {
  readonly at: number;
  readonly conditions: ReadonlyMap<string, string>;
  readonly heads: ReadonlyMap<string, string>;
}
export const SILENT: Spoken = { at: -Infinity, conditions: new Map(), heads: new Map() };

/** Returns what is to be said now, and what is spoken then; undefined where it is too early or nothing is new. */
export function announce(before: Spoken, board: Board, now: number): { readonly text: string; readonly spoken: Spoken } | undefined {
  if (board.chains.length === 0 || now - before.at < ANNOUNCED_EVERY_MS) return undefined;
  const conditions = new Map(board.chains.map((chain) => [chain.slug, condition(chain, now)]));
  const moving = board.chains.filter((chain) => chain.stream === "live" || board.isPolled);
  const heads = new Map([...before.heads, ...moving.flatMap(({ slug, head }) => (head === undefined ? [] : [[slug, String(head.number)] as const]))]);
  const spoken = { at: now, conditions, heads };
  if (before.conditions.size === 0) return { text: `${summary(board, counts(board.chains))}.`, spoken };
  const states = [...conditions].filter(([slug, words]) => before.conditions.get(slug) !== words).map(([slug, words]) => `${slug} is ${words}`);
  const moved = [...heads].filter(([slug, number]) => before.heads.get(slug) !== number).map(([slug, number]) => `${slug} at block ${number}`);
  if (states.length + moved.length === 0) return undefined;
  const parts = [named(states, "; ", "more with new states"), named(moved, ", ", "more with new blocks")].filter((part) => part !== "");
  return { text: `${parts.join(". ")}.`, spoken };
}

function named(all: readonly string[], between: string, others: string): string {
  const shown = all.slice(0, MOST_NAMED).join(between);
  return all.length > MOST_NAMED ? `${shown} and ${all.length - MOST_NAMED} ${others}` : shown;
}
