import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { call } from "../../gateway/calls.ts";
import { operations } from "../../gateway/document.ts";
import { Failure } from "../../gateway/failure.ts";
import { key } from "../../gateway/session.ts";
import { useStore } from "../../store.ts";
import { isName } from "./address.ts";
import type { Costs } from "./plan.ts";
import { merged, type Portfolio } from "./portfolio.ts";

export interface Named {
  readonly name: string;
  readonly address: string;
}
interface State {
  /** What is being read now. */
  readonly reading: "name" | "portfolio" | undefined;
  readonly named: Named | undefined;
  readonly portfolio: Portfolio | undefined;
  readonly failure: Failure | undefined;
  /** Chains that are being read again. */
  readonly again: readonly string[];
}
export interface WalletRead extends State {
  readonly readChain: (chain: string) => void;
}

const NOTHING: State = { reading: undefined, named: undefined, portfolio: undefined, failure: undefined, again: [] };

/**
 * Reads the wallet's portfolio, its name first where it is one; anew when the text, the turn or the key changes, which ends what
 * runs. An empty text reads nothing.
 */
export function useWallet(text: string, turn: number): WalletRead {
  const [state, setState] = useState<State>(NOTHING);
  const user = useStore(key);
  const current = useRef<AbortController | undefined>(undefined);
  useEffect(() => {
    setState(NOTHING);
    if (text === "") return;
    const leaving = new AbortController();
    current.current = leaving;
    const { signal } = leaving;
    const read = async () => {
      let address = text;
      if (isName(text)) {
        setState({ ...NOTHING, reading: "name" });
        const named = await call<Named>("resolveENS", { name: text }, signal);
        address = named.address;
        setState({ ...NOTHING, named, reading: "portfolio" });
      } else setState({ ...NOTHING, reading: "portfolio" });
      const portfolio = await call<Portfolio>("getPortfolio", { address }, signal);
      setState((before) => ({ ...before, portfolio, reading: undefined }));
    };
    read().catch((error: unknown) => {
      if (!signal.aborted) setState((before) => ({ ...before, failure: Failure.from(error), reading: undefined }));
    });
    return () => leaving.abort();
  }, [text, turn, user]);

  const address = state.portfolio?.address;
  const readChain = useCallback(
    (chain: string) => {
      const signal = current.current?.signal;
      if (address === undefined || signal === undefined) return;
      setState((before) => ({ ...before, again: [...before.again, chain] }));
      const done = (chains: Portfolio["chains"]) =>
        setState((before) => ({
          ...before,
          again: before.again.filter((one) => one !== chain),
          portfolio: before.portfolio && merged(before.portfolio, chains),
        }));
      call<Portfolio>("getPortfolio", { address, chains: [chain] }, signal).then(
        ({ chains }) => done(chains),
        (error: unknown) => {
          if (signal.aborted) return;
          const { code, message, reason } = Failure.from(error);
          done([{ chain, status: "error", error: { code, message, reason } }]);
        },
      );
    },
    [address],
  );
  return { ...state, readChain };
}

/** What the page takes of the document: each operation's units, and the wallet of the portfolio's example. */
export interface Known {
  readonly costs: Costs | undefined;
  readonly example: string | undefined;
}

/** Returns what the document says; nothing while it is away. */
export function useKnown(): Known {
  const [known, setKnown] = useState<Known>({ costs: undefined, example: undefined });
  useEffect(() => {
    let isGone = false;
    operations().then(
      ({ methods }) => {
        if (isGone) return;
        const costs = new Map(methods.flatMap((method) => (method["x-cost"] === undefined ? [] : [[method.name, method["x-cost"]] as const])));
        const example = methods.find(({ name }) => name === "getPortfolio")?.examples?.[0]?.params.find(({ name }) => name === "address")?.value;
        setKnown({ costs, example: typeof example === "string" ? example : undefined });
      },
      () => undefined, // the page goes on without: units are then said to be unknown
    );
    return () => {
      isGone = true;
    };
  }, []);
  return known;
}
