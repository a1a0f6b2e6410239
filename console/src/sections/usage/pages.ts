import { useCallback, useEffect, useState } from "preact/hooks";
import { call } from "../../gateway/calls.ts";
import { Failure } from "../../gateway/failure.ts";
import { key } from "../../gateway/session.ts";
import { useStore } from "../../store.ts";
import type { Group, UsageFigures, UsagePage, UsageRow } from "./series.ts";

const PAGE_ROWS = 1000;
/** 90 days of hours are 2 160 rows; what is longer than this says that it is cut. */
const MOST_PAGES = 10;

export interface Usage {
  readonly account: string;
  readonly from: string;
  readonly to: string;
  readonly rows: readonly UsageRow[];
  readonly total: UsageFigures;
  readonly pages: number;
  readonly isCut: boolean;
}
export interface Range {
  readonly from: string;
  readonly to: string;
}

interface State {
  readonly of: string;
  readonly data: Usage | undefined;
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
}

/** Reads all pages of the usage of the key, one after another. What was read of another key, range or group is not returned. */
export function useUsage(groupBy: Group, { from, to }: Range) {
  const [turn, setTurn] = useState(0);
  const user = useStore(key);
  const of = JSON.stringify([user, groupBy, from, to]);
  const [state, setState] = useState<State>({ of, data: undefined, failure: undefined, isLoading: true });
  useEffect(() => {
    const leaving = new AbortController();
    setState((before) => (before.of === of ? { ...before, isLoading: true } : { of, data: undefined, failure: undefined, isLoading: true }));
    readPages(groupBy, { from, to }, leaving.signal).then(
      (data) => setState({ of, data, failure: undefined, isLoading: false }),
      (error: unknown) => {
        if (!leaving.signal.aborted) setState((before) => ({ ...before, failure: Failure.from(error), isLoading: false }));
      },
    );
    return () => leaving.abort();
  }, [of, turn]);
  const again = useCallback(() => setTurn((before) => before + 1), []);
  const { data, failure, isLoading } = state.of === of ? state : { data: undefined, failure: undefined, isLoading: true };
  return { data, failure, isLoading, again };
}

async function readPages(groupBy: Group, { from, to }: Range, signal: AbortSignal): Promise<Usage> {
  const rows: UsageRow[] = [];
  let cursor: string | null = null;
  for (let pages = 1; ; pages++) {
    const page: UsagePage = await call<UsagePage>("getUsage", { from, to, groupBy, limit: PAGE_ROWS, ...(cursor !== null && { cursor }) }, signal);
    rows.push(...page.rows);
    cursor = page.cursor;
    if (cursor === null || pages === MOST_PAGES) return { account: page.account, from: page.from, to: page.to, rows, total: page.total, pages, isCut: cursor !== null };
  }
}
