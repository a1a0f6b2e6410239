import { useCallback, useEffect, useState } from "preact/hooks";
import { useStore } from "../store.ts";
import { call, type Params } from "./calls.ts";
import { Failure } from "./failure.ts";
import { key } from "./session.ts";

/** A call's state: what it returned last stays while it is made again. */
export interface Called<T> {
  readonly data: T | undefined;
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
  readonly again: () => void;
}

/** Makes the call when the component appears and when method, params or key change; `params` undefined waits. */
export function useCall<T>(method: string, params: Params | undefined): Called<T> {
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<Omit<Called<T>, "again">>({ data: undefined, failure: undefined, isLoading: params !== undefined });
  const user = useStore(key);
  const asked = params === undefined ? undefined : JSON.stringify(params);
  useEffect(() => {
    if (asked === undefined) return;
    const leaving = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    call<T>(method, JSON.parse(asked) as Params, leaving.signal).then(
      (data) => setState({ data, failure: undefined, isLoading: false }),
      (error: unknown) => {
        if (!leaving.signal.aborted) setState((before) => ({ data: before.data, failure: Failure.from(error), isLoading: false }));
      },
    );
    return () => leaving.abort();
  }, [method, asked, user, turn]);
  const again = useCallback(() => setTurn((before) => before + 1), []);
  return { ...state, again };
}
